"""What a word of a script means, and where it is declared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.debuginfo.ctypes import c_name
from stapy.editor.cursor import CursorContext, cursor_at
from stapy.editor.rename import POINT, TOP, uses
from stapy.manual import families, language
from stapy.manual.answer import plain
from stapy.manual.text import brief
from stapy.parse import nodes as n
from stapy.parse.comments import doc_before
from stapy.parse.tokens import AT_WORDS, KEYWORDS, PRINTERS
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.editor.bench import Bench
    from stapy.editor.cursor import Cursor
    from stapy.editor.rename import Use

_WORD = re.compile(r"[$@]*[A-Za-z_]\w*", re.ASCII)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_ALIAS = re.compile(r"\bprobe\s+([A-Za-z_][\w.]*)\s*\+?=(?!=)", re.ASCII)
_DEFINE = re.compile(r"@define\s+(\w+)\s*(\([^)]*\))?", re.ASCII)
_HEAD = re.compile(r"\bfunction\s+(\w+)\s*(?::\s*\w+\s*)?\([^)]*\)(?:\s*:\s*\w+)?", re.ASCII)
# Where words of the language stand that are neither names nor points.
_OF_LANGUAGE = (CursorContext.MACRO, CursorContext.NAME, CursorContext.TOP)
_LONG = 300  # characters of a macro's body that are shown


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


def signature(decl: n.FunctionDecl) -> str:
    """Write a function's name, parameters and result as a script declares them."""
    params = ", ".join(f"{one.name}:{one.type}" if one.type else one.name for one in decl.params)
    return f"function {decl.name}{':' + decl.type if decl.type else ''}({params})"


def description(bench: Bench, text: str, at: int) -> Description | None:
    """Describe the word at an offset; None when there is nothing to say."""
    found = word_at(text, at)
    if found is None:
        return None
    cursor = cursor_at(text, found.end())
    code, comment = "", ""
    if cursor.kind is CursorContext.POINT or _names_alias(text, found):
        found = word_at(text, at, _DOTTED) or found
        own = _own(_ALIAS, text, found[0])
        if own is not None:
            comment = doc_before(text, own.start())
            return Description(found.start(), found.end(), f"probe {found[0]}", comment)
        entries = bench.reference.find(found[0])
        if not entries:
            return _family(text, at, cursor)
        told = "\n\n".join(map(brief, entries))
        return Description(found.start(), found.end(), f"probe {found[0]}", told)
    if cursor.kind is CursorContext.TARGET and cursor.word in (
        scope := bench.scope(cursor.point).targets
    ):
        type = scope[cursor.word]
        code = f"{cursor.word}: {c_name(type) if type is not None else 'string'}"
    elif cursor.kind is CursorContext.MEMBER:
        members = bench.members(cursor.point, cursor.chain)
        if cursor.word in members:
            code = c_name(members[cursor.word], cursor.word)
    elif cursor.kind is CursorContext.MACRO:
        code, comment = _macro(bench, found[0][1:], text)
    elif cursor.kind in (CursorContext.NAME, CursorContext.TOP):
        code, comment = _name(bench, found, cursor.point, text)
    if not code and cursor.kind in _OF_LANGUAGE:
        code, comment = _word(found[0])
    return Description(found.start(), found.end(), code, comment) if code else None


def _family(text: str, at: int, cursor: Cursor) -> Description | None:
    """Describe a kind of points by the component that is asked for, or the word before points."""
    found = word_at(text, at)
    if found is None:
        return None
    point = cursor.point + cursor.word
    page = families.page_of(point)
    if page is not None and families.all_known(page, point):
        return Description(found.start(), found.end(), f"probe {point}", plain(page.text).strip())
    code, comment = _word(point)
    return Description(found.start(), found.end(), code, comment) if code else None


def _word(word: str) -> tuple[str, str]:
    """Describe a word of the language, by the section that explains it."""
    is_ours = word in (*KEYWORDS, *PRINTERS, *AT_WORDS)
    section = language.section_of(word) if is_ours else None
    return (word, plain(section.page()).strip()) if section is not None else ("", "")


def _names_alias(text: str, found: re.Match[str]) -> bool:
    """Tell whether a word is a part of the name that a script gives an alias."""
    return any(own.start(1) <= found.start() < own.end(1) for own in _ALIAS.finditer(text))


def _own(pattern: re.Pattern[str], text: str, name: str) -> re.Match[str] | None:
    """Find where a script, which may have mistakes elsewhere, declares a name."""
    return next((one for one in pattern.finditer(text) if one[1] == name), None)


