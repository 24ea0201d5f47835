"""Makes each of the calls that ``thirty_calls.stp`` looks for, by number, with known arguments."""

import ctypes
import os
import platform
import signal
import tempfile
from pathlib import Path

assert platform.machine() == "x86_64", "the numbers below are those of x86_64"
libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100


def call(number, *arguments):
    """Make a raw system call; return its result, -1 on an error."""
    return libc.syscall(
        ctypes.c_long(number),
        *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments),
    )


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_char_p), ("length", ctypes.c_size_t)]


class Timespec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]


class Pollfd(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]


buffer = ctypes.create_string_buffer(4096)
path = tempfile.mktemp(prefix="thirty-", dir="/tmp").encode()
vector = (Iovec * 2)(Iovec(b"abc", 3), Iovec(b"defg", 4))
room = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)
targets = (Iovec * 2)(
    Iovec(ctypes.cast(room[0], ctypes.c_char_p), 3), Iovec(ctypes.cast(room[1], ctypes.c_char_p), 4)
)
tick = Timespec(0, 1000)

fd = call(2, path, os.O_RDWR | os.O_CREAT, 0o640)  # open
call(257, AT_FDCWD, path, os.O_RDONLY | os.O_CLOEXEC)  # openat
call(1, fd, b"hello", 5)  # write
call(18, fd, b"world!", 6, 100)  # pwrite64
call(17, fd, buffer, 6, 100)  # pread64
call(8, fd, 2, os.SEEK_SET)  # lseek
call(0, fd, buffer, 3)  # read
call(20, fd, vector, 2)  # writev
call(8, fd, 0, os.SEEK_SET)
call(19, fd, targets, 2)  # readv
call(4, path, buffer)  # stat
call(5, fd, buffer)  # fstat
call(262, AT_FDCWD, path, buffer, 0)  # newfstatat
call(332, AT_FDCWD, path, 0, 0x7FF, buffer)  # statx
call(12, 0)  # brk
libc.mmap.restype = ctypes.c_void_p
address = libc.mmap(None, 8192, 3, 0x22, -1, 0)
call(10, address, 4096, 1)  # mprotect
call(11, address, 8192)  # munmap
call(3, fd)  # close
call(3, 999)
call(202, buffer, 1, 1, None, None, 0)  # futex FUTEX_WAKE
call(35, ctypes.byref(tick), None)  # nanosleep
call(230, 1, 0, ctypes.byref(tick), None)  # clock_nanosleep
watched = (Pollfd * 1)(Pollfd(0, 1, 0))
call(7, watched, 1, 0)  # poll
call(62, os.getpid(), 0)  # kill
child = os.fork()  # clone
if child == 0:
    os.execv("/bin/sh", ["sh", "-c", "exit 3"])
os.wait4(child, 0)
child = call(57)  # fork
if child == 0:
    call(60, 5)  # exit
os.wait4(child, 0)
child = os.posix_spawn("/bin/true", ["true"], {})  # vfork or clone3
os.waitpid(child, 0)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
Path(path.decode()).unlink()
call(231, 0)  # exit_group
