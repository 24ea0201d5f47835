"""Programs that probe points name: opened here, where paths mean something, and handed over."""

from __future__ import annotations

import errno
import os
import struct

from . import inside
from .control import Channel
from .elf import build_id
from .errors import RunError
from .regular import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .ground.manifest import Manifest

_PT_NOTE = 4
_SEGMENT = struct.Struct("<IIQQQQ16x")
_MOST = 1 << 20  # bytes of notes that are read, of all segments: others wrote the file


# What we lack ourselves, whatever the program is.
_OURS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
# What the runtime does not take.
_REFUSALS = {
    errno.EINVAL: "it is not a file",
    errno.ETXTBSY: "somebody has it open for writing",
}


def hand_over(channel: Channel, manifest: Manifest, namespaces: int = 0) -> None:
    """Open each program of a module's manifest and let the module hold it.

    ``namespaces`` is the process of -N.  One that cannot be had and that only optional points
    name is left out.
    Raises `RunError` for another, and for a program that is not the one that
    places were found in: a breakpoint could end up inside of an instruction.
    """
    for named, row in sorted((manifest.get("files") or {}).items()):
        path = inside.place(named, manifest, namespaces)
        try:
            fd = open_regular(path)
        except OSError as error:
            if row.get("optional") and error.errno not in _OURS:
                continue
            if error.errno == errno.EINVAL:
                raise RunError(
                    f"Couldn't probe the program {inside.told(path)}: {_REFUSALS[errno.EINVAL]}"
                ) from None
            raise RunError(
                f"Couldn't resolve target program file path {inside.told(path)}: {error.strerror}"
            ) from None
        try:
            channel.hold(os.fsencode(named), fd)
            # Now that nobody can write to it any more.
            _compare(path, fd, row.get("identity") or "")
        except OSError as error:
            if row.get("optional") and error.errno in _REFUSALS:
                continue
            why = _REFUSALS.get(error.errno or 0, error.strerror)
            raise RunError(f"Couldn't probe the program {inside.told(path)}: {why}") from None
        finally:
            os.close(fd)


def _compare(path: str, fd: int, wanted: str) -> None:
    """Refuse a file that is another build than the module was made for."""
    kind, _, expected = wanted.partition(":")
    if not expected:
        return
    found = program_build_id(fd) if kind == "build-id" else _checksum(fd)
    if found != expected:
        shown = f"{found or 'none'}, not {expected}" if kind == "build-id" else "another content"
        raise RunError(
            f"{inside.told(path)} is not the program that the script was translated for "
            f"({kind.replace('sha256', 'checksum')}: {shown}); translate it again"
        )


def program_build_id(fd: int) -> str:
    """Read the build-id (hex) of a 64-bit little-endian program, "" without one."""
    try:
        head = os.pread(fd, 64, 0)
        (table,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        rows = os.pread(fd, size * count, table) if size == _SEGMENT.size else b""
        left = _MOST
        for kind, _, offset, _, _, length in _SEGMENT.iter_unpack(rows):
            if kind != _PT_NOTE or not left:
                continue
            length = min(length, left)
            left -= length
            found = build_id(os.pread(fd, length, offset))
            if found:
                return found
    except (struct.error, ValueError, OverflowError):
        pass
    return ""


def _checksum(fd: int) -> str:
    from hashlib import sha256

    digest = sha256()
    at = 0
    while True:
        block = os.pread(fd, 1 << 20, at)
        if not block:
            return digest.hexdigest()
        digest.update(block)
        at += len(block)
