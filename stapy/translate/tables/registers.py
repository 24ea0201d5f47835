"""Which handlers look only at registers that the kernel saves at each entry of a function anyway.

A callback of ftrace that wants all of them costs twice as much to reach.
"""

from __future__ import annotations

import re

from stapy.arch import Architecture
from stapy.ir import program as p
from stapy.ir.walk import walk
from stapy.translate.c.words import hides, words_in

# Contexts that are not registers, or among the saved ones.
_HARMLESS = frozenset({"arg", "stack_arg", "syscall_arg", "address", "trace_arg"})
# What C may do with its context besides.
_ALLOWED = (
    r"\bc\s*->\s*(?:regs\s*->\s*(?:{members})(?!\w)"
    r"|regs\s*\?|(?:site|address|error|is_return)\b)"
)
_SUSPECT = frozenset({"c", "CONTEXT", "regs"})


class Registers:
    """Answers for one program; ``macros`` are those of its embedded C."""

    def __init__(self, macros: frozenset[str], architecture: Architecture) -> None:
        self._macros = macros
        self._architecture = architecture
        members = "|".join(map(re.escape, architecture.saved))
        self._allowed = re.compile(_ALLOWED.replace("{members}", members))
        self._calls: dict[int, list[p.Function] | None] = {}

    def are_few(self, handler: p.Handler | None) -> bool:
        """Tell whether the saved registers suffice for a handler at a function's entry."""
        reached = [] if handler is None else self._below(handler.body)
        seen: set[int] = set()
        while reached:
            function = reached.pop()
            if id(function) not in seen:
                seen.add(id(function))
                calls = self._inside(function)
                if calls is None:
                    return False
                reached += calls
        return reached is not None

    def _inside(self, function: p.Function) -> list[p.Function] | None:
        key = id(function)
        if key not in self._calls:
            body, calls = function.body, None
            if body is not None:
                calls = self._below(body)
            elif not self._suspect(function.code or ""):
                calls = []
            if calls is not None and function.next is not None:
                calls.append(function.next)
            self._calls[key] = calls
        return self._calls[key]

    def _below(self, body: p.Stmt) -> list[p.Function] | None:
        """List the functions that a body calls; None when it needs other registers itself."""
        calls = []
        for node in walk(body):
            if isinstance(node, p.CallOp):
                calls.append(node.function)
            elif isinstance(node, p.ContextValue):
                if self._others(node):
                    return None
            elif isinstance(node, (p.EmbeddedValue, p.EmbeddedC)) and self._suspect(node.code):
                return None
        return calls

    def _others(self, node: p.ContextValue) -> bool:
        if node.name in ("register", "kernel_register"):
            return self._architecture.registers[node.index] not in self._architecture.saved
        return node.name not in _HARMLESS

    def _suspect(self, code: str) -> bool:
        rest = self._allowed.sub(" ", code)
        return hides(code, self._macros) or not _SUSPECT.isdisjoint(words_in(rest))
