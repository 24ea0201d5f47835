"""A connection by TCP from 127.0.0.2 to this very process that loses what comes first.

Words: the port; ``answer`` for a server that asks for the client's data before it takes the
connection, so that the answer to its SYN is sent again.
"""

import _socket  # the module around it takes the emulator seconds
import array
import struct
import sys
import time

ATTACH, DETACH, DEFER = 26, 27, 9  # SO_ATTACH_FILTER, SO_DETACH_FILTER, TCP_DEFER_ACCEPT


def sent_again() -> int:
    """Return how many segments the kernel has sent again so far."""
    with open("/proc/net/snmp") as table:  # noqa: PTH123
        names, values = (line.split() for line in table if line.startswith("Tcp:"))
    return int(values[names.index("RetransSegs")])


server = _socket.socket()
server.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
if "answer" in sys.argv:
    server.setsockopt(_socket.IPPROTO_TCP, DEFER, 5)
server.bind(("127.0.0.1", int(sys.argv[1])))
server.listen(7)
client = _socket.socket()
client.bind(("127.0.0.2", 0))
before = sent_again()
client.connect(("127.0.0.1", int(sys.argv[1])))
if "answer" not in sys.argv:
    number, _ = server._accept()
    taken = _socket.socket(fileno=number)
    nothing = array.array("B", struct.pack("HBBI", 6, 0, 0, 0))  # a filter that keeps no packet
    taken.setsockopt(_socket.SOL_SOCKET, ATTACH, struct.pack("HQ", 1, nothing.buffer_info()[0]))
    client.send(b"x" * 990)
while sent_again() == before:
    time.sleep(0.05)
if "answer" not in sys.argv:
    taken.setsockopt(_socket.SOL_SOCKET, DETACH, 0)
    taken.recv(2000)
