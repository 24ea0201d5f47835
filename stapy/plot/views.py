"""Charts as Vega-Lite: dictionaries that the library draws.

Columns have names of ours, and what the traced system says stands in values only: nothing of it
is ever read as an expression or as the name of a field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stapy.plot import charts
from stapy.plot.charts import Chart

Spec = dict[str, Any]

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
WIDTH = 1000
_ROW = 18  # pixels of a line of text
_SEARCH = "search"
_FOUND = "#c026d3"
_COUNTED = {"tickMinStep": 1, "format": ","}  # an axis or a legend of whole numbers


def specification(drawn: list[Chart], title: str, is_live: bool) -> Spec:
    """Write all charts of a file, one below the other.

    ``is_live`` is for a page: with zoom, search and tooltips.
    """
    views = [_named(chart, number, is_live) for number, chart in enumerate(drawn)]
    spec: Spec = {
        "$schema": _SCHEMA,
        "title": {"text": title, "anchor": "start", "fontSize": 16},
        "vconcat": views,
        "resolve": {"scale": {"color": "independent", "x": "independent", "y": "independent"}},
        "spacing": 40,
        "config": {"view": {"stroke": None}, "axis": {"grid": True, "gridOpacity": 0.4}},
    }
    if is_live:
        box = {"input": "search", "name": "search ", "placeholder": "a part of a name"}
        spec["params"] = [{"name": _SEARCH, "value": "", "bind": box}]
    return spec


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
        "data": {"name": f"{name}_rows", "values": chart.rows},
        **view,
    }


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


def _quantity(field: str, title: str, **more: Any) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, **more}


def _names(field: str, order: list[str], title: str, **more: Any) -> Spec:
    return {"field": field, "type": "ordinal", "sort": order, "title": title, **more}


def _tips(*rows: tuple[str, str]) -> list[Spec]:
    return [
        {
            "field": field,
            "title": title,
            "type": "quantitative" if field in ("value", "count", "time") else "nominal",
            **({"format": ","} if field in ("value", "count") else {}),
            **({"format": ".3f"} if field == "time" else {}),
        }
        for field, title in rows
    ]


def _flame(chart: Chart, name: str, is_live: bool) -> Spec:
    deep = max(row["top"] for row in chart.rows)
    whole = chart.rows[0]["end"]
    across = _quantity("begin", "", axis=None, scale={"domain": [0, whole], "nice": False})
    up = _quantity("depth", "", axis=None, scale={"domain": [0, deep], "nice": False})
    # Of a box that is partly out of sight, the name stands in what is left of it.
    left = f"max(0, scale('{name}_x', datum.begin))"
    width = f"(min({WIDTH}, scale('{name}_x', datum.end)) - {left})"
    tips = _tips(("name", "frame"), ("count", "count"), ("share", "share"))
    if "before" in chart.rows[0]:
        tips += _tips(("before", "before"))
    box = {
        **_zoom(name, is_live, "x"),
        "mark": {"type": "rect", "stroke": "white", "strokeWidth": 0.5, "clip": True},
        "encoding": {
            "x": across,
            "x2": {"field": "end"},
            "y": up,
            "y2": {"field": "top"},
            "color": _marked("name", {"field": "color", "type": "nominal", "scale": None}, is_live),
            "tooltip": tips,
        },
    }
    label = {
        "mark": {
            "type": "text", "align": "left", "baseline": "middle", "dx": 3, "dy": -_ROW / 2,
            "fontSize": 11, "clip": True, "ellipsis": "…",
            "x": {"expr": left},
            "limit": {"expr": f"max(1, {width} - 6)"},
            "opacity": {"expr": f"{width} < 24 ? 0 : 1"},
        },
        "encoding": {"y": up, "text": {"field": "name", "type": "nominal"}, "tooltip": tips},
    }  # fmt: skip
    return {"height": deep * _ROW, "layer": [box, label]}


def _bars(chart: Chart, name: str, is_live: bool) -> Spec:
    tips = _tips(("label", "name"), ("value", chart.across))
    if any(row["about"] for row in chart.rows):
        tips += _tips(("about", "statistic"))
    return {
        "height": {"step": _ROW},
        "mark": {"type": "bar"},
        "encoding": {
            "y": _names("label", chart.labels, "", axis=_wide_axis()),
            "x": _quantity("value", chart.across, axis=_COUNTED),
            "color": _marked("label", {"value": "#4c78a8"}, is_live),
            "tooltip": tips,
        },
    }


def _wide_axis() -> Spec:
    return {"labelLimit": 400, "grid": False}


def _by_part(chart: Chart) -> Spec:
    """Colour each part, such as a series, in the order that the chart has them."""
    return {
        "field": "part",
        "type": "nominal",
        "sort": chart.parts,
        "scale": {"domain": chart.parts, "scheme": "tableau10"},
        "legend": {"title": None, "labelLimit": 300},
    }


def _stacked(chart: Chart, name: str, is_live: bool) -> Spec:
    color = _by_part(chart)
    if chart.is_over_time:
        return {
            "height": 260,
            **_zoom(name, is_live, "x"),
            "mark": {"type": "area", "clip": True, "interpolate": "linear", "line": False},
            "encoding": {
                "x": _quantity("time", "seconds", scale={"nice": False}),
                "y": _quantity("value", chart.up, stack="zero", axis=_COUNTED),
                "color": color,
                "order": {"field": "rank", "type": "quantitative"},
                "tooltip": _tips(("part", "name"), ("time", "seconds"), ("value", chart.up)),
            },
        }
    return {
        "height": {"step": _ROW},
        "mark": {"type": "bar"},
        "encoding": {
            "y": _names("label", chart.labels, "", axis=_wide_axis()),
            "x": _quantity("value", chart.across, stack="zero", axis=_COUNTED),
            "color": _marked("label", color, is_live),
            "order": {"field": "rank", "type": "quantitative"},
            "tooltip": _tips(("label", "name"), ("part", "part"), ("value", chart.across)),
        },
    }


def _histogram(chart: Chart, name: str, is_live: bool) -> Spec:
    return {
        "height": {"step": _ROW},
        "mark": {"type": "bar", "color": "#4c78a8"},
        "encoding": {
            "y": _names("label", chart.labels, chart.up, axis=_wide_axis()),
            "x": _quantity("value", chart.across, axis=_COUNTED),
            "tooltip": _tips(("label", "from"), ("value", "count")),
        },
    }


def _heatmap(chart: Chart, name: str, is_live: bool) -> Spec:
    order = chart.labels[::-1]  # the greatest above
    up = _names("label", order, chart.up, axis=_wide_axis(), scale={"domain": order})
    scale = {"scheme": "yelloworangered", "type": "sqrt"}
    color = _quantity("value", "count", scale=scale, legend=_COUNTED)
    if not chart.is_over_time:
        return {
            "height": {"step": _ROW},
            "mark": {"type": "rect"},
            "encoding": {
                "x": _names("part", chart.parts, "", axis={"labelLimit": 200, "labelAngle": -45}),
                "y": up,
                "color": color,
                "tooltip": _tips(("part", "name"), ("label", "from"), ("value", "count")),
            },
        }
    return {
        "height": {"step": _ROW},
        **_zoom(name, is_live, "x"),
        "mark": {"type": "rect", "clip": True},
        "encoding": {
            "x": _quantity("begin", "seconds", scale={"nice": False, "zero": False}),
            "x2": {"field": "end"},
            "y": up,
            "color": color,
            "tooltip": [
                {"field": "begin", "title": "seconds", "type": "quantitative", "format": ".3f"},
                *_tips(("label", "from"), ("value", "count")),
            ],
        },
    }


def _lines(chart: Chart, name: str, is_live: bool) -> Spec:
    color = _by_part(chart)
    return {
        "height": 260,
        **_zoom(name, is_live, "x"),
        "mark": {"type": "line", "clip": True, "point": {"size": 12}},
        "encoding": {
            "x": _quantity("time", "seconds", scale={"nice": False}),
            "y": _quantity("value", chart.up, scale={"zero": False}, axis=_COUNTED),
            "color": color,
            "tooltip": _tips(("part", "name"), ("time", "seconds"), ("value", chart.up)),
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
