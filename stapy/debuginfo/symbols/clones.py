"""Copies of functions that GCC made, such as ``f.isra.0``: BTF leaves them out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stapy.debuginfo.symbols.table import Symbols

_COPY = re.compile(r"[^.]+(\.(isra|constprop|part)\.\d+)+")
REFUSED = "b"  # the mark of what the kernel refuses by name


def is_clone(name: str) -> bool:
    """Tell whether a name is that of a copy that is called; ``f.cold`` is only a piece."""
    return "." in name and _COPY.fullmatch(name) is not None


def clones_of(name: str, symbols: Symbols) -> list[str]:
    """List the copies of a function in the source, sorted."""
    if "." in name:
        return []
    return [row for row in dict.fromkeys(r for r, _ in symbols.rows(name + ".")) if is_clone(row)]


def kinds_of(name: str, symbols: Symbols) -> list[str]:
    """List the kinds of a symbol; what the kernel refuses of a function goes for its copies."""
    kinds = symbols.kinds(name)
    if kinds and is_clone(name):
        of = symbols.kinds(name.partition(".")[0])
        if any(REFUSED in kind[1:] for kind in of):
            return [kind[:1] + REFUSED + kind[1:] for kind in kinds]
    return kinds
