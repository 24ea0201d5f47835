"""A connection by TCP from 127.0.0.2 to this very process that loses what comes first.

Words: the port; ``answer`` for a server that asks for the client's data before it takes the
connection, so that the answer to its SYN is sent again.  What is waited for is this connection's
own: others on a busy machine send again, too.
"""

import _socket  # the module around it takes the emulator seconds
import array
import struct
import sys
import time

ATTACH, DETACH, DEFER = 26, 27, 9  # SO_ATTACH_FILTER, SO_DETACH_FILTER, TCP_DEFER_ACCEPT
INFO, RETRANSMITTED = 11, 100  # TCP_INFO, and where it has how many segments were sent again
ESTABLISHED = "01"


def data_sent_again() -> bool:
    """Tell whether the client has sent a segment again."""
    info = client.getsockopt(_socket.IPPROTO_TCP, INFO, RETRANSMITTED + 4)
    return struct.unpack_from("I", info, RETRANSMITTED)[0] > 0


def answer_sent_again() -> bool:
    """Tell whether the server has the connection, as it has when its answer was answered again."""
    with open("/proc/net/tcp") as table:  # noqa: PTH123
        rows = [line.split() for line in table]
    return any(row[1] == f"0100007F:{port:04X}" and row[3] == ESTABLISHED for row in rows)


port = int(sys.argv[1])
is_answer = "answer" in sys.argv
server = _socket.socket()
server.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
if is_answer:
    server.setsockopt(_socket.IPPROTO_TCP, DEFER, 1)
server.bind(("127.0.0.1", port))
server.listen(7)
client = _socket.socket()
client.bind(("127.0.0.2", 0))
client.connect(("127.0.0.1", port))
if not is_answer:
    number, _ = server._accept()
    taken = _socket.socket(fileno=number)
    nothing = array.array("B", struct.pack("HBBI", 6, 0, 0, 0))  # a filter that keeps no packet
    taken.setsockopt(_socket.SOL_SOCKET, ATTACH, struct.pack("HQ", 1, nothing.buffer_info()[0]))
    client.send(b"x" * 990)
while not (answer_sent_again() if is_answer else data_sent_again()):
    time.sleep(0.05)
if not is_answer:
    taken.setsockopt(_socket.SOL_SOCKET, DETACH, 0)
    taken.recv(2000)
