"""What holds of every `Program` that pass 2 hands on; `STAPY_VERIFY` asks for it, tests do.

Pass 3 relies on all of this without looking: a tree that breaks a rule becomes C that
does not compile, or that does and is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Bug
from stapy.ir import program as p
from stapy.ir.effects import Access, access, calls, pragma_access
from stapy.ir.walk import below, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_VALUES = (p.LONG, p.STRING)
_EXPRESSIONS = (*_VALUES, p.STATS, p.VOID, p.HISTOGRAM)
_LOOPS = (p.Loop, p.Foreach, p.ForeachBucket)
_PLACES = (p.LocalRef, p.GlobalRef, p.ElementRef, p.MemoryRead, p.ContextValue)


def check(program: p.Program) -> None:
    """Raise `Bug` when a rule is broken."""
    broken = problems(program)
    if broken:
        raise Bug("the program of pass 2 is not sound: " + "; ".join(broken[:5]))


def problems(program: p.Program) -> list[str]:
    """List every rule that a program breaks, and where; empty for a sound one."""
    look = _Look(program)
    return [
        *_names(program),
        *look.functions(),
        *look.handlers(),
        *look.probes(),
        *look.conditions(),
    ]


def _names(program: p.Program) -> Iterator[str]:
    """Report C names of two things, and globals of types that the runtime does not know."""
    tables: dict[str, Sequence[p.Global | p.Function | p.Handler]] = {
        "globals": program.globals,
        "functions": program.functions,
        "handlers": program.handlers,
    }
    taken: set[str] = set()
    for kind, rows in tables.items():
        for row in rows:
            if row.c_name in taken:
                yield f"{kind}: {row.c_name} is the name of two things"
            taken.add(row.c_name)
    for var in program.globals:
        if var.type not in (*_VALUES, p.STATS):
            yield f"{var.c_name}: a global of type {var.type}"
        if any(kind not in _VALUES for kind in var.keys):
            yield f"{var.c_name}: keys of types {_listed(var.keys)}"


class _Look:
    """The parts of one program, each with what the others have of it."""

    def __init__(self, program: p.Program) -> None:
        self._program = program
        self._globals = {id(var) for var in program.globals}
        self._functions = {id(function) for function in program.functions}
        self._by_name = {var.name: var for var in program.globals}
        self._access: dict[str, Access] = {}
        self._written: set[str] = set()
        for handler in program.handlers:
            found = self._whole(handler.body)
            self._written |= found.writes.keys() | found.inserts.keys()

    # --- bodies ----------------------------------------------------------------

    def functions(self) -> Iterator[str]:
        """Report functions without one of body and C, and calls of what is not there."""
        for function in self._program.functions:
            name = function.c_name
            if (function.body is None) == (function.code is None):
                yield f"{name}: not exactly one of body and code"
            if function.type not in (*_VALUES, p.VOID):
                yield f"{name}: returns {function.type}"
            if function.next is not None:
                if id(function.next) not in self._functions:
                    yield f"{name}: falls through to a function that is not in the program"
                if len(function.next.params) != len(function.params):
                    yield f"{name}: falls through to a function of other parameters"
            yield from self._variables(name, [*function.params, *function.locals])
            if function.body is not None:
                known = {v.name: v.type for v in (*function.params, *function.locals)}
                yield from self._body(name, function.body, known, in_function=True)

    def handlers(self) -> Iterator[str]:
        """Report handlers that nobody uses or that lack what they use."""
        used = {id(probe.handler) for probe in self._program.probes}
        used |= {id(probe.entry) for probe in self._program.probes}
        for handler in self._program.handlers:
            name = handler.c_name
            if id(handler) not in used:
                yield f"{name}: a handler of no probe"
            yield from self._variables(name, handler.locals)
            known = {v.name: v.type for v in handler.locals}
            yield from self._body(name, handler.body, known, in_function=False)
            yield from self._locks(name, handler)

    @staticmethod
    def _variables(where: str, variables: list[p.Variable]) -> Iterator[str]:
        names = [variable.name for variable in variables]
        if len(set(names)) < len(names):
            yield f"{where}: two variables of one name"
        for variable in variables:
            if variable.type not in _VALUES:
                yield f"{where}: {variable.name} is of type {variable.type}"

    def _body(
        self, where: str, body: p.Stmt, known: dict[str, p.Type], *, in_function: bool
    ) -> Iterator[str]:
        for node in walk(body):
            if not type(node).__module__.startswith(p.__name__):
                yield f"{where}: {type(node).__name__} is no part of a typed program"
            elif isinstance(node, p.Expr):
                yield from (f"{where}: {what}" for what in self._expression(node, known))
            elif isinstance(node, p.Return) and not in_function:
                yield f"{where}: return in a handler"
            elif isinstance(node, (p.If, p.Loop)):
                if node.cond is not None and node.cond.type != p.LONG:
                    yield f"{where}: a condition of type {node.cond.type}"
            elif isinstance(node, (p.Foreach, p.ForeachBucket)):
                yield from (f"{where}: {what}" for what in self._loop(node, known))
        yield from _jumps(where, body, False)

    def _loop(self, node: p.Foreach | p.ForeachBucket, known: dict[str, p.Type]) -> Iterator[str]:
        own = node.keys if isinstance(node, p.Foreach) else [node.bucket]
        for variable in (*own, *([node.value] if node.value is not None else [])):
            if variable.name not in known:
                yield f"the loop's variable {variable.name} is not declared"
        if isinstance(node, p.Foreach):
            yield from self._global(node.var)
            if len(node.keys) != len(node.var.keys):
                yield f"a loop of {len(node.keys)} keys over {node.var.c_name}"

    def _global(self, var: p.Global) -> Iterator[str]:
        if id(var) not in self._globals:
            yield f"{var.c_name} is not among the program's globals"

    def _expression(self, node: p.Expr, known: dict[str, p.Type]) -> Iterator[str]:
        if node.type not in _EXPRESSIONS:
            yield f"{type(node).__name__} of type {node.type}"
        if isinstance(node, p.LocalRef):
            if node.name not in known:
                yield f"{node.name} is not declared"
        elif isinstance(node, (p.GlobalRef, p.ElementRef, p.InArray)):
            yield from self._global(node.var)
            if not isinstance(node, p.GlobalRef):
                yield from _keys(node.var, node.keys)
        elif isinstance(node, p.CallOp):
            yield from self._call(node)
        elif isinstance(node, p.BinaryOp):
            yield from _operands(node)
        elif isinstance(node, (p.AssignOp, p.IncrementOp)):
            if not isinstance(node.target, _PLACES):
                yield f"{type(node.target).__name__} is given a value"
        elif isinstance(node, (p.LogicalOp, p.UnaryOp)):
            if any(isinstance(item, p.Expr) and item.type != p.LONG for item in below(node)):
                yield f"'{node.op}' of what is no number"
        elif isinstance(node, p.Conditional) and (
            node.cond.type != p.LONG or node.yes.type != node.no.type
        ):
            yield f"a choice between {node.yes.type} and {node.no.type} by {node.cond.type}"

    def _call(self, node: p.CallOp) -> Iterator[str]:
        function = node.function
        if id(function) not in self._functions:
            yield f"{function.c_name} is called and not in the program"
        given = [arg.type for arg in node.args]
        wanted = [param.type for param in function.params]
        if given != wanted:
            yield f"{function.c_name}({_listed(wanted)}) is called with ({_listed(given)})"

    # --- locks -------------------------------------------------------------------

    def _whole(self, tree: p.Node) -> Access:
        """Collect what a tree does to globals, callees included."""
        result = access(tree)
        for name, function in self._reached(tree).items():
            own = self._access.get(name)
            if own is None:
                own = pragma_access(function, self._by_name)
                if function.body is not None:
                    own = access(function.body)
                self._access[name] = own
            result.merge(own)
        return result

    @staticmethod
    def _reached(tree: p.Node) -> dict[str, p.Function]:
        """Find the functions that running a tree may get to, by their names in C."""
        found: dict[str, p.Function] = {}
        stack = [tree]
        while stack:
            for name, function in calls(stack.pop()).items():
                if name not in found:
                    found[name] = function
                    if function.body is not None:
                        stack.append(function.body)
        return found

    def _locks(self, where: str, handler: p.Handler) -> Iterator[str]:
        regions = [node for node in walk(handler.body) if isinstance(node, p.Locked)]
        held = [*handler.locks, *(lock for region in regions for lock in region.locks)]
        for lock in held:
            yield from (f"{where}: {what}" for what in self._global(lock.var))
        if not regions:
            yield from self._held(where, handler.body, handler.locks, handler.conditions)
            return
        for region in regions:
            yield from self._held(where, region.body, region.locks, region.conditions)
        for what in sorted(self._used(self._whole(_outside(handler.body)))):
            yield f"{where}: {what} is used where it is not held"

    def _used(self, found: Access) -> set[str]:
        """Choose the globals that need a lock: all that somebody writes."""
        used = {*found.reads, *found.writes, *found.inserts}
        return used & self._written

    def _held(
        self, where: str, tree: p.Node, locks: list[p.Lock], conditions: list[p.Condition]
    ) -> Iterator[str]:
        """Report a region's locks when out of order or not enough for all that it does."""
        names = [lock.var.c_name for lock in locks]
        if names != sorted(set(names)):
            yield f"{where}: locks out of order: {', '.join(names)}"
        found = self._whole(tree)
        for condition in conditions:
            found.merge(self._whole(condition.test))
        for name in sorted(self._used(found) - set(names)):
            yield f"{where}: {name} is used without its lock"
        writers = {lock.var.c_name for lock in locks if lock.for_writing}
        for name in sorted(found.writes.keys() - writers):
            yield f"{where}: {name} is written with a reader's lock"

    # --- probes --------------------------------------------------------------------

    def probes(self) -> Iterator[str]:
        """Report probes without places, and handlers and conditions of other programs."""
        handlers = {id(handler) for handler in self._program.handlers}
        conditions = {id(condition) for condition in self._program.conditions}
        for probe in self._program.probes:
            where = probe.points[0] if probe.points else probe.written
            if not probe.sites or len(probe.sites) != len(probe.points):
                yield f"{where}: {len(probe.sites)} sites, {len(probe.points)} points"
            for handler in (probe.handler, probe.entry):
                if handler is not None and id(handler) not in handlers:
                    yield f"{where}: {handler.c_name} is not among the program's handlers"
            if probe.condition is not None and id(probe.condition) not in conditions:
                yield f"{where}: its condition is not among the program's"
            if any(kind not in _VALUES for kind in probe.slots):
                yield f"{where}: saves {_listed(probe.slots)}"
            yield from self._slots(where, probe)

    @staticmethod
    def _slots(where: str, probe: p.DerivedProbe) -> Iterator[str]:
        """Report slots that the entry does not fill in order, or the return reads unfilled."""
        stored = [
            node.slot
            for node in walk(probe.entry.body if probe.entry is not None else None)
            if isinstance(node, p.SaveEntry)
        ]
        if stored != list(range(len(probe.slots))):
            yield f"{where}: slots {stored} of {len(probe.slots)} are filled"
        for node in walk(probe.handler.body):
            if isinstance(node, p.SaveEntry):
                yield f"{where}: a return saves what belongs to the entry"
            elif isinstance(node, p.SavedEntry) and node.slot >= len(probe.slots):
                yield f"{where}: slot {node.slot} of {len(probe.slots)} is read"

    def conditions(self) -> Iterator[str]:
        """Report conditions that do more than read globals."""
        for number, condition in enumerate(self._program.conditions):
            where = f"condition {number}"
            if condition.test.type != p.LONG:
                yield f"{where}: of type {condition.test.type}"
            for node in walk(condition.test):
                if isinstance(node, (p.AssignOp, p.IncrementOp, p.CallOp, p.LocalRef)):
                    yield f"{where}: has a {type(node).__name__}"
            changing = access(condition.test).reads.keys() & self._written
            if condition.judged_once and changing:
                yield f"{where}: judged once, but {', '.join(sorted(changing))} changes"


