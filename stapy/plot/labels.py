"""Names beside axes and in legends: short enough to be read, the whole of each at hand."""

from __future__ import annotations

from unicodedata import east_asian_width

from stapy.plot.charts import Chart, ChartRow
from stapy.record import replace

LONGEST = 48  # characters of a name that is written out
_BEGIN = 30  # of them, those before the ellipsis: paths and symbols differ at their ends as well
# What labels have room for beyond what the library measured: its font is not that of each reader.
_SAFETY = 0.2


def cut(name: str) -> str:
    """Leave out the middle of a name that is too long."""
    if len(name) <= LONGEST:
        return name
    return f"{name[:_BEGIN]}…{name[_BEGIN + 1 - LONGEST :]}"


def apart(names: list[str]) -> list[str]:
    """Give a number to names that are there already, as long ones may be after they were cut."""
    found: list[str] = []
    taken = set(names)
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        one = name
        while seen[name] > 1 and (one := f"{name} ({seen[name]})") in taken:
            seen[name] += 1
        taken.add(one)
        found.append(one)
    return found


def shortened(charts: list[Chart]) -> list[Chart]:
    """Cut the long names of a file's charts; rows have the whole ones as ``whole_label`` …

    What is cut to the same differs by a number in all of the file, where a cut name is told of
    wherever it stands.
    """
    names = [name for chart in charts for name in [*chart.labels, *chart.parts]]
    names = list(dict.fromkeys(names))
    short = dict(zip(names, apart([cut(name) for name in names]), strict=True))
    return [_shortened(chart, short) for chart in charts]


def _shortened(chart: Chart, short: dict[str, str]) -> Chart:
    short = {name: short[name] for name in [*chart.labels, *chart.parts]}
    if all(name == one for name, one in short.items()):
        return chart
    return replace(
        chart,
        rows=[_shortened_row(row, short) for row in chart.rows],
        labels=[short[name] for name in chart.labels],
        parts=[short[name] for name in chart.parts],
        whole={one: name for name, one in short.items() if one != name},
    )


def _shortened_row(row: ChartRow, short: dict[str, str]) -> ChartRow:
    found: ChartRow = {**row}
    if "label" in row:
        found["label"], found["whole_label"] = short.get(row["label"], row["label"]), row["label"]
    if "part" in row:
        found["part"], found["whole_part"] = short.get(row["part"], row["part"]), row["part"]
    return found


def margin(names: list[str], size: int = 10) -> int:
    """Tell how many pixels names may need beside those that the library gives them."""
    widest = max(map(wide, names), default=0.0)
    return round(_SAFETY * widest * size)


def wide(name: str) -> float:
    """Estimate the width of a name, in heights of its font."""
    return sum(1.0 if east_asian_width(one) in "WF" else 0.58 for one in name)
