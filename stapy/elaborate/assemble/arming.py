"""Arming conditions of a program, and which code has to judge them again.

A condition reads globals only, so its truth changes when one of them does. The
code that changes one judges the condition while it still holds the globals:
all that the condition reads are held with those of the code itself. A hit of
the probe then looks at the verdict and needs no lock for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir import program as p
from stapy.ir.effects import Access, access
from stapy.ir.walk import fingerprint

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable


class Conditions:
    """All conditions of a program; ``constant`` are the globals that nobody writes."""

    def __init__(self, tests: Iterable[p.Expr], constant: set[str]) -> None:
        self._known: dict[Hashable, p.Condition] = {}
        self._reads: list[tuple[p.Condition, Access]] = []
        for test in tests:
            key = fingerprint(test)
            if key not in self._known:
                found = access(test)
                made = p.Condition(test, set(found.reads) <= constant)
                self._known[key] = made
                self._reads.append((made, found))

    def all(self) -> list[p.Condition]:
        """List all conditions, each once, in the order of the script."""
        return list(self._known.values())

    def of(self, test: p.Expr | None) -> p.Condition | None:
        """Find the condition that stands for a test and all that are equal to it; None for None."""
        return None if test is None else self._known[fingerprint(test)]

    def shares_globals(self, test: p.Expr | None, found: Access) -> bool:
        """Tell whether ``found`` has a global of a test that may change."""
        condition = self.of(test)
        if condition is None or condition.judged_once:
            return False
        reads = next(reads for one, reads in self._reads if one is condition)
        used = found.reads.keys() | found.writes.keys() | found.inserts.keys()
        return not used.isdisjoint(reads.reads)

    def changed_by(self, found: Access) -> list[p.Condition]:
        """List the conditions that code may change, by what it does to globals."""
        changed = found.writes.keys() | found.inserts.keys()
        return [one for one, reads in self._reads if not changed.isdisjoint(reads.reads)]

    def widened(self, found: Access, judged: list[p.Condition]) -> Access:
        """Add what judging ``judged`` reads to what code does to globals; return a new `Access`."""
        whole = Access()
        whole.merge(found)
        for one, reads in self._reads:
            if one in judged:
                whole.merge(reads)
        return whole
