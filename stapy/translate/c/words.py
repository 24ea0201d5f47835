"""What a piece of the script's own C may do, told by the words in it."""

from __future__ import annotations

import re

from stapy.ir import program as p
from stapy.ir.walk import walk

_JUMPS = re.compile(
    r"\b(?:STAP_ERROR|STAP_RETURN|STAP_NEXT|STAP_GLOBAL_SET_|goto|\w*deref\w*|[ku]read|[ku]write|CATCH_)"
)
_FAILS = re.compile(
    r"\b(?:STAP_ERROR|STAP_NEXT|STAP_GLOBAL_SET_|[ku]read|[ku]write|\w*deref\w*)"
    r"|\bCONTEXT\b|\bc\s*->\s*error\b|[(,]\s*c\s*[,)]"
)
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
_WORD = re.compile(r"\w+")
_RUNTIME_MACRO = re.compile(r"\bSTAPY_[A-Z0-9_]+\s*\(")


def macros_of(program: p.Program) -> frozenset[str]:
    """Find the macros that embedded blocks define: what hides in them is not known here."""
    return frozenset(name for code in program.embedded for name in _DEFINED.findall(code))


def words_of(program: p.Program) -> frozenset[str]:
    """Find the words of the script's C: none may mean one of our locals where it stands."""
    words = {name for code in program.embedded for name in _DEFINED.findall(code)}
    bodies: list[p.Stmt] = [handler.body for handler in program.handlers]
    bodies += [one.body for one in program.functions if one.body is not None]
    for body in bodies:
        for node in walk(body):
            if isinstance(node, (p.EmbeddedValue, p.EmbeddedC)):
                words.update(words_in(node.code))
    return frozenset(words)


def words_in(code: str) -> list[str]:
    """List every word of a piece of C."""
    return _WORD.findall(code)


def can_fail(function: p.Function, macros: frozenset[str]) -> bool:
    """Tell whether the C of a function may set the error of the run."""
    code = function.code or ""
    if p.ASSERTS in function.markers:
        return True
    return _FAILS.search(code) is not None or hides(code, macros)


def hides(code: str, macros: frozenset[str]) -> bool:
    """Tell whether code uses a macro that may itself use any of the names below."""
    return _RUNTIME_MACRO.search(code) is not None or not macros.isdisjoint(words_in(code))


def may_jump(code: str, macros: frozenset[str]) -> bool:
    """Tell whether verbatim C may go to one of the labels that it is promised."""
    return _JUMPS.search(code) is not None or hides(code, macros)
