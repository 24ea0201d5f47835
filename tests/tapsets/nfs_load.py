"""A file system of memory, exported by the kernel's NFS server and mounted by its own client.

The helpers that stand around both elsewhere, the port mapper and mountd, are a thread here that
answers what they would.  The work on files goes by version 3 of the protocol, over lo.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
EXPORT, MOUNTED, SERVER = Path("/tmp/nfs_export"), Path("/tmp/nfs_mounted"), Path("/proc/fs/nfsd")
LATER = int(time.time()) + 3600
FLAGS = 0x2 | 0x4 | 0x400 | 0x2000  # any port and user, no check for subtrees, a number of our own
MOUNTD = 20048
HOST = "127.0.0.1"
MODULES = [
    "nfsd",
    "nfsv3",
    "nfs",
    "lockd",
    "grace",
    "nfs_acl",
    "auth_rpcgss",
    "sunrpc",
    "fscache",
    "netfs",
]


def mount(source: str, target: Path, kind: str, options: str = "") -> None:
    """Call mount(2); raise OSError when it fails."""
    target.mkdir(exist_ok=True)
    words = [word.encode() for word in (source, str(target), kind)]
    if LIBC.mount(*words, 0, options.encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(target))


def unmount(target: Path) -> None:
    """Call umount(2)."""
    LIBC.umount2(str(target).encode(), 0)


def reply(program: int, procedure: int, handle: bytes) -> bytes:
    """Build the result of a call: TRUE for the port mapper, the handle for mountd."""
    if program == 100005 and procedure == 1:
        return struct.pack("!II", 0, len(handle)) + handle + struct.pack("!II", 1, 1)
    return struct.pack("!I", 1) if procedure and program == 100000 else b""


def converse(connection: socket.socket, handle: bytes) -> None:
    """Answer calls over one connection until it ends."""
    with connection, connection.makefile("rb") as stream:
        while head := stream.read(4):
            call = stream.read(struct.unpack("!I", head)[0] & 0x7FFFFFFF)
            transaction, _, _, program, _, procedure = struct.unpack_from("!6I", call)
            answer = struct.pack("!6I", transaction, 1, 0, 0, 0, 0)
            answer += reply(program, procedure, handle)
            connection.sendall(struct.pack("!I", len(answer) | 0x80000000) + answer)


def help_on(port: int, handle: bytes) -> None:
    """Be the port mapper or mountd."""
    listener = socket.create_server((HOST, port))

    def accept() -> None:
        while True:
            threading.Thread(
                target=converse, args=(listener.accept()[0], handle), daemon=True
            ).start()

    threading.Thread(target=accept, daemon=True).start()


def tell(cache: str, text: str) -> None:
    """Write what mountd answers when the kernel asks, before it does."""
    Path("/proc/net/rpc", cache, "channel").write_text(text + "\n")


def root_handle() -> bytes:
    """Return the handle of the exported folder."""
    file = os.open(SERVER / "filehandle", os.O_RDWR)
    os.write(file, f"guest {EXPORT} 64\n".encode())
    text = os.read(file, 200).decode()
    os.close(file)
    return bytes.fromhex(text.strip().removeprefix("\\x"))


def serve() -> None:
    """Start the server."""
    subprocess.run(["modprobe", "-a", "nfsd", "nfsv3"], check=True)
    mount("none", EXPORT, "tmpfs")
    mount("nfsd", SERVER, "nfsd")
    tell("auth.unix.ip", f"nfsd {HOST} {LATER} guest")
    tell("nfsd.export", f"guest {EXPORT} {LATER} {FLAGS} 65534 65534 0")
    tell("nfsd.fh", f"guest 1 \\x00000000 {LATER} {EXPORT}")
    handle = root_handle()
    help_on(111, handle)
    help_on(MOUNTD, handle)
    (SERVER / "versions").write_text("+3 -4\n")
    with socket.create_server((HOST, 2049)) as listener:
        (SERVER / "portlist").write_text(f"{listener.fileno()}\n")
    (SERVER / "threads").write_text("2\n")


def work() -> None:
    """Do every operation that the aliases know."""
    file = MOUNTED / "one"
    with file.open("w+b", buffering=0) as one:
        one.write(b"x" * 5000)
        one.write(bytes(200000))
        os.fsync(one.fileno())
        one.seek(100, os.SEEK_SET)
        fcntl.lockf(one, fcntl.LOCK_EX, 10, 20)
        fcntl.lockf(one, fcntl.LOCK_UN, 10, 20)
    file.rename(MOUNTED / "two")
    (MOUNTED / "folder").mkdir()
    Path("/proc/sys/vm/drop_caches").write_text("3")
    print("read", len((MOUNTED / "two").read_bytes()))
    (MOUNTED / "two").unlink()
    print("left", [entry.name for entry in MOUNTED.iterdir()])


def put_away() -> None:
    """Unload what was loaded; what was used last can go a little later."""
    for _ in range(600):
        loaded = Path("/proc/modules").read_text()
        left = [name for name in MODULES if f"{name} " in loaded]
        if not left:
            break
        for name in left:
            subprocess.run(["rmmod", name], check=False, stderr=subprocess.DEVNULL)
        time.sleep(0.1)


def main() -> None:
    """All of it, and all is put away again."""
    serve()
    try:
        mount(
            f"{HOST}:{EXPORT}",
            MOUNTED,
            "nfs",
            f"vers=3,proto=tcp,port=2049,wsize=65536,rsize=65536,nolock,sec=sys,addr={HOST},mountaddr={HOST},"
            f"mountvers=3,mountproto=tcp,mountport={MOUNTD}",
        )
        work()
        unmount(MOUNTED)
    finally:
        (SERVER / "threads").write_text("0\n")
        unmount(SERVER)
        unmount(EXPORT)
        put_away()


if __name__ == "__main__":
    main()
