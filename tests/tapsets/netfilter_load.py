"""Network namespaces joined by virtual cables, and the packets that go through them.

Said by arguments: ``route`` sends from one machine to another over a third that routes, ``bridge``
over one that bridges, ``tree`` lets two bridges talk of their spanning tree, ``drop`` sends on lo
what a script is to drop.  All addresses, names and ports are fixed.  What the network does besides
(neighbours of IPv6, multicast) is switched off or goes to other addresses.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_NETWORK = 0x40000000
NEW_LINK, SET_LINK, NEW_ADDRESS, NEW_ROUTE = 16, 19, 20, 24
REQUEST_NEW = 1 | 4 | 0x400  # REQUEST, ACK, CREATE
MODULES = ["bridge", "stp", "llc", "veth"]


def say(*words: object) -> None:
    """Write one line in one piece: the consumer writes to this pipe, Python may be unbuffered."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def attribute(kind: int, value: bytes | str | int) -> bytes:
    """Encode one attribute of netlink, padded."""
    if isinstance(value, str):
        value = value.encode() + b"\0"
    elif isinstance(value, int):
        value = struct.pack("I", value)
    return struct.pack("HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def ask(kind: int, body: bytes) -> None:
    """Send a request to the kernel's routing, in this process's namespace."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(struct.pack("IHHII", 16 + len(body), kind, REQUEST_NEW, 1, 0) + body)
        code = struct.unpack_from("i", netlink.recv(65536), 16)[0]
    if code:
        raise OSError(-code, os.strerror(-code))


def link(index: int = 0, flags: int = 0, family: int = 0) -> bytes:
    """Encode a struct ifinfomsg."""
    return struct.pack("BxHiII", family, 0, index, flags, flags)


def cable(name: str, mac: str, peer: str, peer_mac: str, process: int) -> None:
    """Make a pair of devices, the second of which is in the namespace of a process."""
    other = link() + attribute(3, peer) + attribute(1, bytes.fromhex(peer_mac))
    other += attribute(19, process)
    info = attribute(1, "veth") + attribute(2, attribute(1, other))
    body = link() + attribute(3, name) + attribute(1, bytes.fromhex(mac)) + attribute(18, info)
    ask(NEW_LINK, body)


def bridge(name: str, mac: str, ports: list[str], spanning_tree: bool) -> None:
    """Make a bridge with its ports, switched on."""
    data = attribute(1, 200) + attribute(5, int(spanning_tree))  # forward delay: 2 s
    info = attribute(1, "bridge") + attribute(2, data)
    ask(
        NEW_LINK,
        link() + attribute(3, name) + attribute(1, bytes.fromhex(mac)) + attribute(18, info),
    )
    for port in ports:
        ask(
            SET_LINK, link(socket.if_nametoindex(port)) + attribute(10, socket.if_nametoindex(name))
        )
        switch_on(port)
    switch_on(name)


def switch_on(name: str) -> None:
    """Let a device work, without the neighbours' talk of IPv6 on it."""
    with contextlib.suppress(OSError):
        Path(f"/proc/sys/net/ipv6/conf/{name}/accept_dad").write_text("0")
        Path(f"/proc/sys/net/ipv6/conf/{name}/router_solicitations").write_text("0")
    ask(SET_LINK, link(socket.if_nametoindex(name), 1))


def address(name: str, text: str, bits: int) -> None:
    """Give a device an address."""
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    value = socket.inet_pton(family, text)
    body = struct.pack("BBBBi", family, bits, 0x02, 0, socket.if_nametoindex(name))
    ask(NEW_ADDRESS, body + attribute(1, value) + attribute(2, value))


def default_route(text: str) -> None:
    """Send what is for elsewhere there."""
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    body = struct.pack("BBBBBBBBI", family, 0, 0, 0, 254, 4, 0, 1, 0)
    ask(NEW_ROUTE, body + attribute(5, socket.inet_pton(family, text)))


class Machine:
    """A process in a network of its own that does what it is told, one call after the other."""

    def __init__(self) -> None:
        self._here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = os.fork()
        if not self.process:
            self._here.close()
            self._serve(there)
        there.close()
        self._network = Path(f"/proc/{self.process}/ns/net")
        self._here.recv(1)

    @staticmethod
    def _serve(there: socket.socket) -> None:
        if LIBC.unshare(NEW_NETWORK):
            os._exit(1)
        switch_on("lo")
        there.send(b"1")
        signal.pause()
        os._exit(0)

    def do(self, work: Callable[[], object]) -> None:
        """Run a function in the machine's network."""
        child = os.fork()
        if not child:
            try:
                with self._network.open() as space:
                    if LIBC.setns(space.fileno(), NEW_NETWORK):
                        raise OSError(ctypes.get_errno(), "setns")
                work()
            except BaseException as error:
                say(f"failed: {error!r}")
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            raise SystemExit("a machine failed")

    def socket(self, family: int, kind: int, protocol: int = 0) -> socket.socket:
        """Open a socket in the machine's network, for this process."""
        with (
            Path(f"/proc/{os.getpid()}/ns/net").open() as own,
            self._network.open() as space,
        ):
            LIBC.setns(space.fileno(), NEW_NETWORK)
            try:
                return socket.socket(family, kind, protocol)
            finally:
                LIBC.setns(own.fileno(), NEW_NETWORK)

    def end(self) -> None:
        """Switch it off; its devices go with it."""
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def bound(machine: Machine, where: str, port: int, kind: int = socket.SOCK_DGRAM) -> socket.socket:
    """Open a socket of a machine, bound, that waits for 20 s."""
    made = machine.socket(socket.AF_INET6 if ":" in where else socket.AF_INET, kind)
    made.settimeout(20)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((where, port))
    return made


def ping(machine: Machine, target: str) -> None:
    """Send one echo request of 64 bytes and receive its reply."""
    raw = machine.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    raw.settimeout(20)
    head = struct.pack("!BBHHH", 8, 0, 0, 77, 1)
    total = sum(struct.unpack("!32H", head + b"s" * 56))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    raw.sendto(head[:2] + struct.pack("!H", checksum) + head[4:] + b"s" * 56, (target, 0))
    say("ping", len(raw.recv(1000)))


def route() -> list[Machine]:
    """Make a machine, a router, another machine."""
    left, middle, right = Machine(), Machine(), Machine()

    def wire() -> None:
        cable("r0", "02000000aa01", "a0", "02000000aa02", left.process)
        cable("r1", "02000000bb01", "b0", "02000000bb02", right.process)
        for name, four, six in (("r0", "10.1.0.1", "fd01::1"), ("r1", "10.2.0.1", "fd02::1")):
            switch_on(name)
            address(name, four, 24)
            address(name, six, 64)
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        Path("/proc/sys/net/ipv6/conf/all/forwarding").write_text("1")

    def end_of(name: str, net: int) -> Callable[[], None]:
        def work() -> None:
            switch_on(name)
            address(name, f"10.{net}.0.2", 24)
            address(name, f"fd0{net}::2", 64)
            default_route(f"10.{net}.0.1")
            default_route(f"fd0{net}::1")

        return work

    middle.do(wire)
    left.do(end_of("a0", 1))
    right.do(end_of("b0", 2))
    for source, target in (("10.1.0.2", "10.2.0.2"), ("fd01::2", "fd02::2")):
        sender, receiver = bound(left, source, 4001), bound(right, target, 4002)
        sender.sendto(b"u" * 77, (target, 4002))
        say("got", *receiver.recvfrom(1000)[1][:2])
    ping(left, "10.2.0.2")
    listener = bound(right, "10.2.0.2", 4004, socket.SOCK_STREAM)
    listener.listen()
    caller = bound(left, "10.1.0.2", 4003, socket.SOCK_STREAM)
    caller.connect(("10.2.0.2", 4004))
    answer = listener.accept()[0]
    caller.send(b"t" * 11)
    answer.recv(100)
    caller.close()
    answer.close()
    return [left, middle, right]


def bridged() -> list[Machine]:
    """Make two machines at one bridge, which has an address of its own."""
    left, middle, right = Machine(), Machine(), Machine()

    def wire() -> None:
        cable("p0", "02000000aa01", "a0", "02000000aa02", left.process)
        cable("p1", "02000000bb01", "b0", "02000000bb02", right.process)
        bridge("br0", "02000000cc01", ["p0", "p1"], False)
        address("br0", "10.3.0.3", 24)

    def end_of(name: str, number: int) -> Callable[[], None]:
        def work() -> None:
            switch_on(name)
            address(name, f"10.3.0.{number}", 24)

        return work

    middle.do(wire)
    left.do(end_of("a0", 1))
    right.do(end_of("b0", 2))
    sender = bound(left, "10.3.0.1", 4001)
    for machine, target in ((right, "10.3.0.2"), (middle, "10.3.0.3")):
        receiver = bound(machine, target, 4002)
        sender.sendto(b"u" * 77, (target, 4002))
        say("got", *receiver.recvfrom(1000)[1])
        receiver.sendto(b"v" * 55, ("10.3.0.1", 4001))
        say("back", *sender.recvfrom(1000)[1])
    return [left, middle, right]


def tree() -> list[Machine]:
    """Make two bridges; the first has the smaller address, so it is the root."""
    root, other = Machine(), Machine()

    def wire() -> None:
        cable("p0", "02000000aa01", "q0", "02000000aa02", other.process)

    root.do(wire)
    other.do(lambda: bridge("br1", "02000000cc02", ["q0"], True))
    root.do(lambda: bridge("br0", "02000000cc01", ["p0"], True))
    time.sleep(5)
    return [root, other]


def drop() -> list[Machine]:
    """Send packets on lo to ports of which a script drops some."""
    for family, where in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        for port in range(4010, 4016):
            with socket.socket(family, socket.SOCK_DGRAM) as receiver:
                receiver.settimeout(0.5)
                receiver.bind((where, port))
                try:
                    receiver.sendto(b"d" * 33, (where, port))
                    what = f"got {len(receiver.recv(100))}"
                except TimeoutError:
                    what = "nothing came"
                except OSError as error:
                    what = errno.errorcode[error.errno or 0]
                say(where, port, what)
    return []


def main() -> None:
    """Do what the arguments say, and leave nothing behind."""
    kinds = {"route": route, "bridge": bridged, "tree": tree, "drop": drop}
    for word in sys.argv[1:]:
        if word != "drop":
            subprocess.run(["modprobe", "-a", "veth", "bridge"], check=True)
        for machine in kinds[word]():
            machine.end()
        if word != "drop":
            time.sleep(0.5)
            subprocess.run(["rmmod", *MODULES], check=True)


main()
