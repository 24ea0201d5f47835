"""Charts as Vega-Lite: dictionaries that the library draws.

Columns have names of ours, and what the traced system says stands in values only: nothing of it
is ever read as an expression or as the name of a field.
"""

from __future__ import annotations

from collections.abc import Callable

from stapy.plot import charts
from stapy.plot.charts import Chart
from stapy.plot.labels import margin, shortened, wide

Spec = dict[str, object]

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
WIDTH = 1000
_ROW = 18  # pixels of a line of text
_SIZE = 10  # of the letters beside axes
_WIDE = "wide"  # how wide charts are: a page may find that the window has less room
_SEARCH = "search"
_CURRENT = "current"  # the box that the keys are at
_FOUND = "#c026d3"
# Those of the first three are equally wide; the library has the first one and measures by it.
FONT = '"Liberation Sans", Arial, Helvetica, sans-serif'
# Numbers as they are up to 9,999; then with k, M, G …, and all digits that tell two of them apart.
_WRITTEN = "abs(datum.value) < 1e4 ? format(datum.value, ',') : format(datum.value, '.12~s')"
_EXACT = ",.3~f"  # the whole number, or up to three digits behind the point; never an exponent
_NUMBERS = ("value", "count")
_TICKS, _STEPS = 10, 4  # of an axis, of a legend of colours
TIME = "time since start (s)"


def specification(drawn: list[Chart], title: str, is_live: bool) -> Spec:
    """Write all charts of a file, one below the other.

    ``is_live`` is for a page: with zoom, search and tooltips.
    """
    drawn = shortened(drawn)
    views = [_named(chart, number, is_live) for number, chart in enumerate(drawn)]
    spec: Spec = {
        "$schema": _SCHEMA,
        "title": {"text": title, "anchor": "start", "fontSize": 16},
        "vconcat": views,
        "resolve": {"scale": {"color": "independent", "x": "independent", "y": "independent"}},
        "spacing": 40,
        "padding": _padding(drawn),
        "config": {
            "font": FONT,
            "view": {"stroke": None},
            "axis": {"grid": True, "gridOpacity": 0.4},
        },
    }
    params: list[Spec] = []
    if is_live:
        box = {"input": "search", "name": "search ", "placeholder": "a part of a name"}
        params += [
            {"name": _SEARCH, "value": "", "bind": box},
            {"name": _CURRENT, "value": ""},
        ]
    return {**spec, "params": [*params, {"name": _WIDE, "value": WIDTH}]}


def _padding(drawn: list[Chart]) -> Spec:
    """Leave room at the edges for labels that are wider in the reader's font."""
    left = [label for chart in drawn for label in chart.labels]
    right = [part for chart in drawn for part in chart.parts]
    headings = [text for chart in drawn for text in (chart.title, "; ".join(chart.notes))]
    beyond = margin(headings, 12) if len(max(headings, key=len)) * 6 > WIDTH else 0
    return {
        "left": 5 + margin(left),
        "right": 5 + max(margin(right), beyond),
        "top": 5,
        "bottom": 5,
    }


def _named(chart: Chart, number: int, is_live: bool) -> Spec:
    """Write one chart; its name tells its scales and parameters from those of the others."""
    name = f"chart{number}"
    view = _MAKERS[chart.kind](chart, name, is_live)
    heading: Spec = {"text": f"{charts.TITLES[chart.kind]}: {chart.title}"}
    heading |= {"anchor": "start", "frame": "group"}
    notes = [note for note in chart.notes if note]
    if notes:
        heading["subtitle"] = "; ".join(notes)
    return {
        "name": name,
        "title": heading,
        "width": WIDTH,
        "data": {
            "name": f"{name}_rows",
            "values": [{key: _double(value) for key, value in row.items()} for row in chart.rows],
        },
        **view,
    }


def _double(value: object) -> object:
    """Write a sum that no 64 bits hold as the library can read it; it draws doubles anyway."""
    return float(value) if isinstance(value, int) and value.bit_length() > 63 else value


def _zoom(name: str, is_live: bool, *encodings: str) -> Spec:
    """Let the wheel zoom, and the mouse pull, along some axes."""
    if not is_live:
        return {}
    select = {"type": "interval", "encodings": list(encodings)}
    return {"params": [{"name": f"{name}_zoom", "select": select, "bind": "scales"}]}


def _is_found(column: str) -> str:
    return f"length({_SEARCH}) > 0 && indexof(lower(datum.{column}), lower({_SEARCH})) >= 0"


def _marked(column: str, channel: Spec, is_live: bool) -> Spec:
    """Colour what the search finds."""
    if not is_live:
        return channel
    return {"condition": {"test": _is_found(column), "value": _FOUND}, **channel}


def _quantity(field: str, title: str, **more: object) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, **more}


def _names(field: str, order: list[str], title: str, **more: object) -> Spec:
    return {"field": field, "type": "ordinal", "sort": order, "title": title, **more}


