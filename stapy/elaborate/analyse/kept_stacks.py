"""Addresses of programs that are named where their program is not: the names would be others'.

What an address means is told by the mappings of the process that runs. A handler of ``end`` runs
in the consumer, one of a timer in whichever process is interrupted: what they take from globals
are addresses of another one. A process that ends has no mappings any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir import program as p
from stapy.ir.walk import below, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stapy.diagnostics import Diagnostics
    from stapy.elaborate.analyse.typed import TypedProbe

_MARKER = f"pragma:{p.USER_NAMES}"
# Families whose handlers run in a process that has nothing to do with what a script has kept.
_WHO_RUNS = {
    "begin_end": "the one that reads the output",
    "timer": "whichever the timer interrupts",
    "perf": "whichever is counted or interrupted",
    "procfs": "the one that reads or writes the file",
}
_ENDS = (".end", ".end?", ".end!")  # points of a process that has no memory any more
# By which a script keeps a value for each process: what it finds again is of the one that runs.
_WHO = frozenset(("tid", "pid", "task_current"))
# What only chooses between values passes none of them on.
_CHOOSING = frozenset(("==", "!=", "<", ">", "<=", ">="))


def check(
    probes: Iterable[TypedProbe], functions: list[p.Function], diagnostics: Diagnostics
) -> None:
    """Warn where what a global has kept is named in a process that is not the one it is from."""
    naming = _Naming(functions)
    if not naming.params:
        return
    told: set[object] = set()
    for probe in probes:
        who = _WHO_RUNS.get(probe.family, "")
        if probe.family == "process" and any(row.endswith(_ENDS) for row in probe.points):
            who = "one that ends, and has no mappings any more"
        if not who:
            continue
        for call in naming.of_kept(probe.body):
            if call.span in told:
                continue
            told.add(call.span)
            diagnostics.warning(
                "W0698",
                f"{call.function.name}() finds names of another process than the addresses are of",
                call.span,
                where=f"here that process is {who}",
                hint="names are looked up where the stack is: keep sprint_ubacktrace() instead of "
                "ubacktrace(), usymname(ADDRESS) instead of ADDRESS",
            )


class _Naming:
    """Which parameters of functions are addresses that are given names."""

    def __init__(self, functions: list[p.Function]) -> None:
        self._returning: set[str] = set()  # functions that return what globals have
        self.params: dict[str, set[int]] = {
            row.c_name: {0}
            for row in functions
            if row.code is not None and _MARKER in row.markers and len(row.params) == 1
        }
        written = [row for row in functions if row.body is not None]
        while self.params and sum(map(self._learn, written)):
            pass
        while self.params and sum(map(self._learn_returned, written)):
            pass

    def _learn(self, function: p.Function) -> bool:
        """Find further parameters that a function hands on; tell whether there were any."""
        known = self.params.get(function.c_name, set())
        found = {
            number
            for number, param in enumerate(function.params)
            if number not in known
            and any(self._calls(function.body, {param.name}, with_globals=False))
        }
        if found:
            self.params[function.c_name] = known | found
        return bool(found)

    def _learn_returned(self, function: p.Function) -> bool:
        nodes = walk(function.body)
        kept = self._kept(nodes, set(), with_globals=True)
        returned = [node.value for node in nodes if isinstance(node, p.Return)]
        if function.c_name in self._returning or not any(
            kept.has(value) for value in returned if value is not None
        ):
            return False
        self._returning.add(function.c_name)
        return True

    def _kept(self, nodes: list[p.Node], names: set[str], *, with_globals: bool) -> _Kept:
        kept = _Kept(names, self._returning if with_globals else set(), with_globals=with_globals)
        while sum(map(kept.learn, nodes)):
            pass
        return kept

    def of_kept(self, body: p.Stmt) -> Iterator[p.CallOp]:
        """Yield the calls that name what globals have, those of called functions included."""
        bodies, seen = [body], set[str]()
        while bodies:
            one = bodies.pop()
            yield from self._calls(one, set(), with_globals=True)
            for call in walk(one):
                if isinstance(call, p.CallOp) and call.function.c_name not in seen:
                    seen.add(call.function.c_name)
                    bodies += [call.function.body] if call.function.body is not None else []

    def _calls(
        self, body: p.Stmt | None, names: set[str], *, with_globals: bool
    ) -> Iterator[p.CallOp]:
        """Yield the calls of a body that name some locals, or what locals have of them."""
        nodes = walk(body)
        kept = self._kept(nodes, names, with_globals=with_globals)
        for node in nodes:
            if isinstance(node, p.CallOp):
                numbers = self.params.get(node.function.c_name, ())
                if any(kept.has(node.args[number]) for number in numbers):
                    yield node


class _Kept:
    """The locals of a body that have kept values."""

    def __init__(self, names: set[str], returning: set[str], *, with_globals: bool) -> None:
        self._names = set(names)
        self._returning = returning
        self._with_globals = with_globals

    def learn(self, node: p.Node) -> bool:
        """Add the locals that a node gives such values; tell whether there were any."""
        found: set[str] = set()
        if isinstance(node, p.Foreach) and self._with_globals:
            found = {one.name for one in (*node.keys, node.value) if one is not None}
        elif isinstance(node, p.AssignOp) and isinstance(node.target, p.LocalRef):
            found = {node.target.name} if self.has(node.value) else set()
        new = found - self._names
        self._names |= new
        return bool(new)

    def has(self, value: p.Node) -> bool:
        """Tell whether a value is, or is made of, a kept one."""
        if isinstance(value, p.GlobalRef):
            return self._with_globals
        if isinstance(value, p.ElementRef):
            return self._with_globals and not _is_of_who_runs(value)
        if isinstance(value, p.LocalRef):
            return value.name in self._names
        if isinstance(value, p.LogicalOp):
            return False
        if isinstance(value, p.CallOp) and value.function.c_name in self._returning:
            return True
        if isinstance(value, p.BinaryOp) and value.op in _CHOOSING:
            return False
        if isinstance(value, p.Conditional):
            return self.has(value.yes) or self.has(value.no)
        return any(map(self.has, below(value)))


def _is_of_who_runs(element: p.ElementRef) -> bool:
    return any(
        isinstance(node, p.CallOp) and node.function.name in _WHO
        for key in element.keys
        for node in walk(key)
    )
