"""What would go wrong later on is told before anything is compiled or loaded."""

from __future__ import annotations

import os

from . import inside
from .errors import RunError
from .output import place_of, planted
from .target import words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from .ground.manifest import Manifest


def check(command: Optional[str], output: Optional[str], rotates: bool) -> None:
    """Refuse a command of ``-c`` that cannot be run and a file of ``-o`` that cannot be written."""
    if command is not None:
        words = words_of(command)
        why = not_runnable(words[0]) if words else "it is empty"
        if why:
            name = f"'{words[0]}'" if words else "the command of -c"
            raise RunError(f"Couldn't start {name}: {why}")
    if output:
        name = place_of(output, 0 if rotates else None)
        why = _not_writable(name)
        if why:
            raise RunError(f"Couldn't open output file '{name}': {why}")


def not_runnable(program: str) -> str:
    """Say why a program cannot be run, "" when it can; a bare name is looked for in PATH."""
    places = [""] if "/" in program else [folder + "/" for folder in os.get_exec_path()]
    found = [place + program for place in places if os.path.exists(place + program)]
    if not found:
        return os.strerror(2)
    if any(os.path.isfile(path) and os.access(path, os.X_OK) for path in found):
        return ""
    return os.strerror(13)


def _not_writable(name: str) -> str:
    """Say why a file cannot be written or made, "" when it can.

    One that is not there is made and removed again. One that is there is left alone: what only
    shows when it is written is found out then.
    """
    if os.path.isdir(name):
        return os.strerror(21)
    folder = os.path.dirname(name) or "."
    try:
        os.stat(folder + "/.")
    except OSError as error:
        return error.strerror or str(error)
    if planted(name):
        return planted(name)
    if os.path.lexists(name):
        return "" if os.access(name, os.W_OK) or not os.path.exists(name) else os.strerror(13)
    if not os.access(folder, os.W_OK):
        return os.strerror(13)
    return _not_made(name)


def _not_made(name: str) -> str:
    """Say why a file cannot be made, "" when it can: root may do all in /proc, and yet cannot."""
    try:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return ""  # it came in between; what it is shows when it is opened
    except OSError as error:
        return error.strerror or str(error)
    os.close(fd)
    os.unlink(name)
    return ""


def check_namespaces(manifest: Manifest, wanted: int) -> None:
    """Refuse a process whose name spaces cannot be used, or that is not the one that was meant.

    ``wanted`` is the process of -N, 0 for that which the module was made for.
    """
    pid = inside.process_of(manifest, wanted)
    if not pid:
        return
    other = inside.mistaken(manifest, wanted)
    why = other or closed_to_us(pid)
    if why:
        hint = "" if wanted else "; stapy-run -N PID names the process to use"
        raise RunError(f"Couldn't use the name spaces of process {pid}: {why}{hint}")


def namespaces_hint(pid: int) -> str:
    """Say what to do about a process whose name spaces cannot be used."""
    if os.path.exists(f"/proc/{pid}") and closed_to_us(pid) != "it has ended":
        return "root may use those of all processes"
    return "any process that lives in the same container will do: ps -e -o pid,pidns,mntns,comm"


def closed_to_us(pid: int) -> str:
    """Say why the files of a process cannot be looked at as it sees them, "" when they can."""
    try:
        os.stat(f"/proc/{pid}/root/.")
        return ""
    except PermissionError:
        return "it belongs to somebody else"
    except OSError as error:
        if os.path.exists(f"/proc/{pid}"):
            return "it has ended" if error.errno in (2, 3) else error.strerror or str(error)
        return os.strerror(3)


def target_warning(pid: int) -> str:
    """Warn about a process of ``-x`` that does not exist; return "" when it does.

    The manual promises that a script runs whether that process lives or not.
    """
    try:
        if pid:
            os.kill(pid, 0)
    except ProcessLookupError:
        return f"there is no process {pid}; target() is that number all the same"
    except OSError:
        pass  # it belongs to somebody else
    return ""
