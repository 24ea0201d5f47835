"""Flame graphs: stacks with counts as boxes, each as wide as its share."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

from stapy.plot.charts import FLAME, NAME, Chart, shown
from stapy.plot.errors import PlotError

# Boxes narrower than this part of the whole cannot be seen, nor found by the mouse.
NARROWEST = 1 / 5000
DEEPEST = 500


class _Box:
    """A function in a stack, with what was called from it."""

    __slots__ = ("before", "below", "count")

    def __init__(self) -> None:
        self.count = 0
        self.before = 0
        self.below: dict[str, _Box] = {}


def flame(title: str, stacks: dict[str, int], before: dict[str, int] | None = None) -> Chart:
    """Draw stacks, whose frames are parted by ``;``, the outermost first.

    With those of a session ``before``, boxes are red where their share grew, and blue where it
    shrank.
    """
    kept = {stack: count for stack, count in stacks.items() if count > 0}
    root = _Box()
    _grow(root, kept.items(), False)
    _grow(root, (before or {}).items(), True)
    if not root.count:
        raise PlotError(f"{title}: no stack has a count above 0")
    if before is not None and not root.before:
        raise PlotError(f"{title}: no stack of the recording before has a count above 0")
    rows: list[dict[str, Any]] = []
    left_out = _place(root, rows, before is not None)
    chart = Chart(kind=FLAME, title=title, rows=rows)
    chart.notes.append(f"{root.count:,} in all, different stacks: {len(kept):,}")
    deepest = max(stack.count(";") + 1 for stack in kept)
    if deepest > DEEPEST:
        chart.notes.append(f"the outermost {DEEPEST} frames of up to {deepest:,}")
    if left_out:
        chart.notes.append(f"boxes left out, below {NARROWEST:.2%}: {left_out:,}")
    if len(kept) < len(stacks):
        chart.notes.append(f"stacks left out, with counts below 1: {len(stacks) - len(kept):,}")
    if before is not None:
        chart.notes.append("red grew, blue shrank, against the recording before")
        gone = sum(count for stack, count in before.items() if stack not in kept and count > 0)
        if gone:
            share = gone / max(root.before, 1)
            chart.notes.append(f"{share:.1%} of what was before is in stacks that are gone")
    return chart


def _grow(root: _Box, stacks: Iterable[tuple[str, int]], is_before: bool) -> None:
    for stack, count in stacks:
        if count <= 0:
            continue
        box = root
        for frame in [None, *stack.split(";")[:DEEPEST]]:
            if frame is not None:
                box = box.below.setdefault(frame, _Box())
            if is_before:
                box.before += count
            else:
                box.count += count


def _place(root: _Box, rows: list[dict[str, Any]], is_differential: bool) -> int:
    """Give each box its place, callers below; return how many are too narrow to be drawn."""
    left_out = 0
    waiting: list[tuple[str, _Box, int, int]] = [("all", root, 0, 0)]
    while waiting:
        name, box, begin, depth = waiting.pop()
        share = box.count / root.count
        row: dict[str, Any] = {
            "name": shown(name, NAME),
            "begin": begin,
            "end": begin + box.count,
            "depth": depth,
            "top": depth + 1,
            "count": box.count,
            "share": f"{share:.2%}",
        }
        if is_differential:
            was = box.before / root.before if root.before else 0.0
            row["before"] = f"{was:.2%}"
            row["color"] = _change(share - was)
        else:
            row["color"] = _warm(name)
        rows.append(row)
        for below in sorted(box.below):
            child = box.below[below]
            if child.count / root.count >= NARROWEST:
                waiting.append((below, child, begin, depth + 1))
            elif child.count:
                left_out += 1
            begin += child.count
    return left_out


def _warm(name: str) -> str:
    """Choose a colour of flames by the name: the same function is the same everywhere."""
    number = zlib.crc32(name.encode("utf-8", "surrogateescape"))
    red, green = 205 + number % 50, 90 + (number >> 8) % 130
    return f"#{red:02x}{green:02x}{40 + (number >> 16) % 40:02x}"


def _change(difference: float) -> str:
    """Choose a colour for a share that grew or shrank: a tenth of the whole is full colour."""
    if abs(difference) < 1e-9:
        return "#eeeeee"
    pale = 110 + round(115 * (1 - min(1.0, abs(difference) * 10)))
    return f"#ff{pale:02x}{pale:02x}" if difference > 0 else f"#{pale:02x}{pale:02x}ff"
