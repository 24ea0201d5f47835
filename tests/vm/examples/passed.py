"""A file, a socket and a pipe are handed through a socket of the machine."""

import os
import socket

here, there = socket.socketpair()
pipe, _ = os.pipe()
with open("/etc/hostname") as file:  # noqa: PTH123
    socket.send_fds(here, [b"x"], [file.fileno(), there.fileno(), pipe])
socket.recv_fds(there, 9, 9)
