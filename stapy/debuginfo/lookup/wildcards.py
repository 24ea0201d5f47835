"""Which symbols a pattern with wildcards shall mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo.symbols.clones import is_clone, kinds_of
from stapy.debuginfo.symbols.table import is_function, section_of

if TYPE_CHECKING:
    from stapy.debuginfo.loading import Loaded

PADDING = "__pfx_"  # a symbol at the padding before each function, since 6.2


def wanted(name: str, pattern: str, kinds: list[str], loaded: Loaded) -> bool:
    """Tell whether a pattern that matches a symbol means a function that can be probed.

    ``kinds`` are the symbol's. Paddings and pieces such as ``f.cold`` only when the pattern names
    them.
    """
    if name.startswith(PADDING) and not pattern.startswith(PADDING):
        return False
    if "." in name and "." not in pattern and not is_clone(name):
        return False
    if loaded.symbols is None:
        return True
    if is_clone(name):
        kinds = kinds_of(name, loaded.symbols)
    return is_function(kinds) and not section_of(kinds)
