"""The conditions of ``%( … %?``: comparisons joined by ``&&`` and ``||``."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TypeVar

from stapy import LANGUAGE_VERSION
from stapy.diagnostics import Diagnostics
from stapy.diagnostics.suggest import did_you_mean
from stapy.options.versions import compare_versions
from stapy.parse.facts import PreprocessFacts
from stapy.parse.numbers import parse_number
from stapy.parse.tokens import Token

_ORDER: dict[str, Callable[[int], bool]] = {
    "LT": lambda c: c < 0,
    "LE": lambda c: c <= 0,
    "GT": lambda c: c > 0,
    "GE": lambda c: c >= 0,
    "EQ": lambda c: c == 0,
    "NE": lambda c: c != 0,
}

_WHAT = (
    "expected 'arch', 'kernel_v', 'kernel_vr', 'systemtap_v', 'runtime', "
    "'systemtap_privilege', 'guru_mode', 'CONFIG_...', or comparison between strings or integers"
)
ASKED = (
    "arch",
    "kernel_v",
    "kernel_vr",
    "systemtap_v",
    "runtime",
    "systemtap_privilege",
    "guru_mode",
)


class BadCondition(Exception):
    """A condition that cannot be read; the message is in the collector."""


class ConditionReader:
    """Evaluates one condition; ``take`` gives the next token, ``None`` at the end of the text."""

    def __init__(
        self,
        facts: PreprocessFacts,
        diagnostics: Diagnostics,
        take: Callable[[], Token | None],
        peek: Callable[[], Token | None],
        opening: Token,
    ) -> None:
        self.facts = facts
        self.diagnostics = diagnostics
        self.take = take
        self.peek = peek
        self.opening = opening

    def read(self) -> bool:
        """Evaluate the whole condition; ``&&`` binds tighter, and no side is left unchecked."""
        result = self._conjunction()
        while self._accept("LOR"):
            right = self._conjunction()
            result = result or right
        return result

    def _conjunction(self) -> bool:
        result = self._comparison()
        while self._accept("LAND"):
            right = self._comparison()
            result = result and right
        return result

    def _accept(self, kind: str) -> bool:
        token = self.peek()
        if token is not None and token.type == kind:
            self.take()
            return True
        return False

    def _next(self) -> Token:
        token = self.take()
        if token is None:
            raise self._bad(
                "E0111",
                "incomplete condition after '%('",
                self.opening,
                "the text ends before '%?'",
            )
        return token

    def _bad(self, code: str, message: str, token: Token, where: str, hint: str = "") -> Exception:
        self.diagnostics.error("parse error", code, message, token.span, where=where, hint=hint)
        return BadCondition()

    def _comparison(self) -> bool:
        left = self._next()
        word = left.value
        if left.type == "STRING" or left.type == "NUMBER":
            return self._literals(left)
        if left.type == "IDENT" and word.startswith("CONFIG_"):
            return self._config(left)
        if left.type == "IDENT" and word in ASKED:
            op = self._next()
            right = self._next()
            if word in ("kernel_v", "kernel_vr", "systemtap_v"):
                if word == "systemtap_v":
                    self.facts.version_tests.append(left.span)
                return self._version(word, op, right)
            return self._equality(word, op, right)
        hint = did_you_mean(word, ASKED) if left.type == "IDENT" else ""
        raise self._bad("E0111", _WHAT, left, f"{left.describe()} is none of these", hint)

    def _operator(self, op: Token, *, has_order: bool) -> str:
        if op.type not in _ORDER:
            raise self._bad(
                "E0112",
                "expected comparison operator",
                op,
                f"found {op.describe()}",
                "use '==', '!=', '<', '<=', '>' or '>='",
            )
        if not has_order and op.type not in ("EQ", "NE"):
            raise self._bad("E0112", "expected '==' or '!='", op, "these texts have no order")
        return op.type

    def _literal(self, token: Token, kind: str, message: str) -> str:
        if token.type != kind:
            hint = self._quoting(token) if kind == "STRING" else _unquoting(token)
            raise self._bad("E0113", message, token, f"found {token.describe()}", hint)
        return token.value

    def _quoting(self, token: Token) -> str:
        """Suggest quotes for a word or a number, such as a version, where a text is wanted."""
        if token.type not in ("IDENT", "NUMBER"):
            return ""
        word, end = token.value, token.end
        while (piece := self.peek()) is not None and piece.start == end and piece.type in _OF_WORDS:
            word += piece.value
            end = piece.end
            self.take()
        return f'text stands in double quotes: "{word}"'

    def _version(self, name: str, op: Token, right: Token) -> bool:
        kind = self._operator(op, has_order=True)
        wanted = self._literal(right, "STRING", "expected string literal")
        facts = self.facts
        actual = {
            "kernel_v": facts.kernel_version,
            "kernel_vr": facts.kernel_release,
            "systemtap_v": facts.compatible or LANGUAGE_VERSION,
        }[name]
        if any(c in wanted for c in "*?["):
            if kind not in ("EQ", "NE"):
                raise self._bad(
                    "E0112",
                    "wildcard not allowed with order comparison operators",
                    op,
                    "a pattern has no order",
                )
            return _matches(actual, wanted) == (kind == "EQ")
        return _ORDER[kind](compare_versions(actual, wanted))

    def _equality(self, name: str, op: Token, right: Token) -> bool:
        kind = self._operator(op, has_order=False)
        facts = self.facts
        if name == "guru_mode":
            wanted = self._literal(right, "NUMBER", "expected number")
            if parse_number(wanted) not in (0, 1):
                raise self._bad("E0113", "expected 0 or 1", right, "guru_mode is 0 or 1")
            return (bool(parse_number(wanted)) == facts.guru) == (kind == "EQ")
        wanted = self._literal(right, "STRING", "expected string literal")
        actual = {
            "arch": facts.arch,
            "runtime": facts.runtime,
            "systemtap_privilege": facts.privilege,
        }[name]
        return _matches(actual, wanted) == (kind == "EQ")

    def _config(self, left: Token) -> bool:
        op = self._next()
        right = self._next()
        actual = self.facts.config(left.value)
        if right.type == "STRING":
            kind = self._operator(op, has_order=False)
            return _matches(actual, right.value) == (kind == "EQ")
        if right.type == "NUMBER":
            kind = self._operator(op, has_order=True)
            return _ORDER[kind](_sign(_as_number(actual), self._number(right)))
        if right.type == "IDENT" and right.value.startswith("CONFIG_"):
            kind = self._operator(op, has_order=True)
            other = self.facts.config(right.value)
            if _is_number(actual) and _is_number(other):
                return _ORDER[kind](_sign(_as_number(actual), _as_number(other)))
            return _ORDER[kind](_sign(actual, other))
        raise self._bad(
            "E0113",
            "expected string, number literal or other CONFIG_... as right side operand",
            right,
            f"found {right.describe()}",
            self._quoting(right),
        )

    def _literals(self, left: Token) -> bool:
        op = self._next()
        kind = self._operator(op, has_order=True)
        right = self._next()
        if left.type == "STRING":
            text = self._literal(right, "STRING", "expected string literal as right value")
            return _ORDER[kind](_sign(left.value, text))
        self._literal(right, "NUMBER", "expected number literal as right value")
        return _ORDER[kind](_sign(self._number(left), self._number(right)))

    def _number(self, token: Token) -> int:
        value = parse_number(token.value)
        if value is None:
            raise self._bad("E0104", "number invalid or out of range", token, "not a 64-bit number")
        return value


# What may be a piece of a version, a release or a pattern that was not quoted.
_OF_WORDS = frozenset(["IDENT", "NUMBER", "DOT", "MINUS", "STAR"])


def _unquoting(token: Token) -> str:
    """Suggest a number without its quotes."""
    is_number = token.type == "STRING" and parse_number(token.value) is not None
    return f"numbers have no quotes: {token.value}" if is_number else ""


Literal = TypeVar("Literal", int, str)


def _sign(a: Literal, b: Literal) -> int:
    return (a > b) - (a < b)


def _is_number(text: str) -> bool:
    return text == "" or parse_number(text) is not None


def _as_number(text: str) -> int:
    return parse_number(text) or 0


def _matches(actual: str, pattern: str) -> bool:
    if not any(c in pattern for c in "*?["):
        return actual == pattern
    return fnmatchcase(actual, pattern)
