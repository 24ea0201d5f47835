"""Whose processes a script means: the runtime tells so many different answers apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stapy.diagnostics import Diagnostics
    from stapy.elaborate.analyse.typed import TypedProbe

MOST = 32  # STAPY_SCOPES in runtime/user/targets.h: a bit of a word for each


def check(probes: Iterable[TypedProbe], diagnostics: Diagnostics) -> None:
    """Refuse a script with more of them, at the first that is too many."""
    found: set[tuple[object, ...]] = set()
    for probe in probes:
        for site, point in zip(probe.sites, probe.points, strict=True):
            meant = getattr(site, "processes", None)
            if meant is None or meant in found:
                continue
            found.add(meant)
            if len(found) > MOST:
                diagnostics.error(
                    "semantic error",
                    "E0239",
                    f"more than {MOST} different answers to whose processes are meant",
                    probe.span,
                    notes=[
                        f"each program, pattern or number in process(…) is one; number {MOST + 1} "
                        f"is that of {point}"
                    ],
                    hint='a pattern counts once in process("/usr/bin/*").begin and its kin; '
                    'process("libc.so.6") means all that have loaded it',
                )
                return
