"""Functions of the library whose names were written without parentheses, as variables are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics.habits import variable_hint
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from stapy.services import LibraryLike


def value_hint(name: str, library: LibraryLike) -> str:
    """Tell what gives the value that a name was meant for, as a hint; "" where nothing does."""
    return variable_hint(name) or _call_hint(name, library)


def _call_hint(name: str, library: LibraryLike) -> str:
    for path in library.files_with_function(name):
        script = library.load(path)
        for decl in script.decls if script is not None else ():
            if isinstance(decl, n.FunctionDecl) and decl.name == name and not decl.is_private:
                arguments = ", ".join(param.name for param in decl.params)
                return f"a function is called with parentheses: {name}({arguments})"
    return ""
