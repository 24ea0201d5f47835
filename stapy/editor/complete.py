"""What could be written at a place of a script."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.debuginfo.ctypes import c_name
from stapy.editor.cursor import Cursor, CursorContext, components, cursor_at
from stapy.editor.rename import POINT, uses
from stapy.parse import nodes as n
from stapy.parse.tokens import AT_WORDS, KEYWORDS, PRINTERS
from stapy.probes.families import families
from stapy.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stapy.editor.bench import Bench

MOST = 1000  # what one answer has; more letters make it shorter
_TOP = ("probe", "global", "function", "private")
_IN_BODY = [word for word in KEYWORDS if word not in _TOP]
_GROUPS = ("$$vars", "$$parms", "$$locals", "$$return", "$$name")
_MACRO = re.compile(r"@define\s+([A-Za-z_]\w*)", re.ASCII)
# Kinds of what others declare, whose names with '_' in front are their own business.
_SHARED = ("event", "module", "function", "operator")
_MANY = ("function", "statement")  # too many to be listed before a letter is typed


class Candidate(Record):
    """A word that could stand at a place instead of what is written of it.

    ``kind`` is one of those of the language server protocol, in lower case; ``detail`` a type, a
    signature or the beginning of a description.
    """

    text: str
    kind: str
    detail: str = ""


def candidates(bench: Bench, text: str, at: int) -> list[Candidate]:
    """List what could be written at an offset of a script, at most `MOST`."""
    cursor = cursor_at(text, at)
    found = {one.text: one for one in _asked(bench, cursor, text) if _fits(one, cursor)}
    return sorted(found.values(), key=lambda one: one.text)[:MOST]


def _fits(one: Candidate, cursor: Cursor) -> bool:
    if _is_private(one.text) and one.kind in _SHARED and not _is_private(cursor.word):
        return False
    return one.text.startswith(cursor.word) and one.text != cursor.word


def _is_private(name: str) -> bool:
    return name.lstrip("@").startswith("_")


def _asked(bench: Bench, cursor: Cursor, text: str) -> Iterable[Candidate]:
    if cursor.kind is CursorContext.TOP:
        return (Candidate(word, "keyword") for word in _TOP)
    if cursor.kind is CursorContext.POINT:
        return _components(bench, cursor.point)
    if cursor.kind is CursorContext.ARGUMENT:
        return _arguments(bench, cursor.point, cursor.word)
    if cursor.kind is CursorContext.TARGET:
        return _targets(bench, cursor.point)
    if cursor.kind is CursorContext.MEMBER:
        members = bench.members(cursor.point, cursor.chain)
        return (Candidate(name, "field", c_name(type)) for name, type in members.items())
    if cursor.kind is CursorContext.MACRO:
        return _macros(bench, text)
    return _names(bench, cursor, text) if cursor.kind is CursorContext.NAME else ()


# --- probe points -----------------------------------------------------------------


def _components(bench: Bench, point: str) -> Iterator[Candidate]:
    """List what may follow the components that a point has already."""
    before = components(point)
    for family in families():
        for form in family.forms:
            steps = form.components
            if len(steps) > len(before) and _leads(before, steps):
                name, kind = steps[len(before)]
                yield Candidate(name + ('("' if "string" in kind else "(" if kind else ""), "event")
    plain = [name for name, argument in before if not argument]
    if len(plain) == len(before):
        for names, _ in bench.library.alias_names():
            if len(names) > len(plain) and list(names[: len(plain)]) == plain:
                ends = len(names) == len(plain) + 1
                yield Candidate(names[len(plain)], "event" if ends else "module")


def _leads(before: list[tuple[str, str]], form: list[tuple[str, str]]) -> bool:
    """Tell whether a form of a family begins with components that are written."""
    for (name, argument), (wanted, kind) in zip(before, form, strict=False):
        given = "string" if argument.startswith('"') else "number" if argument else ""
        if name != wanted or (given not in kind if given else kind != ""):
            return False
    return True


def _arguments(bench: Bench, point: str, word: str) -> Iterator[Candidate]:
    """List what the string may be that is being written behind a point's components."""
    opened = re.search(r"([\w*]+)\s*\(\s*\Z", point)
    if opened is None:
        return
    if opened[1] == "module" and len(components(point[: opened.start()])) == 0:
        yield from (
            Candidate(x, "module") for x in bench.services.debuginfo.module_names(f"{word}*")
        )
        return
    if any(char in word for char in "*?[\\") or (opened[1] in _MANY and not word):
        return
    number = len(components(point[: opened.start()]))
    for line in bench.points(f'{point}"{word}*")'):
        parts = components(line)
        if len(parts) > number and parts[number][1].startswith('"'):
            name = parts[number][1][1:-1].partition("@")[0]
            if not name.startswith(word):  # it was found by its name without the system
                name = name.partition(":")[2]
            yield Candidate(name, "function")


# --- statements -------------------------------------------------------------------


def _targets(bench: Bench, point: str) -> Iterator[Candidate]:
    for name, type in bench.scope(point).targets.items():
        yield Candidate(name, "variable", c_name(type) if type is not None else "string")
    yield from (Candidate(name, "variable", "string") for name in _GROUPS)


def _macros(bench: Bench, text: str) -> Iterator[Candidate]:
    yield from (Candidate(f"@{found[1]}", "operator") for found in _MACRO.finditer(text))
    yield from (Candidate(word, "operator") for word in AT_WORDS if word != "@define")
    yield from (Candidate(f"@{name}", "operator") for name in bench.library.macro_names())


def _names(bench: Bench, cursor: Cursor, text: str) -> Iterator[Candidate]:
    yield from (Candidate(word, "keyword") for word in _IN_BODY)
    yield from (Candidate(word, "function") for word in PRINTERS)
    for name, kind in bench.scope(cursor.point).locals.items():
        yield Candidate(name, "variable", kind)
    for name in bench.library.function_names():
        if name.startswith(cursor.word):
            yield Candidate(name, "function")
    # What the script says itself comes last, for it hides what others declare.
    for use in uses(text):
        if use.body != POINT and use.role != "macro":
            kind = "function" if use.role == "function" else "variable"
            yield Candidate(use.token.value, kind, "global" if use.role == "global" else "")


# --- descriptions -----------------------------------------------------------------


def signature(decl: n.FunctionDecl) -> str:
    """Write a function's name, parameters and result as a script declares them."""
    params = ", ".join(f"{one.name}:{one.type}" if one.type else one.name for one in decl.params)
    return f"function {decl.name}{':' + decl.type if decl.type else ''}({params})"
