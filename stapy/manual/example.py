"""The example on a page: that of the comment, or one formed from what a named point sets.

A point whose comment has no example is shown with what it is for: printing what it sets. The
first variables that tell something to a person are taken, as many as fit into a line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.manual.entries import ALIAS

if TYPE_CHECKING:
    from stapy.manual.entries import DocArgument, DocEntry

WIDTH = 92  # of a line, which pages indent
_MOST = 4  # variables of a line
_ROOM = WIDTH - len("    printf()")
_ENDS = ("saddr", "sport", "daddr", "dport")  # of a connection
_VALUES = {"number": "(1)", "string": '("x")'}
_WHO = ("%s(%d)", "execname(), pid()")
_RESULTS = ("retstr", "ret", "retval", "retvalue", "return_value")
# What is said in words by another variable, or is there for scripts to compute with.
_TEXTS = ("_str", "_name", "str")
_FOR_CODE = re.compile(r".*_unquoted|[A-Z][A-Z0-9_]*|units|was|key|family|protocol")
_ADDRESS = re.compile(
    r"(?:(?:the|its|an|user) )*(?:address|pointer)\b(?! family)|.*, a reference$", re.IGNORECASE
)


def example(entry: DocEntry) -> str:
    """Give the example of an entry, "" for a function or macro whose comment has none."""
    told = entry.doc.sections.get("Example", "")
    return told or (formed(entry) if entry.kind == ALIAS else "")


def formed(entry: DocEntry) -> str:
    """Form a probe that prints variables of a named point."""
    name = re.sub(r"\((number|string)\)", lambda one: _VALUES[one[1]], entry.name)
    statement = f"printf({_printed(entry.arguments)})"
    line = f"probe {name} {{ {statement} }}"
    return line if len(line) <= WIDTH else f"probe {name} {{\n    {statement}\n}}"


def _printed(arguments: list[DocArgument]) -> str:
    """Write the format and the values that go with it."""
    known = {one.name: one for one in arguments}
    name = [("%s", "name")] if _is_text(known, "name") else []
    result = next((known[one] for one in _RESULTS if one in known), None)
    if result is not None:
        return _joined([*(name or [_WHO]), (f"= {_verb(result)}", result.name)])
    if name and _is_text(known, "argstr"):
        return '"%s: %s(%s)\\n", execname(), name, argstr'
    if known.keys() >= set(_ENDS):
        size = [("size=%d", "size")] if "size" in known else []
        return _joined([*name, ("%s:%d -> %s:%d", ", ".join(_ENDS)), *size])
    rest = [(f"{one.name}={_verb(one)}", one.name) for one in _telling(arguments)]
    if not rest:
        return _joined([*name, _WHO])
    while len(rest) > 1 and (len(name) + len(rest) > _MOST or len(_joined([*name, *rest])) > _ROOM):
        rest.pop()
    return _joined([*name, *rest])


def _joined(pairs: list[tuple[str, str]]) -> str:
    form = " ".join(verb for verb, _ in pairs)
    return f'"{form}\\n", ' + ", ".join(value for _, value in pairs)


def _is_text(known: dict[str, DocArgument], name: str) -> bool:
    return name in known and known[name].type == "string"


def _telling(arguments: list[DocArgument]) -> list[DocArgument]:
    """List what tells something to a person; addresses only where there is nothing else."""
    names = {one.name for one in arguments}
    found = [
        one
        for one in arguments
        if one.name != "name"
        and not _FOR_CODE.fullmatch(one.name)
        and not any(one.name + ending in names for ending in _TEXTS)
        and not one.meaning.startswith("always ")
    ]
    return [one for one in found if _verb(one) != "%p"] or found


def _verb(one: DocArgument) -> str:
    """Choose the conversion for a variable by its type and by what is told of it."""
    if one.type == "string":
        return "%s"
    if _ADDRESS.match(one.meaning):
        return "%p"
    if re.search(r"\bhexadecimal\b|\bmask\b", one.meaning):
        return "0x%x"
    return "0%o" if re.search(r"\boctal\b|\bpermissions\b", one.meaning) else "%d"
