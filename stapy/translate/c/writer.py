"""The one owner of white space in generated C: tabs, 100 columns, kernel style."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

WIDTH = 100
TAB = 8

_CLOSERS = {"(": ")", "[": "]", "{": "}"}


class CWriter:
    """Lines of C with their depth; text is wrapped and indented only when it is printed."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str]] = []
        self._depth = 0

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, text: str) -> None:
        """Add one logical line at the present depth; tabs in front make it deeper."""
        bare = text.lstrip("\t")
        self._lines.append((self._depth + len(text) - len(bare), bare))

    def label(self, name: str) -> None:
        """Add a label; it stands one level to the left of its statements."""
        self._lines.append((-1, f"{name}:"))

    def unused_label(self, name: str) -> None:
        """Add a label that verbatim code may or may not jump to."""
        self._lines.append((-1, f"{name}: __maybe_unused;"))

    def raw(self, text: str) -> None:
        """Add text that keeps its own white space: embedded C, preprocessor lines."""
        self._lines += [(-2, part) for part in text.split("\n")]

    def blank(self) -> None:
        """Add an empty line, never two in a row nor one at the start of a block."""
        if self._lines and self._lines[-1][1] and not self._lines[-1][1].endswith("{"):
            self._lines.append((0, ""))

    def open(self, text: str) -> None:
        """Begin a block: ``text {``."""
        self.line(f"{text} {{" if text else "{")
        self._depth += 1

    def close(self, text: str = "") -> None:
        """End a block: ``}`` and what follows it (``;``)."""
        self._depth -= 1
        self.line("}" + text)

    def between(self, text: str) -> None:
        """``} text {``: else and its like."""
        self._depth -= 1
        self.open("} " + text)

    @contextmanager
    def block(self, text: str) -> Iterator[None]:
        """A braced block; one simple statement inside loses its braces, as kernel style asks."""
        start = len(self._lines)
        self.open(text)
        yield
        self._depth -= 1
        inside = self._lines[start + 1 :]
        if text and len(inside) == 1 and inside[0][1].endswith(";") and inside[0][0] >= 0:
            self._lines[start] = (self._lines[start][0], text)
        else:
            self.line("}")

    def guard(self, condition: str, *statements: str) -> None:
        """``if (condition)`` with one or more simple statements."""
        with self.block(f"if ({condition})"):
            for statement in statements:
                self.line(statement)

    @property
    def last(self) -> str:
        """Text of the last line when it stands at the present depth, else ""."""
        if not self._lines or self._lines[-1][0] != self._depth:
            return ""
        return self._lines[-1][1]

    def fall_into(self, label: str) -> int:
        """Drop what only jumps to the label that comes next; how many jumps went.

        A call whose failure jumps there stays as a plain call.
        """
        jump = f"goto {label};"
        if self.last == jump:
            self._lines.pop()
            return 1
        if self._lines[-2:] == [(self._depth + 1, jump), (self._depth, "}")]:
            return self._note_only()
        if len(self._lines) < 2 or self._lines[-1] != (self._depth + 1, jump):
            return 0
        depth, test = self._lines[-2]
        call = _tested_call(test)
        if depth != self._depth or call is None:
            return 0
        del self._lines[-2:]
        if call:
            self.line(f"{call};")
        return 1

    def _note_only(self) -> int:
        """Drop the jump at the end of a block that does one thing before it, and the braces."""
        if len(self._lines) < 4:
            return 0
        (depth, test), (inner, note) = self._lines[-4:-2]
        if depth != self._depth or inner != depth + 1 or not test.endswith(" {"):
            return 0
        if not note.endswith(";") or not test.startswith("if ("):
            return 0
        del self._lines[-4:]
        self._lines += [(depth, test[: -len(" {")]), (inner, note)]
        return 1

    def leave_at(self, label: str, jumps: int) -> int:
        """Turn jumps to a label where nothing waits into returns; how many jumps remain.

        They stay when verbatim code jumps there, too.
        """
        jump = f"goto {label};"
        if sum(text == jump for _, text in self._lines) != jumps:
            return jumps
        self._lines = [(depth, "return;" if text == jump else text) for depth, text in self._lines]
        return 0

    def mentions(self, text: str) -> bool:
        """True when a line begins with a text."""
        return any(line.startswith(text) for _, line in self._lines)

    def drop_last(self) -> None:
        """Take back the last line."""
        self._lines.pop()

    def splice(self, other: CWriter) -> None:
        """Add all lines of another writer, deeper by the present depth."""
        self._lines += [
            (depth if depth < 0 else depth + self._depth, text) for depth, text in other._lines
        ]

    def single(self) -> str | None:
        """The only line when it is one simple statement, without its semicolon."""
        if len(self._lines) == 1 and self._lines[0][0] >= 0 and self._lines[0][1].endswith(";"):
            return self._lines[0][1][:-1]
        return None

    def text(self) -> str:
        """Everything as C source, ending in a newline."""
        out: list[str] = []
        for at, (depth, text) in enumerate(self._lines):
            if depth == -2:
                out.append(text)
            elif depth == -1:
                ends = at + 1 < len(self._lines) and self._lines[at + 1][1].startswith("}")
                out.append(
                    text + " ;" if ends and not text.endswith(";") else text
                )  # C wants a statement there
            elif not text:
                out.append("")
            else:
                out += wrap(text, depth)
        return "\n".join(out) + "\n" if out else ""


def _tested_call(test: str) -> str | None:
    """The call in ``if (!call(...))``; "" for a look at what an earlier call left; else None."""
    if test == "if (unlikely(c->error))":
        return ""
    if not (test.startswith("if (!") and test.endswith("))")):
        return None
    call = test[len("if (!") : -1]
    name, _, arguments = call.partition("(")
    depth = 1
    for at, char in enumerate(arguments):
        depth += (char == "(") - (char == ")")
        if not depth:
            return call if name.isidentifier() and at == len(arguments) - 1 else None
    return None


def wrap(text: str, depth: int) -> list[str]:
    """Break one logical line at commas and operators so that it fits into 100 columns."""
    lines: list[str] = []
    indent = "\t" * depth
    room = WIDTH - TAB * depth
    while len(text) > room:
        at = _break_point(text, room)
        if at is None:
            break
        lines.append(indent + text[:at].rstrip())
        text = text[at:].lstrip()
        indent = "\t" * (depth + 2)
        room = WIDTH - TAB * (depth + 2)
    lines.append(indent + text)
    return lines


def _break_point(text: str, room: int) -> int | None:
    """The last good place to break before ``room``: lowest bracket depth wins, then the right."""
    best: tuple[int, int] | None = None
    nesting = 0
    at = 0
    length = len(text)
    while at < min(length, room):
        char = text[at]
        if char in "\"'":
            at += 1
            while at < length and text[at] != char:
                at += 2 if text[at] == "\\" else 1
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            at = length if end < 0 else end + 1
        elif char in _CLOSERS:
            nesting += 1
        elif char in ")]}":
            nesting -= 1
        elif (
            char == " "
            and at > 0
            and (text[at - 1] in ",;" or text[at - 2 : at] in ("&&", "||") or text[at - 1] in "?:=")
        ):
            weight = nesting if text[at - 1] in ",;" else nesting + 1
            if at < room and (best is None or weight <= best[0]):
                best = (weight, at)
        at += 1
    return best[1] if best else None
