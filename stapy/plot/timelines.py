"""Charts of prints over time: lines, stacked areas, heat maps."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeGuard

from stapy.plot.buckets import Bucket, joined, ladder, of_number
from stapy.plot.charts import HEATMAP, LINES, NAME, STACKED, Chart, ChartRow, shown
from stapy.plot.errors import PlotError
from stapy.plot.recording import PrintPlace, PrintRow
from stapy.plot.tables import MOST_PARTS, gathered, greatest_parts, joining, name_of_rest
from stapy.plot.values import Value, buckets_of

MOST_POINTS = 1000  # of a line; more are drawn as a heat map, unless lines are asked for
_COLUMNS = 120
_TICK = 4  # prints that follow within a part of the usual distance are of one moment

# Numbers that tell who it was: nobody wants to see them over time.
_IDENTITIES = frozenset(
    (
        *("pid", "tid", "ppid", "uid", "euid", "gid", "egid", "ns_pid", "ns_tid", "ns_uid"),
        *("cpu", "target", "fd", "ino", "inode", "dev", "major", "minor", "mode", "flags"),
        *("port", "sport", "dport", "lport"),
    )
)
_CLOCKS = ("gettimeofday", "get_cycles", "jiffies", "local_clock", "ktime", "cpu_clock", "time")
_ONCE = ("begin", "end", "error", "never")  # probes whose prints have no course in time
_AT_ONCE = 20  # prints within such a part of the session until then are of one moment


def is_once(place: PrintPlace) -> bool:
    """Tell whether a print is of a probe that comes once: what it prints has no course in time."""
    return place.probe.partition("(")[0].strip() in _ONCE


def has_course(place: PrintPlace) -> bool:
    """Tell whether a print was made repeatedly, and not only by one hit for each of many keys."""
    times = [row.time for row in place.rows]
    return not is_once(place) and max(times) - min(times) > max(times) / _AT_ONCE


def numbers_of(place: PrintPlace) -> list[str]:
    """List the fields of a print that are measured numbers."""
    return [
        name
        for name, value in place.rows[0].values.items()
        if is_number(value) and name not in _IDENTITIES and not name.startswith(_CLOCKS)
    ]


def is_number(value: Value | None) -> TypeGuard[int]:
    """Tell whether a value is a number; those of a statistic are none."""
    return isinstance(value, int)


def points(place: PrintPlace, field: str) -> list[tuple[PrintRow, int]]:
    """List the prints that have a number in this field, in the order of time."""
    found = [(row, one) for row in place.rows if is_number(one := row.values.get(field))]
    if not found:
        raise PlotError(f"field '{field}' has no numbers")
    return sorted(found, key=lambda pair: pair[0].time)


def name_of(row: PrintRow) -> str:
    """Join the texts among the fields of a print."""
    return ", ".join(shown(one, NAME) for one in row.values.values() if isinstance(one, str))


def lines(place: PrintPlace, fields: list[str], by_name: bool, axis: str) -> Chart:
    """Draw fields over time: a line for each, or for each text that stands beside it."""
    title = f"{', '.join(map(shown, fields))} ({shown(place.place)})"
    tracks: dict[str, list[tuple[float, float]]] = {}
    for field in fields:
        for row, value in points(place, field):
            part = (name_of(row) or shown(field)) if by_name else shown(field)
            if by_name and len(fields) > 1:
                part = f"{part} {shown(field)}"
            tracks.setdefault(part, []).append((row.time, value))
    order = sorted(tracks, key=lambda part: (-len(tracks[part]), part)) if by_name else [*tracks]
    kept = order[:MOST_PARTS]
    chart = Chart(kind=LINES, title=title, rows=[], parts=kept, is_over_time=True)
    for part in kept:
        track = tracks[part]
        if len(track) > MOST_POINTS:
            note = f"means of {_ceil(len(track), MOST_POINTS):,} prints each"
            chart.notes += [note] if note not in chart.notes else []
            track = _means(track)
        chart.rows += [{"time": when, "part": part, "value": value} for when, value in track]
    if len(order) > len(kept):
        chart.notes.append(f"the {len(kept)} most frequent of {len(order):,}")
    chart.up = axis
    return chart


def _ceil(number: int, by: int) -> int:
    return -(-number // by)


def _means(track: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Put neighbours together, so that there are at most `MOST_POINTS`."""
    size = _ceil(len(track), MOST_POINTS)
    parts = [track[at : at + size] for at in range(0, len(track), size)]
    return [(part[0][0], round(sum(value for _, value in part) / len(part), 3)) for part in parts]


