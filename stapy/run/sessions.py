"""``stapy-run --list``: the sessions that are in the kernel, and who reads each of them."""

from __future__ import annotations

import os

from . import kernel, mark
from .errors import RunError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterator, List

_HEADS = ("MODULE", "STATE", "USER", "READ BY")


def lines() -> List[str]:
    """List the modules of stapy's in the kernel as a table; a line that says so when there is none.

    `RunError` for who is not root: the kernel shows others neither states nor open files.
    """
    if os.geteuid() != 0:
        raise RunError("only root sees which sessions there are")
    names = kernel.our_modules()
    if not names:
        return ["no module of stapy's is loaded"]
    readers = _readers(names)
    rows = [_HEADS]
    for name in names:
        state = mark.state_of(name)
        if state:  # else it has gone since
            idle = "nobody: detached" if state == "running" else "nobody"
            rows.append((name, state, _user(mark.user_of(name)), readers.get(name, idle)))
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    ]


def _readers(names: List[str], proc: str = "/proc") -> Dict[str, str]:
    """Find the processes that have a session's channel open, by the module: number and name.

    It is looked for from outside: whoever opened the channel and closed it would end the session.
    """
    wanted = {f"/proc/stapy_{name}/control": name for name in names}
    found: Dict[str, str] = {}
    for process in filter(str.isdigit, os.listdir(proc)):
        for path in _opened(f"{proc}/{process}/fd"):
            if path in wanted:
                found[wanted[path]] = f"{process} ({_command(f'{proc}/{process}/comm')})"
    return found


def _opened(folder: str) -> Iterator[str]:
    """Yield what the descriptors of a process lead to; those that are closed meanwhile do not."""
    try:
        names = os.listdir(folder)
    except OSError:
        return  # it has ended
    for name in names:
        try:
            yield os.readlink(f"{folder}/{name}")
        except OSError:
            continue


def _command(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "?"


def _user(uid: int) -> str:
    if uid < 0:
        return "root"
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
