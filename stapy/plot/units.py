"""Units of what is drawn: as asked for, as a name ends, or as a script prints behind a number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.plot.charts import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stapy.plot.values import Value

_TIMES = {
    "ns": ("ns", "nsec", "nsecs", "nanosecond", "nanoseconds"),
    "µs": ("us", "µs", "μs", "usec", "usecs", "microsecond", "microseconds"),  # both signs
    "ms": ("ms", "msec", "msecs", "millisecond", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
}
_OTHERS = {
    "bytes": ("byte", "bytes"),
    "KB": ("kb",), "MB": ("mb",), "GB": ("gb",),
    "KiB": ("kib",), "MiB": ("mib",), "GiB": ("gib",),
    "pages": ("page", "pages"),
    "%": ("%", "percent"),
    "Hz": ("hz",),
}  # fmt: skip
_SPELLED = {word: unit for unit, words in {**_TIMES, **_OTHERS}.items() for word in words}
_LONE = set(_SPELLED) - {"s", "%"}  # what may be all of a name
# A number that 64 bits hold, and the word behind it.
_NUMBER = re.compile(r"(?<![\w.])(-?\d{1,20})(?![\d.]) ?(%|[A-Za-zµμ]+\b)?")
_ROWS = 20  # prints of a place that are looked at
_OPERATORS = ("sum", "avg", "min", "max")  # whose result has the unit of the values


def spelled(unit: str) -> str:
    """Write a unit as it stands beside axes, whatever it was called."""
    return _SPELLED.get(unit.lower(), shown(unit, 24))


def axis(name: str, unit: str = "") -> str:
    """Name an axis by what it shows, with its unit, which the end of the name may tell."""
    stem = shown(name)
    if not unit:
        head, _, end = name.rpartition("_")
        if head and end.lower() in _SPELLED:
            stem, unit = shown(head), spelled(end)
        elif name.lower() in _LONE:
            unit = spelled(name)
    if not unit or spelled(stem) == unit:
        return f"time ({unit})" if unit in _TIMES else stem
    return f"{stem} ({unit})"


def shared(axes: list[str]) -> str:
    """Name an axis that several series share: by their unit if it is one."""
    if len(axes) == 1:
        return axes[0]
    units = {found[1] if (found := re.search(r"\(([^()]+)\)$", one)) else "" for one in axes}
    return (units.pop() if len(units) == 1 else "") or "value"


class PrintedUnits:
    """Learns the units of fields from the words that stand behind their numbers in prints."""

    def __init__(self) -> None:
        self._rows = 0
        self._found: dict[str, set[str]] = {}

    def learn(self, values: Mapping[str, Value], text: str) -> None:
        """Look at a print; a field has a unit if it is there in each of the first ones."""
        if self._rows == _ROWS:
            return
        self._rows += 1
        behind: dict[int, set[str]] = {}
        for number, word in _NUMBER.findall(text):
            behind.setdefault(int(number), set()).add(_SPELLED.get(word.lower(), ""))
        for name, value in values.items():
            if isinstance(value, int):
                units = behind.get(value, {""})
                self._found[name] = self._found.get(name, units) & units

    def of(self, name: str) -> str:
        """Tell the unit of a field, "" where it is not known."""
        units = self._found.get(name, set())
        return next(iter(units)) if len(units) == 1 else ""

    def of_global(self, name: str) -> str:
        """Tell the unit of a statistic of which results were printed, such as its average."""
        units = {self.of(f"{operator}_{name}") for operator in _OPERATORS} - {""}
        return units.pop() if len(units) == 1 else ""
