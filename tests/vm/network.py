"""A network for guests that must be reached from here; others have none."""

from __future__ import annotations

import socket

# What a host of Debian has as well: a device that is up, and an address.
SETUP = """
modprobe virtio_net
for device in /sys/class/net/e*; do device=${device##*/}; done
busybox ip link set $device up
busybox ip addr add 10.0.2.15/24 dev $device
"""


def free_port() -> int:
    """Find a port of this machine that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def forwarded(port: int, guest_port: int) -> list[str]:
    """List QEMU's words for a network where a port of this machine leads to one of the guest.

    The guest reaches nothing by it.  What connects is taken before anybody listens there.
    """
    rule = f"hostfwd=tcp:127.0.0.1:{port}-:{guest_port}"
    words = ["-netdev", f"user,id=net,restrict=on,{rule}"]
    return [*words, "-device", "virtio-net-pci,netdev=net"]
