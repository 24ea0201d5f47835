"""Which names are of quantities, and whether what is told of them has the unit.

Judged by the words of a name: ``bytes_to_read``, ``task_start_time``, ``prev_ns``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stapy.manual.entries import FUNCTION, DocEntry

# What a name tells, by a word in it that says so, and what its unit may be called.
_TIME = (
    r"(?:nano|micro|milli)?seconds?|[nuµm]s|minutes?|hours?|days?|jiff(?:y|ies)|ticks?|HZ|cycles?"
)
_ROOM = r"[kMG]i?B|KiB|bytes?|pages?|sectors?|blocks?|characters?|elements?|requests?|segments?"
UNITS = {
    **dict.fromkeys(("ns", "us", "ms", "time", "latency", "delay", "timeout", "elapsed"), _TIME),
    **dict.fromkeys(("duration", "interval", "period", "utime", "stime", "cputime"), _TIME),
    **dict.fromkeys(("size", "bytes", "length", "len", "pages", "kb", "mem", "sectors"), _ROOM),
}
# A text is no quantity, nor is the address of one.
_OTHER = re.compile(r"\b(?:address|pointer|text|name|string|structure|what is stored)\b", re.I)


def lacking(entry: DocEntry) -> Iterator[str]:
    """List the quantities of an entry that are told without a unit, with what is told."""
    if entry.kind == FUNCTION:
        told = f"{entry.doc.summary} {entry.doc.sections.get('Returns', '')}"
        if entry.result == "long" and lacks_unit(entry.name, told):
            yield f"the unit is missing in its first line or 'Returns:': {told.strip()}"
    for one in entry.arguments:
        if one.meaning and one.type != "string" and lacks_unit(one.name, one.meaning):
            yield f"the unit is missing in '@{one.name}: {one.meaning}'"


def lacks_unit(name: str, told: str) -> bool:
    """Tell whether a name is that of a quantity whose unit is not told."""
    units = [UNITS[word] for word in re.split(r"[_.]", name.lower()) if word in UNITS]
    return (
        bool(units)
        and not _OTHER.search(told)
        and not re.search(rf"\b(?:{'|'.join(units)})\b", told)
    )