def _macro(bench: Bench, name: str, text: str) -> tuple[str, str]:
    own = _own(_DEFINE, text, name)
    if own is not None:
        end = text.find("%)", own.end())
        body = text[own.start() : end + 2] if 0 <= end - own.end() < _LONG else own[0]
        return body, doc_before(text, own.start())
    macro = bench.library.macro(name)
    if macro is None:
        return "", ""
    parameters = f"({', '.join(macro.parameters)})" if macro.parameters is not None else ""
    entries = bench.reference.find(f"@{name}")
    return f"@define {name}{parameters}", brief(entries[0]) if entries else ""


def _name(bench: Bench, found: re.Match[str], point: str, text: str) -> tuple[str, str]:
    name = found[0]
    use, same = _uses_of(text, found)
    if use is None or use.body == POINT:
        return "", ""
    if _own(_HEAD, text, name) is not None and any(one.role == "function" for one in same):
        head = _own(_HEAD, text, name)
        assert head is not None
        return " ".join(head[0].split()), doc_before(text, head.start())
    if use.role == "parameter" or any(
        one.role == "parameter" and one.body == use.body for one in same
    ):
        return name, f"A parameter of this function, used {_times(same, use)}"
    if any(one.role == "global" for one in same):
        return f"global {name}", f"Used {_times(same, None)}"
    kind = bench.scope(point).locals.get(name)
    if kind is not None:
        return f"{name}:{kind}", f"Set by {point}"
    decl = bench.function(name)
    if decl is not None:
        told = "\n\n".join(brief(entry) for entry in bench.reference.find(name))
        return signature(decl), told or decl.doc
    if bench.library.files_with_global(name):
        return f"global {name}", "Of the tapset library"
    if use.body == TOP:
        return "", ""
    if not _is_local(text, found, [one for one in same if one.body == use.body]):
        return "", ""
    return name, f"A local variable, used {_times(same, use)}"


def _uses_of(text: str, found: re.Match[str]) -> tuple[Use | None, list[Use]]:
    """Find a word among those that name something, and all of that name outside of points."""
    every = uses(text)
    use = next((one for one in every if one.token.start == found.start()), None)
    same = [one for one in every if one.token.value == found[0] and one.body != POINT]
    return use, same


def _is_local(text: str, found: re.Match[str], mine: list[Use]) -> bool:
    """Tell a local from a function that nobody declares, and from a name that stands alone."""
    behind = text[found.end() : found.end() + 80].lstrip()
    return not behind.startswith("(") and (len(mine) > 1 or behind.startswith("="))


def _times(same: list[Use], use: Use | None) -> str:
    count = sum(use is None or one.body == use.body for one in same)
    return "once" if count == 1 else f"{count} times"


def declaration(bench: Bench, name: str, text: str, at: int) -> tuple[str, int, int] | None:
    """Find where the word at an offset is declared: path, line and column, counted from 1.

    ``name`` is the path of the script itself. A local is declared where its body has it first.
    None for what no file declares.
    """
    found = word_at(text, at)
    if found is None:
        return None
    kind = cursor_at(text, found.end()).kind
    if kind is CursorContext.MACRO:
        own = _own(_DEFINE, text, found[0][1:])
        if own is not None:
            return _place(name, text, own.start())
        macro = bench.library.macro(found[0][1:])
        return bench.sources.position(macro.span) if macro is not None else None
    if kind is CursorContext.POINT or _names_alias(text, found):
        dotted = word_at(text, at, _DOTTED) or found
        own = _own(_ALIAS, text, dotted[0])
        if own is not None:
            return _place(name, text, own.start(1))
        alias = bench.alias(dotted[0])
        return _of_library(bench, alias, dotted[0]) if alias is not None else None
    if kind not in (CursorContext.NAME, CursorContext.TOP):
        return None
    use, same = _uses_of(text, found)
    if use is None or use.body == POINT:
        return None
    mine = [one for one in same if one.body == use.body]
    named = [one for one in mine if one.role == "parameter"] or [
        one for one in same if one.role in ("global", "function")
    ]
    if named:
        return _place(name, text, named[0].token.start)
    decl = bench.function(found[0])
    if decl is not None:
        return _of_library(bench, decl, found[0])
    if use.body == TOP or not _is_local(text, found, mine):
        return None
    return _place(name, text, mine[0].token.start)


def _place(name: str, text: str, at: int) -> tuple[str, int, int]:
    return name, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _of_library(bench: Bench, decl: n.Decl, name: str) -> tuple[str, int, int] | None:
    """Find a declaration of the library; of one that a table has made the row of the table."""
    path, line, column = bench.sources.position(decl.span)
    table, mark, _ = path.partition("#")
    if not mark:
        return path, line, column
    word = name.split(".")[1] if "." in name else name
    rows = bench.library.text(table).split("\n")
    for number, row in enumerate(rows, 1):
        if re.match(rf"\s*{re.escape(word)}\s*(?:/|\|)", row):
            return table, number, 1
    return None
