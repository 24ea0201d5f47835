"""A connection by TCP from 127.0.0.2 to this process: 990 bytes, 5 back. Word: the port."""

import _socket  # the module around it takes the emulator seconds
import sys

port = int(sys.argv[1])
server = _socket.socket()
server.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", port))
server.listen(7)
client = _socket.socket()
client.bind(("127.0.0.2", 0))
client.connect(("127.0.0.1", port))
number, _ = server._accept()
taken = _socket.socket(fileno=number)
client.send(b"x" * 990)
taken.recv(2000)
taken.send(b"hello")
client.recv(10)
client.close()
taken.close()
server.close()
