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
    from stapy.elaborate.finish import Finisher
    from stapy.elaborate.optimise import Optimiser
    from stapy.elaborate.resolve import Resolver

    resolver = Resolver(services)
    resolver.run(scripts)
    optimiser = Optimiser(resolver)
    optimiser.run()
    program = Finisher(resolver, optimiser.dropped).run()
    if program is not None and os.environ.get("STAPY_VERIFY"):
        from stapy.ir import verify

        verify.check(program)
    return program


__all__ = ["elaborate"]