def areas(place: PrintPlace, fields: list[str], by_name: bool, axis: str) -> Chart:
    """Draw numbers from 0 on that add up at each moment: by text, or several fields."""
    title = f"{', '.join(map(shown, fields))} ({shown(place.place)})"
    flat: list[tuple[float, str, int]] = []
    for field in fields:
        for row, value in points(place, field):
            part = (name_of(row) or shown(field)) if by_name else shown(field)
            flat.append((row.time, part, value))
    if any(value < 0 for *_, value in flat):
        raise PlotError(f"{title} cannot be stacked: some numbers are below 0")
    moments = _moments(sorted(flat, key=lambda row: row[0]))
    named = greatest_parts([tally for _, tally in moments])
    has_others = any(set(tally) - set(named) for _, tally in moments)
    parts = [*named, *([name_of_rest(named)] if has_others else [])]
    chart = Chart(kind=STACKED, title=title, rows=[], parts=parts, is_over_time=True)
    if len(moments) > MOST_POINTS:
        step = _ceil(len(moments), MOST_POINTS)
        chart.notes.append(f"each {step}th of {len(moments):,} moments")
        moments = moments[::step]
    for when, tally in moments:
        sizes = gathered(tally, named)
        chart.rows += [
            {"time": when, "part": part, "value": sizes.get(part, 0), "rank": rank}
            for rank, part in enumerate(parts)
        ]
    chart.up = axis
    return chart


def _moments(rows: list[tuple[float, str, int]]) -> list[tuple[float, dict[str, int]]]:
    """Put together what was printed at one moment, by one hit of the probe."""
    often: dict[str, int] = {}
    for _, part, _ in rows:
        often[part] = often.get(part, 0) + 1
    period = (rows[-1][0] - rows[0][0]) / max(max(often.values()) - 1, 1)
    found: list[tuple[float, dict[str, int]]] = []
    last = 0.0
    for when, part, value in rows:
        if not found or part in found[-1][1] or when - last > period / _TICK:
            found.append((when, {}))
        found[-1][1][part] = value
        last = when
    return found


def heat_of_statistics(place: PrintPlace, field: str, axis: str) -> Chart:
    """Draw a statistic that was printed repeatedly: buckets over time.

    Where no bucket ever shrinks, the script goes on counting: what came in between is drawn.
    """
    prints = sorted(
        ((row.time, buckets_of(row.values.get(field))) for row in place.rows),
        key=lambda pair: pair[0],
    )
    if not any(buckets for _, buckets in prints):
        raise PlotError(f"field '{field}' has no buckets, of which a heat map could be drawn")
    if not any(one.count for _, buckets in prints for one in buckets):
        raise PlotError(f"field '{field}' has only empty buckets: no value came into it")
    tallies = [(when, {one.label: one for one in buckets}) for when, buckets in prints]
    grows = len(tallies) > 1 and all(
        label in later and later[label].count >= one.count
        for (_, earlier), (_, later) in pairwise(tallies)
        for label, one in earlier.items()
    )
    chart = Chart(kind=HEATMAP, title=f"{shown(field)} ({shown(place.place)})", rows=[])
    lines = joined(ladder([one for _, buckets in prints for one in buckets]))
    chart.labels = list(dict.fromkeys(lines.values()))
    chart.notes += joining(lines)
    chart.is_over_time, chart.up = True, f"{axis}, from"
    if grows:
        chart.notes.append("what was added between two prints: the script goes on counting")
    begin = 0.0
    earlier: dict[str, Bucket] = {}
    cells: list[tuple[float, float, dict[str, int]]] = []
    for when, tally in tallies:
        counts = dict.fromkeys(lines.values(), 0)
        for label, one in tally.items():
            was = earlier[label].count if grows and label in earlier else 0
            counts[lines[label]] += one.count - was
        cells.append((begin, when, counts))
        begin, earlier = when, tally
    _fill(chart, cells)
    return chart


def heat_of_numbers(place: PrintPlace, field: str, axis: str) -> Chart:
    """Draw a number of each print: how many lay in each power of 2, over time."""
    found = [(row.time, of_number(value)) for row, value in points(place, field)]
    end = max(found[-1][0], 1e-6)
    width = end / _COLUMNS
    counts: list[dict[str, int]] = [{} for _ in range(_COLUMNS)]
    for when, bucket in found:
        column = counts[min(int(when / width), _COLUMNS - 1)]
        column[bucket.label] = column.get(bucket.label, 0) + 1
    title = f"{shown(field)} ({shown(place.place)})"
    chart = Chart(kind=HEATMAP, title=title, rows=[], is_over_time=True)
    chart.up = f"{axis}, from"
    chart.labels = ladder({(one.low, one.high): one for _, one in found}.values())
    chart.notes.append(f"{len(found):,} prints")
    _fill(chart, [(at * width, (at + 1) * width, tally) for at, tally in enumerate(counts)])
    return chart


def _fill(chart: Chart, cells: list[tuple[float, float, dict[str, int]]]) -> None:
    """Make the rows of columns of time, put together where they are too many."""
    size = _ceil(len(cells), 2 * _COLUMNS)
    for at in range(0, len(cells), size):
        group = cells[at : at + size]
        sums: dict[str, int] = {}
        for *_, tally in group:
            for label, count in tally.items():
                sums[label] = sums.get(label, 0) + count
        for label in sorted(sums):
            if sums[label]:
                row: ChartRow = {"begin": group[0][0], "end": group[-1][1], "label": label}
                chart.rows.append({**row, "value": sums[label]})
