"""Files and folders that another user may have made or may change: nothing of them is believed.

Whoever can change a folder on the way to a file can put another file in its
place, so the whole way is looked at, symbolic links as well.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_LINKS = 40  # as many as the kernel follows
_TRIES = 10  # to make what others make and take away again
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def why_untrusted(path: Path) -> str:
    """Tell why what is at ``path``, or will be, could be another user's; "" when it cannot.

    Each folder on the way and the file itself must belong to root or to this
    user, and nobody else may write to it.  In a folder where all may write but
    nobody may rename what is another's (``/tmp``), only the entry itself counts;
    one that is not there yet could be made by anybody.
    """
    return _walk(path, False)


def made(folder: Path) -> str:
    """Say the same of a folder as `why_untrusted` does, and make it if it is not there.

    Where others could make it before us, it is made here and now, and looked at then.
    """
    return _walk(folder, True)


def _walk(path: Path, will_make: bool) -> str:
    """Go from folder to open folder; what cannot be looked at is not believed."""
    try:
        return _walk_open(path, will_make)
    except OSError as error:
        return f"the way to '{path}' cannot be looked at: {error.strerror}"


def _walk_open(path: Path, will_make: bool) -> str:
    """Start each step from the folder that was checked, which is open."""
    path = path if path.is_absolute() else Path.cwd() / path
    place, parts = Path("/"), _parts(path)
    links = tries = 0
    here = os.open(place, _LOOK)
    there = -1
    try:
        told = _why_place_untrusted(place, os.fstat(here))
        while parts and not told:
            part = parts.pop(0)
            inner = place.parent if part == ".." else place / part
            try:
                there = os.open(part, _LOOK, dir_fd=here)
            except FileNotFoundError:
                if not _for_others(os.fstat(here)):
                    return ""  # it will be made by us, or by root
                tries += 1
                if not will_make or tries > _TRIES:
                    return f"others can make '{inner}'"
                told = _make(part, here)
                parts.insert(0, part)
                continue
            except OSError as error:
                return f"'{inner}': {error.strerror}"
            status = os.fstat(there)
            told = _why_place_untrusted(inner, status)
            if not stat.S_ISLNK(status.st_mode):
                os.close(here)
                place, here, there = inner, there, -1
                continue
            target = os.readlink("", dir_fd=there)
            os.close(there)
            there = -1
            links += 1
            if links > _LINKS:
                return f"'{inner}' is a symbolic link without end"
            parts = _parts(Path(target)) + parts
            if target.startswith("/"):
                top = os.open("/", _LOOK)
                os.close(here)
                place, here = Path("/"), top
    finally:
        os.close(here)
        if there >= 0:
            os.close(there)
    return told


def _make(name: str, here: int) -> str:
    try:
        os.mkdir(name, 0o700, dir_fd=here)
    except FileExistsError:
        pass  # whoever made it: it is looked at
    except OSError as error:
        return f"'{name}' cannot be made, and others could make it: {error.strerror}"
    return ""


def _parts(path: Path) -> list[str]:
    return [part for part in path.parts if part != "/"]


def _for_others(status: os.stat_result) -> bool:
    """Tell whether others may make what is not there in a folder that was trusted."""
    group = status.st_mode & stat.S_IWGRP and not _is_alone(status)
    return bool(status.st_mode & stat.S_IWOTH or group)


def _why_place_untrusted(place: Path, status: os.stat_result) -> str:
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
    """Tell whether the group is the owner's private one, or root's."""
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
    """Return this user's own home, whatever the environment says."""
    import pwd

    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return Path("/")
