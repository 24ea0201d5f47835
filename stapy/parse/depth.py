"""How deep a script may be nested: all passes walk its trees by recursion."""

from __future__ import annotations

import sys

from stapy.diagnostics import Diagnostics
from stapy.parse.nodes import Decl, Node

DEPTH = 1000  # levels of a syntax tree; a sum of a thousand terms has as many
CONDITIONALS = 200  # conditionals and macros inside each other
FRAMES = 40 * DEPTH  # Python's own limit: the later passes need some calls for each level


def allow_recursion() -> None:
    """Let Python recurse as deep as a permitted script needs; its calls take no C stack."""
    if sys.getrecursionlimit() < FRAMES:
        sys.setrecursionlimit(FRAMES)


def too_deep(decls: list[Decl]) -> Node | None:
    """Find the first node that is nested deeper than permitted, None when none is."""
    stack: list[tuple[Node, int]] = [(decl, 1) for decl in reversed(decls)]
    while stack:
        node, level = stack.pop()
        if level > DEPTH:
            return node
        for field in type(node).fields:
            value = getattr(node, field)
            if isinstance(value, Node):
                stack.append((value, level + 1))
            elif type(value) is list:
                stack += [(item, level + 1) for item in value if isinstance(item, Node)]
    return None


def check(decls: list[Decl], diagnostics: Diagnostics) -> None:
    """Refuse what is nested too deeply."""
    node = too_deep(decls)
    if node is not None:
        diagnostics.error(
            "parse error",
            "E0147",
            "nested too deeply",
            node.span,
            where=f"this is below {DEPTH} levels of expressions and statements",
            hint="split it: give a part to a variable or a function",
        )
