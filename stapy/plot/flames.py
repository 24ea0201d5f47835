"""Flame graphs: stacks with counts as boxes, each as wide as its share."""

from __future__ import annotations

import zlib

from stapy.plot.charts import FLAME, NAME, Chart, ChartRow, shown
from stapy.plot.errors import PlotError

# Boxes narrower than this part of the whole cannot be seen, nor found by the mouse.
NARROWEST = 1 / 5000
DEEPEST = 500


Counted = list[tuple[list[str], int]]  # stacks, the outermost frame first, and how often


def flame(
    title: str,
    stacks: dict[str, int],
    before: dict[str, int] | None = None,
    axis: str = "count",
) -> Chart:
    """Draw stacks, whose frames are parted by ``;``, the outermost first.

    With those of a session ``before``, boxes are red where their share grew, and blue where it
    shrank.  ``axis`` says what their width is.
    """
    kept = {stack: count for stack, count in stacks.items() if count > 0}
    now, then = _counted(kept), _counted(before or {})
    if not now:
        raise PlotError(f"{title}: no stack has a count above 0")
    if before is not None and not then:
        raise PlotError(f"{title}: no stack of the recording before has a count above 0")
    rows: list[ChartRow] = []
    left_out = _place(now, then, rows, before is not None)
    chart = Chart(kind=FLAME, title=title, rows=rows, across=axis)
    chart.notes.append(f"{_sum(now):,} in all, different stacks: {len(kept):,}")
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
            share = gone / _sum(then)
            chart.notes.append(f"{share:.1%} of what was before is in stacks that are gone")
    return chart


def _counted(stacks: dict[str, int]) -> Counted:
    return [(stack.split(";")[:DEEPEST], count) for stack, count in stacks.items() if count > 0]


def _sum(stacks: Counted) -> int:
    return sum(count for _, count in stacks)


def _by_frame(now: Counted, then: Counted, depth: int) -> dict[str, tuple[Counted, Counted]]:
    """Part stacks by the frame at a depth; those of before only where there are any now."""
    found: dict[str, tuple[Counted, Counted]] = {}
    for one in now:
        if depth < len(one[0]):
            found.setdefault(one[0][depth], ([], []))[0].append(one)
    for one in then:
        if depth < len(one[0]) and one[0][depth] in found:
            found[one[0][depth]][1].append(one)
    return found


def _place(now: Counted, then: Counted, rows: list[ChartRow], is_differential: bool) -> int:
    """Give each box its place, callers below; return how many are too narrow to be drawn.

    What is called from those is not looked at.
    """
    left_out = 0
    whole, before = _sum(now), _sum(then)
    waiting = [("all", now, then, 0, 0)]
    while waiting:
        name, here, earlier, begin, depth = waiting.pop()
        count = _sum(here)
        share = count / whole
        row: ChartRow = {
            "name": shown(name, NAME),
            "begin": begin,
            "end": begin + count,
            "depth": depth,
            "top": depth + 1,
            "count": count,
            "share": f"{share:.2%}",
        }
        if is_differential:
            was = _sum(earlier) / before
            row["before"] = f"{was:.2%}"
            row["color"] = _change(share - was)
        else:
            row["color"] = _warm(name)
        rows.append(row)
        for below, (called, called_before) in sorted(_by_frame(here, earlier, depth).items()):
            size = _sum(called)
            if size / whole >= NARROWEST:
                waiting.append((below, called, called_before, begin, depth + 1))
            else:
                left_out += 1
            begin += size
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
