"""Pass 2: the scripts' trees to one typed, resolved `Program`.

``elaborate(scripts, services)`` is the entry point; ``listing.py`` answers -l, ``described.py`` -L.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stapy.debuginfo.ctypes import CType
    from stapy.elaborate.lower.lowered import Lowered
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

    lowered = resolved(scripts, services)
    typed = settle(optimise(lowered, services), services)
    program = assemble(typed, services) if typed is not None else None
    if program is not None and os.environ.get("STAPY_VERIFY"):
        from stapy.ir import verify

        verify.check(program)
    return program


def resolved(scripts: list[Script], services: Services) -> Lowered:
    """Resolve all names, with the C types of globals that members are asked of.

    Which type a global has may only be seen in a later handler: who asks for one that was not
    known yet is looked at once more.
    """
    from stapy.elaborate.lower.resolve import Resolver

    known: dict[str, CType] = {}
    while True:
        with services.diagnostics.quiet() as heard:
            lowered = Resolver(services, known=known).run(scripts)
        found = lowered.values.of_globals()
        if not lowered.values.asked & found.keys() - known.keys():
            break
        known = {**found, **known}
    for item in heard.items:
        services.diagnostics.add(item)
    return lowered


__all__ = ["elaborate"]
