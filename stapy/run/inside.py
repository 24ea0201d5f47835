"""Files as a process in another mount namespace has them, found from outside of it."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

_LINKS = 40  # followed at most, as the kernel does
# The rest would be followed from our own root. Nobody can make a file of this name.
TOO_MANY_LINKS = "/proc/0/too-many-links"


def real(root: str, name: str) -> str:
    """The file that a name means below a root: absolute links are followed there, not here."""
    parts, left = name.split("/")[::-1], _LINKS
    at = root
    while parts:
        part = parts.pop()
        if part in ("", "."):
            continue
        if part == "..":
            at = at if at == root else at.rpartition("/")[0]
            continue
        try:
            target = os.readlink(f"{at}/{part}")
        except OSError:
            target = ""
        if target and not left:
            return TOO_MANY_LINKS
        if not target:
            at = f"{at}/{part}"
            continue
        left -= 1
        at = root if target.startswith("/") else at
        parts += target.split("/")[::-1]
    return at


def resolver(path: str) -> "Callable[[str], str]":
    """What gives paths without links where a file lies, in the namespace that it is in."""
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
    """A path as those have it who see it in their namespace."""
    return path[len(_root_of(path)) :]


def process_of(manifest: "Dict[str, Any]", wanted: int) -> int:
    """The process whose name spaces are meant, 0 for none: of -N, else that of the translation."""
    return wanted or int(manifest.get("namespaces") or 0)


def place(path: str, manifest: "Dict[str, Any]", wanted: int) -> str:
    """Where a program of a manifest is opened: its path in the namespace of that process."""
    root = f"/proc/{manifest.get('namespaces')}/root"
    if not path.startswith(root + "/"):
        return path
    return real(f"/proc/{process_of(manifest, wanted)}/root", path[len(root) :])
