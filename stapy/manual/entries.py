"""A function, macro or probe alias of a tapset with all that its page says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.elaborate.names.syntax import walk
from stapy.parse import nodes as n
from stapy.parse.doc_comment import DocComment, parse_comment
from stapy.record import Record, new

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTION, MACRO, ALIAS = "function", "macro", "probe"
FIRST = "0.1.0"  # the release that brought what names no other
_STRINGS = frozenset(["sprintf", "sprint", "sprintln", "sprintd", "sprintdln"])


class DocArgument(Record):
    """A parameter of a function, or a variable that an alias sets."""

    name: str
    type: str  # string, long, or "" where none is declared
    meaning: str


class Tool(Record):
    """A script of the gallery: its name, and its path below ``examples/``."""

    name: str
    place: str


class DocEntry(Record):
    """What one page is about."""

    kind: str
    name: str
    file: str  # below tapsets/, or a path
    doc: DocComment
    result: str = ""  # type of a function's result, "" for none
    arguments: list[DocArgument] = new(list)
    points: list[str] = new(list)  # what an alias stands for
    decl: n.FunctionDecl | n.AliasDecl | None = None
    path: str = ""  # the whole path of the file
    # What `Reference.told` adds.
    derived: list[str] = new(list)  # of its context, sentences
    tools: list[Tool] = new(list)  # of the gallery
    since: str = ""  # release; "" for what is not ours

    @property
    def context(self) -> str:
        """Where it can be used, in the words of its comment and by what its code says."""
        told = self.doc.sections.get("Context", "")
        told += "." if told and told[-1].isalnum() else ""
        return " ".join([told, *self.derived]).strip()

    @property
    def signature(self) -> str:
        """The declaration without its body."""
        if self.kind == ALIAS:
            return f"probe {self.name}"
        names = ", ".join(
            f"{one.name}:{one.type}" if one.type else one.name for one in self.arguments
        )
        if self.kind == MACRO:
            return f"@{self.name}({names})" if names else f"@{self.name}"
        return f"function {self.name}{':' + self.result if self.result else ''}({names})"


def of_function(decl: n.FunctionDecl, file: str) -> DocEntry:
    """Make the entry of a function."""
    doc = parse_comment(decl.doc)
    arguments = [
        DocArgument(one.name, one.type, doc.arguments.get(one.name, "")) for one in decl.params
    ]
    return DocEntry(FUNCTION, decl.name, file, doc, decl.type, arguments, decl=decl)


def alias_name(decl: n.AliasDecl) -> str:
    """Write the name of an alias, with the kinds of its arguments."""
    return ".".join(_component(one) for one in decl.name)


def point_text(point: n.ProbePoint) -> str:
    """Write a point of an alias without ``?`` and ``!``."""
    return ".".join(_component(one) for one in point.components)


def _component(one: n.PointComponent) -> str:
    if one.arg is None:
        return one.name
    shown = f'"{one.arg.value}"' if isinstance(one.arg, n.String) else one.arg.text
    return f"{one.name}({shown})"


def of_alias(
    decl: n.AliasDecl,
    file: str,
    meaning: Callable[[str], str],
    inherited: list[DocArgument],
    result_of: Callable[[str], str],
) -> DocEntry:
    """Make the entry of an alias.

    ``meaning`` tells of variables that its comment says nothing of, ``inherited`` are those of
    the aliases that it stands for, ``result_of`` is the type of a function's result.
    """
    doc = parse_comment(decl.doc)
    found = {one.name: one for one in inherited}
    types = {one.name: one.type for one in inherited}
    for body in (decl.prologue, decl.epilogue):
        for name, value in assigned(body):
            types.setdefault(name, type_of(value, types, result_of))
            told = doc.arguments.get(name) or meaning(name)
            found[name] = DocArgument(
                name, types[name], told or found.get(name, DocArgument("", "", "")).meaning
            )
    for name, told in doc.arguments.items():
        if name in found:  # which another alias may have set
            found[name] = DocArgument(name, types[name], told)
    points = [point_text(point) for point in decl.points]
    return DocEntry(ALIAS, alias_name(decl), file, doc, "", list(found.values()), points, decl)


def assigned(body: n.Stmt | None) -> list[tuple[str, n.Expr]]:
    """List the variables that a body sets for handlers, with the first value of each."""
    found: dict[str, n.Expr] = {}
    for item in walk(body):
        if isinstance(item, n.Assign) and isinstance(item.target, n.Name):
            name = item.target.name
            if not name.startswith("__"):
                found.setdefault(name, item.value)
    return list(found.items())


def type_of(value: n.Expr, types: dict[str, str], result_of: Callable[[str], str]) -> str:
    """Tell whether an expression of a tapset is a string or a number, as far as it shows."""
    if isinstance(value, n.String):
        return "string"
    if isinstance(value, n.Target) and value.name == "$value" and not value.chain:
        return "string"  # of a file of the session
    if isinstance(value, n.Name):
        return types.get(value.name, "long")
    if isinstance(value, n.Call):
        return result_of(value.name)
    if isinstance(value, n.Print) and value.name in _STRINGS:
        return "string"
    if isinstance(value, n.Binary) and value.op == ".":
        return "string"
    if isinstance(value, n.Ternary):
        return type_of(value.yes, types, result_of)
    if isinstance(value, n.Entry):
        return type_of(value.operand, types, result_of)
    return "long"


def result_type(decl: n.FunctionDecl, result_of: Callable[[str], str]) -> str:
    """Tell what a function gives back: as it is declared, else as its first result shows."""
    if decl.type or decl.body is None:
        return decl.type
    for item in walk(decl.body):
        if isinstance(item, n.ReturnStmt) and item.value is not None:
            types = {one.name: one.type or "long" for one in decl.params}
            types |= {name: "string" for name, value in assigned(decl.body)
                      if type_of(value, {}, result_of) == "string"}  # fmt: skip
            return type_of(item.value, types, result_of)
    return ""


def is_public(name: str) -> bool:
    """Tell whether a name is one for scripts: those of the library's own use begin with ``_``."""
    return not re.match(r"_|.*\._", name)
