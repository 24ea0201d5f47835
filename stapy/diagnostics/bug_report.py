"""What the user sees when stapy itself is wrong: one message and a bundle to report."""

from __future__ import annotations

import errno
import os
import re
import resource
import sys
import traceback
from pathlib import Path

from stapy import __version__
from stapy.options import Options


def our_mistake(error: Exception, options: Options) -> None:
    """Write the traceback and the command to a file and say where it is.

    A limit of resources that is too narrow is the user's, whoever has set it: it is named.
    """
    reason = _reached(error, options)
    if reason:
        tell(reason, options)
        return
    from stapy.temporary import scratch_root
    from stapy.trust import write_new

    # Others may write to that folder as well: no name that they could guess.
    path = Path(scratch_root()) / f"stapy-bug-{os.getpid()}-{os.urandom(4).hex()}.txt"
    lines = [
        f"stapy {__version__}, Python {sys.version.split()[0]}, Linux {os.uname().release}",
        f"command: {' '.join(sys.argv)}",
        "",
        *traceback.format_exception(error),
        "",
        f"options: {options!r}",
    ]
    try:
        write_new(path, "\n".join(lines).encode("utf-8", "backslashreplace"))
        kept = f"; please report it with the file {path}"
    except OSError:
        kept = ""
    what = str(error) or type(error).__name__
    tell(f"this is a mistake in stapy, not in your script: {what}{kept}", options)


def _reached(error: Exception, options: Options) -> str:
    """Name the limit of resources that an error comes from, "" for an error that is ours."""
    for name, ulimit, is_reached in _LIMITS:
        if not is_reached(error):
            continue
        if name in options.rlimits:
            return f"the limit of --rlimit-{name} is too small: {options.rlimits[name]} bytes"
        limit, _ = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
        if limit != resource.RLIM_INFINITY:
            return f"the limit of ulimit -{ulimit} is too small: {limit} bytes"
    return "out of memory" if isinstance(error, MemoryError) else ""


def _is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if isinstance(error, ValueError):  # `marshal` says so when it has no room for its table
        return str(error) == "unmarshallable object"
    # A library that finds no room is an ImportError in the words of ld.so.
    unmapped = isinstance(error, ImportError) and re.search("map|allocate", str(error))
    return isinstance(error, (MemoryError, SystemError)) or bool(unmapped)


def _is_too_large(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EFBIG


def _is_without_thread(error: Exception) -> bool:
    return isinstance(error, RuntimeError) and "start new thread" in str(error)


_LIMITS = (
    ("as", "v", lambda error: _is_out_of_memory(error) or _is_without_thread(error)),
    ("fsize", "f", _is_too_large),
    ("nproc", "u", _is_without_thread),
)

# Packages that stapy needs, by what Python calls them, and Debian's names.
PACKAGES = {
    "ply": ("ply", "python3-ply"),
    "jinja2": ("jinja2", "python3-jinja2"),
    "markupsafe": ("jinja2", "python3-jinja2"),
    "elftools": ("pyelftools", "python3-pyelftools"),
    "docker": ("docker", "python3-docker"),
}


def missing_package(error: ImportError, options: Options) -> None:
    """Say which Python package is not installed; anything else of ours is our mistake."""
    name = (error.name or "").partition(".")[0]
    if name not in PACKAGES:
        our_mistake(error, options)
        return
    tell(
        f"the Python package '{PACKAGES[name][0]}', which stapy needs, is not installed for"
        f" {sys.executable}: {way_to_package(name)}",
        options,
    )


def way_to_package(name: str) -> str:
    """Tell how to install a package, by what Python calls it."""
    pip, debian = PACKAGES[name]
    from stapy.run.ground import packages

    return f"{packages.way_to_package(pip)}, or apt-get install {debian}"


def tell(text: str, options: Options) -> None:
    """Print an error on standard error, in the form that was asked for."""
    if options.message_format == "json":
        from stapy.diagnostics.layouts import json_line

        text = json_line({"severity": "error", "kind": "ERROR", "message": text})
    else:
        text = f"ERROR: {text}"
    print(text, file=sys.stderr)
