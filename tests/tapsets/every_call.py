"""Make every system call of x86_64 with good and bad arguments; `every_call.stp` watches.

The calls stand in `every_call.table`, one line each:

    6.12 NUMBER name ARGUMENTS ; FLAG => what the aliases should show

The kernel line may be missing: it is the first that has the call. In the arguments, Z is a page of
zeros, BAD an address where nothing is, EDGE one behind whose three bytes nothing is, M32 a number
of 32 bits set; the functions below put things into memory and give their addresses. FLAG says that
the call makes a CHILD, EXITS or CRASHES its process, or is to be made by NOBODY. In what is shown,
{n} is argument n as an address, {PID} our own number.

Each is made by a few instructions of our own, so that nothing else is called between the two
marks (writes to descriptors that cannot be) which tell the script what it should see and when.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import re
import signal
import socket
import struct
import sys
from pathlib import Path

EXPECTED, MADE, RETURNED = -7777, -7778, -7779
ARENA, Z, SIZE = 0x20000000, 0x20008000, 0x10000
BAD, M32 = 0x1000, 0xFFFFFFFF
PID, UID, GID = os.getpid(), os.getuid(), os.getgid()
LIBC = ctypes.CDLL(None, use_errno=True)
HEX = {"mmap", "mmap2", "mremap", "shmat", "sgetmask"}
OCTAL = {"umask"}
MAKES_FD = re.compile(
    r"socket$|open|accept|eventfd|epoll_create|inotify_init|timerfd_create|memfd|userfaultfd"
    r"|fanotify_init|signalfd|fsmount|dup"
)

LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 2, *[ctypes.c_int] * 2, ctypes.c_long]


def place(at: int, size: int, prot: int) -> None:
    """Map memory at a fixed address below 4 GB, so that addresses agree between runs."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10
    assert LIBC.mmap(at, size, prot, flags, -1, 0) == at


place(ARENA, SIZE, 3)
place(ARENA - SIZE, SIZE, 7)
place(ARENA + 0x1000000, 0x1000, 3)
EDGE = ARENA + 0x1000FFD
ctypes.memmove(EDGE, b"edg", 3)
top = ARENA


def b(data: bytes) -> int:
    """Put bytes into memory; return their address."""
    global top
    at, top = top, top + (len(data) + 16) // 8 * 8
    assert top < Z
    ctypes.memmove(at, data, len(data))
    ctypes.memset(at + len(data), 0, top - at - len(data))
    return at


def s(text: str) -> int:
    """Put a string into memory; return its address."""
    return b(text.encode())


def q(*values: int) -> int:
    """Put words of 64 bits into memory, of 32 for 32-bit calls."""
    if COMPAT:
        return i(*values)
    return b(struct.pack(f"<{len(values)}Q", *(value & 2**64 - 1 for value in values)))


def i(*values: int) -> int:
    """Put words of 32 bits into memory."""
    return b(struct.pack(f"<{len(values)}I", *(value & M32 for value in values)))


def v(*words: int) -> int:
    """Put pointers into memory, the last of them 0."""
    return q(*words, 0)


def sa4(address: str, port: int) -> int:
    """Put an address of the Internet's into memory."""
    return b(struct.pack("<H", 2) + struct.pack(">H", port) + address_of(2, address) + bytes(8))


def sa6(address: str, port: int) -> int:
    """Put an address of version 6 into memory."""
    return b(
        struct.pack("<H", 10) + struct.pack(">HI", port, 3) + address_of(10, address) + bytes(4)
    )


def address_of(family: int, text: str) -> bytes:
    """Encode an address of the Internet's as bytes."""
    return socket.inet_pton(family, text)


def sun(path: str) -> int:
    """Put an address of a local socket into memory."""
    return b(struct.pack("<H", 1) + path.encode().ljust(108, b"\0"))


def snl(pid: int, groups: int) -> int:
    """Put an address of a netlink socket into memory."""
    return b(struct.pack("<HHII", 16, 0, pid, groups))


def timex(modes: int) -> int:
    """Put a struct timex into memory."""
    return q(modes, 11, 22, 33, 44, 0x600000005, 77, *range(100, 115))


def sigev(notify: int, number: int) -> int:
    """Put a struct sigevent into memory."""
    return b(struct.pack("<QII", 5, number, notify) + bytes(48))


def schedattr(policy: int, flags: int, nice: int, priority: int, *times: int) -> int:
    """Put a struct sched_attr into memory."""
    return b(struct.pack("<IIQiI3Q", 48, policy, flags, nice, priority, *times))


