"""What a handler may not do twice: where the C says that something was changed.

A probe of a program that meets memory which is not there runs once more when it is
(``runtime/user/missing.h``), unless it has changed something by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir import program as p
from stapy.ir.effects import PURE, acts
from stapy.ir.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

# In the C of the library's functions that leave a hit so; `stapy_missed` itself may be in a macro.
_READERS = (
    *("STAPY_USER_", "STAPY_QUOTE_USER", "STAPY_UTF", "stapy_user_text"),
    *("stapy_argument", "stapy_missed"),
)


def may_repeat(program: p.Program) -> bool:
    """Tell whether a program probes a process and reads memory anywhere."""
    sites = (site for probe in program.probes for site in probe.sites)
    if not any(hasattr(site, "user_files") for site in sites):
        return False
    bodies: list[p.Stmt] = [handler.body for handler in program.handlers]
    for function in program.functions:
        if function.code and any(word in function.code for word in _READERS):
            return True
        if function.body is not None:
            bodies.append(function.body)
    kinds = (p.MemoryRead, p.PrintOp, p.ContextValue)
    return any(isinstance(node, kinds) for body in bodies for node in walk(body))


def _heads(stmt: p.Stmt) -> Iterator[p.Node | None]:
    """Yield the expressions that a statement itself evaluates, not those of statements in it."""
    if isinstance(stmt, p.If):
        yield stmt.cond
    elif isinstance(stmt, p.Loop):
        yield from (stmt.cond, stmt.step)
    elif isinstance(stmt, p.Foreach):
        yield from (stmt.limit, *(stmt.slice or ()))
    elif isinstance(stmt, p.ForeachBucket):
        yield from (stmt.stat, stmt.limit)
    elif isinstance(stmt, p.SaveEntry):  # what is kept is kept anew
        yield stmt.value
    elif isinstance(stmt, (p.Evaluate, p.Return, p.Delete, p.EmbeddedC)):
        yield stmt


def _changes(node: p.Node) -> bool:
    if isinstance(node, p.PrintOp):  # the context knows what was printed
        return False
    function = node.function if isinstance(node, p.CallOp) else None
    while function is not None:  # one that another one falls through to is called by it
        if function.code is not None and not function.markers & PURE:
            return True
        function = function.next
    return not isinstance(node, p.CallOp) and acts(node)


def changes(stmt: p.Stmt) -> tuple[bool, bool]:
    """Tell whether something is to be held for changed before a statement, and after it.

    Before, when the statement may read memory after its change.  Script functions are none of
    this: their own statements are.
    """
    found = [node for head in _heads(stmt) if head is not None for node in walk(head)]
    acting = [node for node in found if _changes(node)]
    if not acting:
        return False, False
    root = stmt.expr if isinstance(stmt, p.Evaluate) else stmt
    if acting == [root] and isinstance(stmt, (p.Evaluate, p.Delete)):
        return False, True
    return True, False
