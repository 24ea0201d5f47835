"""Where a name of a script is used, and whether it can be another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.parse.lexer import tokenize
from stapy.parse.tokens import KEYWORDS, PRINTERS
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.editor.bench import Bench
    from stapy.parse.tokens import Token

TOP, POINT = 0, -1  # in place of a body's number: between declarations, in a probe point


class NotRenamed(Exception):
    """A name that cannot be changed, or not to that one; the text says why."""


class Use(Record):
    """A word that could be a variable or a function.

    ``body`` is the number of the handler or function that it is in, counted from 1, or `TOP` or
    `POINT`.  ``role`` is what it declares: "global", "function", "parameter", "macro" or "".
    """

    token: Token
    body: int
    role: str = ""


def uses(text: str) -> list[Use]:
    """List the words of a script that name variables, functions or parts of points."""
    sources = SourceMap()
    tokens = tokenize(text, sources.add("<editor>", text), Diagnostics(sources))
    reader = _BraceReader()
    for number, token in enumerate(tokens):
        reader.take(token, tokens[number - 1].value if number else "")
    return reader.found


class _BraceReader:
    """Tells the parts of a script by its braces, as it has no tree while it is written."""

    def __init__(self) -> None:
        self.found: list[Use] = []
        self._depth = self._body = self._parentheses = self._condition = 0
        self._part = ""  # "probe", "function" or "global": what a declaration began with

    def take(self, token: Token, before: str) -> None:
        """Read a token and the text of the one before it."""
        word = token.value
        if self._depth == 0 and token.type in ("PROBE", "FUNCTION", "GLOBAL") and before != ".":
            self._part, self._parentheses, self._condition = word, 0, 0
            self._body += word != "global"
        elif word == "{":
            # Another handler behind the first one's end is one more body.
            self._body += self._depth == 0 and self._part == ""
            self._depth += 1
        elif word == "}":
            self._depth = max(self._depth - 1, 0)
            self._part = "" if self._depth == 0 else self._part
        elif word in ("(", ")"):
            self._parenthesis(word, before)
        elif token.type == "IDENT" and before not in ("->", "."):
            self.found.append(Use(token, *self._place(before)))
        elif token.type == "IDENT" and self._depth == 0 and self._part == "probe":
            self.found.append(Use(token, POINT))

    def _parenthesis(self, word: str, before: str) -> None:
        self._parentheses += 1 if word == "(" else -1
        if word == "(" and before == "if" and not self._condition:
            self._condition = self._parentheses
        if word == ")" and self._parentheses < self._condition:
            self._condition = 0

    def _place(self, before: str) -> tuple[int, str]:
        if before == "@define":
            return TOP, "macro"
        if self._depth:
            return self._body, ""
        if self._part == "function":
            return (TOP, "function") if before == "function" else (self._body, "parameter")
        if self._part == "probe":
            return (TOP, "") if self._condition else (POINT, "")
        return TOP, "global" if self._part == "global" else ""


def occurrences(text: str, at: int) -> list[Token]:
    """List the tokens that name the same variable or function as the word at an offset.

    A name that is declared is one thing everywhere; others are locals of their body.
    """
    all_uses = uses(text)
    asked = _asked(all_uses, at)
    if asked is None or asked.body == POINT or asked.role == "macro":
        return []
    same = [one for one in all_uses if one.token.value == asked.token.value and one.body != POINT]
    parameter_of = {one.body for one in same if one.role == "parameter"}
    if asked.body in parameter_of or not any(one.body == TOP for one in same):
        return [one.token for one in same if one.body == asked.body]
    return [one.token for one in same if one.body not in parameter_of]


def _asked(all_uses: list[Use], at: int) -> Use | None:
    return next((one for one in all_uses if one.token.start <= at <= one.token.end), None)


def renameable(bench: Bench, text: str, at: int) -> Token:
    """Find the word at an offset when it is a name of this script alone; raise `NotRenamed`."""
    all_uses = uses(text)
    asked = _asked(all_uses, at)
    if asked is None:
        raise NotRenamed("there is no name of a variable or function here")
    name = asked.token.value
    if asked.body == POINT:
        raise NotRenamed(f"'{name}' is a part of a probe point")
    if asked.role == "macro":
        raise NotRenamed("macros are not renamed")
    same = [one for one in all_uses if one.token.value == name]
    if any(one.role in ("global", "function", "parameter") for one in same):
        return asked.token
    if bench.library.files_with_function(name) or bench.library.files_with_global(name):
        raise NotRenamed(f"'{name}' belongs to the tapset library")
    shared = any(name in bench.scope(point).locals for point in bench.points_of(text))
    if shared or bench.has_aliases(text):
        raise NotRenamed(f"'{name}' may be a variable that a probe shares with its alias")
    return asked.token


def renamed(bench: Bench, text: str, at: int, name: str) -> list[Token]:
    """List the tokens to be changed for a new name; raise `NotRenamed` when it cannot be."""
    token = renameable(bench, text, at)
    if not name.isascii() or not name.isidentifier():
        raise NotRenamed(f"'{name}' is no name: letters, digits and '_' make one")
    if name in KEYWORDS or name in PRINTERS:
        raise NotRenamed(f"'{name}' is a word of the language")
    if name != token.value and any(one.token.value == name for one in uses(text)):
        raise NotRenamed(f"the script has another '{name}'")
    if bench.library.files_with_function(name) or bench.library.files_with_global(name):
        raise NotRenamed(f"the tapset library has a '{name}'")
    return occurrences(text, at)
