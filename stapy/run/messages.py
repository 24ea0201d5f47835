"""What the user reads on standard error."""

from __future__ import annotations

import os

from .printable import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional

# SystemTap's variable and its defaults, so that a user's own settings go on working.
_VARIABLE = "SYSTEMTAP_COLORS"
_DEFAULT = "error=01;31:warning=00;33"


_ERASE = "\r\033[K"


class MessagePrinter:
    """Prints errors and warnings, counts errors."""

    def __init__(
        self,
        color: str = "auto",
        tells_warnings: bool = True,
        verbose: int = 0,
        as_json: bool = False,
    ) -> None:
        self.errors = 0
        self.json = as_json  # each message is an object on a line
        self.warnings = tells_warnings
        self.verbose = verbose
        self.is_quiet = False  # only errors are news: the rest was told by a session like this one
        self.listener: Optional[Callable[[str, str], None]] = None  # hears kinds and texts as well
        self.in_line: Optional[Callable[[], bool]] = None  # asked before a message: output is
        self._colors = _colors() if _is_wanted(color) else {}
        self._has_line = False  # of progress, on the terminal

    def error(self, text: str) -> None:
        """Print an error: the exit status will say so too."""
        self.errors += 1
        self._print("error", "ERROR", text)

    def warning(self, text: str) -> None:
        """Print a warning, unless the user does not want any."""
        if self.warnings:
            self._print("warning", "WARNING", text)

    def log(self, text: str) -> None:
        """Print a text as it is."""
        if self.is_quiet and not self.verbose:
            return
        self.progress("")
        self._tell("log", text)
        self._begin_line()
        if self.json:
            _write_json("note", "note", text)
        else:
            _write(text + "\n")

    def progress(self, text: str) -> None:
        """Show one line on a terminal for what takes seconds; "" clears it."""
        if not self.has_reader:
            return
        if text:
            text = f"stapy-run: {shown(text)} …"[: _columns() - 1]
        elif not self._has_line:
            return
        self._has_line = bool(text)
        _write(f"{_ERASE}{text}")

    @property
    def has_reader(self) -> bool:
        """Tell whether somebody at a terminal reads this: others get no hints."""
        return not self.json and _is_terminal()

    def hint(self, text: str) -> None:
        """Print what only somebody at a terminal needs to be told."""
        if self.has_reader:
            self.log(f"hint: {shown(text)}")

    def note(self, text: str) -> None:
        """Print something that only -v shows."""
        if self.verbose:
            self.log(f"stapy-run: {shown(text)}")

    def _begin_line(self) -> None:
        """End the line of a terminal in which output stands, or a message would go on with it."""
        if self.in_line and self.in_line():
            _write("\n")

    def _tell(self, kind: str, text: str) -> None:
        if self.listener:
            self.listener(kind, text)

    def _print(self, kind: str, word: str, text: str) -> None:
        self.progress("")
        self._tell(kind, text)
        self._begin_line()
        if self.json:
            _write_json(kind, word, text)
            return
        color = self._colors.get(kind)
        if color:
            word = f"\033[{color}m\033[K{word}:\033[m\033[K"
        else:
            word += ":"
        # Names of others' files and symbols, and what a script says of them, are in it.
        _write(f"{word} {shown(text)}\n")


def _write_json(severity: str, kind: str, text: str) -> None:
    """Write a message with the fields that stapy's own have; docs/diagnostics.md lists them."""
    from .jsontext import line

    _write(line({"severity": severity, "kind": kind, "pass": 5, "message": text}) + "\n")


def _write(text: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    try:
        while data:
            data = data[os.write(2, data) :]
    except OSError:
        pass  # nobody reads it: the exit status still tells


def _is_wanted(color: str) -> bool:
    if color == "auto":
        return _is_terminal() and not os.environ.get("NO_COLOR")
    return color == "always"


def _is_terminal() -> bool:
    """Tell whether somebody reads standard error, where a line could be erased again."""
    return os.isatty(2) and os.environ.get("TERM", "dumb") not in ("", "dumb")


def _colors() -> "dict[str, str]":
    text = os.environ.get(_VARIABLE, _DEFAULT)
    pairs = (row.partition("=") for row in text.split(":"))
    return {kind: value for kind, equals, value in pairs if value}


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80
