"""What the user sees when stapy itself is wrong: one message and a bundle to report."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from stapy import __version__
from stapy.options import Options


def our_mistake(error: Exception, options: Options) -> None:
    """Write the traceback and the command to a file and say where it is."""
    from stapy.build.folder import scratch_root

    path = Path(scratch_root()) / f"stapy-bug-{os.getpid()}.txt"
    lines = [
        f"stapy {__version__}, Python {sys.version.split()[0]}, Linux {os.uname().release}",
        f"command: {' '.join(sys.argv)}",
        "",
        *traceback.format_exception(error),
        "",
        f"options: {options!r}",
    ]
    try:
        path.write_text("\n".join(lines), encoding="utf-8", errors="backslashreplace")
        kept = f"; please report it with the file {path}"
    except OSError:
        kept = ""
    what = str(error) or type(error).__name__
    print(f"ERROR: this is a mistake in stapy, not in your script: {what}{kept}", file=sys.stderr)
