"""Type inference over the whole program.

Every rule says which types must be equal; `TypeTable` joins them.  A conflict
is reported where it was found, with the place that settled the other type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes
from stapy.diagnostics import NOWHERE, Diagnostics, Label, Span
from stapy.diagnostics.habits import argument_hint, variable_hint
from stapy.diagnostics.suggest import did_you_mean
from stapy.elaborate.lower.printing import wants
from stapy.elaborate.typevars import TypeTable, is_open
from stapy.ir import program as p
from stapy.ir.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from stapy.debuginfo.ctypes import CType
    from stapy.elaborate.analyse.entryvars import EntryVariable

_NO_LETTER = 3  # letters of a name that may be a mistake for another one
COMPARE = {"<", ">", "<=", ">=", "==", "!="}


class Inference:
    """Collects equalities, then writes the types into the program."""

    def __init__(self, types: TypeTable, diagnostics: Diagnostics) -> None:
        self.types = types
        self.diagnostics = diagnostics
        # The C type of an expression, where somebody knows it.
        self.ctype: Callable[[p.Expr], CType | None] = lambda value: None
        self.function: p.Function | None = None
        self._unresolved: set[p.Type] = set()
        self._loops: list[p.Foreach] = []

    # --- equalities -----------------------------------------------------------

    def expect(self, value: p.Expr, kind: p.Type) -> None:
        """Unify a value's type with ``kind``; report a mismatch."""
        found = self.types.find(value.type)
        if found == p.VOID:
            self._void(value)
        elif not self.types.unify(value.type, kind, value.span):
            expected, origin = self.types.find(kind), self.types.origin(value.type)
            if origin in (NOWHERE, value.span):
                settled = self.types.origin(kind)
                self._mismatch(expected, found, value.span, settled, expected, value)
            else:
                self._mismatch(expected, found, value.span, origin, found, value)

    def same(self, a: p.Expr, b: p.Expr, span: Span) -> None:
        """Unify the types of two values; report a mismatch as the fault of the second."""
        first, second = self.types.find(a.type), self.types.find(b.type)
        for value, kind in ((a, first), (b, second)):
            if kind == p.VOID:
                self._void(value)
                return
        if not self.types.unify(a.type, b.type, span):
            origin = self.types.origin(a.type)
            settled = origin if origin != NOWHERE else a.span
            self._mismatch(first, second, b.span, settled, first, b)

    def is_scalar(self, value: p.Expr) -> bool:
        """Tell whether a value may be a long or a string; report it when it cannot be either."""
        kind = self.types.find(value.type)
        if kind == p.VOID:
            self._void(value)
            return False
        if kind == p.STATS:
            self.diagnostics.error(
                "semantic error",
                "E0301",
                "invalid type stats",
                value.span,
                where="a statistic is no value by itself",
                hint="read it with @count, @sum, @avg, … or print(@hist_log(x))",
            )
            return False
        return True

    def _void(self, value: p.Expr) -> None:
        name, hint = "print", ""
        if isinstance(value, p.CallOp):
            name, hint = value.function.name, "let the function return something"
            if value.function.code is not None:
                hint = f"give it a type, long or string: function {name}:long (…)"
        self.diagnostics.error(
            "semantic error",
            "E0304",
            f"unresolved type: '{name}' returns no value",
            value.span,
            where="a value is needed here",
            hint=hint,
        )

    def _mismatch(
        self,
        expected: p.Type,
        found: p.Type,
        span: Span,
        origin: Span,
        origin_kind: p.Type,
        value: p.Expr | None = None,
    ) -> None:
        labels = []
        if origin not in (NOWHERE, span):
            text = f"type was first inferred here ({origin_kind})"
            labels.append(Label(origin, text))
        self.diagnostics.error(
            "semantic error",
            "E0301",
            f"type mismatch: expected {expected} but found {found}",
            span,
            where=f"this is a {found}" if found != p.STATS else "this is a statistic",
            labels=labels,
            hint=(expected == p.STRING and value is not None and self._text_hint(value))
            or _convert_hint(expected, found),
        )

    def _text_hint(self, value: p.Expr) -> str:
        """Name the function that reads the text a value points to, "" when it points to none."""
        known = self.ctype(value)
        type = ctypes.strip(known) if known is not None else None
        if isinstance(type, ctypes.Pointer):
            target = ctypes.strip(type.target)
        elif isinstance(type, ctypes.Array):
            target = ctypes.strip(type.element)
        else:
            return ""
        if not (isinstance(target, ctypes.Int) and target.size == 1):
            return ""
        written = self.diagnostics.sources.text(value.span) or "pointer"
        if isinstance(type, ctypes.Pointer) and type.is_user:
            return f"user_string({written}) reads the text that it points to"
        other = "" if isinstance(type, ctypes.Array) else " (user_string(), when it is a program's)"
        return f"kernel_string({written}) reads the text that it points to{other}"

    # --- a body ---------------------------------------------------------------

    def body(self, node: p.Node | None, function: p.Function | None = None) -> None:
        """Apply the rules to a tree."""
        self.function = function
        for item in walk(node):
            rule = _RULES.get(type(item))
            if rule is not None:
                rule(self, item)

    def finish(self) -> None:
        """Check the loops by the rules that need to know which globals are statistics."""
        for node in self._loops:
            _loop_value(self, node)

    # --- results ----------------------------------------------------------------

    def settle(self, node: p.Node) -> None:
        """Write the types into a tree and give plain prints their directive.

        What nothing settles is a number, as variables are; a call without a value is void.
        """
        for item in walk(node):
            if isinstance(item, p.Expr):
                otherwise = p.VOID if isinstance(item, p.CallOp) else p.LONG
                item.type = self.types.settled(item.type, otherwise)
        for item in walk(node):
            if isinstance(item, (p.PrintOp, p.PrettyPrint)):
                _settle_pieces(item)

    def settle_variables(self, variables: Iterable[p.Variable]) -> None:
        """Write the types of local variables."""
        for variable in variables:
            variable.type = self.types.settled(variable.type, p.LONG)

    def unresolved(
        self,
        node: p.Node,
        library: set[str],
        entry: Callable[[str], EntryVariable | None] | None = None,
        near: Sequence[p.Variable | p.Global] = (),
    ) -> None:
        """Report values whose type nothing settles.

        ``library`` are the library's globals: a script may call only the
        function that deletes one.  ``entry`` knows the variables that belong to the
        function's entry.  ``near`` may have been meant by a wrong name.
        """
        dropped: set[int] = set()
        for item in walk(node):
            if isinstance(item, p.Evaluate):
                dropped.add(id(item.expr))
            elif isinstance(item, p.Delete):
                target = item.target
                if isinstance(target, (p.GlobalRef, p.ElementRef)) and target.var.c_name in library:
                    dropped.add(id(target))
            if isinstance(item, (p.LocalRef, p.GlobalRef, p.ElementRef, p.CallOp)):
                kind = self.types.find(item.type)
                if is_open(kind) and kind not in self._unresolved and id(item) not in dropped:
                    self._unresolved.add(kind)
                    self._report_unresolved(item, entry, near)

    def _report_unresolved(
        self,
        item: p.LocalRef | p.GlobalRef | p.ElementRef | p.CallOp,
        entry: Callable[[str], EntryVariable | None] | None,
        near: Sequence[p.Variable | p.Global],
    ) -> None:
        if isinstance(item, p.CallOp):
            self._void(item)
            return
        name = item.name if isinstance(item, p.LocalRef) else item.var.name
        kept = entry(name) if entry is not None and isinstance(item, p.LocalRef) else None
        if kept is not None:
            text = f"unresolved type: identifier '{name}'"
            self.diagnostics.error(
                "semantic error", "E0305", text, item.span, where=kept.where, hint=kept.hint
            )
            return
        self.diagnostics.error(
            "semantic error",
            "E0305",
            f"unresolved type: identifier '{name}'",
            item.span,
            where="nothing says whether this is a number or a string",
            hint=argument_hint(self.diagnostics.sources.source(item.span))
            or variable_hint(name)
            or self._similar(name, near)
            or f"give '{name}' a value",
        )

    def _similar(self, name: str, near: Sequence[p.Variable | p.Global]) -> str:
        """Suggest variables named like one that has no value, "" for none or for a short name."""
        known = [var.name for var in near if not is_open(self.types.find(var.type))]
        return did_you_mean(name, known) if len(name) >= _NO_LETTER else ""


