"""Output of several hosts as one text: whole lines in the order in which they come."""

from __future__ import annotations

# A line that is longer comes in pieces, each with its prefix: memory is not for the hosts to fill.
LONGEST = 1 << 20
MARK = b"stapy-remote begins\n"  # the first line of what a parcel prints
_SHOWN = 4096  # bytes of what was left out


class LineStream:
    """One stream of one host.

    A stream that has the output for itself passes as it comes, a line begun is seen at once.
    What comes before a ``mark`` is left out: login scripts may print.
    """

    def __init__(self, prefix: str, is_alone: bool, mark: bytes = b"") -> None:
        self._prefix = prefix.encode()
        self._passes = is_alone and not prefix
        self._begun = b""
        self._mark = mark
        self.before = b""  # what came last before the mark

    @property
    def has_begun(self) -> bool:
        """Tell whether the mark has come."""
        return not self._mark

    def feed(self, data: bytes) -> bytes:
        """Return what can be written now that ``data`` has come."""
        if self._mark:
            before, found, data = (self.before + data).partition(self._mark)
            self.before = before[-_SHOWN:]
            if not found:
                return b""
            self._mark = b""
        if self._passes:
            return data
        text = self._begun + data
        end = text.rfind(b"\n") + 1
        if len(text) - end > LONGEST:
            text, self._begun = text + b"\n", b""
        else:
            text, self._begun = text[:end], text[end:]
        return self._marked(text)

    def finish(self) -> bytes:
        """Return what is left at the end; a last line without its end gets one."""
        text, self._begun = self._begun, b""
        return self._marked(text + b"\n") if text else b""

    def _marked(self, text: bytes) -> bytes:
        if not self._prefix:
            return text
        lines = text.split(b"\n")[:-1]  # splitlines() would take a carriage return for an end
        return b"".join(self._prefix + line + b"\n" for line in lines)
