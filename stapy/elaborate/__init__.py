"""Pass 2: the scripts' trees to one typed, resolved `Program`.

``elaborate(scripts, services)`` is the entry point; ``listing.py`` answers -l and -L.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stapy.ir.program import Program
    from stapy.parse.nodes import Script
    from stapy.services import Services


def elaborate(scripts: list[Script], services: Services) -> Program | None:
    """Resolve, optimise and type a program; None when errors were reported.

    ``scripts`` are the user's: the main one first, then those of -E.  What
    they need of the library is pulled in.
    """
    from stapy.elaborate.analyse.optimise import optimise
    from stapy.elaborate.analyse.settle import settle
    from stapy.elaborate.assemble.handlers import assemble
    from stapy.elaborate.lower.resolve import Resolver

    lowered = Resolver(services).run(scripts)
    typed = settle(optimise(lowered, services), services)
    program = assemble(typed, services) if typed is not None else None
    if program is not None and os.environ.get("STAPY_VERIFY"):
        from stapy.ir import verify

        verify.check(program)
    return program


__all__ = ["elaborate"]
