"""``stapy-run --list``: the sessions that are in the kernel, and who reads each of them."""

from __future__ import annotations

import os

from . import kernel, mark
from .errors import RunError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List

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
        try:
            for fd in os.listdir(f"{proc}/{process}/fd"):
                name = wanted.get(os.readlink(f"{proc}/{process}/fd/{fd}"))
                if name:
                    found[name] = f"{process} ({_command(f'{proc}/{process}/comm')})"
        except OSError:
            continue  # it has ended
    return found


def _command(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().strip()


def _user(uid: int) -> str:
    if uid < 0:
        return "root"
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
