"""A file system (FUSE) that answers until a file is there: with a program, ``hung``, in it.

python3 hung_files.py FOLDER PROGRAM UNTIL [KEPT]

With KEPT there is a file ``out`` too, and what is written to it comes into that file.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
import threading
import time
from pathlib import Path

FORGET, DESTROY, INTERRUPT = 2, 38, 36
# A user's own file system says of its files what it likes: here that they are root's.
DIRECTORY, PROGRAM, FILE = 0o40755, 0o100755, 0o100644
PROGRAM_NODE, FILE_NODE = 2, 3
SIZE_IS_SET = 1 << 3  # of SETATTR


def attributes(node: int, size: int) -> bytes:
    mode = {1: DIRECTORY, FILE_NODE: FILE}.get(node, PROGRAM)
    times = (0,) * 6
    return struct.pack("<6Q10I", node, size, 1, *times[:3], *times[:3], mode, 1, *(0,) * 5)


def written(opcode: int, body: bytes, kept: int) -> bytes | int:
    """Do what is asked of the file that is written to."""
    if opcode == 16:  # WRITE
        _, at, length = struct.unpack_from("<QQI", body)
        return struct.pack("<II", os.pwrite(kept, body[40 : 40 + length], at), 0)
    if opcode == 15:  # READ
        _, at, length = struct.unpack_from("<QQI", body)
        return os.pread(kept, length, at)
    if opcode == 4:  # SETATTR
        valid, _, _, size = struct.unpack_from("<IIQQ", body)
        if valid & SIZE_IS_SET:
            os.ftruncate(kept, size)
    size = os.fstat(kept).st_size
    if opcode in (3, 4):  # GETATTR
        return struct.pack("<QII", 0, 0, 0) + attributes(FILE_NODE, size)
    return b"" if opcode == 20 else answer(opcode, 0, body, b"", kept)  # FSYNC


def answer(opcode: int, node: int, body: bytes, data: bytes, kept: int) -> bytes | int:
    """Build what the kernel is told; a number is an error."""
    if node == FILE_NODE and kept >= 0:
        return written(opcode, body, kept)
    size = len(data) if node == PROGRAM_NODE else 4096
    if opcode == 26:  # INIT
        return struct.pack("<IIIIHHII", 7, 31, 65536, 0, 16, 12, 65536, 1) + bytes(36)
    if opcode == 1:  # LOOKUP
        if body.rstrip(b"\0") == b"out" and kept >= 0:
            size = os.fstat(kept).st_size
            return struct.pack("<QQQQII", FILE_NODE, 0, 0, 0, 0, 0) + attributes(FILE_NODE, size)
        if body.rstrip(b"\0") != b"hung":
            return errno.ENOENT
        return struct.pack("<QQQQII", PROGRAM_NODE, 0, 0, 0, 0, 0) + attributes(
            PROGRAM_NODE, len(data)
        )
    if opcode == 3:  # GETATTR
        return struct.pack("<QII", 0, 0, 0) + attributes(node, size)
    if opcode in (14, 27):  # OPEN, OPENDIR
        return struct.pack("<QII", 1, 0, 0)
    if opcode == 15:  # READ
        _, at, length = struct.unpack_from("<QQI", body)
        return data[at : at + length]
    if opcode in (18, 25, 29):  # RELEASE, FLUSH, RELEASEDIR
        return b""
    return errno.ENOSYS


def main(folder: str, program: str, until: str, kept_in: str = "") -> None:
    data = Path(program).read_bytes()
    kept = os.open(kept_in, os.O_RDWR | os.O_CREAT) if kept_in else -1
    channel = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={channel},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"hung", folder.encode(), b"fuse", 0, options.encode()):
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    while True:
        request = os.read(channel, 1 << 20)
        # Who has asked, and is heard, cannot be killed: all requests are read, silent or not.
        if Path(until).exists():
            threading.Thread(target=serve_later, args=(channel, request, data, kept, until)).start()
        else:
            serve(channel, request, data, kept)


def serve_later(channel: int, request: bytes, data: bytes, kept: int, until: str) -> None:
    while Path(until).exists():
        time.sleep(1)
    serve(channel, request, data, kept)


def serve(channel: int, request: bytes, data: bytes, kept: int) -> None:
    _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
    if opcode in (FORGET, INTERRUPT, DESTROY):
        return
    said = answer(opcode, node, request[40:], data, kept)
    error, body = (-said, b"") if isinstance(said, int) else (0, said)
    os.write(channel, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


main(*sys.argv[1:])
