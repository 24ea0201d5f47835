"""What `syscall_returns.stp` traces: calls that leave something in memory, and what they left."""

from __future__ import annotations

import ctypes
import os
import signal

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_ARCH_PRCTL, ARCH_GET_FS, PTRACE_GETEVENTMSG, PTRACE_SETOPTIONS = 30, 0x1003, 0x4201, 0x4200
PTRACE_TRACEME, PTRACE_CONT, PTRACE_O_TRACEEXIT, PTRACE_KILL = 0, 7, 0x40, 8


def say(*words: object) -> None:
    """Write what the script should have seen to a file that is not open."""
    data = " ".join(map(str, words)).encode()
    LIBC.write(-1, data, len(data))


def child(ending: int) -> int:
    """Fork a process that ends by itself, or by a signal when the number is negative."""
    new = os.fork()
    if not new:
        if ending < 0:
            os.kill(os.getpid(), -ending)
        os._exit(ending)
    return new


two = (ctypes.c_int * 2)()
LIBC.pipe(two)
say("pipe", two[0], two[1], 0, ctypes.addressof(two))
LIBC.pipe2(two, os.O_CLOEXEC)
say("pipe", two[0], two[1], os.O_CLOEXEC, ctypes.addressof(two))
LIBC.pipe2(two, 1)
say("pipe", 0, 0, 1, ctypes.addressof(two))

status = ctypes.c_int()
for ending, text in ((7, "WEXITSTATUS=7"), (-signal.SIGTERM, "WTERMSIG=SIGTERM")):
    found = LIBC.wait4(child(ending), ctypes.byref(status), 0, None)
    say("wait4", found, ctypes.addressof(status), text)
LIBC.wait4(-1, ctypes.byref(status), 0, None)
say("wait4", -10, ctypes.addressof(status), "N/A")
found = LIBC.wait4(child(0), None, 0, None)
say("wait4", found, 0, "NULL")

traced = os.fork()
if not traced:
    LIBC.ptrace(PTRACE_TRACEME, 0, None, None)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(5)
found = LIBC.wait4(traced, ctypes.byref(status), 0, None)
say("wait4", found, ctypes.addressof(status), "WSTOPSIG=SIGSTOP")
base, message = ctypes.c_ulong(), ctypes.c_ulong()
LIBC.ptrace(PTRACE_ARCH_PRCTL, traced, ctypes.byref(base), ctypes.c_void_p(ARCH_GET_FS))
say("prctl", base.value)
LIBC.ptrace(PTRACE_SETOPTIONS, traced, None, ctypes.c_void_p(PTRACE_O_TRACEEXIT))
LIBC.ptrace(PTRACE_CONT, traced, None, None)
found = LIBC.wait4(traced, ctypes.byref(status), 0, None)
say("wait4", found, ctypes.addressof(status), "WSTOPSIG=SIGTRAP | PTRACE_EVENT_EXIT << 8")
LIBC.ptrace(PTRACE_GETEVENTMSG, traced, None, ctypes.byref(message))
say("message", message.value)
LIBC.ptrace(PTRACE_CONT, traced, None, None)
LIBC.wait4(traced, None, 0, None)
say("wait4", traced, 0, "NULL")

os.close(LIBC.epoll_create1(os.O_CLOEXEC))
say("epoll", os.O_CLOEXEC)
os.close(LIBC.epoll_create(1))
say("epoll", 0)
signals = ctypes.create_string_buffer(128)
os.close(LIBC.signalfd(-1, signals, os.O_NONBLOCK))
say("signalfd", os.O_NONBLOCK)
