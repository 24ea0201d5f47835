"""What each construct of the language requires of the types of its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.elaborate.analyse.constraints import Constraints
from stapy.elaborate.lower.expressions import COMPARE
from stapy.elaborate.lower.printing import wants
from stapy.ir import program as p

if TYPE_CHECKING:
    from collections.abc import Callable


_JOINS = "'.' joins strings"
_FRACTION = "numbers are whole: count in a smaller unit"


def _binary(constraints: Constraints, node: p.BinaryOp) -> None:
    if node.op in COMPARE:
        constraints.same(node.left, node.right, node.span)
        constraints.is_scalar(node.left)
        return
    kind = p.STRING if node.op == "." else p.LONG
    hint = _JOINS if node.op == "+" else _dot_hint(node) if node.op == "." else ""
    constraints.expect(node.left, kind, hint)
    if hint != _FRACTION:  # one mistake, not one on each side of the point
        constraints.expect(node.right, kind, hint)


def _dot_hint(node: p.BinaryOp) -> str:
    """Say what is written for the '.' of a fraction or of a member of C, "" for another."""
    if isinstance(node.right, p.Const):
        return _FRACTION if isinstance(node.left, p.Const) else ""
    if isinstance(node.right, p.LocalRef) and not isinstance(node.left, p.Text):
        return f"'.' joins strings; members are reached by '->': ->{node.right.name}"
    return ""


def _unary(constraints: Constraints, node: p.UnaryOp) -> None:
    constraints.expect(node.operand, p.LONG)


def _logical(constraints: Constraints, node: p.LogicalOp) -> None:
    constraints.expect(node.left, p.LONG)
    constraints.expect(node.right, p.LONG)


def _conditional(constraints: Constraints, node: p.Conditional) -> None:
    constraints.expect(node.cond, p.LONG)
    constraints.same(node.yes, node.no, node.span)
    # What stands around it has had its say about the whole already.
    if constraints.is_scalar(node.yes):
        constraints.expect(node.yes, node.type)


def _assign(constraints: Constraints, node: p.AssignOp) -> None:
    if node.op == "<<<":
        constraints.expect(node.target, p.STATS)
        constraints.expect(node.value, p.LONG, "a statistic takes numbers; strings may be its keys")
    elif node.op == "=":
        if constraints.is_scalar(node.value):
            constraints.same(node.target, node.value, node.value.span)
    else:
        kind = p.STRING if node.op == ".=" else p.LONG
        hint = "'.=' adds to a string" if node.op == "+=" else ""
        constraints.expect(node.target, kind, hint)
        constraints.expect(node.value, kind, hint)


def _increment(constraints: Constraints, node: p.IncrementOp) -> None:
    constraints.expect(node.target, p.LONG)


def _keys(constraints: Constraints, var: p.Global, keys: list[p.Expr | None]) -> None:
    for kind, key in zip(var.keys, keys):
        if key is not None and constraints.is_scalar(key):
            constraints.expect(key, kind, "a key of an array has one type everywhere")


def _element(constraints: Constraints, node: p.ElementRef) -> None:
    _keys(constraints, node.var, node.keys)


def _in_array(constraints: Constraints, node: p.InArray) -> None:
    _keys(constraints, node.var, node.keys)


def _call(constraints: Constraints, node: p.CallOp) -> None:
    for param, arg in zip(node.function.params, node.args):
        if constraints.is_scalar(arg):
            constraints.expect(arg, param.type)


def _print(constraints: Constraints, node: p.PrintOp | p.PrettyPrint) -> None:
    wanted = [kind for piece in node.pieces for kind in wants(piece)]
    for kind, arg in zip(wanted, node.args):
        if kind is None:
            constraints.is_scalar(arg)
        else:
            constraints.expect(arg, kind)


def _stat(constraints: Constraints, node: p.StatRead | p.HistogramRef) -> None:
    constraints.expect(node.stat, p.STATS)


def _bucket(constraints: Constraints, node: p.BucketRead | p.BucketIn) -> None:
    constraints.expect(node.stat, p.STATS)
    constraints.expect(node.bucket, p.LONG)


def _regex(constraints: Constraints, node: p.RegexMatch) -> None:
    constraints.expect(node.left, p.STRING)


def _memory(constraints: Constraints, node: p.MemoryRead) -> None:
    constraints.expect(node.address, p.LONG)


def _entry_register(constraints: Constraints, node: p.EntryRegister) -> None:
    constraints.expect(node.frame, p.LONG)


def _condition(constraints: Constraints, node: p.If | p.Loop) -> None:
    if node.cond is not None:
        constraints.expect(node.cond, p.LONG)


def _foreach(constraints: Constraints, node: p.Foreach) -> None:
    span = node.span
    for kind, variable in zip(node.var.keys, node.keys):
        if not constraints.types.unify(variable.type, kind, span):
            found = constraints.types.find(kind)
            wanted = constraints.types.find(variable.type)
            constraints.report_mismatch(
                wanted, found, span, constraints.types.origin(variable.type), wanted
            )
    if node.value is not None:
        constraints.loops.append(node)
    if node.sort_op:
        constraints.expect(p.GlobalRef(span, node.var.type, node.var), p.STATS)
    if node.slice is not None:
        _keys(constraints, node.var, node.slice)
    if node.limit is not None:
        constraints.expect(node.limit, p.LONG)


def loop_value(constraints: Constraints, node: p.Foreach) -> None:
    """Require of a loop's value variable what the array's values are, statistics or not."""
    if node.value is None:
        return
    stat = constraints.types.find(node.var.type) == p.STATS
    kind = p.LONG if stat else node.var.type
    if not constraints.types.unify(node.value.type, kind, node.span):
        wanted = constraints.types.find(node.value.type)
        origin = constraints.types.origin(node.value.type)
        constraints.report_mismatch(wanted, constraints.types.find(kind), node.span, origin, wanted)


def _foreach_bucket(constraints: Constraints, node: p.ForeachBucket) -> None:
    constraints.expect(node.stat, p.STATS)
    for variable in (node.bucket, node.value):
        if variable is not None and not constraints.types.unify(variable.type, p.LONG, node.span):
            found = constraints.types.find(variable.type)
            constraints.report_mismatch(
                found, p.LONG, node.span, constraints.types.origin(variable.type), found
            )
    if node.limit is not None:
        constraints.expect(node.limit, p.LONG)


def _return(constraints: Constraints, node: p.Return) -> None:
    if node.value is None or constraints.function is None:
        return
    if constraints.is_scalar(node.value):
        constraints.expect(node.value, constraints.function.type)


def _try(constraints: Constraints, node: p.Try) -> None:
    if node.variable is not None:
        constraints.expect(p.LocalRef(node.span, node.variable.type, node.variable.name), p.STRING)


def _save(constraints: Constraints, node: p.SaveEntry) -> None:
    constraints.is_scalar(node.value)


# The rule of each kind of node.
RULES: dict[type, Callable[..., None]] = {
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
