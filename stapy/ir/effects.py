"""What code does: which globals it reads and writes, how deep it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir import program as p
from stapy.ir.walk import walk
from stapy.record import Record, new

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NESTING = 10
PRAGMA_READ = "pragma:read:"
PRAGMA_WRITE = "pragma:write:"
PURE = {"pure", "stable"}
MEMORY = "memory"  # what MemoryRead reads and a write through a pointer changes
PROBED = "context"  # what ContextValue reads: registers and the like


class Access(Record):
    """Globals by c_name."""

    reads: dict[str, p.Global] = new(dict)
    writes: dict[str, p.Global] = new(dict)
    inserts: dict[str, p.Global] = new(dict)  # statistics that only get values added
    sorts: dict[str, p.Global] = new(dict)  # arrays that a loop puts in order, among the reads

    def merge(self, other: Access) -> None:
        """Add what ``other`` does."""
        self.reads.update(other.reads)
        self.writes.update(other.writes)
        self.inserts.update(other.inserts)
        self.sorts.update(other.sorts)

    @property
    def size(self) -> int:
        """Grows when `merge` brought something new."""
        return sum(map(len, (self.reads, self.writes, self.inserts, self.sorts)))


def _var(node: p.Node) -> p.Global | None:
    return node.var if isinstance(node, (p.GlobalRef, p.ElementRef)) else None


# Most nodes are none of these, which is sooner told than that they are none of each.
_ACCESSES = frozenset(
    (
        *(p.AssignOp, p.IncrementOp, p.Delete, p.EmbeddedValue, p.EmbeddedC),
        *(p.GlobalRef, p.ElementRef, p.InArray, p.Foreach),
    )
)


def access(node: p.Node) -> Access:
    """Collect what a tree itself does to globals; calls are not followed."""
    result = Access()
    targets: set[int] = set()
    for item in walk(node):
        if type(item) not in _ACCESSES:
            continue
        if isinstance(item, (p.AssignOp, p.IncrementOp)):
            var = _var(item.target)
            if var is None:
                continue
            targets.add(id(item.target))
            op = item.op
            if op == "<<<":
                result.inserts[var.c_name] = var
                continue
            result.writes[var.c_name] = var
            if op != "=":
                result.reads[var.c_name] = var
        elif isinstance(item, p.Delete):
            var = _var(item.target)
            if var is not None:
                targets.add(id(item.target))
                result.writes[var.c_name] = var
        elif isinstance(item, (p.EmbeddedValue, p.EmbeddedC)):
            result.reads.update((var.c_name, var) for var in item.reads)
            result.writes.update((var.c_name, var) for var in item.writes)
        elif isinstance(item, (p.GlobalRef, p.ElementRef)):
            if id(item) not in targets:
                result.reads[item.var.c_name] = item.var
        elif isinstance(item, (p.InArray, p.Foreach)):
            result.reads[item.var.c_name] = item.var
            if isinstance(item, p.Foreach) and item.sort_by:
                result.sorts[item.var.c_name] = item.var
    return result


def values_read(node: p.Node) -> set[str]:
    """Collect the c_names of globals whose value a tree uses.

    ``x++`` and ``x += 1`` as statements do not count. ``delete`` does, as in SystemTap: a script
    that takes elements away looks after them itself.
    """
    found: set[str] = set()
    targets: set[int] = set()
    for item in walk(node):
        if isinstance(item, p.Evaluate) and isinstance(item.expr, (p.AssignOp, p.IncrementOp)):
            targets.add(id(item.expr.target))
        elif isinstance(item, p.Loop) and isinstance(item.step, (p.AssignOp, p.IncrementOp)):
            targets.add(id(item.step.target))
        elif isinstance(item, p.AssignOp) and item.op in ("=", "<<<"):
            targets.add(id(item.target))
        elif isinstance(item, (p.GlobalRef, p.ElementRef)):
            if id(item) not in targets:
                found.add(item.var.c_name)
        elif isinstance(item, (p.InArray, p.Foreach)):
            found.add(item.var.c_name)
        elif isinstance(item, (p.EmbeddedValue, p.EmbeddedC)):
            found.update(var.c_name for var in item.reads)
    return found


def calls(node: p.Node) -> dict[str, p.Function]:
    """Collect the functions that a tree calls, with the overloads they fall through to.

    The keys are their c_names.
    """
    found: dict[str, p.Function] = {}
    for item in walk(node):
        if isinstance(item, p.CallOp):
            function: p.Function | None = item.function
            while function is not None and function.c_name not in found:
                found[function.c_name] = function
                function = function.next
    return found


def _own_effect(node: p.Node) -> bool:
    """Tell whether a tree does more than compute a value and set its locals."""
    return any(acts(item) for item in walk(node))


def acts(item: p.Node) -> bool:
    """Tell whether a node, whatever is below it, does more than compute a value or set a local."""
    if isinstance(item, (p.AssignOp, p.IncrementOp)):
        return not isinstance(item.target, p.LocalRef)
    if isinstance(item, p.PrintOp):
        return item.type != p.STRING
    if isinstance(item, (p.EmbeddedValue, p.EmbeddedC)):
        return not item.markers & PURE
    return isinstance(item, (p.Delete, p.SaveEntry))


def function_effects(functions: Iterable[p.Function]) -> set[str]:
    """Collect the c_names of the functions that have side effects."""
    impure: set[str] = set()
    edges: dict[str, set[str]] = {}
    for function in functions:
        if function.code is not None:
            if not function.markers & PURE:
                impure.add(function.c_name)
        elif function.body is not None and _own_effect(function.body):
            impure.add(function.c_name)
        edges[function.c_name] = set(calls(function.body)) if function.body is not None else set()
        if function.next is not None:
            edges[function.c_name].add(function.next.c_name)
    changed = True
    while changed:
        changed = False
        for name, targets in edges.items():
            if name not in impure and targets & impure:
                impure.add(name)
                changed = True
    return impure


def has_effect(node: p.Node, impure: set[str]) -> bool:
    """Tell whether dropping an expression would change what the script does."""
    for item in walk(node):
        if isinstance(item, (p.AssignOp, p.IncrementOp, p.SaveEntry)):
            return True
        if isinstance(item, p.PrintOp) and item.type != p.STRING:
            return True
        if isinstance(item, (p.EmbeddedValue, p.EmbeddedC)) and not item.markers & PURE:
            return True
        if isinstance(item, p.CallOp):
            function: p.Function | None = item.function
            while function is not None:
                if function.c_name in impure:
                    return True
                function = function.next
    return False


# --- the call graph -----------------------------------------------------------


def pragma_access(function: p.Function, globals_: dict[str, p.Global]) -> Access:
    """Read what embedded C says of globals: ``/* pragma:read:x */`` and ``write``."""
    result = Access()
    for mark in function.markers:
        for prefix, table in ((PRAGMA_READ, result.reads), (PRAGMA_WRITE, result.writes)):
            if mark.startswith(prefix) and mark[len(prefix) :] in globals_:
                var = globals_[mark[len(prefix) :]]
                table[var.c_name] = var
    return result


class CallGraph:
    """Accesses and depth of functions, callees included."""

    def __init__(self, functions: list[p.Function], globals_: dict[str, p.Global]) -> None:
        self.functions = {f.c_name: f for f in functions}
        self.edges: dict[str, set[str]] = {}
        self.access: dict[str, Access] = {}
        for function in functions:
            below: set[str] = set()
            own = Access()
            if function.body is not None:
                below = set(calls(function.body))
                own = access(function.body)
            else:
                own = pragma_access(function, globals_)
            if function.next is not None:
                below.add(function.next.c_name)
            self.edges[function.c_name] = below
            self.access[function.c_name] = own
        self._close()

    def _close(self) -> None:
        changed = True
        while changed:
            changed = False
            for name, below in self.edges.items():
                mine = self.access[name]
                size = mine.size
                for other in below:
                    mine.merge(self.access[other])
                changed = changed or mine.size != size

    def recursive(self) -> set[str]:
        """Find the functions that can call themselves, directly or through others."""
        found: set[str] = set()
        for start in self.edges:
            seen: set[str] = set()
            stack = list(self.edges[start])
            while stack:
                name = stack.pop()
                if name == start:
                    found.add(start)
                    break
                if name not in seen:
                    seen.add(name)
                    stack.extend(self.edges[name])
        return found

    def depth(self, roots: Iterable[str]) -> int:
        """Count the calls of the longest chain from ``roots``.

        With recursion it is no less than SystemTap's MAXNESTING.
        """
        if self.recursive():
            return MAX_NESTING + 1 + len(self.edges)
        known: dict[str, int] = {}

        def of(name: str) -> int:
            if name not in known:
                known[name] = 1 + max((of(x) for x in self.edges[name]), default=0)
            return known[name]

        return max((of(name) for name in roots), default=0)

    def whole(self, node: p.Node) -> Access:
        """Collect what a tree does to globals, callees included."""
        result = access(node)
        for name in calls(node):
            result.merge(self.access[name])
        return result


def locks_of(found: Access, constant: set[str]) -> list[p.Lock]:
    """Choose the locks for a handler, in one order for the whole program.

    Adding to a statistic is a reader's business: each CPU has its own part.
    Reading one merges the parts and needs the writer's lock; so does sorting,
    which happens in the array itself.  A global that nobody writes needs none.
    """
    rows: dict[str, p.Lock] = {}
    for table, write in ((found.inserts, False), (found.reads, False), (found.writes, True)):
        for name, var in table.items():
            if name in constant:
                continue
            exclusive = write or (
                table is found.reads and (var.type == p.STATS or name in found.sorts)
            )
            old = rows.get(name)
            rows[name] = p.Lock(var, exclusive or (old is not None and old.for_writing))
    return [rows[name] for name in sorted(rows)]


def state_of(target: p.Expr) -> str:
    """Name what a target stores into, as pass 3 knows it."""
    if isinstance(target, p.LocalRef):
        return "l." + target.name
    if isinstance(target, (p.GlobalRef, p.ElementRef)):
        return "g." + target.var.c_name
    return PROBED if isinstance(target, p.ContextValue) else MEMORY


class Effects(Record):
    """``writes``: state that changes; ``takes_time``: a clock that is read before differs after."""

    writes: frozenset[str]
    takes_time: bool


def effects(expr: p.Node) -> Effects:
    """Find what evaluating an expression changes, calls followed: it keeps the script's order."""
    writes: set[str] = set()
    slow = False
    for node in walk(expr):
        if isinstance(node, (p.AssignOp, p.IncrementOp)):
            writes.add(state_of(node.target))
        elif isinstance(node, p.CallOp):
            slow = True
            writes |= {"g." + name for name in node.function.writes}
            if not node.function.markers & PURE:
                writes.add(MEMORY)
        elif isinstance(node, p.EmbeddedValue):
            slow = True
            writes |= {"g." + var.c_name for var in node.writes}
        elif isinstance(node, (p.PrintOp, p.PrettyPrint, p.RegexMatch)):
            slow = True
    return Effects(frozenset(writes), slow)
