"""The table of arming conditions: what the runtime judges, and by what it switches probes off.

Equal conditions of several probes are one row, and a probe without one has none.  With
--on-overload each probe has a row of its own, for what is done to one is not to be done to others;
those with the same test stand together, and the first of them is judged for all.
"""

from __future__ import annotations

from typing import NamedTuple

from stapy.diagnostics import NOWHERE
from stapy.ir import program as p

# Hit once, or never: there is nothing to switch.
PHASES = "begin_end"


class Row(NamedTuple):
    """A row: the number of the row whose test it shares, and how many behind it follow it."""

    first: int
    followers: int
    condition: p.Condition


class ConditionTable:
    """The rows of a program, and which of them belong to whom."""

    def __init__(self, program: p.Program, *, is_separate: bool) -> None:
        self.rows: list[Row] = []
        self._judged: dict[int, int] = {}  # by identity of conditions
        self._probes: dict[int, int] = {}  # and of probes
        conditions = list(program.conditions)
        always = p.Condition(p.Const(NOWHERE, p.LONG, 1), judged_once=True)
        owners: dict[int, list[p.DerivedProbe]] = {id(one): [] for one in [*conditions, always]}
        for probe in program.probes:
            condition = probe.condition
            if condition is None and is_separate and probe.family != PHASES:
                condition = always
            if condition is not None:
                owners[id(condition)].append(probe)
        if owners[id(always)]:
            conditions.append(always)
        for one in conditions:
            self._add(one, owners[id(one)], is_separate)

    def _add(self, condition: p.Condition, owners: list[p.DerivedProbe], is_separate: bool) -> None:
        """Add the rows of a condition; begin and end probes share the first."""
        first = self._judged[id(condition)] = len(self.rows)
        alone = [is_separate and one.family != PHASES for one in owners]
        seats = [[one] for one, is_alone in zip(owners, alone, strict=True) if is_alone]
        if not all(alone) or not owners:
            seats.insert(
                0, [one for one, is_alone in zip(owners, alone, strict=True) if not is_alone]
            )
        for at, seat in enumerate(seats):
            self.rows.append(Row(first, 0 if at else len(seats) - 1, condition))
            self._probes |= {id(probe): first + at for probe in seat}

    def judged(self, condition: p.Condition) -> str:
        """Return the row to be judged when a condition may have changed."""
        return f"conditions[{self._judged[id(condition)]}]"

    def of(self, probe: p.DerivedProbe) -> str:
        """Return the row that a probe looks at; "" when there is none."""
        number = self._probes.get(id(probe))
        return "" if number is None else f"conditions[{number}]"
