"""Branches that ``@defined`` rules out: not part of the program, but they tell types.

SystemTap finds the types of variables before it drops such a branch.  Here it is
not even lowered, unless a type stays open without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.elaborate.analyse.types import Inference
from stapy.elaborate.lower.lowerer import Body, Lowerer
from stapy.elaborate.lower.pending import Pending
from stapy.elaborate.names import syntax
from stapy.ir import program as p
from stapy.ir.walk import walk
from stapy.parse import nodes as n
from stapy.record import replace

if TYPE_CHECKING:
    from stapy.elaborate.lower.lowered import Lowered
    from stapy.elaborate.lower.resolve import Resolver


def infer(lowered: Lowered) -> None:
    """Let the branches have their say on types that are still open; no message comes of it."""
    resolver = lowered.resolver
    before = len(resolver.functions)
    with resolver.services.quiet() as heard:
        inference = Inference(lowered.types, heard)
        for node, body in lowered.ruled_out:
            inference.body(_lower(resolver, node, body), body.function)
        for item in resolver.functions[before:]:  # which only these branches call
            inference.body(item.function.body, item.function)
        inference.finish()


def _lower(resolver: Resolver, node: n.Stmt | n.Expr, body: Body) -> Any:
    params = body.function.params if body.function is not None else []
    known = {variable.name: variable for variable in params} | body.locals
    low = Lowerer(resolver, replace(body, locals=known, entry=None, loops=1))
    lowered = low.stmt(node) if isinstance(node, n.Stmt) else low.expr(node)
    texts = [item.span for item in syntax.walk(node) if _is_text(item)]
    for item in walk(lowered):
        if isinstance(item, Pending):  # target variables that are not there
            kind = p.STRING if item.span in texts else p.LONG
            resolver.types.unify(item.type, kind, item.span)
    return lowered


def _is_text(node: n.Node) -> bool:
    chain: list[n.Component] = getattr(node, "chain", [])
    pretty = bool(chain) and isinstance(chain[-1], n.Pretty)
    return pretty or (isinstance(node, n.Target) and node.name.startswith("$$"))
