"""A file system (FUSE) with one program, ``hung``, that answers until a file is there.

python3 hung_files.py FOLDER PROGRAM UNTIL
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
DIRECTORY, PROGRAM = 0o40755, 0o100755


def attributes(node: int, size: int) -> bytes:
    mode = DIRECTORY if node == 1 else PROGRAM
    times = (0,) * 6
    return struct.pack("<6Q10I", node, size, 1, *times[:3], *times[:3], mode, 1, *(0,) * 5)


def answer(opcode: int, node: int, body: bytes, data: bytes) -> bytes | int:
    """Build what the kernel is told; a number is an error."""
    size = len(data) if node == 2 else 4096
    if opcode == 26:  # INIT
        return struct.pack("<IIIIHHII", 7, 31, 65536, 0, 16, 12, 65536, 1) + bytes(36)
    if opcode == 1:  # LOOKUP
        if body.rstrip(b"\0") != b"hung":
            return errno.ENOENT
        return struct.pack("<QQQQII", 2, 0, 0, 0, 0, 0) + attributes(2, len(data))
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


def main(folder: str, program: str, until: str) -> None:
    data = Path(program).read_bytes()
    channel = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={channel},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"hung", folder.encode(), b"fuse", 0, options.encode()):
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    while True:
        request = os.read(channel, 1 << 20)
        # Who has asked, and is heard, cannot be killed: all requests are read, silent or not.
        if Path(until).exists():
            threading.Thread(target=serve_later, args=(channel, request, data, until)).start()
        else:
            serve(channel, request, data)


def serve_later(channel: int, request: bytes, data: bytes, until: str) -> None:
    while Path(until).exists():
        time.sleep(1)
    serve(channel, request, data)


def serve(channel: int, request: bytes, data: bytes) -> None:
    _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
    if opcode in (FORGET, INTERRUPT, DESTROY):
        return
    said = answer(opcode, node, request[40:], data)
    error, body = (-said, b"") if isinstance(said, int) else (0, said)
    os.write(channel, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


main(*sys.argv[1:])
