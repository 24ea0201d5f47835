"""Traffic of every kind that the counters of IP and TCP know, in a guest whose only device is lo.

Prints what the kernel itself counted meanwhile.
"""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct
import time
from pathlib import Path

NET = Path("/proc/sys/net/ipv4")


def counters() -> dict[str, int]:
    """Read what the kernel counts, by name."""
    found: dict[str, int] = {}
    for name, kind in (("snmp", "Ip:"), ("netstat", "TcpExt:")):
        names, values = (
            line.split()[1:]
            for line in Path("/proc/net", name).read_text().splitlines()
            if line.startswith(kind)
        )
        found.update(zip(names, map(int, values), strict=True))
    return found


def set_mtu(size: int) -> None:
    """Let lo take packets of ``size`` bytes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16si12x", b"lo", size)
        fcntl.ioctl(any_socket, 0x8922, request)  # SIOCSIFMTU


def add_route(network: str, mtu: int) -> None:
    """Add a route for 256 addresses to lo, with a size of packets that holds."""
    header = struct.pack("=BBBBBBBBI", socket.AF_INET, 24, 0, 0, 254, 4, 253, 1, 0)
    body = struct.pack("=HH4s", 8, 1, socket.inet_aton(network))  # RTA_DST
    body += struct.pack("=HHI", 8, 4, socket.if_nametoindex("lo"))  # RTA_OIF
    if mtu:
        metrics = struct.pack("=HHI", 8, 1, 1 << 2) + struct.pack("=HHI", 8, 2, mtu)
        body += struct.pack("=HH", 4 + len(metrics), 8) + metrics  # RTA_METRICS: lock, mtu
    length = 16 + len(header) + len(body)
    message = struct.pack("=IHHII", length, 24, 0x605, 1, 0) + header + body  # RTM_NEWROUTE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(message)
        answer = netlink.recv(4096)
        assert struct.unpack_from("=i", answer, 16)[0] == 0, answer


def packet(target: str, size: int, *, ttl: int = 9, flags: int = 0, kind: int = 17) -> None:
    """Send a packet of our own making through lo, as if another machine had sent it."""
    addresses = socket.inet_aton("10.1.1.1") + socket.inet_aton(target)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + size, 7, flags, ttl, kind, 0) + addresses
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    head = head[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + head[12:]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind(("lo", 0x800))
        raw.send(bytes(12) + b"\x08\x00" + head + bytes(size))


def ip() -> None:
    """Send packets of IP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 5353))
        for _ in range(10):
            udp.sendto(bytes(100), ("127.0.0.1", 5353))
        for _ in range(2):
            udp.sendto(bytes(4000), ("127.0.0.1", 5353))  # three fragments each
    packet("127.0.0.1", 20, kind=253)  # from a stranger to loopback: dropped
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        addresses = socket.inet_aton("127.0.0.1") * 2
        head = struct.pack("!BBHHHBBH", 0x45, 0, 24, 7, 0, 9, 253, 0) + addresses
        raw.sendto(head + bytes(4), ("127.0.0.1", 0))  # no such protocol
    for _ in range(3):
        packet("10.9.9.9", 20)  # not for us
    for name in ("conf/lo/forwarding", "ip_forward"):
        (NET / name).write_text("1")
    for _ in range(2):
        packet("10.9.9.9", 20)  # no route
    add_route("10.9.7.0", 0)
    add_route("10.9.8.0", 600)
    packet("10.9.7.1", 20, ttl=2)  # passed on once, then too old
    packet("10.9.8.1", 1000, flags=0x4000)  # too long, not to be cut
    (NET / "ipfrag_time").write_text("1")
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        head = struct.pack("!BBHHHBBH", 0x45, 0, 28, 8, 0x2000, 9, 17, 0) + addresses
        raw.sendto(head + bytes(8), ("127.0.0.1", 0))  # the rest never comes
    time.sleep(1.5)


def tcp() -> None:
    """Make connections of TCP."""
    with socket.socket() as server, contextlib.ExitStack() as stack:
        server.bind(("127.0.0.1", 4260))
        server.listen(0)
        client = stack.enter_context(socket.create_connection(("127.0.0.1", 4260)))
        for _ in range(3):
            with socket.socket() as late, contextlib.suppress(OSError):
                late.settimeout(0.2)
                late.connect(("127.0.0.1", 4260))  # the queue is full
        other = stack.enter_context(server.accept()[0])
        other.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        client.setsockopt(socket.SOL_SOCKET, 32, 8 << 20)  # SO_SNDBUFFORCE
        client.send(b"x")
        time.sleep(0.5)  # the acknowledgement goes alone
        (NET / "tcp_mem").write_text("1 1 100000")
        with contextlib.suppress(OSError):
            client.settimeout(1)
            for _ in range(500):
                client.send(bytes(10000))


def main() -> None:
    """All of it."""
    set_mtu(1500)
    before = counters()
    ip()
    tcp()
    after = counters()
    for name in [
        "ForwDatagrams",
        "FragFails",
        "FragOKs",
        "InAddrErrors",
        "InReceives",
        "InUnknownProtos",
        "OutRequests",
        "ReasmReqds",
        "ReasmTimeout",
        "DelayedACKs",
        "ListenDrops",
        "ListenOverflows",
        "TCPMemoryPressures",
    ]:
        print(f"kernel {name} {after[name] - before[name]}")


if __name__ == "__main__":
    main()