def _convert_hint(expected: p.Type, found: p.Type) -> str:
    if expected == p.LONG and found == p.STRING:
        return "strtol(text, 10) makes a number of a string"
    if expected == p.STRING and found == p.LONG:
        return 'sprint(number) or sprintf("%d", number) makes a string'
    if found == p.STATS:
        return "read a statistic with @count, @sum, @avg, …"
    return ""


def _settle_pieces(item: p.PrintOp | p.PrettyPrint) -> None:
    at = 0
    for piece in item.pieces:
        for kind in wants(piece):
            if kind is None:
                piece.kind = "s" if item.args[at].type == p.STRING else "d"
            at += 1


# --- the rules -------------------------------------------------------------------


def _binary(inf: Inference, node: p.BinaryOp) -> None:
    if node.op in COMPARE:
        inf.same(node.left, node.right, node.span)
        inf.is_scalar(node.left)
        return
    kind = p.STRING if node.op == "." else p.LONG
    inf.expect(node.left, kind)
    inf.expect(node.right, kind)


def _unary(inf: Inference, node: p.UnaryOp) -> None:
    inf.expect(node.operand, p.LONG)


def _logical(inf: Inference, node: p.LogicalOp) -> None:
    inf.expect(node.left, p.LONG)
    inf.expect(node.right, p.LONG)


