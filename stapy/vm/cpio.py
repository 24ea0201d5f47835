"""Archives in the "newc" format, which is what Linux takes as an initramfs."""

from __future__ import annotations

import stat


class Archive:
    """Collects entries; parents of a path are made when they are missing."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._names: set[str] = set()

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """Add a regular file."""
        self._entry(name, stat.S_IFREG | mode, data)

    def folder(self, name: str) -> None:
        """Add a directory, once."""
        if name and name not in self._names:
            self._entry(name, stat.S_IFDIR | 0o755, b"")

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def device(self, name: str, major: int, minor: int) -> None:
        """Add a character device."""
        self._entry(name, stat.S_IFCHR | 0o600, b"", (major, minor))

    def finish(self) -> bytes:
        """Write the end of the archive; return it as bytes."""
        self._raw("TRAILER!!!", 0, b"", (0, 0))
        return b"".join(self._parts)

    def _entry(self, name: str, mode: int, data: bytes, device: tuple[int, int] = (0, 0)) -> None:
        name = name.strip("/")
        if "/" in name:
            self.folder(name.rpartition("/")[0])
        self._names.add(name)
        self._raw(name, mode, data, device)

    def _raw(self, name: str, mode: int, data: bytes, device: tuple[int, int]) -> None:
        path = name.encode() + b"\0"
        links = 2 if stat.S_ISDIR(mode) else 1
        fields = (
            len(self._parts) + 1,  # inode
            mode,
            0,  # uid
            0,  # gid
            links,
            0,  # mtime
            len(data),
            0,  # device of the file
            0,
            *device,
            len(path),
            0,  # checksum
        )
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
        self._parts.append(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))
