"""The public names of one library file."""

from __future__ import annotations

import re

from stapy.parse import nodes as n
from stapy.patterns import compiled_when_used

# What a file gives to others: functions, globals, macros, aliases (as component names).
Declared = tuple[list[str], list[str], list[str], list[tuple[str, ...]]]

_DECLARATION = compiled_when_used(
    r"^[ \t]*(?:(?P<private>private)\s+)?"
    r"(?:function\s+(?P<function>[A-Za-z_]\w*)"
    r"|global\s+(?P<globals>[^;{}=\[\n]*)"
    r"|probe\s+(?P<alias>[\w.]+)\s*\+?=)",
    re.MULTILINE | re.ASCII,
)
_MACRO = compiled_when_used(r"@define\s+([A-Za-z_]\w*)", re.ASCII)
_WORD = compiled_when_used(r"[A-Za-z_]\w*", re.ASCII)


def names_of(script: n.Script) -> Declared:
    """List the exact names that a parsed file declares for others."""
    functions: dict[str, None] = {}
    variables: list[str] = []
    aliases: dict[tuple[str, ...], None] = {}
    for decl in script.decls:
        if isinstance(decl, n.FunctionDecl):
            if not decl.is_private:
                functions[decl.name] = None
        elif isinstance(decl, n.GlobalDecl):
            if not decl.is_private:
                variables.append(decl.name)
        elif isinstance(decl, n.AliasDecl):
            aliases[tuple(component.name for component in decl.name)] = None
    return list(functions), variables, [], list(aliases)


def guess_names(text: str) -> Declared:
    """Find the names that a text may declare, without parsing it.

    For files with errors (so that who uses them hears of the errors) and for
    generated texts (too many to parse them all).
    """
    functions: dict[str, None] = {}
    variables: list[str] = []
    aliases: dict[tuple[str, ...], None] = {}
    for found in _DECLARATION().finditer(text):
        if found["private"]:
            continue
        if found["function"]:
            functions[found["function"]] = None
        elif found["alias"]:
            aliases[tuple(found["alias"].split("."))] = None
        elif found["globals"]:
            variables += _WORD().findall(found["globals"])
    return list(functions), variables, [], list(aliases)


def macro_names(text: str) -> list[str]:
    """List the macros that a text may define."""
    return list(dict.fromkeys(_MACRO().findall(text)))
