"""Charts of globals at the end of a session: bars, histograms, heat maps of keys."""

from __future__ import annotations

from stapy.plot.buckets import joined, ladder
from stapy.plot.charts import BARS, HEATMAP, HISTOGRAM, NAME, STACKED, Chart, ChartRow, shown
from stapy.plot.errors import PlotError
from stapy.plot.labels import apart
from stapy.plot.recording import GlobalElement
from stapy.plot.values import Statistic, Value, buckets_of

MOST_PARTS = 10  # colours that can be told apart


def size_of(value: Value) -> int | None:
    """Tell how much an element is: its number, or the sum of its statistic; None for a text."""
    if isinstance(value, Statistic):
        return value.numbers.get("sum", 0)
    return None if isinstance(value, str) else value


def label_of(element: GlobalElement) -> str:
    """Name an element by its keys."""
    if element.stack:
        return shown(element.stack, NAME)
    return ", ".join(shown(key, NAME) for key in element.keys)


def bars(title: str, elements: list[GlobalElement], most: int, axis: str) -> Chart:
    """Draw the greatest elements of an array, a bar each."""
    found = [(size_of(one.value), label_of(one) or title, one) for one in elements]
    sized = [(size, label, one) for size, label, one in found if size is not None]
    if not sized:
        raise PlotError(f"'{title}' has texts, of which bars cannot be drawn")
    sized.sort(key=lambda row: (-row[0], row[1]))
    labels = apart([label for _, label, _ in sized[:most]])
    rows: list[ChartRow] = [
        {"label": label, "value": size, "about": _about(one.value)}
        for label, (size, _, one) in zip(labels, sized, strict=False)
    ]
    chart = Chart(kind=BARS, title=title, rows=rows, labels=labels)
    chart.across = f"sum of {axis}" if isinstance(sized[0][2].value, Statistic) else axis
    _tell_left_out(chart, len(sized), most)
    return chart


def _about(value: Value) -> str:
    if not isinstance(value, Statistic):
        return ""
    parts = ("count", "sum", "min", "max", "avg")
    numbers = value.numbers
    return ", ".join(f"{part} {numbers[part]:,}" for part in parts if part in numbers)


def _tell_left_out(chart: Chart, there: int, most: int) -> None:
    if there > most:
        chart.notes.append(f"the {most:,} greatest of {there:,}")


def stacked_bars(title: str, elements: list[GlobalElement], most: int, axis: str) -> Chart:
    """Draw an array of two or more keys: a bar for each first key, a part for each of the others.

    Raises `PlotError` for arrays with one key.
    """
    tally: dict[str, dict[str, int]] = {}
    for one in elements:
        size = size_of(one.value)
        if len(one.keys) < 2 or size is None or size < 0:
            raise PlotError(
                f"'{title}' cannot be stacked: that needs two keys, and numbers from 0 on"
            )
        parts = tally.setdefault(shown(one.keys[0], NAME), {})
        part = ", ".join(shown(key, NAME) for key in one.keys[1:])
        parts[part] = parts.get(part, 0) + size
    order = sorted(tally, key=lambda label: (-sum(tally[label].values()), label))
    named = greatest_parts([tally[label] for label in order])
    rows: list[ChartRow] = []
    for label in order[:most]:
        for part, size in gathered(tally[label], named).items():
            rows.append({"label": label, "part": part, "value": size})
    rest = name_of_rest(named)
    names = [*named, *([rest] if any(row["part"] == rest for row in rows) else [])]
    for row in rows:
        row["rank"] = names.index(row["part"])
    chart = Chart(kind=STACKED, title=title, rows=rows, labels=order[:most], parts=names)
    chart.across = axis
    _tell_left_out(chart, len(order), most)
    return chart


def greatest_parts(tallies: list[dict[str, int]]) -> list[str]:
    """List the parts that have colours of their own, the greatest first."""
    sums: dict[str, int] = {}
    for tally in tallies:
        for part, size in tally.items():
            sums[part] = sums.get(part, 0) + size
    order = sorted(sums, key=lambda part: (-sums[part], part))
    return order if len(order) <= MOST_PARTS else order[: MOST_PARTS - 1]


def name_of_rest(named: list[str]) -> str:
    """Name what has no colour of its own; a part may be called "others" itself."""
    return "others" if "others" not in named else "all others"


def gathered(tally: dict[str, int], named: list[str]) -> dict[str, int]:
    """Put all parts that have no colour of their own together, as `name_of_rest`."""
    found = {part: tally[part] for part in named if part in tally}
    rest = sum(size for part, size in tally.items() if part not in named)
    return {**found, name_of_rest(named): rest} if rest else found


def histogram(title: str, value: Value, axis: str) -> Chart:
    """Draw the buckets of a statistic."""
    buckets = buckets_of(value)
    if not buckets:
        raise PlotError(
            f"'{title}' has no buckets: those are of statistics whose histogram the script draws "
            "(print(@hist_log(…)))"
        )
    lines = joined(ladder(buckets))
    counts = dict.fromkeys(lines.values(), 0)
    for bucket in buckets:
        counts[lines[bucket.label]] += bucket.count
    labels = list(counts)
    rows: list[ChartRow] = [{"label": label, "value": count} for label, count in counts.items()]
    chart = Chart(kind=HISTOGRAM, title=title, rows=rows, labels=labels)
    chart.across, chart.up = "count", f"{axis}, from"
    chart.notes += [_about(value), *joining(lines)]
    return chart


def joining(lines: dict[str, str]) -> list[str]:
    """Tell of buckets that share a line of the axis."""
    kept = len(set(lines.values()))
    return [f"{len(lines):,} buckets on {kept:,} lines"] if kept < len(lines) else []


def heat_of_keys(title: str, elements: list[GlobalElement], most: int, axis: str) -> Chart:
    """Draw an array of statistics: a column for each key, a row for each bucket."""
    found = [
        (one.value.buckets, label_of(one), one.value.numbers["count"])
        for one in elements
        if isinstance(one.value, Statistic) and one.value.buckets
    ]
    if not found:
        raise PlotError(f"'{title}' has no buckets, of which a heat map could be drawn")
    found.sort(key=lambda row: (-row[2], row[1]))
    names = apart([name for _, name, _ in found[:most]])
    lines = joined(ladder([bucket for buckets, *_ in found[:most] for bucket in buckets]))
    cells: dict[tuple[str, str], int] = {}
    for name, (buckets, *_) in zip(names, found, strict=False):
        for bucket in buckets:
            cell = name, lines[bucket.label]
            cells[cell] = cells.get(cell, 0) + bucket.count
    rows: list[ChartRow] = [
        {"part": name, "label": label, "value": n} for (name, label), n in cells.items()
    ]
    labels = list(dict.fromkeys(lines.values()))
    chart = Chart(kind=HEATMAP, title=title, rows=rows, labels=labels, notes=joining(lines))
    chart.parts = names
    chart.up = f"{axis}, from"
    _tell_left_out(chart, len(found), most)
    return chart
