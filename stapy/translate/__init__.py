"""Pass 3: `Program` -> `ModuleSource`, C that a kernel engineer would sign.

`translate` is the entry point.  `model` turns a program into rows, templates
print them; `state` is what one module has found so far.  `lower/` writes the
functions, one module for each subject behind `dispatch`; `tables/` are what the
C refers to; `c/` knows the language C and no script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.translate.module import make_source

if TYPE_CHECKING:
    from stapy.diagnostics import Diagnostics
    from stapy.ir.program import Program
    from stapy.options import Options
    from stapy.translate.source import ModuleSource


def translate(
    program: Program, options: Options, diagnostics: Diagnostics, name: str
) -> ModuleSource:
    """Make the C and the manifest of a module called ``name``; nothing else is asked."""
    return make_source(program, options, diagnostics, name)


__all__ = ["translate"]
