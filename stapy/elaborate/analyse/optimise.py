"""Dropping what has no effect, as SystemTap does, with its warnings; ``-u`` switches it off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import NOWHERE
from stapy.elaborate.analyse.lone import LoneWords
from stapy.elaborate.lower.fold import constant, fold, literal
from stapy.elaborate.lower.lowered import Dropped
from stapy.ir import program as p
from stapy.ir.effects import acts, calls, function_effects, has_effect
from stapy.ir.walk import transform, walk
from stapy.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.diagnostics import Span
    from stapy.elaborate.lower.body import FunctionBody
    from stapy.elaborate.lower.lowered import Lowered, LoweredProbe
    from stapy.services import Services

MAX_ROUNDS = 50


def optimise(lowered: Lowered, services: Services) -> Lowered:
    """Return the program without what has no effect; its ``dropped`` has what was left out."""
    optimiser = Optimiser(lowered, services)
    optimiser.run()
    left = replace(
        lowered,
        probes=optimiser.probes,
        functions=optimiser.functions,
        dropped=optimiser.dropped,
    )
    return left


class Optimiser:
    """Works on the lowered, still untyped bodies of one program."""

    def __init__(self, lowered: Lowered, services: Services) -> None:
        self._unreachable = lowered.unreachable
        self.services = services
        self.probes = lowered.probes
        self.functions = lowered.functions
        self.impure: set[str] = set()
        self._changed = False
        self._quiet = False
        self._has_errors = bool(services.diagnostics.errors)  # to which nothing here adds
        self._words = LoneWords(p.Block(NOWHERE, []), None)  # of the body at hand
        self._used: set[str] = set()  # locals of the body at hand that are read somewhere
        self._conditions: list[Span] = []  # of its assignments that stand as one
        self._function: p.Function | None = None  # the one whose body is at hand
        self.dropped: list[Dropped] = []  # of the user's code

    # --- messages -----------------------------------------------------------

    def _is_user(self, span: Span) -> bool:
        source = self.services.sources.source(span)
        return source is None or not source.is_library

    def _warn(self, code: str, text: str, span: Span, hint: str = "") -> None:
        if not self._quiet and not self._has_errors and self._is_user(span):
            self.services.diagnostics.warning(code, text, span, hint=hint)

    def _drop(self, node: p.Node | None, even_acting: bool = False) -> None:
        """Note a piece that is left out, so that its types can be checked all the same."""
        if node is not None and self._is_user(node.span):
            acts_ = not even_acting and self._acts(node)
            self.dropped.append(Dropped(node, self._function, acts_))

    def _acts(self, node: p.Node) -> bool:
        """Tell whether code has effects: SystemTap checks it, even where it never runs."""
        return any(
            acts(item) or (isinstance(item, p.CallOp) and has_effect(item, self.impure))
            for item in walk(node)
        )

    # --- the whole program ----------------------------------------------------

    def run(self) -> None:
        """Fold and drop until nothing changes."""
        if self.services.options.unoptimized:
            return
        for _ in range(MAX_ROUNDS):
            self._changed = False
            functions = [f.function for f in self.functions]
            self.impure = function_effects(functions)
            for function in self.functions:
                if function.function.body is not None:
                    self._function = function.function
                    function.function.body = self._body(function.function.body, function.locals)
            self._function = None
            for raw in self.probes:
                self._probe(raw)
            self._prune_functions()
            if not self._changed:
                break
        for function in self.functions:
            self._idle_function(function)
        self._empty_probes()

    def _probe(self, raw: LoweredProbe) -> None:
        raw.body = self._body(raw.body, raw.locals)
        if raw.slots is not None:
            raw.slots.values = [transform(v, _fold_expr) for v in raw.slots.values]

    def _prune_functions(self) -> None:
        reached: set[str] = set()
        stack: list[p.Node] = [raw.body for raw in self.probes]
        for raw in self.probes:
            if raw.slots is not None:
                stack += raw.slots.values
        while stack:
            for name, function in calls(stack.pop()).items():
                if name not in reached:
                    reached.add(name)
                    if function.body is not None:
                        stack.append(function.body)
        kept = [f for f in self.functions if f.function.c_name in reached]
        if len(kept) == len(self.functions):
            return
        self._changed = True
        used = {id(f.source.decl) for f in kept}
        for item in self.functions:
            if item.function.c_name not in reached and id(item.source.decl) not in used:
                self._unused(item)
        self.functions = kept

    def _unused(self, item: FunctionBody) -> None:
        function = item.function
        if item.source.file.script.is_library:
            return
        if id(item.source.decl) not in self._unreachable:
            text = f"Eliding unused function '{function.name}'"
            self._warn("W0611", text, function.span, hint="-u keeps it")
        if function.body is not None:
            self.dropped.append(Dropped(function.body, function, False))

    def _idle_function(self, item: FunctionBody) -> None:
        function = item.function
        if function.body is not None and _is_empty(function.body):
            self._warn("W0605", f"side-effect-free function '{function.name}'", function.span)

    def _empty_probes(self) -> None:
        kept = []
        busy = {id(raw.derived) for raw in self.probes if not _is_empty(raw.body)}
        for raw in self.probes:
            if any(getattr(match.site, "counter", "") for match in raw.matches):
                kept.append(raw)  # @perf reads what it counts
            elif _is_empty(raw.body):
                # Of several places with variables of their own, some may have nothing to do.
                if id(raw.derived) in busy:
                    continue
                self._warn(
                    "W0606",
                    f"Probe '{raw.derived.alias}' has been elided",
                    raw.derived.span,
                    hint="its body does nothing; -u keeps it",
                )
            else:
                kept.append(raw)
        self.probes = kept

    # --- one body ---------------------------------------------------------------

    def _body(self, body: p.Stmt, locals_: dict[str, p.Variable]) -> p.Stmt:
        self._words = LoneWords(body, self._function)
        self._used = _reads(body)
        self._conditions = _conditions(body)
        body = transform(body, self._change)
        used = _reads(body)
        unread = {name for name in locals_ if name not in used}
        if unread:
            body = transform(body, lambda node: self._unassign(node, unread))
            # One message is enough: what is left of the assignment goes silently.
            self._quiet = True
            body = transform(body, self._change)
            self._quiet = False
            mentioned = _mentioned(body)
            for name in unread - mentioned:
                locals_.pop(name, None)
        return body

    def _unassign(self, node: p.Node, unread: set[str]) -> p.Node:
        """Replace an assignment to a local in ``unread`` by its value; leave all else."""
        if isinstance(node, p.AssignOp) and node.op == "=":
            target = node.target
            if isinstance(target, p.LocalRef) and target.name in unread:
                self._drop(node)
                if not target.name.startswith("__"):
                    hint = "'==' compares" if node.span in self._conditions else ""
                    self._warn("W0602", f"Eliding assignment to '{target.name}'", node.span, hint)
                self._changed = True
                return node.value
        return node

    def _change(self, node: p.Node) -> p.Node:
        if isinstance(node, p.Expr):
            folded = self._decided(node, fold(node))
            if isinstance(node, p.LogicalOp) and isinstance(folded, p.Const):
                self._drop(node)
            elif isinstance(node, p.Conditional) and isinstance(cond := literal(node.cond), int):
                self._drop(node.no if cond else node.yes)
            return folded
        change = _STATEMENTS.get(type(node))
        return change(self, node) if change is not None else node

    def _decided(self, node: p.Expr, folded: p.Expr) -> p.Expr:
        """Fold an operator that one side decides, as ``x * 0``, where SystemTap folds it, too.

        What the other side reads counts as never read, and an error that it would have met is none.
        """
        if folded is not node or not isinstance(node, (p.BinaryOp, p.LogicalOp)):
            return folded
        value = _decided_by(node.op, literal(node.left), literal(node.right))
        if value is None or has_effect(node, self.impure):
            return folded
        self._changed = True
        if isinstance(node, p.BinaryOp):
            self._drop(node)
        return p.Const(node.span, p.LONG, value)

    def _nothing(self, node: p.Stmt) -> p.Stmt:
        self._changed = True
        return p.Block(node.span, [])

    def evaluate(self, node: p.Evaluate) -> p.Stmt:
        """Drop a value that nobody uses."""
        if has_effect(node.expr, self.impure):
            return node
        hint, is_second = self._words.look_at(node.expr, self.services.sources)
        # SystemTap's layout has what scripts compare with what it says itself.
        if not is_second or self.services.options.message_format == "systemtap":
            self._warn("W0604", "Eliding side-effect-free expression ", node.expr.span, hint)
        self._drop(node.expr)
        return self._nothing(node)

    def embedded(self, node: p.EmbeddedC) -> p.Stmt:
        """Drop C that promises to do nothing but compute a value."""
        if has_effect(node, self.impure):
            return node
        self._warn("W0604", "Eliding side-effect-free expression ", node.span)
        return self._nothing(node)

    def block(self, node: p.Block) -> p.Stmt:
        """Flatten blocks; nothing after a jump is reached."""
        flat: list[p.Stmt] = []
        for item in node.body:
            if isinstance(item, p.Block):
                flat += item.body
            else:
                flat.append(item)
        for number, item in enumerate(flat):
            if isinstance(item, (p.Next, p.Return, p.Break, p.Continue)):
                for unreached in flat[number + 1 :]:
                    self._drop(unreached, even_acting=True)
                del flat[number + 1 :]
                break
        node.body = flat
        return flat[0] if len(flat) == 1 else node

    def if_(self, node: p.If) -> p.Stmt:
        """Decide known conditions, drop empty branches."""
        known = constant(node.cond)
        if isinstance(known, int):
            self._changed = True
            chosen = node.then if known else node.otherwise
            self._drop(node.otherwise if known else node.then)
            return chosen if chosen is not None else p.Block(node.span, [])
        if node.otherwise is not None and _is_empty(node.otherwise):
            node.otherwise = None
        if _is_empty(node.then):
            self._changed = True
            if node.otherwise is None:
                if not has_effect(node.cond, self.impure):
                    self._drop(node.cond)
                    return p.Block(node.span, [])
                return p.Evaluate(node.cond.span, node.cond)
            node.cond = fold(p.UnaryOp(node.cond.span, p.LONG, "!", node.cond))
            node.then, node.otherwise = node.otherwise, None
        return node

    def loop(self, node: p.Loop) -> p.Stmt:
        """Drop loops that never run, and empty ones without effect."""
        known = constant(node.cond) if node.cond is not None else 1
        if known == 0:
            self._drop(node)
            return self._nothing(node)
        if known is not None or not _is_empty(node.body):
            return node
        effect = has_effect(node.cond, self.impure) if node.cond is not None else False
        if node.step is not None:
            effect = effect or has_effect(node.step, self.impure)
        if effect:
            return node
        self._drop(node)
        return self._nothing(node)

    def foreach(self, node: p.Foreach) -> p.Stmt:
        """Drop a loop that never runs, or an empty one unless its variables are used after it."""
        known = constant(node.limit) if node.limit is not None else None
        if isinstance(known, int) and known <= 0:
            slots = [slot for slot in node.slice or () if slot is not None]
            if any(has_effect(slot, self.impure) for slot in slots):
                return node
            self._drop(node)
            return self._nothing(node)
        if not _is_empty(node.body):
            return node
        limit = node.limit is not None and has_effect(node.limit, self.impure)
        variables = [*node.keys, *([node.value] if node.value is not None else [])]
        kept = limit or any(variable.name in self._used for variable in variables)
        return node if kept else self._nothing(node)

    def try_(self, node: p.Try) -> p.Stmt:
        """Leave out a ``try`` whose body is empty."""
        if not _is_empty(node.body):
            return node
        self._drop(node)  # with its variable, which is a string
        return self._nothing(node)


_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1
# What an operator gives for a number on its left or on its right, whatever the other side is.
_LEFT_DECIDES: dict[tuple[str, int | str | None], int] = {
    **{("*", 0): 0, ("&", 0): 0, ("|", -1): -1, ("<<", 0): 0, (">>", 0): 0, (">>", -1): -1},
    **{(">", _LEAST): 0, ("<=", _LEAST): 1, ("<", _GREATEST): 0, (">=", _GREATEST): 1},
}
_RIGHT_DECIDES: dict[tuple[str, int | str | None], int] = {
    **{("*", 0): 0, ("&", 0): 0, ("|", -1): -1, ("%", 1): 0, ("%", -1): 0, ("&&", 0): 0},
    **{("<", _LEAST): 0, (">=", _LEAST): 1, (">", _GREATEST): 0, ("<=", _GREATEST): 1},
}


def _decided_by(op: str, left: int | str | None, right: int | str | None) -> int | None:
    """Compute what an operator gives whatever its unknown side is; None when that side matters."""
    if op == "||" and isinstance(right, int) and right:
        return 1
    value = _LEFT_DECIDES.get((op, left))
    return _RIGHT_DECIDES.get((op, right)) if value is None else value


def _fold_expr(node: p.Node) -> p.Node:
    return fold(node) if isinstance(node, p.Expr) else node


def _is_empty(node: p.Stmt) -> bool:
    return isinstance(node, p.Block) and all(_is_empty(item) for item in node.body)


def _reads(body: p.Stmt) -> set[str]:
    """Find the locals whose value is used somewhere."""
    targets: set[int] = set()
    found: set[str] = set()
    for item in walk(body):
        if isinstance(item, p.AssignOp) and item.op == "=":
            targets.add(id(item.target))
        elif isinstance(item, p.LocalRef) and id(item) not in targets:
            found.add(item.name)
    return found


def _conditions(body: p.Stmt) -> list[Span]:
    """Find the assignments that stand where a condition does: a comparison may have been meant."""
    found: list[p.Expr | None] = []
    for item in walk(body):
        if isinstance(item, (p.If, p.Loop, p.Conditional)):
            found.append(item.cond)
        elif isinstance(item, p.LogicalOp):
            found += [item.left, item.right]
    return [item.span for item in found if isinstance(item, p.AssignOp) and item.op == "="]


def _mentioned(body: p.Stmt) -> set[str]:
    """Find the locals that still occur, loop and catch variables included."""
    found: set[str] = set()
    for item in walk(body):
        if isinstance(item, p.LocalRef):
            found.add(item.name)
        elif isinstance(item, p.Foreach):
            found.update(key.name for key in item.keys)
        elif isinstance(item, p.ForeachBucket):
            found.add(item.bucket.name)
        if isinstance(item, (p.Foreach, p.ForeachBucket)) and item.value is not None:
            found.add(item.value.name)
        if isinstance(item, p.Try) and item.variable is not None:
            found.add(item.variable.name)
    return found


_STATEMENTS: dict[type, Callable[..., p.Stmt]] = {
    p.Evaluate: Optimiser.evaluate,
    p.EmbeddedC: Optimiser.embedded,
    p.Block: Optimiser.block,
    p.If: Optimiser.if_,
    p.Loop: Optimiser.loop,
    p.Foreach: Optimiser.foreach,
    p.Try: Optimiser.try_,
}
