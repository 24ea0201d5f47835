"""What a word of a script means, and where it is declared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.debuginfo.ctypes import c_name
from stapy.editor.complete import signature
from stapy.editor.cursor import CursorContext, cursor_at
from stapy.parse import nodes as n
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.editor.bench import Bench

_WORD = re.compile(r"[$@]*[A-Za-z_]\w*", re.ASCII)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)


class Description(Record):
    """Text about the word at ``[start, end)``: code of the language, and a comment on it."""

    start: int
    end: int
    code: str
    comment: str = ""


def word_at(text: str, at: int, pattern: re.Pattern[str] = _WORD) -> re.Match[str] | None:
    """Find the word that an offset lies in or behind."""
    line = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    for found in pattern.finditer(text, line, end if end >= 0 else len(text)):
        if found.start() <= at <= found.end():
            return found
    return None


def description(bench: Bench, text: str, at: int) -> Description | None:
    """Describe the word at an offset; None when there is nothing to say."""
    found = word_at(text, at)
    if found is None:
        return None
    cursor = cursor_at(text, found.end())
    code, comment = "", ""
    if cursor.kind is CursorContext.POINT:
        found = word_at(text, at, _DOTTED) or found
        alias = bench.alias(found[0])
        if alias is None:
            return None
        return Description(found.start(), found.end(), f"probe {found[0]}", alias.doc)
    if cursor.kind is CursorContext.TARGET and cursor.word in (
        scope := bench.scope(cursor.point).targets
    ):
        type = scope[cursor.word]
        code = f"{cursor.word}: {c_name(type) if type is not None else 'string'}"
    elif cursor.kind is CursorContext.MEMBER:
        members = bench.members(cursor.point, cursor.chain)
        if cursor.word in members:
            code = c_name(members[cursor.word], cursor.word)
    elif cursor.kind is CursorContext.NAME:
        code, comment = _name(bench, found[0], cursor.point, text)
    return Description(found.start(), found.end(), code, comment) if code else None


def _name(bench: Bench, name: str, point: str, text: str) -> tuple[str, str]:
    kind = bench.scope(point).locals.get(name)
    if kind is not None:
        return f"{name}:{kind}", f"Set by {point}"
    own = [decl for decl in _declared(bench, text) if getattr(decl, "name", "") == name]
    decl = own[0] if own else bench.function(name)
    if isinstance(decl, n.FunctionDecl):
        return signature(decl), decl.doc
    if isinstance(decl, n.GlobalDecl):
        return f"global {name}", ""
    return "", ""


def _declared(bench: Bench, text: str) -> list[n.Decl]:
    script = bench.parsed(text)
    return script.decls if script is not None else []


def declaration(bench: Bench, name: str, text: str, at: int) -> tuple[str, int, int] | None:
    """Find where the word at an offset is declared: path, line and column, counted from 1.

    ``name`` is the path of the script itself.  None for what no file declares.
    """
    found = word_at(text, at)
    if found is None:
        return None
    script = bench.parsed(text, name)
    own = script.decls if script is not None else []
    decl: n.Decl | None = next((x for x in own if getattr(x, "name", "") == found[0]), None)
    if decl is None and cursor_at(text, found.end()).kind is CursorContext.POINT:
        dotted = word_at(text, at, _DOTTED)
        decl = bench.alias(dotted[0]) if dotted is not None else None
    elif decl is None:
        decl = bench.function(found[0])
    if decl is None:
        return None
    path, line, column = bench.sources.position(decl.span)
    return None if "#" in path else (path, line, column)  # that is a table, which has no lines