def _tips(chart: Chart, *rows: tuple[str, str]) -> list[Spec]:
    """List what a mark tells on hovering: columns, and what they are called."""
    return [
        {
            "field": _whole(chart, field),
            "title": title,
            "type": "quantitative" if field in (*_NUMBERS, "time") else "nominal",
            **({"format": _EXACT} if field in _NUMBERS else {}),
            **({"format": ".3f"} if field == "time" else {}),
        }
        for field, title in rows
    ]


def _whole(chart: Chart, field: str) -> str:
    """Name the column that has the whole of what may be cut in this one."""
    is_cut = chart.whole and field in ("label", "part")
    return f"whole_{field}" if is_cut else field


def _mark(kind: str, chart: Chart, *fields: str, **more: object) -> Spec:
    """Write a mark that says what it is, to readers of SVGs and of screens."""
    return {"type": kind, "description": {"expr": _said(chart, *fields)}, **more}


def _said(chart: Chart, *fields: str) -> str:
    """Write an expression of names and a number; columns are ours, whatever stands in them."""
    names = [f"datum.{_whole(chart, name)}" for name in fields if name not in _NUMBERS]
    numbers = [f"': ' + format(datum.{name}, '{_EXACT}')" for name in fields if name in _NUMBERS]
    return " + ".join([" + ', ' + ".join(names), *numbers])


def _counted(span: float, most: int = _TICKS) -> Spec:
    """Write an axis or a legend of whole numbers, of which none stands twice."""
    return {"labelExpr": _WRITTEN, "tickMinStep": 1, "tickCount": max(1, min(most, int(span)))}


def _greatest(chart: Chart, *columns: str) -> float:
    """Sum the values that stand in the same place; return the greatest sum."""
    sums: dict[tuple[object, ...], float] = {}
    for row in chart.rows:
        place = tuple(row.get(name) for name in columns)
        sums[place] = sums.get(place, 0) + row["value"]
    return max(map(abs, sums.values()), default=1)


def _seconds(field: str, **scale: object) -> Spec:
    axis = {"tickCount": _TICKS}
    return _quantity(field, TIME, scale={"nice": False, **scale}, axis=axis)


def _flame(chart: Chart, name: str, is_live: bool) -> Spec:
    deep = max(row["top"] for row in chart.rows)
    whole = _double(chart.rows[0]["end"])
    across = _quantity("begin", "", axis=None, scale={"domain": [0, whole], "nice": False})
    up = _quantity("depth", "", axis=None, scale={"domain": [0, deep], "nice": False})
    # Of a box that is partly out of sight, the name stands in what is left of it.
    left = f"max(0, scale('{name}_x', datum.begin))"
    width = f"(min({_WIDE}, scale('{name}_x', datum.end)) - {left})"
    tips = _tips(chart, ("name", "frame"), ("count", chart.across), ("share", "share"))
    if "before" in chart.rows[0]:
        tips += _tips(chart, ("before", "before"))
    line: Spec = {}
    if is_live:
        is_current = f"{_CURRENT} == '{name}:' + datum.depth + ':' + datum.begin"
        line["stroke"] = {"condition": {"test": is_current, "value": "black"}, "value": "white"}
        line["strokeWidth"] = {"condition": {"test": is_current, "value": 2}, "value": 0.5}
    box = {
        **_zoom(name, is_live, "x"),
        "mark": _mark("rect", chart, "name", "count", stroke="white", strokeWidth=0.5, clip=True),
        "encoding": {
            "x": across,
            "x2": {"field": "end"},
            "y": up,
            "y2": {"field": "top"},
            **line,
            "color": _marked("name", {"field": "color", "type": "nominal", "scale": None}, is_live),
            "tooltip": tips,
        },
    }
    label = {
        "mark": {
            **_mark("text", chart, "name", "count"),
            "align": "left", "baseline": "middle", "dx": 3, "dy": -_ROW / 2,
            "fontSize": 11, "clip": True, "ellipsis": "…",
            "x": {"expr": left},
            "limit": {"expr": f"max(1, {width} - 6)"},
            "opacity": {"expr": f"{width} < 24 ? 0 : 1"},
        },
        "encoding": {"y": up, "text": {"field": "name", "type": "nominal"}, "tooltip": tips},
    }  # fmt: skip
    return {"height": deep * _ROW, "layer": [box, label]}


def _bars(chart: Chart, name: str, is_live: bool) -> Spec:
    tips = _tips(chart, ("label", "name"), ("value", chart.across))
    if any(row["about"] for row in chart.rows):
        tips += _tips(chart, ("about", "statistic"))
    return {
        "height": {"step": _ROW},
        "mark": _mark("bar", chart, "label", "value"),
        "encoding": {
            "y": _names("label", chart.labels, "", axis=_wide_axis()),
            "x": _quantity("value", chart.across, axis=_counted(_greatest(chart, "label"))),
            "color": _marked("label", {"value": "#4c78a8"}, is_live),
            "tooltip": tips,
        },
    }


