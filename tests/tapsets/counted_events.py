"""Cause the events of `counted_events.stp`, each a known number of times; the only device is lo."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import signal
import socket
import struct
import subprocess
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
LENGTH = 0x77000
PAYLOAD = 777
TUNSETIFF, IFF_TAP = 0x400454CA, 0x1002


def phase() -> None:
    """Tell the script that the next part begins."""
    with contextlib.suppress(OSError):
        os.close(7777)


def tasks() -> None:
    """Fork five children that end, two that become another program."""
    for number in range(7):
        child = os.fork()
        if not child:
            if number >= 5:
                os.execv("/bin/true", ["/bin/true", "counted"])
            os._exit(7)
        os.waitpid(child, 0)


def memory() -> None:
    """Make nine mappings of a size that nobody else has, and move the break in three steps."""
    for _ in range(9):
        mmap.mmap(-1, LENGTH).close()
    for _ in range(3):
        LIBC.sbrk(ctypes.c_long(LENGTH))


def signals() -> None:
    """Six of one kind that are handled, four of another that are ignored, three tgkill()s."""
    signal.signal(signal.SIGUSR2, lambda *_: None)
    signal.signal(signal.SIGURG, signal.SIG_IGN)
    for _ in range(6):
        os.kill(os.getpid(), signal.SIGUSR2)
    for _ in range(4):
        os.kill(os.getpid(), signal.SIGURG)
    for _ in range(3):
        LIBC.syscall(234, os.getpid(), os.getpid(), 0)
    for _ in range(2):
        LIBC.syscall(200, os.getpid(), 0)
    for _ in range(5):
        signal.sigpending()
    for _ in range(3):
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def packets() -> None:
    """Send eight packets of a length that nobody else sends."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 5354))
        for _ in range(8):
            udp.sendto(bytes(PAYLOAD), ("127.0.0.1", 5354))
            udp.recv(PAYLOAD)


def devices() -> None:
    """Ask devices for flags, sizes, addresses, counters; make three that come and go."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:

        def ask(request: int, name: bytes, form: str, *values: int | bytes) -> None:
            fcntl.ioctl(any_socket, request, struct.pack("16s" + form, name, *values))

        up, loop, promiscuous = 1, 8, 0x100
        for _ in range(3):
            ask(0x8914, b"lo", "H14x", loop)  # SIOCSIFFLAGS
            ask(0x8914, b"lo", "H14x", loop | up)
        for _ in range(2):
            ask(0x8914, b"lo", "H14x", loop | up | promiscuous)
            ask(0x8914, b"lo", "H14x", loop | up)
        for size in (1500, 1600, 1700, 65536):
            ask(0x8922, b"lo", "i12x", size)  # SIOCSIFMTU
        phase()
        for _ in range(5):
            Path("/proc/net/dev").read_text()
        phase()
        subprocess.run(["modprobe", "tun"], check=True)
        node = Path("/tmp/counted-tun")
        node.unlink(missing_ok=True)
        os.mknod(node, 0o20600, os.makedev(10, 200))
        for number in range(3):
            tap = os.open(node, os.O_RDWR)
            name = b"counted%d" % number
            fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name, IFF_TAP))
            ask(0x8924, name, "H6s8x", 1, b"\x02\0\0\0\0\x07")  # SIOCSIFHWADDR
            os.close(tap)
        node.unlink()
        subprocess.run(["rmmod", "tun"], check=True)


phase()  # what starts Python may have had children
tasks()
memory()
signals()
phase()
packets()
devices()
