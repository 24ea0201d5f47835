"""What a chart is, before anybody says how it is drawn."""

from __future__ import annotations

from typing import TypedDict

from stapy.record import Record, new

FLAME, BARS, HISTOGRAM = "flame", "bars", "histogram"
HEATMAP, LINES, STACKED = "heatmap", "lines", "stacked"
KINDS = (FLAME, BARS, HISTOGRAM, HEATMAP, LINES, STACKED)
TITLES = {
    FLAME: "flame graph",
    BARS: "bars",
    HISTOGRAM: "histogram",
    HEATMAP: "heat map",
    LINES: "time series",
    STACKED: "stacked",
}


class ChartRow(TypedDict, total=False):
    """What is drawn as one mark; which columns there are, the kind of the chart says."""

    name: str
    label: str
    part: str
    whole_label: str  # where the label was cut
    whole_part: str
    about: str
    value: float
    rank: int
    time: float  # seconds since the session began
    begin: float
    end: float
    depth: int
    top: int
    count: int
    share: str
    before: str
    color: str


class Chart(Record):
    """One picture: rows of values, whose columns depend on the kind.

    flame: ``name``, ``begin``, ``end``, ``depth``, ``count``, ``share``, ``color``, ``before``
    bars: ``label``, ``value``, ``about``; stacked ones: ``label``, ``part``, ``value``, ``rank``
    histogram: ``label``, ``value``
    heatmap: ``begin``, ``end``, ``label``, ``value``; with ``label`` and ``part`` for one of keys
    lines: ``time``, ``part``, ``value``; stacked areas have their ``rank``, too
    """

    kind: str
    title: str
    rows: list[ChartRow]
    notes: list[str] = new(list)
    across: str = ""  # what the axes are
    up: str = ""
    labels: list[str] = new(list)  # the order of an axis that has names
    parts: list[str] = new(list)  # the order of colours, or of the other axis with names
    is_over_time: bool = False
    whole: dict[str, str] = new(dict)  # of names that were cut: what they are


NAME = 200  # characters of a name that a picture has at all


def shown(value: object, most: int = 60) -> str:
    """Write a name of the traced system so that it is one line of a picture."""
    from stapy.run.printable import name

    raw = str(value).encode("utf-8", "surrogateescape")
    text = name(raw).decode("utf-8", "backslashreplace")
    # What SVG, which is XML, cannot have.
    text = "".join(one if _is_xml(ord(one)) else f"\\u{ord(one):04x}" for one in text)
    return text if len(text) <= most else text[: most - 1] + "…"


def _is_xml(code: int) -> bool:
    return not 0xD800 <= code <= 0xDFFF and code not in (0xFFFE, 0xFFFF)
