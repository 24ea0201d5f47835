"""The language of the one serial port between host and guest: typed, counted frames.

Shared by the host and by the guest's agent, hence only cheap imports.  A frame
is a type byte, the length of its payload (4 bytes, little endian), the payload.
"""

from __future__ import annotations

import struct

HEAD = struct.Struct("<cI")

# host to guest
EXEC = b"X"  # a `Command`
STDIN = b"I"  # bytes; empty: end of file
SIGNAL = b"S"  # number in decimal, for the process group of the command
GONE = b"G"  # `STDOUT` or `STDERR`: nobody reads that stream any more

# guest to host
HELLO = b"H"  # release of the guest's kernel
STDOUT = b"O"
STDERR = b"E"
HEARD = b"A"  # a SIGNAL has arrived
DMESG = b"D"  # kernel messages since the command started
STATUS = b"Z"  # exit status as a shell counts it (128 + signal), modules that were left loaded

LARGEST = 1 << 24


def pack(kind: bytes, payload: bytes = b"") -> bytes:
    """Encode one frame as bytes."""
    return HEAD.pack(kind, len(payload)) + payload


class Decoder:
    """Cuts a stream of bytes into frames, whatever pieces it arrives in."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """Take more bytes, give the frames that are complete now."""
        self._data += data
        frames = []
        at = 0
        while len(self._data) - at >= HEAD.size:
            kind, length = HEAD.unpack_from(self._data, at)
            if length > LARGEST:
                raise ValueError(f"frame of {length} bytes")
            end = at + HEAD.size + length
            if len(self._data) < end:
                break
            frames.append((kind, bytes(self._data[at + HEAD.size : end])))
            at = end
        del self._data[:at]
        return frames


class Command:
    """What the guest shall run.

    Encoded as strings with NUL between them, for nothing in a command line or
    an environment can hold a NUL (and importing json takes 0.2 s in a guest).
    """

    def __init__(
        self,
        argv: list[str],
        env: dict[str, str],
        cwd: str = "/",
        has_stdin: bool = False,
    ) -> None:
        self.argv = argv
        self.env = env
        self.cwd = cwd
        self.stdin = has_stdin

    def encode(self) -> bytes:
        """Encode the command as the payload of an `EXEC` frame."""
        parts = [self.cwd, "1" if self.stdin else "0", str(len(self.argv)), *self.argv]
        parts += [f"{name}={value}" for name, value in self.env.items()]
        return "\0".join(parts).encode("utf-8", "surrogateescape")

    @classmethod
    def decode(cls, payload: bytes) -> Command:
        """Decode the command in the payload of an `EXEC` frame."""
        cwd, stdin, count, *rest = payload.decode("utf-8", "surrogateescape").split("\0")
        argv, pairs = rest[: int(count)], rest[int(count) :]
        env = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        return cls(argv, env, cwd, stdin == "1")
