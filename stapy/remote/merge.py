"""Output of several hosts as one text: whole lines in the order in which they come."""

from __future__ import annotations

# A line that is longer comes in pieces, each with its prefix: memory is not for the hosts to fill.
LONGEST = 1 << 20


class LineStream:
    """One stream of one host.

    A stream that has the output for itself passes as it comes, a line begun is seen at once.
    """

    def __init__(self, prefix: str, is_alone: bool) -> None:
        self._prefix = prefix.encode()
        self._passes = is_alone and not prefix
        self._begun = b""

    def feed(self, data: bytes) -> bytes:
        """Return what can be written now that ``data`` has come."""
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
