"""Which charts become of a recording: by the type of each global and print, or as was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stapy.diagnostics.suggest import nearest
from stapy.plot import charts, tables, timelines, units
from stapy.plot.charts import Chart, shown
from stapy.plot.errors import PlotError
from stapy.plot.flames import flame
from stapy.plot.recording import GlobalElement, PrintPlace, Recording
from stapy.plot.values import Statistic, buckets_of
from stapy.record import Record, new

TOP = 30  # bars that are drawn unless another number is asked for
_FEW = 12  # names of which each may have a line


class PlotWish(Record):
    """What was asked for; "" leaves it to the types."""

    chart: str = ""
    name: str = ""  # of a global
    field: str = ""  # of prints
    top: int = TOP
    units: dict[str, str] = new(dict)  # of globals and fields


def choose(recording: Recording, wish: PlotWish, before: Recording | None = None) -> list[Chart]:
    """Make the charts of a recording; raise `PlotError` when there is nothing to draw."""
    _check_names(recording, wish)
    if before is not None:
        return _compared(recording, before, wish)
    found: list[Chart] = []
    if not wish.field:
        found += _of_stacks(recording, wish)
        found += _of_globals(recording, wish)
    if not wish.name:
        found += _of_prints(recording, wish, {chart.title for chart in found})
    if not found and not wish.field:
        found += _of_plain(recording, wish)
    if not found:
        raise PlotError(_nothing(recording, wish))
    return found


def _check_names(recording: Recording, wish: PlotWish) -> None:
    """Refuse names that the recording does not have, with the nearest one."""
    both = [*recording.names, *recording.field_names]
    for kind, name, known in (
        ("global", wish.name, recording.names),
        ("field", wish.field, recording.field_names),
        *(("global or field", name, both) for name in wish.units),
    ):
        if name and name not in known:
            near = nearest(name, known)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            there = ", ".join(sorted(known)[:20]) or "none"
            raise PlotError(f"the recording has no {kind} '{name}'{hint} (there are: {there})")
    if wish.name and wish.field:
        raise PlotError("a chart is of a global or of a field, not of both")


def _axis(recording: Recording, wish: PlotWish, name: str) -> str:
    """Name an axis that shows a global, with its unit where one is known."""
    printed = {place.units.of_global(name) for place in recording.places.values()} - {""}
    unit = units.spelled(wish.units.get(name, ""))
    return units.axis(name, unit or (printed.pop() if len(printed) == 1 else ""))


def _axis_of_field(place: PrintPlace, wish: PlotWish, name: str) -> str:
    """Name an axis that shows a field of prints."""
    return units.axis(name, units.spelled(wish.units.get(name, "")) or place.units.of(name))


def _width(recording: Recording, wish: PlotWish, name: str) -> str:
    """Say what boxes of a flame graph are as wide as."""
    axis = _axis(recording, wish, name)
    return axis if axis != shown(name) else "count"


def _nothing(recording: Recording, wish: PlotWish) -> str:
    what = wish.name or wish.field
    if _wanted(wish, charts.FLAME) and not wish.field and stacks_of(recording, wish.name):
        return "nothing to draw: there are stacks, but none has a count above 0"
    if wish.chart and what:
        return f"'{what}' cannot be drawn as {wish.chart}: {_NEEDS[wish.chart]}"
    if wish.chart:
        return f"nothing can be drawn as {wish.chart}: {_NEEDS[wish.chart]}"
    if what:
        return f"'{what}' has nothing to draw: neither numbers nor statistics with values"
    prints = "no print had a number in a field more than once"
    if recording.globals:
        return f"nothing to draw: no global has numbers or statistics, and {prints}"
    return f"nothing to draw: {_why_no_globals(recording)}, and {prints}"


def _why_no_globals(recording: Recording) -> str:
    """Say why a recording has none at its end."""
    if recording.errors:
        return (
            f"the session failed, and had no globals at its end ({shown(recording.errors[0], 200)})"
        )
    if not recording.is_ended:
        return "the recording stops before the end of the session, where the globals are"
    return "there is no global that the script writes to"


_NEEDS = {
    charts.FLAME: "that needs an array with a stack among its keys, or prints of stacks",
    charts.BARS: "that needs numbers or statistics",
    charts.HISTOGRAM: "that needs a statistic whose histogram the script draws",
    charts.HEATMAP: "that needs statistics whose histogram is printed repeatedly, or a field "
    "(--field) that has numbers",
    charts.LINES: "that needs a field of prints that has numbers",
    charts.STACKED: "that needs an array with two keys, or a field of prints that has numbers",
}  # fmt: skip


def _wanted(wish: PlotWish, kind: str) -> bool:
    return wish.chart in ("", kind)


def stacks_of(recording: Recording, name: str) -> dict[str, dict[str, int]]:
    """Count the stacks of arrays by name; those of prints only where no array has any."""
    found: dict[str, dict[str, int]] = {"stacks": dict(recording.folded)}
    for array, elements in recording.globals.items():
        if name not in ("", array):
            continue
        for one in elements.values():
            size = tables.size_of(one.value)
            if one.stack and size is not None:
                tally = found.setdefault(array, {})
                tally[one.stack] = tally.get(one.stack, 0) + size
    return {array: tally for array, tally in found.items() if tally}


def _of_stacks(recording: Recording, wish: PlotWish) -> list[Chart]:
    if not _wanted(wish, charts.FLAME):
        return []
    found = _counted(recording, wish)

    def make(name: str) -> Chart:
        return flame(name, found[name], axis=_width(recording, wish, name))

    return _each(found, make, bool(wish.name))


def _counted(recording: Recording, wish: PlotWish) -> dict[str, dict[str, int]]:
    return stacks_of(recording, wish.name) or _printed_stacks(recording, wish)


def _compared(recording: Recording, before: Recording, wish: PlotWish) -> list[Chart]:
    """Draw the stacks of two recordings; raise `PlotError` where one of them has none."""
    if wish.field or not _wanted(wish, charts.FLAME):
        raise PlotError("--before compares stacks: it goes without --field and other charts")
    now, then = _counted(recording, wish), _counted(before, wish)
    array = f" in '{wish.name}'" if wish.name else ""
    for found, which in ((now, "the recording"), (then, "that of --before")):
        if not found:
            raise PlotError(
                f"two recordings are compared by their stacks, and {which} has none{array}"
            )
    if len(now) == 1 and len(then) == 1:  # whatever they are called, as in folded files
        ((name, stacks),), ((_, earlier),) = now.items(), then.items()
        return [flame(name, stacks, earlier, _width(recording, wish, name))]
    shared = [name for name in now if name in then]
    if not shared:
        raise PlotError(
            "two recordings are compared by arrays of the same name: here stacks are in "
            f"{', '.join(now)}, in that of --before in {', '.join(then)}"
        )

    def make(name: str) -> Chart:
        return flame(name, now[name], then[name], _width(recording, wish, name))

    drawn = _each(shared, make, len(shared) == 1)
    if not drawn:
        raise PlotError("no array has stacks with counts above 0 in both recordings")
    return drawn


def _printed_stacks(recording: Recording, wish: PlotWish) -> dict[str, dict[str, int]]:
    """Count stacks that were printed, each once, as ``--format=folded`` does."""
    from stapy.plot.recording import JsonReader

    if wish.name:
        return {}
    reader = JsonReader("")
    tally: dict[str, int] = {}
    for place in recording.places.values():
        for row in place.rows:
            texts = (value for value in row.values.values() if isinstance(value, str))
            parts = [part for part in map(reader.folded, ([text] for text in texts)) if part]
            if parts:
                stack = ";".join(parts)
                tally[stack] = tally.get(stack, 0) + 1
    return {"printed stacks": tally} if tally else {}


def _each(names: Iterable[str], make: Callable[[str], Chart], is_named: bool) -> list[Chart]:
    """Make a chart for each name; one that cannot be drawn is left out unless ``is_named``."""
    found = []
    for name in names:
        try:
            found.append(make(name))
        except PlotError:
            if is_named:
                raise
    return found


def _of_globals(recording: Recording, wish: PlotWish) -> list[Chart]:
    """Draw arrays and statistics."""

    def make(name: str) -> Chart:
        elements = list(recording.globals[name].values())
        return _global(name, elements, wish, _axis(recording, wish, name))

    names = [
        name
        for name, elements in recording.globals.items()
        if wish.name in ("", name)
        and (wish.chart or not any(one.stack for one in elements.values()))
        and not (_is_plain(elements.values()) and not wish.name)
    ]
    if wish.chart in (charts.FLAME, charts.LINES):
        return []
    return _each(names, make, bool(wish.name and wish.chart))


def _is_plain(elements: Iterable[GlobalElement]) -> bool:
    """Tell whether a global is a number or a text by itself."""
    return all(not one.keys and not isinstance(one.value, Statistic) for one in elements)


def _global(name: str, elements: list[GlobalElement], wish: PlotWish, axis: str) -> Chart:
    has_buckets = any(buckets_of(one.value) for one in elements)
    is_single = len(elements) == 1 and not elements[0].keys
    kind = wish.chart
    if not kind and has_buckets:
        kind = charts.HISTOGRAM if is_single else charts.HEATMAP
    if not kind:
        kind = charts.STACKED if _stacks_well(elements) else charts.BARS
    if kind == charts.HISTOGRAM:
        if not is_single:
            raise PlotError(f"'{name}' is an array: its histograms are drawn by --chart=heatmap")
        return tables.histogram(name, elements[0].value, axis)
    if kind == charts.HEATMAP:
        return tables.heat_of_keys(name, elements, wish.top, axis)
    if kind == charts.STACKED:
        return tables.stacked_bars(name, elements, wish.top, axis)
    return tables.bars(name, elements, wish.top, axis)


def _stacks_well(elements: list[GlobalElement]) -> bool:
    """Tell whether an array has two keys of which the second one has few values, several times."""
    if not all(
        len(one.keys) == 2 and isinstance(one.value, int) and one.value >= 0 for one in elements
    ):
        return False
    seconds = {one.keys[1] for one in elements}
    return 1 < len(seconds) <= tables.MOST_PARTS and len(elements) > len(seconds)


def _of_plain(recording: Recording, wish: PlotWish) -> list[Chart]:
    """Draw numbers that are no arrays: only where nothing else can be drawn."""
    if not _wanted(wish, charts.BARS):
        return []
    plain = [
        GlobalElement(keys=(name,), value=element.value)
        for name, elements in recording.globals.items()
        if wish.name in ("", name)
        for element in elements.values()
        if not element.keys and not isinstance(element.value, str)
    ]
    axis = _axis(recording, wish, wish.name) if wish.name else "value"
    return [tables.bars(wish.name or "globals", plain, wish.top, axis)] if plain else []


def _of_prints(recording: Recording, wish: PlotWish, drawn: set[str]) -> list[Chart]:
    found: list[Chart] = []
    if wish.chart in (charts.FLAME, charts.BARS):
        return found
    is_named = bool(wish.field)
    for place in recording.places.values():
        statistics = [
            name
            for name in place.rows[0].values
            if wish.field in ("", name)
            and any(isinstance(row.values.get(name), Statistic) for row in place.rows)
        ]

        def make(name: str, place: PrintPlace = place) -> Chart:
            return _statistic(place, name, wish)

        if wish.chart in ("", charts.HISTOGRAM, charts.HEATMAP):
            has_course = timelines.has_course(place)
            fresh = [
                name
                for name in statistics
                if has_course or is_named or (len(place.rows) == 1 and name not in drawn)
            ]
            found += _each(fresh, make, False)
        found += _numbers(place, wish, is_named)
    return found


def _statistic(place: PrintPlace, name: str, wish: PlotWish) -> Chart:
    axis = _axis_of_field(place, wish, name)
    if wish.chart == charts.HISTOGRAM or (len(place.rows) == 1 and not wish.chart):
        return tables.histogram(name, place.rows[-1].values[name], axis)
    return timelines.heat_of_statistics(place, name, axis)


def _numbers(place: PrintPlace, wish: PlotWish, is_named: bool) -> list[Chart]:
    """Draw the numbers of a print over time."""
    if is_named:
        here = place.rows[0].values.get(wish.field)
        fields = [wish.field] if timelines.is_number(here) else []
    else:
        fields = timelines.numbers_of(place)
    if not fields or len(place.rows) < 2 or (timelines.is_once(place) and not wish.chart):
        return []
    names = {timelines.name_of(row) for row in place.rows}
    is_periodic = place.probe.startswith("timer.")
    by_name = names != {""} and len(place.rows) >= 2 * len(names)
    by_name = by_name and (is_periodic or len(names) <= _FEW)
    kind = wish.chart or _kind_of(place, fields, by_name and is_periodic)
    axes = {name: _axis_of_field(place, wish, name) for name in fields}
    axis = units.shared([*axes.values()])
    if kind == charts.HEATMAP:
        return _each(
            fields, lambda name: timelines.heat_of_numbers(place, name, axes[name]), is_named
        )
    if kind == charts.STACKED:
        return _each([""], lambda _: timelines.areas(place, fields, by_name, axis), is_named)
    if kind == charts.LINES:
        return _each([""], lambda _: timelines.lines(place, fields, by_name, axis), is_named)
    return []


def _kind_of(place: PrintPlace, fields: list[str], adds_up: bool) -> str:
    """Choose a chart: shares of each moment, many events, or few of them."""
    if (
        adds_up
        and len(fields) == 1
        and all(value >= 0 for _, value in timelines.points(place, fields[0]))
    ):
        return charts.STACKED
    return charts.HEATMAP if len(place.rows) > timelines.MOST_POINTS else charts.LINES
