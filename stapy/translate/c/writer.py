"""The one owner of white space in generated C: tabs, 100 columns, kernel style."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

WIDTH = 100
TAB = 8

_CLOSERS = {"(": ")", "[": "]", "{": "}"}


class Jump(str):
    """A statement that leaves the straight run, and the label it goes to ("": C's own words)."""

    label: str

    def __new__(cls, text: str, label: str = "") -> Jump:
        """Make one of its text."""
        made = super().__new__(cls, text)
        made.label = label
        return made


class Line(NamedTuple):
    """A logical line and what it is, where that is asked for later.

    ``jump`` is the label that the line, a jump and nothing else, goes to; ``call`` the call
    that a test looks at, "" when it was made before; ``result`` what is given to ``ret``.
    """

    depth: int
    text: str
    jump: str | None = None
    call: str | None = None
    result: str | None = None


BREAK, CONTINUE = Jump("break;"), Jump("continue;")


class CWriter:
    """Lines of C with their depth; text is wrapped and indented only when it is printed."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._depth = 0

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, text: str) -> None:
        """Add one logical line at the present depth; tabs in front make it deeper."""
        bare = text.lstrip("\t")
        jump = text.label if isinstance(text, Jump) else None
        self._lines.append(Line(self._depth + len(text) - len(bare), bare, jump))

    def result(self, value: str) -> None:
        """Give the function its result; more may come before it returns."""
        self._lines.append(Line(self._depth, f"ret = {value};", result=value))

    def label(self, name: str) -> None:
        """Add a label; it stands one level to the left of its statements."""
        self._lines.append(Line(-1, f"{name}:"))

    def unused_label(self, name: str) -> None:
        """Add a label that verbatim code may or may not jump to."""
        self._lines.append(Line(-1, f"{name}: __maybe_unused;"))

    def raw(self, text: str) -> None:
        """Add text that keeps its own white space: embedded C, preprocessor lines."""
        self._lines += [Line(-2, part) for part in text.split("\n")]

    def blank(self) -> None:
        """Add an empty line, never two in a row nor one at the start of a block."""
        if self._lines and self._lines[-1].text and not self._lines[-1].text.endswith("{"):
            self._lines.append(Line(0, ""))

    def open(self, text: str) -> None:
        """Begin a block: ``text {``."""
        self.line(f"{text} {{" if text else "{")
        self._depth += 1

    def close(self, text: str = "") -> None:
        """End a block: ``}`` and what follows it (``;``)."""
        self._depth -= 1
        self.line("}" + text)

    def between(self, text: str) -> None:
        """Write ``} text {``: else and its like."""
        self._depth -= 1
        self.open("} " + text)

    @contextmanager
    def block(self, text: str) -> Iterator[None]:
        """Hold a braced block open; one simple statement loses its braces, as kernel style asks."""
        start = len(self._lines)
        self.open(text)
        yield
        self._depth -= 1
        inside = self._lines[start + 1 :]
        if text and len(inside) == 1 and inside[0].text.endswith(";") and inside[0].depth >= 0:
            self._lines[start] = self._lines[start]._replace(text=text)
        else:
            self.line("}")

    def brief(self, text: str, statement: str) -> None:
        """Write a function of one statement, on one line where that fits."""
        line = f"{text} {{ {statement} }}"
        if len(line) <= WIDTH:
            self.line(line)
            return
        self.line(text)
        self.open("")
        self.line(statement)
        self.close()

    def guard(self, condition: str, *statements: str) -> None:
        """Write ``if (condition)`` with one or more simple statements."""
        with self.block(f"if ({condition})"):
            for statement in statements:
                self.line(statement)

    def check(self, call: str, *statements: str) -> None:
        """Make a call that is true when it went well, with statements for when it did not."""
        start = len(self._lines)
        self.guard(f"!{call}", *statements)
        self._lines[start] = self._lines[start]._replace(call=call)

    def check_error(self, *statements: str) -> None:
        """Look whether what was called before has set the error."""
        start = len(self._lines)
        self.guard("unlikely(c->error)", *statements)
        self._lines[start] = self._lines[start]._replace(call="")

    @property
    def last(self) -> Line | None:
        """The last line when it stands at the present depth."""
        return self._lines[-1] if self._lines and self._lines[-1].depth == self._depth else None

    @property
    def leaves(self) -> bool:
        """True when nothing comes to what would be written next."""
        return self.last is not None and self.last.jump is not None

    def fall_into(self, label: str) -> int:
        """Drop what only jumps to the label that comes next; how many jumps went.

        A call whose failure jumps there stays as a plain call.
        """
        if self.last is not None and self.last.jump == label:
            self._lines.pop()
            return 1
        if len(self._lines) < 2:
            return 0
        before, last = self._lines[-2:]
        if before.jump == label and before.depth == self._depth + 1 and last.text == "}":
            return self._note_only()
        if last.jump != label or before.call is None or before.depth != self._depth:
            return 0
        del self._lines[-2:]
        if before.call:
            self.line(f"{before.call};")
        return 1

    def _note_only(self) -> int:
        """Drop the jump at the end of a block that does one thing before it, and the braces."""
        if len(self._lines) < 4:
            return 0
        test, note = self._lines[-4:-2]
        if test.depth != self._depth or note.depth != test.depth + 1 or test.call is None:
            return 0
        del self._lines[-4:]
        self._lines += [test._replace(text=test.text.removesuffix(" {"), call=None), note]
        return 1

    def leave_at(self, label: str, jumps: int) -> int:
        """Turn jumps to a label where nothing waits into returns; how many jumps remain.

        They stay when verbatim code jumps there, too.
        """
        if sum(line.jump == label for line in self._lines) != jumps:
            return jumps
        self._lines = [
            Line(line.depth, "return;") if line.jump == label else line for line in self._lines
        ]
        return 0

    @property
    def sets_result(self) -> bool:
        """True when a line gives the function its result."""
        return any(line.result is not None for line in self._lines)

    def drop_last(self) -> None:
        """Take back the last line."""
        self._lines.pop()

    def splice(self, other: CWriter) -> None:
        """Add all lines of another writer, deeper by the present depth."""
        self._lines += [
            line if line.depth < 0 else line._replace(depth=line.depth + self._depth)
            for line in other._lines
        ]

    def single(self) -> str | None:
        """Return the only line if it is one simple statement, without its semicolon; else None."""
        if len(self._lines) != 1:
            return None
        line = self._lines[0]
        return line.text[:-1] if line.depth >= 0 and line.text.endswith(";") else None

    def text(self) -> str:
        """Return everything as C source, ending in a newline; "" for no lines."""
        out: list[str] = []
        for at, (depth, text, *_) in enumerate(self._lines):
            if depth == -2:
                out.append(text)
            elif depth == -1:
                ends = at + 1 < len(self._lines) and self._lines[at + 1].text.startswith("}")
                out.append(
                    text + " ;" if ends and not text.endswith(";") else text
                )  # C wants a statement there
            elif not text:
                out.append("")
            else:
                out += wrap(text, depth)
        return "\n".join(out) + "\n" if out else ""


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
    """Find the last good place to break before ``room``: outermost first, then rightmost."""
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
