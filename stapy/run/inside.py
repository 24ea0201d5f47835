"""Files as a process in another mount namespace has them, found and opened from outside of it.

Whoever may write there can exchange a folder for a link at any time: ``ground/links.py``.
"""

from __future__ import annotations

import errno
import os
import stat

from . import printable
from .ground.links import open_below, real

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from .ground.manifest import Manifest, ProcessIdentity


def open_path(path: str) -> int:
    """Open a path of ours, or ``/proc/PID/root/…`` below that root, as an ``O_PATH`` descriptor."""
    root = _root_of(path)
    if not root:
        return os.open(path, os.O_PATH | os.O_CLOEXEC)
    return open_below(root, path[len(root) :])


def is_regular(path: str) -> bool:
    """Tell whether `open_path` would open a path as a regular file."""
    try:
        place = open_path(path)
    except OSError:
        return False
    try:
        return stat.S_ISREG(os.fstat(place).st_mode)
    finally:
        os.close(place)


def resolver(path: str) -> "Callable[[str], str]":
    """Make what resolves links in the namespace that a file is in."""
    root = _root_of(path)
    if not root:
        return os.path.realpath

    def resolve(name: str) -> str:
        return real(root, name[len(root) :] if name.startswith(root + "/") else name)

    return resolve


def _root_of(path: str) -> str:
    words = path.split("/", 4)
    if len(words) < 5 or (words[0], words[1], words[3]) != ("", "proc", "root"):
        return ""
    return "/".join(words[:4])


def shown(path: str) -> str:
    """Cut a path to what those have who see it in their namespace."""
    return path[len(_root_of(path)) :]


def told(path: str) -> str:
    """Write a path for a message: as it is in its namespace, and which one that is."""
    root = _root_of(path)
    where = f" of process {root.split('/')[2]}'s name space" if root else ""
    return f"'{shown(path)}'{where}"


def process_of(manifest: Manifest, wanted: int) -> int:
    """Choose the process whose name spaces are meant, 0 for none: of -N, else the translation's."""
    return wanted or int(manifest.get("namespaces") or 0)


def identity(pid: int) -> ProcessIdentity:
    """Collect what tells a process from all that had its number or will have it.

    When it began, on which machine since when, what it is called, and its name spaces; an
    `OSError` for a process that is no more or that is not ours to look at.
    """
    with open(f"/proc/{pid}/stat", "rb") as file:
        name, _, fields = file.read().partition(b"(")[2].rpartition(b")")
    return {
        "name": os.fsdecode(name),
        "start": int(fields.split()[19]),
        "boot": _boot(),
        "mnt": _namespace(pid, "mnt"),
        "pid": _namespace(pid, "pid"),
        "user": _namespace(pid, "user"),
    }


def _namespace(pid: int, kind: str) -> int:
    """Read the inode of a name space of a process."""
    return os.stat(f"/proc/{pid}/ns/{kind}").st_ino


def _boot() -> str:
    """Read which machine this is, since when."""
    with open("/proc/sys/kernel/random/boot_id", "rb") as file:
        return file.read().decode().strip()


def mistaken(manifest: Manifest, wanted: int) -> str:
    """Say why a process is not the one of the translation, "" when it is.

    A process that -N names is taken as it is, as is that of a module that does not tell.
    """
    before = manifest.get("process")
    if wanted or not before:
        return ""
    told = _shown(str(before.get("name")))
    if before.get("boot") != _boot():
        return f"the module was made for '{told}' on another machine, or before this one was booted"
    try:
        now = identity(process_of(manifest, 0))
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ESRCH):
            return error.strerror or str(error)
        return f"'{told}', which had this number when the module was made, has ended"
    if now["start"] != before.get("start"):
        return (
            f"'{told}', which had this number when the module was made, has ended; "
            f"it is another process now, '{_shown(now['name'])}'"
        )
    if any(now.get(kind) != before.get(kind) for kind in ("mnt", "pid", "user")):
        return f"'{told}' has moved to other name spaces since the module was made"
    return ""


def _shown(name: str) -> str:
    return os.fsdecode(printable.name(os.fsencode(name)))


def place(path: str, manifest: Manifest, wanted: int) -> str:
    """Find where a program of a manifest is opened: its path in the namespace of that process."""
    root = f"/proc/{manifest.get('namespaces')}/root"
    if not path.startswith(root + "/"):
        return path
    return real(f"/proc/{process_of(manifest, wanted)}/root", path[len(root) :])
