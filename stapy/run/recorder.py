"""``--record FILE``: beside the output, all records of a session as lines of ``--format=json``."""

from __future__ import annotations

import os
import stat

from .errors import RunError
from .output import open_file
from .render import Renderer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .render import JsonRenderer


class Recorder(Renderer):
    """Hands all that comes on to ``shown``, whose output it gives, and writes it by ``told``."""

    def __init__(self, shown: Renderer, told: JsonRenderer, path: str) -> None:
        self._shown = shown
        self._told = told
        self._path = path
        try:
            self._fd = open_file(path)
        except OSError as error:
            raise RunError(f"Couldn't open '{path}' to record: {error.strerror}") from None
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            # What nobody reads would stop the session.
            os.close(self._fd)
            raise RunError(f"Couldn't open '{path}' to record: it is no regular file")

    def feed(self, block: memoryview) -> bytes:
        """Write a block, and return what it becomes for who reads the output."""
        self._write(self._told.feed(block))
        return self._shown.feed(block)

    def message(self, kind: str, text: str) -> None:
        """Learn what the user is told on standard error."""
        self._told.message(kind, text)
        self._shown.message(kind, text)

    def take(self) -> bytes:
        """Return what messages have become since the last call."""
        self._write(self._told.take())
        return self._shown.take()

    def restart(self) -> None:
        """Learn that what follows is for another file of the output."""
        self._shown.restart()

    def leave(self) -> bytes:
        """Return what was kept back so far: the session goes on without us."""
        self._write(self._told.take() + self._told.leave())
        return self._shown.leave()

    def finish(self, errors: int) -> bytes:
        """Return the end, and write it."""
        shown = self._shown.finish(errors)
        self._write(self._told.finish(errors))
        os.close(self._fd)
        return shown

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            raise RunError(f"Couldn't write '{self._path}': {error.strerror}") from None
