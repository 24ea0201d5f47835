"""Calls what ``arming/phases.stp`` counts, with its condition false, true, false and true again.

What the kernel has armed is read from tracefs and debugfs.
"""

import ctypes
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

CALLS = 500
OFF, ON, COUNTS = 0, 1, 2  # what umask tells
# Two entries of the module's function share the first kprobe, the second is the return's.
ALL = ["ftrace", "kprobe", "kprobe"]
FENTRY = Path("/sys/kernel/tracing/enabled_functions")
KPROBES = Path("/sys/kernel/debug/kprobes/list")
PID_MAX = Path("/proc/sys/kernel/pid_max")
for kind, place in (("tracefs", FENTRY), ("debugfs", KPROBES.parent)):
    if not place.exists():
        subprocess.run(["mount", "-t", kind, "none", place.parent], check=True)
subprocess.run(["modprobe", "vsock_loopback"], check=True)
libc = ctypes.CDLL(None)


def armed():
    """List what is armed of the functions that the script names."""
    found = ["ftrace"] if "__x64_sys_getsid" in FENTRY.read_text() else []
    lines = [line for line in KPROBES.read_text().splitlines() if "vsock_create" in line]
    return found + ["kprobe" for line in lines if "[DISABLED]" not in line]


def wait_for(wanted):
    for _ in range(3000):
        if armed() == wanted:
            return
        time.sleep(0.1)
    sys.exit(f"armed: {armed()}, not {wanted}")


def work():
    for _ in range(CALLS):
        libc.getsid(0)
        socket.socket(40, 1).close()
    for number in range(10):
        PID_MAX.write_text(str(40000 + number))
    time.sleep(0.3)
    os.umask(COUNTS)


if armed():
    sys.exit(f"armed at the start: {armed()}")
work()
for _ in range(2):
    os.umask(ON)
    wait_for(ALL)
    time.sleep(0.7)  # the other families' turn
    os.umask(ON)  # counts from 0
    work()
    os.umask(OFF)
    work()
    wait_for([])
    work()
MODULES = ["vsock_loopback", "vmw_vsock_virtio_transport_common", "vsock"]
subprocess.run(["rmmod", *MODULES], check=True)