def _conditional(inf: Inference, node: p.Conditional) -> None:
    inf.expect(node.cond, p.LONG)
    inf.same(node.yes, node.no, node.span)
    # What stands around it has had its say about the whole already.
    if inf.is_scalar(node.yes):
        inf.expect(node.yes, node.type)


def _assign(inf: Inference, node: p.AssignOp) -> None:
    if node.op == "<<<":
        inf.expect(node.target, p.STATS)
        inf.expect(node.value, p.LONG)
    elif node.op == "=":
        if inf.is_scalar(node.value):
            inf.same(node.target, node.value, node.value.span)
    else:
        kind = p.STRING if node.op == ".=" else p.LONG
        inf.expect(node.target, kind)
        inf.expect(node.value, kind)


def _increment(inf: Inference, node: p.IncrementOp) -> None:
    inf.expect(node.target, p.LONG)


def _keys(inf: Inference, var: p.Global, keys: list[p.Expr | None]) -> None:
    for kind, key in zip(var.keys, keys):
        if key is not None and inf.is_scalar(key):
            inf.expect(key, kind)


def _element(inf: Inference, node: p.ElementRef) -> None:
    _keys(inf, node.var, node.keys)


def _in_array(inf: Inference, node: p.InArray) -> None:
    _keys(inf, node.var, node.keys)


def _call(inf: Inference, node: p.CallOp) -> None:
    for param, arg in zip(node.function.params, node.args):
        if inf.is_scalar(arg):
            inf.expect(arg, param.type)


def _print(inf: Inference, node: p.PrintOp | p.PrettyPrint) -> None:
    wanted = [kind for piece in node.pieces for kind in wants(piece)]
    for kind, arg in zip(wanted, node.args):
        if kind is None:
            inf.is_scalar(arg)
        else:
            inf.expect(arg, kind)


