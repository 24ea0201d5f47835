"""Regular expressions of ``=~``: POSIX extended syntax to a small tree.

Pass 2 asks whether a pattern is well formed, pass 3 makes the automaton of the tree.
"""

from __future__ import annotations

from stapy.record import Record, new

EVERYTHING = frozenset(range(1, 256))
MAX_REPEAT = 255

CLASSES: dict[str, frozenset[int]] = {
    "alpha": frozenset(c for c in range(128) if chr(c).isalpha()),
    "digit": frozenset(b"0123456789"),
    "alnum": frozenset(c for c in range(128) if chr(c).isalnum()),
    "upper": frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "lower": frozenset(b"abcdefghijklmnopqrstuvwxyz"),
    "space": frozenset(b" \t\n\r\f\v"),
    "blank": frozenset(b" \t"),
    "punct": frozenset(c for c in range(33, 127) if not chr(c).isalnum()),
    "print": frozenset(range(32, 127)),
    "graph": frozenset(range(33, 127)),
    "cntrl": frozenset([*range(1, 32), 127]),
    "xdigit": frozenset(b"0123456789abcdefABCDEF"),
}


class RegexError(Exception):
    """A pattern that cannot be understood; ``offset`` is where in it."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class RegexNode(Record):
    """Base of the tree."""


class Chars(RegexNode):
    """One character of a set."""

    members: frozenset[int]


class Anchor(RegexNode):
    """``^`` or ``$``."""

    kind: str


class Sequence(RegexNode):
    """One after the other; empty matches the empty string."""

    parts: list[RegexNode] = new(list)


class Alternation(RegexNode):
    """``|``."""

    options: list[RegexNode] = new(list)


class Repeat(RegexNode):
    """``low`` to ``high`` times; None is no upper bound."""

    inner: RegexNode
    low: int
    high: int | None


class Group(RegexNode):
    """``( )``; groups are numbered from 1 by their opening parenthesis."""

    number: int
    inner: RegexNode


class Parsed(Record):
    """A pattern's tree and how many groups it has."""

    root: RegexNode
    groups: int


def parse(pattern: str) -> Parsed:
    """Parse a pattern to its tree; raises `RegexError`, which has the offset.

    A ``)`` too many at the very end closes nothing and is let pass, as in SystemTap.
    """
    parser = _Parser(pattern)
    root = parser.choice(0)
    if pattern[parser.at :] not in ("", ")"):
        raise RegexError("unbalanced ')'", parser.at)
    return Parsed(root, parser.groups)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.groups = 0

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def choice(self, depth: int) -> RegexNode:
        options = [self.sequence(depth)]
        while self.peek() == "|":
            self.at += 1
            options.append(self.sequence(depth))
        return options[0] if len(options) == 1 else Alternation(options)

    def sequence(self, depth: int) -> RegexNode:
        parts: list[RegexNode] = []
        while (char := self.peek()) and char not in "|)":
            parts.append(self.repeated(depth))
        return parts[0] if len(parts) == 1 else Sequence(parts)

    def repeated(self, depth: int) -> RegexNode:
        node = self.atom(depth)
        while (char := self.peek()) and char in "*+?{":
            if isinstance(node, Anchor):
                raise RegexError(f"'{char}' repeats an anchor", self.at)
            if char == "{":
                low, high = self.bounds()
            else:
                self.at += 1
                low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
            node = Repeat(node, low, high)
        return node

    def bounds(self) -> tuple[int, int | None]:
        """Read ``{n}``, ``{n,}`` or ``{n,m}`` behind its brace: least and most repeats.

        The most is None without an upper bound. Raises `RegexError` for what is no range.
        """
        start = self.at
        end = self.text.find("}", start)
        first, comma, second = self.text[start + 1 : max(end, 0)].partition(",")
        if end < 0 or not _is_number(first) or (second and not _is_number(second)):
            raise RegexError("expected a number or a range in { }", start)
        low = int(first)
        high = int(second) if second else None if comma else low
        if max(low, high or 0) > MAX_REPEAT:
            raise RegexError(f"repeat count above {MAX_REPEAT}", start)
        if high is not None and high < low:
            raise RegexError("repeat bounds in the wrong order", start)
        self.at = end + 1
        return low, high

    def atom(self, depth: int) -> RegexNode:
        char = self.peek()
        start = self.at
        self.at += 1
        if char == "(":
            self.groups += 1
            number = self.groups
            inner = self.choice(depth + 1)
            if self.peek() != ")":
                raise RegexError("expected ), found end of regex", start)
            self.at += 1
            return Group(number, inner)
        if char == "[":
            return self.bracket(start)
        if char == ".":
            return Chars(EVERYTHING)
        if char in "^$":
            return Anchor(char)
        if char in "*+?{":
            raise RegexError(f"unexpected '{char}', nothing to repeat", start)
        if char == "\\":
            char = self.peek()
            if not char:
                raise RegexError("unexpected end of regex after a backslash", start)
            self.at += 1
        return Chars(frozenset((ord(char) & 0xFF,)))

    def bracket(self, start: int) -> RegexNode:
        """Read ``[...]`` behind its opening bracket; the node never matches NUL."""
        negate = self.peek() == "^"
        if negate:
            self.at += 1
        members: set[int] = set()
        first = True
        while True:
            char = self.peek()
            if not char:
                raise RegexError("unclosed character class", start)
            if char == "]" and not first:
                self.at += 1
                break
            first = False
            if self.text.startswith("[:", self.at):
                members |= self.named_class()
                continue
            at = self.at
            low = self.member(start)
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self.member(start)
                if high < low:
                    shown = f"{chr(low)}-{chr(high)}"
                    raise RegexError(f"inverted character range {shown}", at)
                members |= set(range(low, high + 1))
            else:
                members.add(low)
        members.discard(0)
        return Chars(EVERYTHING - members if negate else frozenset(members))

    def member(self, start: int) -> int:
        """Read one character of the class that begins at ``start``, as its code.

        A backslash is an escape. Raises `RegexError` at the end of the pattern.
        """
        char = self.peek()
        self.at += 1
        if char == "\\":
            char = self.peek()
            self.at += 1
        if not char:
            raise RegexError("unclosed character class", start)
        return ord(char) & 0xFF

    def named_class(self) -> frozenset[int]:
        end = self.text.find(":]", self.at)
        if end < 0:
            raise RegexError("unclosed character class", self.at)
        name = self.text[self.at + 2 : end]
        if name not in CLASSES:
            raise RegexError(f"unknown character class '{name}'", self.at)
        self.at = end + 2
        return CLASSES[name]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
