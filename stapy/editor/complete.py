"""What could be written at a place of a script."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Protocol

from stapy.editor.cursor import Cursor, CursorContext, components, cursor_at
from stapy.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stapy.editor.words import OfferedNames
    from stapy.kernel import Kernel

MOST = 1000  # what one answer has; more letters make it shorter
_TOP = ("probe", "global", "function", "private")
_GROUPS = ("$$vars", "$$parms", "$$locals", "$$return", "$$name")
_MACRO = r"(?a)@define\s+([A-Za-z_]\w*)"
# Kinds of what others declare, whose names with '_' in front are their own business.
_SHARED = ("event", "module", "function", "operator")
_FILES = ("process", "library")
_MANY = ("function", "statement")  # too many to be listed before a letter is typed


class Candidate(Record):
    """A word that could stand at a place instead of what is written of it.

    ``kind`` is one of those of the language server protocol, in lower case; ``detail`` a type, a
    signature or the beginning of a description.
    """

    text: str
    kind: str
    detail: str = ""


class CompletionAnswers(Protocol):
    """What is asked about a kernel and the library: a bench, or what one answered before."""

    kernel: Kernel

    @property
    def names(self) -> OfferedNames:
        """The names that need no kernel."""

    def points(self, point: str) -> list[str]:
        """List what -l lists for a point."""

    def modules(self, word: str) -> list[str]:
        """List the modules that begin with a word."""

    def targets(self, point: str) -> list[tuple[str, str]]:
        """List the variables of a point, with their types."""

    def fields(self, point: str, chain: str) -> list[tuple[str, str]]:
        """List the members of what a chain leads to, with their types."""

    def locals_of(self, point: str) -> list[tuple[str, str]]:
        """List what the alias of a point sets, with types."""


def candidates(bench: CompletionAnswers, text: str, at: int) -> list[Candidate]:
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


def _asked(bench: CompletionAnswers, cursor: Cursor, text: str) -> Iterable[Candidate]:
    if cursor.kind is CursorContext.TOP:
        return (Candidate(word, "keyword") for word in _TOP)
    if cursor.kind is CursorContext.POINT:
        return _components(bench, cursor.point)
    if cursor.kind is CursorContext.ARGUMENT:
        return _arguments(bench, cursor.point, cursor.word)
    if cursor.kind is CursorContext.TARGET:
        return _targets(bench, cursor.point)
    if cursor.kind is CursorContext.MEMBER:
        members = bench.fields(cursor.point, cursor.chain)
        return (Candidate(name, "field", type) for name, type in members)
    if cursor.kind is CursorContext.CONDITION:
        return _conditions(bench)
    if cursor.kind is CursorContext.MACRO:
        return _macros(bench, text)
    return _names(bench, cursor, text) if cursor.kind is CursorContext.NAME else ()


# --- probe points -----------------------------------------------------------------


def _components(bench: CompletionAnswers, point: str) -> Iterator[Candidate]:
    """List what may follow the components that a point has already."""
    before = components(point)
    for steps in bench.names.forms:
        if len(steps) > len(before) and _leads(before, steps):
            name, kind = steps[len(before)]
            yield Candidate(name + ('("' if "string" in kind else "(" if kind else ""), "event")
    if not any(argument for _, argument in before):
        head = "".join(f"{name}." for name, _ in before)
        for alias in bench.names.aliases:
            if alias.startswith(head):
                name, dot, _ = alias[len(head) :].partition(".")
                yield Candidate(name, "module" if dot else "event")


def _leads(before: list[tuple[str, str]], form: list[tuple[str, str]]) -> bool:
    """Tell whether a form of a family begins with components that are written."""
    for (name, argument), (wanted, kind) in zip(before, form, strict=False):
        given = "string" if argument.startswith('"') else "number" if argument else ""
        if name != wanted or (given not in kind if given else kind != ""):
            return False
    return True


def _arguments(bench: CompletionAnswers, point: str, word: str) -> Iterator[Candidate]:
    """List what the string may be that is being written behind a point's components."""
    opened = re.search(r"([\w*]+)\s*\(\s*\Z", point)
    if opened is None:
        return
    if opened[1] == "module" and len(components(point[: opened.start()])) == 0:
        yield from (Candidate(name, "module") for name in bench.modules(word))
        return
    if opened[1] in _FILES and "*" not in word:
        yield from _files(word, opened[1] == "process")
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


def _files(word: str, is_program: bool) -> Iterator[Candidate]:
    """List programs or libraries whose paths, or names in $PATH, begin with a word."""
    if "/" not in word and not is_program:
        return
    head, slash, start = word.rpartition("/")
    folders = [head + slash] if slash else os.environ.get("PATH", "").split(":")
    for folder in folders:
        try:
            entries = list(os.scandir(folder or "."))
        except OSError:
            continue
        for entry in entries:
            if not entry.name.startswith(start):
                continue
            path = head + slash + entry.name
            with contextlib.suppress(OSError):
                if entry.is_dir():
                    if slash:
                        yield Candidate(path + "/", "module")
                elif os.access(entry.path, os.X_OK) or ".so" in entry.name:
                    yield Candidate(path, "function")


def _conditions(bench: CompletionAnswers) -> Iterator[Candidate]:
    """List what a condition between ``%(`` and ``%?`` may ask."""
    from stapy.parse.conditions import ASKED

    yield from (Candidate(name, "keyword") for name in ASKED)
    for name, value in bench.kernel.config.items():
        yield Candidate(name, "variable", value)


# --- statements -------------------------------------------------------------------


def _targets(bench: CompletionAnswers, point: str) -> Iterator[Candidate]:
    yield from (Candidate(name, "variable", type) for name, type in bench.targets(point))
    yield from (Candidate(name, "variable", "string") for name in _GROUPS)


def _macros(bench: CompletionAnswers, text: str) -> Iterator[Candidate]:
    from stapy.parse.tokens import AT_WORDS

    yield from (Candidate(f"@{found[1]}", "operator") for found in re.finditer(_MACRO, text))
    yield from (Candidate(word, "operator") for word in AT_WORDS if word != "@define")
    yield from (Candidate(f"@{name}", "operator") for name in bench.names.macros)


def _names(bench: CompletionAnswers, cursor: Cursor, text: str) -> Iterator[Candidate]:
    from stapy.parse.tokens import KEYWORDS, PRINTERS

    yield from (Candidate(word, "keyword") for word in KEYWORDS if word not in _TOP)
    yield from (Candidate(word, "function") for word in PRINTERS)
    for name, kind in bench.locals_of(cursor.point):
        yield Candidate(name, "variable", kind)
    for name in bench.names.functions:
        if name.startswith(cursor.word):
            yield Candidate(name, "function")
    # What the script says itself comes last, for it hides what others declare.
    from stapy.editor.rename import POINT, uses

    for use in uses(text):
        if use.body != POINT and use.role != "macro":
            kind = "function" if use.role == "function" else "variable"
            yield Candidate(use.token.value, kind, "global" if use.role == "global" else "")