def _stat(inf: Inference, node: p.StatRead | p.HistogramRef) -> None:
    inf.expect(node.stat, p.STATS)


def _bucket(inf: Inference, node: p.BucketRead | p.BucketIn) -> None:
    inf.expect(node.stat, p.STATS)
    inf.expect(node.bucket, p.LONG)


def _regex(inf: Inference, node: p.RegexMatch) -> None:
    inf.expect(node.left, p.STRING)


def _memory(inf: Inference, node: p.MemoryRead) -> None:
    inf.expect(node.address, p.LONG)


def _entry_register(inf: Inference, node: p.EntryRegister) -> None:
    inf.expect(node.frame, p.LONG)


def _condition(inf: Inference, node: p.If | p.Loop) -> None:
    if node.cond is not None:
        inf.expect(node.cond, p.LONG)


def _foreach(inf: Inference, node: p.Foreach) -> None:
    span = node.span
    for kind, variable in zip(node.var.keys, node.keys):
        if not inf.types.unify(variable.type, kind, span):
            found = inf.types.find(kind)
            wanted = inf.types.find(variable.type)
            inf._mismatch(wanted, found, span, inf.types.origin(variable.type), wanted)
    if node.value is not None:
        inf._loops.append(node)
    if node.sort_op:
        inf.expect(p.GlobalRef(span, node.var.type, node.var), p.STATS)
    if node.slice is not None:
        _keys(inf, node.var, node.slice)
    if node.limit is not None:
        inf.expect(node.limit, p.LONG)


def _loop_value(inf: Inference, node: p.Foreach) -> None:
    if node.value is None:
        return
    stat = inf.types.find(node.var.type) == p.STATS
    kind = p.LONG if stat else node.var.type
    if not inf.types.unify(node.value.type, kind, node.span):
        wanted = inf.types.find(node.value.type)
        origin = inf.types.origin(node.value.type)
        inf._mismatch(wanted, inf.types.find(kind), node.span, origin, wanted)


def _foreach_bucket(inf: Inference, node: p.ForeachBucket) -> None:
    inf.expect(node.stat, p.STATS)
    for variable in (node.bucket, node.value):
        if variable is not None and not inf.types.unify(variable.type, p.LONG, node.span):
            found = inf.types.find(variable.type)
            inf._mismatch(found, p.LONG, node.span, inf.types.origin(variable.type), found)
    if node.limit is not None:
        inf.expect(node.limit, p.LONG)


def _return(inf: Inference, node: p.Return) -> None:
    if node.value is None or inf.function is None:
        return
    if inf.is_scalar(node.value):
        inf.expect(node.value, inf.function.type)


def _try(inf: Inference, node: p.Try) -> None:
    if node.variable is not None:
        inf.expect(p.LocalRef(node.span, node.variable.type, node.variable.name), p.STRING)


def _save(inf: Inference, node: p.SaveEntry) -> None:
    inf.is_scalar(node.value)


_RULES: dict[type, Callable[..., None]] = {
    p.BinaryOp: _binary,
    p.UnaryOp: _unary,
    p.LogicalOp: _logical,
    p.Conditional: _conditional,
    p.AssignOp: _assign,
    p.IncrementOp: _increment,
    p.ElementRef: _element,
    p.InArray: _in_array,
    p.CallOp: _call,
    p.PrintOp: _print,
    p.PrettyPrint: _print,
    p.StatRead: _stat,
    p.HistogramRef: _stat,
    p.BucketRead: _bucket,
    p.BucketIn: _bucket,
    p.RegexMatch: _regex,
    p.MemoryRead: _memory,
    p.EntryRegister: _entry_register,
    p.If: _condition,
    p.Loop: _condition,
    p.Foreach: _foreach,
    p.ForeachBucket: _foreach_bucket,
    p.Return: _return,
    p.Try: _try,
    p.SaveEntry: _save,
}
