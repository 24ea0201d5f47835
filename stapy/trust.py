"""Files and folders that another user may have made or may change: nothing of them is believed.

Whoever can change a folder on the way to a file can put another file in its
place, so the whole way is looked at, symbolic links as well.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_LINKS = 40  # as many as the kernel follows


def doubt(path: Path) -> str:
    """Why what is at ``path``, or will be, could be another user's; "" when it cannot.

    Each folder on the way and the file itself must belong to root or to this
    user, and nobody else may write to it.  In a folder where all may write but
    nobody may rename what is another's (``/tmp``), only the entry itself counts.
    """
    place, links = Path("/"), 0
    parts = _parts(path if path.is_absolute() else Path.cwd() / path)
    told = _doubt_of(place, place.lstat())
    while parts and not told:
        part = parts.pop(0)
        place = place.parent if part == ".." else place / part
        try:
            status = place.lstat()
        except FileNotFoundError:
            return ""  # what is not there yet will be made by us
        except OSError as error:
            return f"'{place}': {error.strerror}"
        told = _doubt_of(place, status)
        if stat.S_ISLNK(status.st_mode) and not told:
            links += 1
            if links > _LINKS:
                return f"'{place}' is a symbolic link without end"
            target = place.readlink()
            parts = _parts(target) + parts
            place = Path("/") if target.is_absolute() else place.parent
    return told


def _parts(path: Path) -> list[str]:
    return [part for part in path.parts if part != "/"]


def _doubt_of(place: Path, status: os.stat_result) -> str:
    uid, mode = os.geteuid(), status.st_mode
    if status.st_uid not in (0, uid):
        return f"'{place}' belongs to {_user(status.st_uid)}"
    if stat.S_ISLNK(mode):
        return ""  # its mode means nothing
    if stat.S_ISDIR(mode) and mode & stat.S_ISVTX:
        return ""
    if mode & stat.S_IWOTH:
        return f"all users may write to '{place}'"
    if mode & stat.S_IWGRP and not _is_alone(status):
        return f"the group {_group(status.st_gid)} may write to '{place}'"
    return ""


def _is_alone(status: os.stat_result) -> bool:
    """True when the group is the owner's private one, or root's."""
    if status.st_gid == 0:
        return True
    import grp
    import pwd

    try:
        owner = pwd.getpwuid(status.st_uid)
        group = grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    private = owner.pw_gid == group.gr_gid and owner.pw_name == group.gr_name
    return private and not set(group.gr_mem) - {owner.pw_name}


def _user(uid: int) -> str:
    import pwd

    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"


def _group(gid: int) -> str:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def write_new(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Make a file that was not there; `FileExistsError` when it was, be it as a link.

    For names that others could guess in folders that they can write to.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        file.write(data)


def home() -> Path:
    """This user's own home, whatever the environment says."""
    import pwd

    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return Path("/")
