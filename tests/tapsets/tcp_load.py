"""TCP of every kind that its counters know, in a guest whose only device is lo."""

from __future__ import annotations

import contextlib
import socket
import struct
import time

RST_AT_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER: at once


def talk(family: socket.AddressFamily, host: str, port: int, size: int, packet: int = 0) -> None:
    """Make one connection whose other end resets it, and one that is refused."""
    with socket.socket(family) as server, socket.socket(family) as none:
        server.bind((host, port))
        server.listen()
        if packet:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, packet)
        client = socket.create_connection((host, port))
        other = server.accept()[0]
        client.sendall(bytes(size))
        left = size
        while left:
            left -= len(other.recv(left))
        other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST_AT_CLOSE)
        other.close()
        client.close()
        assert none.connect_ex((host, port + 1))


def checksum(data: bytes) -> int:
    """Compute the Internet's sum."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ask_and_forget(port: int) -> None:
    """Ask for a connection that nobody here wants: the answer to the answer is a reset."""
    addresses = socket.inet_aton("127.0.0.1") * 2
    head = struct.pack("!HHIIBBHHH", 4299, port, 1000, 0, 0x50, 2, 1000, 0, 0)
    total = checksum(addresses + struct.pack("!HH", 6, len(head)) + head)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP) as raw:
        raw.sendto(head[:16] + struct.pack("!H", total) + head[18:], ("127.0.0.1", 0))


def main() -> None:
    """All of it."""
    talk(socket.AF_INET, "127.0.0.1", 4251, 99)
    talk(socket.AF_INET, "127.0.0.1", 4254, 40_000, 1000)  # in segments of many packets each
    talk(socket.AF_INET6, "::1", 4257, 99)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 4260))
        server.listen(0)
        ask_and_forget(4260)
        with socket.create_connection(("127.0.0.1", 4260)), socket.socket() as late:
            late.settimeout(1.5)  # the queue is full: asked again after a second
            with contextlib.suppress(OSError):
                late.connect(("127.0.0.1", 4260))
    with socket.socket() as server:
        server.bind(("127.0.0.1", 4263))
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 1)
        server.listen()
        with socket.create_connection(("127.0.0.1", 4263)):
            time.sleep(1.5)  # without data the answer is repeated after a second
    time.sleep(0.3)


main()