def _wide_axis() -> Spec:
    return {"labelLimit": 600, "grid": False}  # nothing that is `LONGEST` is cut once more


def _by_part(chart: Chart) -> Spec:
    """Colour each part, such as a series, in the order that the chart has them."""
    return {
        "field": "part",
        "type": "nominal",
        "sort": chart.parts,
        "scale": {"domain": chart.parts, "scheme": "tableau10"},
        "legend": {"title": None, "labelLimit": 600},
    }


def _stacked(chart: Chart, name: str, is_live: bool) -> Spec:
    color = _by_part(chart)
    if chart.is_over_time:
        return {
            "height": 260,
            **_zoom(name, is_live, "x"),
            "mark": _mark("area", chart, "part", clip=True, interpolate="linear", line=False),
            "encoding": {
                "x": _seconds("time"),
                "y": _quantity(
                    "value", chart.up, stack="zero", axis=_counted(_greatest(chart, "time"))
                ),
                "color": color,
                "order": {"field": "rank", "type": "quantitative"},
                "tooltip": _tips(chart, ("part", "name"), ("time", TIME), ("value", chart.up)),
            },
        }
    return {
        "height": {"step": _ROW},
        "mark": _mark("bar", chart, "label", "part", "value"),
        "encoding": {
            "y": _names("label", chart.labels, "", axis=_wide_axis()),
            "x": _quantity(
                "value", chart.across, stack="zero", axis=_counted(_greatest(chart, "label"))
            ),
            "color": _marked("label", color, is_live),
            "order": {"field": "rank", "type": "quantitative"},
            "tooltip": _tips(chart, ("label", "name"), ("part", "part"), ("value", chart.across)),
        },
    }


def _histogram(chart: Chart, name: str, is_live: bool) -> Spec:
    return {
        "height": {"step": _ROW},
        "mark": _mark("bar", chart, "label", "value", color="#4c78a8"),
        "encoding": {
            "y": _names("label", chart.labels, chart.up, axis=_wide_axis()),
            "x": _quantity("value", chart.across, axis=_counted(_greatest(chart, "label"))),
            "tooltip": _tips(chart, ("label", "from"), ("value", "count")),
        },
    }


def _heatmap(chart: Chart, name: str, is_live: bool) -> Spec:
    order = chart.labels[::-1]  # the greatest above
    up = _names("label", order, chart.up, axis=_wide_axis(), scale={"domain": order})
    scale = {"scheme": "yelloworangered", "type": "sqrt"}
    counts = [row["value"] for row in chart.rows]
    legend = _counted(max(counts) - min(counts), _STEPS)
    color = _quantity("value", "count", scale=scale, legend=legend)
    if not chart.is_over_time:
        return {
            "height": {"step": _ROW},
            "mark": _mark("rect", chart, "part", "label", "value"),
            "encoding": {
                "x": _names("part", chart.parts, "", axis=_columns(chart.parts)),
                "y": up,
                "color": color,
                "tooltip": _tips(chart, ("part", "name"), ("label", "from"), ("value", "count")),
            },
        }
    return {
        "height": {"step": _ROW},
        **_zoom(name, is_live, "x"),
        "mark": _mark("rect", chart, "label", "value", clip=True),
        "encoding": {
            "x": _seconds("begin", zero=False),
            "x2": {"field": "end"},
            "y": up,
            "color": color,
            "tooltip": [
                {"field": "begin", "title": TIME, "type": "quantitative", "format": ".3f"},
                *_tips(chart, ("label", "from"), ("value", "count")),
            ],
        },
    }


def _columns(names: list[str]) -> Spec:
    """Write the axis of columns: names lie where the widest one has room, and are oblique else."""
    has_room = max(map(wide, names)) * _SIZE < WIDTH / len(names) - _SIZE
    return {"labelLimit": 600, "grid": False, "labelAngle": 0 if has_room else -45}


def _lines(chart: Chart, name: str, is_live: bool) -> Spec:
    color = _by_part(chart)
    values = [row["value"] for row in chart.rows]
    axis = _counted(max(values) - min(values))
    point = {"size": 12, "description": {"expr": _said(chart, "part", "value")}}
    return {
        "height": 260,
        **_zoom(name, is_live, "x"),
        "mark": _mark("line", chart, "part", clip=True, point=point),
        "encoding": {
            "x": _seconds("time"),
            "y": _quantity("value", chart.up, scale={"zero": False}, axis=axis),
            "color": color,
            "tooltip": _tips(chart, ("part", "name"), ("time", TIME), ("value", chart.up)),
        },
    }


_MAKERS: dict[str, Callable[[Chart, str, bool], Spec]] = {
    charts.FLAME: _flame,
    charts.BARS: _bars,
    charts.HISTOGRAM: _histogram,
    charts.HEATMAP: _heatmap,
    charts.LINES: _lines,
    charts.STACKED: _stacked,
}
