"""Three connections by TCP to a server that takes none. Word: the port."""

import _socket  # the module around it takes the emulator seconds
import sys

place = ("127.0.0.1", int(sys.argv[1]))
server = _socket.socket()
server.bind(place)
server.listen(7)
clients = [_socket.socket() for _ in range(3)]
for client in clients:
    client.connect(place)
