"""Texts and open files between two processes, over a pair of sockets that keep packets apart."""

from __future__ import annotations

import os
import struct

from .errors import RunError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket as socket
    from typing import List, Optional, Sequence, Tuple
else:
    import _socket as socket  # `socket` itself is slow to import, and not in every Python

MOST = 64  # files in one packet; the kernel takes some 250
_BYTES = 1 << 18


class Wire:
    """One end; the other one is gone when `receive` gives None."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    @classmethod
    def pair(cls) -> Tuple[Wire, Wire]:
        """Make the two ends."""
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return cls(one), cls(other)

    def send(self, fields: Sequence[str], files: Sequence[int] = ()) -> None:
        """Send texts without NUL, and open files, however many; `OSError` when that fails."""
        head = "\0".join([str(len(files)), *fields]).encode("utf-8", "surrogateescape")
        for at in range(0, max(1, len(files)), MOST):
            part = files[at : at + MOST]
            rights = struct.pack(f"{len(part)}i", *part)
            more = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if part else []
            self._end.sendmsg([b"" if at else head, b"\0"], more)

    def receive(self) -> Optional[Tuple[List[str], List[int]]]:
        """Wait for texts and files; `RunError` for what is not from another `Wire`."""
        files: List[int] = []
        data = self._packet(files)
        if not data:
            return None
        count, *fields = data[:-1].decode("utf-8", "surrogateescape").split("\0")
        while len(files) < int(count):
            if not self._packet(files):
                return None
        return fields, files

    def _packet(self, files: List[int]) -> bytes:
        space = socket.CMSG_SPACE(MOST * 4)
        data, rights, flags, _ = self._end.recvmsg(_BYTES, space, socket.MSG_CMSG_CLOEXEC)
        for level, kind, numbers in rights:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                files += struct.unpack(f"{len(numbers) // 4}i", numbers)
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            for fd in files:
                os.close(fd)
            raise RunError("too much was sent at once, or there are too many open files")
        return data

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._end.fileno()

    def close(self) -> None:
        """Hang up."""
        self._end.close()