def _outside(node: p.Stmt) -> p.Stmt:
    """Return a body without its locked parts."""
    if isinstance(node, p.Locked):
        return p.Block(node.span, [])
    if isinstance(node, p.Block):
        return p.Block(node.span, [_outside(item) for item in node.body])
    if isinstance(node, p.If):
        other = _outside(node.otherwise) if node.otherwise is not None else None
        return p.If(node.span, node.cond, _outside(node.then), other)
    return node


def _jumps(where: str, node: p.Node, in_loop: bool) -> Iterator[str]:
    """Report each ``break`` and ``continue`` outside of a loop."""
    for item in below(node):
        if isinstance(item, p.Stmt):
            yield from _jumps(where, item, in_loop or isinstance(node, _LOOPS))
    if isinstance(node, (p.Break, p.Continue)) and not in_loop:
        yield f"{where}: {type(node).__name__.lower()} outside of a loop"


def _keys(var: p.Global, keys: Iterable[p.Expr | None]) -> Iterator[str]:
    kinds = [key.type if key is not None else None for key in keys]
    if len(kinds) != len(var.keys) or any(
        kind not in (None, wanted) for kind, wanted in zip(kinds, var.keys)
    ):
        yield f"{var.c_name}[{_listed(var.keys)}] is asked for [{_listed(kinds)}]"


def _listed(kinds: Iterable[p.Type | None]) -> str:
    return ", ".join("*" if kind is None else str(kind) for kind in kinds)


def _operands(node: p.BinaryOp) -> Iterator[str]:
    """Report sides of different types; strings are joined and compared, numbers do all else."""
    kinds = {node.left.type, node.right.type}
    allowed = {p.LONG}
    if node.op == ".":
        allowed = {p.STRING}
    elif node.op in ("<", ">", "<=", ">=", "==", "!="):
        allowed = {p.LONG, p.STRING}
    if len(kinds) > 1 or not kinds <= allowed:
        yield f"'{node.op}' of {node.left.type} and {node.right.type}"
