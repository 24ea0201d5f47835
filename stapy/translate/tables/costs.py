"""How many statements a body runs at most: what MAXACTION has to watch.

A body without loops and recursion has a bound that is known now.  When the
bound is within the limit the handler needs no accounting at all; a function
with a bound is paid for by its caller.
"""

from __future__ import annotations

from stapy.ir import program as p
from stapy.ir.walk import walk


class Costs:
    """Bounds of one program's functions and handlers; None means "no bound"."""

    def __init__(self) -> None:
        self._functions: dict[int, int | None] = {}
        self._busy: set[int] = set()

    def function(self, function: p.Function) -> int | None:
        """Compute the bound of a call, None when it has none."""
        key = id(function)
        if key in self._functions:
            return self._functions[key]
        if key in self._busy or function.is_recursive:
            return None
        if function.body is None:
            own: int | None = 1
        else:
            self._busy.add(key)
            own = self.statement(function.body)
            self._busy.discard(key)
        following = 0 if function.next is None else self.function(function.next)
        own = None if own is None or following is None else own + following
        self._functions[key] = own
        return own

    def calls(self, node: p.Node) -> int | None:
        """Compute the bound of all calls below an expression, None when it has none."""
        total = 0
        for below in walk(node):
            if isinstance(below, p.CallOp):
                cost = self.function(below.function)
                if cost is None:
                    return None
                total += cost
        return total

    def head(self, stmt: p.Stmt) -> int:
        """Compute what a statement itself costs: one, and its calls that do not pay themselves."""
        total = 0 if isinstance(stmt, (p.Block, p.Locked)) else 1
        for field in type(stmt).fields:
            value = getattr(stmt, field)
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, p.Expr):
                    for below in walk(item):
                        if isinstance(below, p.CallOp):
                            total += self.function(below.function) or 0
        return total

    def statement(self, stmt: p.Stmt | None) -> int | None:
        """Compute the bound of a statement with everything inside it, None when it has none."""
        if stmt is None:
            return 0
        if isinstance(stmt, (p.Loop, p.Foreach, p.ForeachBucket)):
            return None
        total = 0 if isinstance(stmt, (p.Block, p.Locked)) else 1
        inside: list[int | None] = []
        for field in type(stmt).fields:
            value = getattr(stmt, field)
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, p.Stmt):
                    inside.append(self.statement(item))
                elif isinstance(item, p.Expr):
                    inside.append(self.calls(item))
        for part in inside:
            if part is None:
                return None
            total += part
        return total
