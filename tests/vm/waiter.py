"""A process of a guest that waits in the kernel from before a session until its load wakes it.

The kernel's own threads will not do: which of them sleep with a time-out, and when they wake,
is chance, and what a row says of all others may be as much as it may say before they do.
"""

from __future__ import annotations

from pathlib import Path

import stapy

NAME = "stapy-waiter"

# Waits with a time-out, so in schedule_timeout(); the consumer is started once it does.
PROGRAM = f"""
import os, socket, struct, sys, time
end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
end.bind("\\0{NAME}")
end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("qq", 600, 0))
told, tell = os.pipe()
if not os.fork():
    waiter = os.fork()
    if waiter:
        os.write(tell, str(waiter).encode())
        os._exit(0)
    for fd in 0, 1, 2, told, tell:
        os.close(fd)
    open("/proc/self/comm", "w").write("{NAME}")
    end.recv(1)
    os._exit(0)
os.wait()
waiter = int(os.read(told, 20))
while not open(f"/proc/{{waiter}}/syscall").read().startswith("45 "):  # recvfrom
    time.sleep(0.01)
os.execvp(sys.argv[1], sys.argv[1:])
"""

# A piece of a load, in Python.
WAKE = f"""
import socket, time
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "\\0{NAME}")
time.sleep(0.1)
"""


def command() -> tuple[str, ...]:
    """List the words before those of the consumer, which must find its package by itself."""
    root = Path(stapy.__file__).parents[1]
    return "env", f"PYTHONPATH={root}", "python3", "-S", "-c", PROGRAM
