"""What evaluating an expression changes: needed to keep the order of the script."""

from __future__ import annotations

from typing import Any

from stapy.ir import program as p
from stapy.ir.walk import walk
from stapy.record import Record

MEMORY = "memory"  # what MemoryRead reads and a write through a pointer changes
PROBED = "context"  # what ContextValue reads: registers and the like


def state_of(target: p.Expr) -> str:
    """The name under which `Value.reads` knows what a target stores."""
    if isinstance(target, p.LocalRef):
        return "l." + target.name
    if isinstance(target, (p.GlobalRef, p.ElementRef)):
        return "g." + target.var.c_name
    return PROBED if isinstance(target, p.ContextValue) else MEMORY


class Effects(Record):
    """``writes``: state that changes; ``ordered``: it does something that time can see."""

    writes: frozenset[str]
    ordered: bool


def effects(expr: Any) -> Effects:
    """The effects of evaluating an expression."""
    writes: set[str] = set()
    ordered = False
    for node in walk(expr):
        if isinstance(node, (p.AssignOp, p.IncrementOp)):
            writes.add(state_of(node.target))
        elif isinstance(node, p.CallOp):
            ordered = True
            writes |= {"g." + name for name in node.function.writes}
            if not node.function.markers & {"pure", "stable"}:
                writes.add(MEMORY)
        elif isinstance(node, (p.EmbeddedValue, p.PrintOp, p.PrettyPrint, p.RegexMatch)):
            ordered = True
    return Effects(frozenset(writes), ordered)
