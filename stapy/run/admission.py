"""Which modules a member of the groups may load, and what the module is told about him."""

from __future__ import annotations

import os
import stat

from .elf import ModuleFile
from .errors import RunError
from .groups import NAMES, PAGE, STAPDEV
from .picture import COLORS, COLUMNS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, List, Optional

    from .groups import GroupMember

FOLDER = "/lib/modules/{release}/systemtap"


class Admitted:
    """A module that may be loaded, from the file to load it from, and up to which level."""

    def __init__(self, module: ModuleFile, level: int) -> None:
        self.module = module
        self.level = level


def admit(member: GroupMember, path: str, fd: int, folder: str = FOLDER) -> Admitted:
    """Decide whether a user may load the module that he has opened; `RunError` says why not.

    As for SystemTap: of stapdev any, of the others what root has put into the trusted folder,
    whatever that does. A file of theirs is not even read.
    """
    if member.level >= STAPDEV:
        return Admitted(ModuleFile(path, os.dup(fd)), STAPDEV)
    place = folder.format(release=os.uname().release)
    placed = _placed(path, fd, place)
    if placed:
        return Admitted(placed, STAPDEV)
    raise RunError(
        f"members of the group {NAMES[member.level]} may only use modules that root has put into "
        f"{place}, and '{path}' is none of them ({PAGE})"
    )


def _placed(path: str, opened: int, folder: str) -> Optional[ModuleFile]:
    """Open the same file in the trusted folder; None when it is not there."""
    flags = os.O_RDONLY | os.O_CLOEXEC
    try:
        around = os.open(folder, flags | os.O_DIRECTORY)
    except OSError:
        return None
    fd = -1
    try:
        why = why_open(os.fstat(around))
        if why:
            raise RunError(f"modules in {folder} are not trusted: {why}")
        name = path.rpartition("/")[2]
        fd = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=around)
        status = os.fstat(fd)
        if not os.path.samestat(status, os.fstat(opened)):
            return None
        why = why_open(status)
        if why:
            raise RunError(f"{folder}/{name} is not trusted: {why}")
        placed, fd = ModuleFile(f"{folder}/{name}", fd), -1
        return placed
    except OSError:
        return None
    finally:
        os.close(around)
        if fd >= 0:
            os.close(fd)


def why_open(status: os.stat_result) -> str:
    """Say who but root can change a file or folder, "" for nobody."""
    if status.st_uid:
        return f"it belongs to user {status.st_uid}, not to root"
    if status.st_mode & stat.S_IWOTH:
        return "all users may write to it"
    # Also of root's group, whose members are not root; the mask of an access list stands here, too.
    if status.st_mode & stat.S_IWGRP:
        return f"group {status.st_gid} may write to it"
    return ""


def check_parameters(member: GroupMember, words: List[str], known: Iterable[str]) -> None:
    """Refuse a parameter that the module has not, or that is not a member's to set.

    The kernel takes ``-`` for ``_``: only the very names that are ``known`` are taken.
    """
    for word in words:
        name, equals, _ = word.partition("=")
        if not equals or name not in known:
            raise RunError(f"'{name}' is no global of the script")
        if name == "stapy_buffer_mb":
            if member.level < STAPDEV:
                raise RunError(f"-b is for root and members of the group {NAMES[STAPDEV]}")
        elif name.startswith("stapy_") and name not in (COLUMNS, COLORS):
            raise RunError(f"'{name}' is no global of the script")


def limits(member: GroupMember, admitted: Admitted) -> List[str]:
    """List the parameters that tell a module whom it is for; it enforces them itself."""
    if "stapy_member_level" not in admitted.module.parameters:
        raise RunError(
            f"module '{admitted.module.path}' was made by a stapy that knows no levels of "
            "privilege: make it again"
        )
    return [
        f"stapy_user={member.uid}",
        f"stapy_level={admitted.level}",
        f"stapy_member_level={member.level}",
    ]