# --- instructions ----------------------------------------------------------
def instructions(compat: bool) -> bytes:
    """Mark, call, mark: by a block of words.

    They are label, its length, number, six arguments, result and a flag: the call makes a child.
    """
    mark = (
        "48 c7 c7 {fd}"  # mov rdi, fd
        "49 8b 34 24 49 8b 54 24 08"  # mov rsi, [r12]; mov rdx, [r12+8]
        "b8 01 00 00 00 0f 05"  # mov eax, 1; syscall
    )
    native = (
        "49 8b 44 24 10 49 8b 7c 24 18 49 8b 74 24 20 49 8b 54 24 28"
        "4d 8b 54 24 30 4d 8b 44 24 38 4d 8b 4c 24 40 0f 05"
    )
    old = (
        "49 8b 44 24 10 49 8b 5c 24 18 49 8b 4c 24 20 49 8b 54 24 28"
        "49 8b 74 24 30 49 8b 7c 24 38 49 8b 6c 24 40 cd 80"
    )
    child = (
        "48 85 c0 75 0f"  # test rax, rax; jnz over what follows
        "4d 85 ed 74 0a"  # test r13, r13; jz over what follows
        "48 31 ff b8 3c 00 00 00 0f 05"  # xor rdi, rdi; mov eax, 60; syscall
    )
    text = (
        "41 54 41 55 53 55 49 89 fc"  # push r12, r13, rbx and rbp; mov r12, rdi
        # The flag, now: a thread that is made may run when the block is used again.
        "4d 8b 6c 24 50"  # mov r13, [r12+80]
        + mark.format(fd=struct.pack("<i", EXPECTED).hex())
        + (old if compat else native)
        + child
        + "49 89 44 24 48"  # mov [r12+72], rax
        + mark.format(fd=struct.pack("<i", MADE).hex())
        + "5d 5b 41 5d 41 5c c3"
    )
    return bytes.fromhex(text.replace(" ", ""))


COMPAT = "compat" in sys.argv
CODE = ARENA - SIZE
BLOCK = CODE + 0x1000
LABEL = CODE + 0x2000
ctypes.memmove(CODE, instructions(COMPAT), len(instructions(COMPAT)))
CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(CODE)


def mark(fd: int, text: str) -> None:
    """Tell the script something."""
    data = text.encode()
    ctypes.memmove(LABEL, data, len(data))
    LIBC.write(fd, ctypes.c_void_p(LABEL), len(data))


def make(number: int, arguments: list[int], label: str, child: bool) -> int:
    """Make one call between two marks; its result."""
    data = label.encode()
    ctypes.memmove(LABEL, data, len(data))
    words = [LABEL, len(data), number, *arguments, *[0] * (6 - len(arguments)), 0, child]
    if COMPAT:
        words[3:9] = [word & M32 for word in words[3:9]]
    block = struct.pack("<11Q", *(word & 2**64 - 1 for word in words))
    ctypes.memmove(BLOCK, block, len(block))
    ctypes.memset(Z, 0, 0x1000)
    CALL(BLOCK)
    result = ctypes.c_int64.from_address(BLOCK + 72).value
    return result


def returned(name: str, value: int) -> str:
    """Write what retstr should be."""
    if -4096 < value < 0 and -value in errno.errorcode:
        known = "EOPNOTSUPP" if value == -95 else errno.errorcode[-value]
        return f"{value} ({known})"
    if name in HEX:
        return f"0x{value & 2**64 - 1:x}"
    return f"0{value:o}" if name in OCTAL else str(value)


LINE = re.compile(
    r"(?:(?P<since>[\d.]+) )?(?P<number>\d+) (?P<name>\w+)(?: (?P<args>[^;].*?))?"
    r"(?: ; (?P<flags>[A-Z]+))? => ?(?P<shown>.*)"
)


def main() -> None:
    """Make all calls of the table that this kernel has."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    release = tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups()))
    done = 0
    table = next((word for word in sys.argv[1:] if word != "compat"), __file__)
    for line in Path(table).with_suffix(".table").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        found = LINE.fullmatch(line)
        assert found, line
        if found["since"] and tuple(map(int, found["since"].split("."))) > release:
            continue
        global top
        top = ARENA
        arguments = eval(f"[{found['args'] or ''}]")
        shown = found["shown"].replace("{PID}", str(PID))
        for place, argument in enumerate(arguments, 1):
            shown = shown.replace(f"{{{place}}}", f"0x{argument & 2**64 - 1:x}")
        flags = found["flags"] or ""
        number = int(found["number"])
        done += 1
        if flags in ("EXITS", "CRASHES", "NOBODY"):
            new = os.fork()
            if not new:
                if flags == "NOBODY":
                    os.setgroups([])
                    os.setgid(65534)
                    os.setuid(65534)
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                make(number, arguments, shown, False)
                os._exit(0)
            os.waitpid(new, 0)
            mark(RETURNED, "")
            continue
        result = make(number, arguments, shown, flags == "CHILD")
        mark(RETURNED, returned(found["name"], result))
        if flags == "CHILD" and result > 0:
            with contextlib.suppress(ChildProcessError):  # a thread is none
                os.waitpid(result, 0)
        elif result > 2 and MAKES_FD.match(found["name"]):
            os.close(result)
    mark(RETURNED - 1, str(done))


main()
