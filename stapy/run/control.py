"""The module's files in /proc: commands in, messages out, and the output itself."""

from __future__ import annotations

import errno
import os

from .errors import GoneError, RunError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional, Sequence, Tuple

BLOCK = 1 << 16
_FETCH = 0x5354  # runtime/transport/files.c


def folder_of(name: str, proc: str = "/proc") -> str:
    """Return the folder of a module's files."""
    return f"{proc}/stapy_{name}"


class Channel:
    """The open files of one module.

    ``outputs`` has one descriptor, or in bulk mode one for each of ``cpus``.  ``records`` says
    what the prints tell, of a module made with --format.
    """

    def __init__(self, control: int, outputs: List[int], cpus: "Sequence[int]" = ()) -> None:
        self.control = control
        self.outputs = outputs
        self.cpus = list(cpus)
        self.records: Optional[str] = None
        self.name = ""  # of the module, where somebody else has opened them
        self._part = b""

    @classmethod
    def open(cls, folder: str) -> Channel:
        """Open what a freshly loaded (or detached) module offers."""
        flags = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            control = os.open(folder + "/control", flags)
        except OSError as error:
            if error.errno == errno.EBUSY:
                raise RunError("another consumer is attached to this module") from None
            gone = error.errno in (errno.ENOENT, errno.ENODEV)
            raise (GoneError if gone else RunError)(
                f"Couldn't open control channel '{folder}/control': {error.strerror}"
            ) from None
        try:
            there = os.listdir(folder)
            names = sorted(
                (name for name in there if name.startswith("output")),
                key=lambda name: int(name[len("output") :] or "0"),
            )
            reading = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
            outputs = [os.open(f"{folder}/{name}", reading) for name in names]
            records = _read(f"{folder}/records") if "records" in there else None
        except (OSError, ValueError) as error:
            os.close(control)
            raise RunError(f"Couldn't open the output of '{folder}': {error}") from None
        cpus = [int(name[len("output") :]) for name in names if name != "output"]
        channel = cls(control, outputs, cpus)
        channel.records = records
        return channel

    def send(self, text: str) -> None:
        """Write one command."""
        os.write(self.control, text.encode() + b"\n")

    def ask(self, text: str) -> None:
        """Write a command whose answer comes as messages; none comes of a module that is older."""
        try:
            self.send(text)
        except OSError:
            pass

    def hold(self, path: bytes, fd: int) -> None:
        """Hand over an open file that probe points name by this path."""
        os.write(self.control, b"file %d %s" % (fd, path))

    def write(self, data: bytes) -> None:
        """Write a command with data behind its line, as one."""
        os.write(self.control, data)

    def fetch(self, number: int) -> int:
        """Open a file that a message asks for; return the descriptor."""
        import fcntl

        return int(fcntl.ioctl(self.control, _FETCH, number))

    def dismiss(self) -> None:
        """Say that we shall remove the module: else, after our end, it has that done."""
        try:
            self.send("dismiss")
        except OSError:
            pass  # then both try

    def messages(self) -> "Tuple[List[Tuple[str, str]], bool]":
        """Read the messages that are there now, as (type, text), and whether more can come."""
        try:
            data = os.read(self.control, BLOCK)
        except BlockingIOError:
            return [], True
        except OSError:
            return [], False
        *lines, self._part = (self._part + data).split(b"\n")
        found = []
        for line in lines:
            kind, _, text = line.partition(b" ")
            found.append((kind.decode("ascii", "replace"), unescape(text)))
        return found, bool(data)

    def detach(self) -> None:
        """Close all of them and leave the session as it was found."""
        self.ask("detach")
        self.close()

    def close(self) -> None:
        """Close all of them: a module that was not stopped stops now."""
        for fd in (*self.outputs, self.control):
            try:
                os.close(fd)
            except OSError:
                pass
        self.outputs = []


def _read(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()


def unescape(text: bytes) -> str:
    r"""Decode the text of a message, in which a newline is ``\n`` and a backslash ``\\``."""
    if b"\\" in text:
        pieces = text.split(b"\\\\")
        text = b"\\".join(piece.replace(b"\\n", b"\n") for piece in pieces)
    return text.decode("utf-8", "surrogateescape")
