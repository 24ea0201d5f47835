"""What a name without a value may have been meant to be: variables that aliases set, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import NOWHERE
from stapy.diagnostics.suggest import did_you_mean
from stapy.elaborate.names import syntax
from stapy.parse import nodes as n
from stapy.parse.print_expr import print_expr
from stapy.record import Record, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.elaborate.names.pointtree import PointTree
    from stapy.ir import program as p

_RETURN = ".return"
_MAX_DEPTH = 8
_MOST_TOLD = 10  # names that a hint lists
_SHORTEST = 3  # letters of a name that may be a mistake for another one


class EntryVariable(Record):
    """Where a variable belongs, and how its value is kept until the return."""

    where: str
    hint: str


class NamesOfProbe(Record):
    """The names that a probe's body may mean."""

    points: PointTree
    chain: list[str]  # the aliases that the probe was written by
    near: list[p.Variable | p.Global]  # what has a place in the program
    target: Callable[[str], str] = lambda _: ""  # the hint that ``$name`` is one, "" for none

    def at_entry(self, name: str) -> EntryVariable | None:
        """Call `find` for the probe's aliases."""
        return find(self.points, self.chain, name)

    def set_by_aliases(self) -> list[str]:
        """List what the aliases set, also what nobody reads and the program has lost."""
        names = {name for point in self.chain for name in _assigned(self.points, point)}
        return sorted(name for name in names if not name.startswith("__"))

    def similar(self, name: str, near: set[str]) -> str:
        """Suggest one of ``near``, or what the aliases set, by a name like this; "" for none."""
        if len(name) < _SHORTEST:
            return ""
        return did_you_mean(name, sorted(near.union(self.set_by_aliases()) - {name}))

    def told(self) -> str:
        """Say what the aliases set, "" where that is nothing or long."""
        names = self.set_by_aliases()
        return f"{self.chain[0]} sets {', '.join(names)}" if 0 < len(names) <= _MOST_TOLD else ""


def find(tree: PointTree, chain: list[str], name: str) -> EntryVariable | None:
    """Find what to say of a local without a value; None when the entry does not have it either."""
    names = [point for point in chain if point.endswith(_RETURN)]
    for point in names:
        entry = point.removesuffix(_RETURN)
        values = _assigned(tree, entry)
        if name in values:
            shown = names[0].removesuffix(_RETURN)
            kept = _at_entry(values, name)
            return EntryVariable(
                f"it belongs to the entry: {shown} sets it, {shown}{_RETURN} does not",
                f"write {kept} to have it here"
                if kept
                else f"keep it in a global: probe {shown} {{ kept[tid()] = {name} }}, or what it "
                "is made of with @entry(…)",
            )
    return None


def _assigned(tree: PointTree, point: str) -> dict[str, n.Expr]:
    """Collect what the bodies of the alias at ``point`` give their variables, by name."""
    values: dict[str, n.Expr] = {}
    components = [n.PointComponent(NOWHERE, part, None) for part in point.split(".")]
    hits, mismatch = tree.match(components)
    if mismatch is not None:
        return values
    for hit in hits:
        for load in hit.node.aliases:
            for alias in load():
                for body in (alias.decl.prologue, alias.decl.epilogue):
                    for item in syntax.walk(body) if body is not None else ():
                        if isinstance(item, n.Assign) and isinstance(item.target, n.Name):
                            values.setdefault(item.target.name, item.value)
    return values


def _at_entry(values: dict[str, n.Expr], name: str) -> str:
    """Print ``@entry`` of a value in terms that the user's script has, too; "" for a long one."""
    expr = _inlined(values[name], values, 0)
    text = print_expr(expr) if expr is not None else ""
    short = (
        text
        and len(text) <= 60
        and not any(
            isinstance(item, (n.Call, n.Name)) and item.name.startswith("__")
            for item in syntax.walk(expr)
        )
    )
    return f"@entry({text})" if short else ""


def _inlined(expr: n.Expr, values: dict[str, n.Expr], depth: int) -> n.Expr | None:
    """Replace the alias's own variables in an expression by what they are; None if that fails."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(expr, n.Name):
        return _inlined(values[expr.name], values, depth + 1) if expr.name in values else None
    made: n.Expr | None = None
    if isinstance(expr, n.Call):
        found = [_inlined(arg, values, depth + 1) for arg in expr.args]
        args = [arg for arg in found if arg is not None]
        if len(args) < len(found):
            return None
        # The word of a system call's argument by its public name.
        public = "ulong_arg" if expr.name == "__syscall_arg" else expr.name
        made = replace(expr, name=public, args=args)
    elif isinstance(expr, n.Binary):
        left, right = (_inlined(side, values, depth + 1) for side in (expr.left, expr.right))
        made = replace(expr, left=left, right=right) if left and right else None
    elif isinstance(expr, (n.Number, n.String, n.Target)):
        made = expr
    return made
