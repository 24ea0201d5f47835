"""What stands beside axes, in legends and under the mouse: numbers and names as readers expect."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from stapy.plot import files, labels, views
from stapy.plot.choice import PlotWish, choose
from tests.plot.test_charts import EVENTS, GROWING, PERIODIC, of_global, of_print, read, stat

NAME = "{http://www.w3.org/2000/svg}"
LONG = "/usr/lib/x86_64-linux-gnu/" + "w" * 60


def svg_of(folder: Path, *lines: dict[str, Any]) -> ET.Element:
    drawn = choose(read(folder, *lines), PlotWish())
    return ET.fromstring(files.WRITERS[".svg"](drawn, "t"))


def texts(root: ET.Element) -> list[str]:
    """List what stands in a picture, without what only the mouse shows."""
    return [
        (next(iter(one)).tail if len(one) else one.text) or "" for one in root.iter(f"{NAME}text")
    ]


def series(*values: int) -> list[dict[str, Any]]:
    return [of_print(at, n=value) for at, value in enumerate(values)]


# What is drawn -> ticks that are there.
TICKS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "bars": ([of_global("a", 70, "x")], ["10", "70"]),
    "one": ([of_global("a", 1, "x")], ["0", "1"]),
    "two_parts": ([of_global("a", 1, p, m) for p in "xyz" for m in "rw"], ["0", "1", "2"]),
    "legend": ([of_global("a", stat((1, 1, 1), (2, 3, 90)), "x")], ["20", "40", "60", "80"]),
    "thousands": ([of_global("a", 7000, "x")], ["1,000", "7,000"]),
    "large": ([of_global("a", 70_000, "x")], ["10k", "70k"]),
    "time": ([of_global("a", 7 * 10**12, "x")], ["1T", "7T"]),
    "greatest": ([of_global("a", 2**63 - 1, "x")], ["1E", "9E"]),
    "close": (series(1_000_001, 1_000_003), ["1.000001M", "1.000002M", "1.000003M"]),
    "negative": (series(-20_000, 20_000), ["\u221220k", "0", "20k"]),
    "flat": (series(5, 5, 5), ["5"]),
}


@pytest.mark.parametrize("name", TICKS)
def test_numbers_are_written_for_readers(name: str, tmp_path: Path) -> None:
    lines, wanted = TICKS[name]
    there = texts(svg_of(tmp_path, *lines))
    assert set(wanted) <= set(there), there
    assert not [text for text in there if re.search(r"\de[+-]?\d", text)], there
    # Seconds have fractions, counts have none.
    assert views.TIME in there or not [text for text in there if re.search(r"^\d*\.\d+$", text)]


def test_numbers_under_the_mouse_have_all_digits(tmp_path: Path) -> None:
    root = svg_of(tmp_path, of_global("a", 1_234_567_890_123_456, "x"))
    assert "x: 1,234,567,890,123,456" in [one.text for one in root.iter(f"{NAME}title")]


def test_the_font_is_one_that_was_measured(tmp_path: Path) -> None:
    root = svg_of(tmp_path, *PERIODIC, of_global("a", 3, "dd", stack="f;g"))
    fonts = {one.attrib["font-family"] for one in root.iter(f"{NAME}text")}
    assert fonts == {views.FONT}


def test_long_names_are_cut_in_the_middle_and_whole_under_the_mouse(tmp_path: Path) -> None:
    names = [f"{LONG}{end}.so" for end in "ab"]
    lines = [of_global("bars", 1, name) for name in names]
    lines += [of_global("two", 1, key, name) for key in "xyz" for name in names]
    lines += [of_global("map", stat((1, 1, 2)), name) for name in names]
    root = svg_of(tmp_path, *lines)
    found = [text for text in texts(root) if "…" in text]
    # An axis, a legend, an axis; each name once.
    assert len(found) == 6 and len(set(found)) == 2, found
    assert all(len(text) == labels.LONGEST and text.endswith(".so") for text in found)
    told = [one.text for one in root.iter(f"{NAME}title")]
    for name in names:
        assert told.count(name) == 3  # beside the axes and in the legend
        assert {f"{name}: 1", f"x, {name}: 1", f"{name}, 1: 2"} <= set(told), told


def test_names_that_are_cut_to_the_same_in_two_charts(tmp_path: Path) -> None:
    """Under the mouse, each is the one of its own chart."""
    middles = [LONG.replace("/", "/a", 9), LONG.replace("/", "/b", 9)]
    one, other = (f"{LONG[:30]}{middle}{LONG[-30:]}" for middle in middles)
    assert labels.cut(one) == labels.cut(other) and one != other
    root = svg_of(tmp_path, of_global("p", 1, one), of_global("q", 1, other))
    beside = [
        text
        for text in root.iter(f"{NAME}text")
        if (there := text.find(f"{NAME}title")) is not None and "…" in (there.tail or "")
    ]
    assert [text.findtext(f"{NAME}title") for text in beside] == [one, other]


def test_a_picture_has_room_for_wider_fonts(tmp_path: Path) -> None:
    def padding(*lines: dict[str, Any]) -> dict[str, int]:
        drawn = choose(read(tmp_path, *lines), PlotWish())
        found: dict[str, int] = views.specification(drawn, "t", False)["padding"]
        return found

    short, long = padding(of_global("a", 1, "x")), padding(of_global("a", 1, LONG))
    wide = padding(of_global("a", 1, "読" * 60))
    parts = padding(*(of_global("a", 1, key, LONG + more) for key in "xyz" for more in "pq"))
    assert short["left"] < 10 < 50 < long["left"] < wide["left"]
    assert short["right"] < 10 < 50 < parts["right"]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "a (2)", "a (3)"]),
        (["a", "a", "a (2)"], ["a", "a (3)", "a (2)"]),
    ],
)
def test_names_are_told_apart(names: list[str], wanted: list[str]) -> None:
    assert labels.apart(names) == wanted


# What is drawn -> names of its axes, besides that of time.
AXES: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "bars": ([of_global("bytes", 3, "x")], ["bytes"]),
    "sums": ([of_global("waits", stat(), "x")], ["sum of waits"]),
    "parts": ([of_global("calls", 1, p, m) for p in "xyz" for m in "rw"], ["calls"]),
    "histogram": ([of_global("waits", stat((1, 1, 1), (2, 3, 9)))], ["count", "waits, from"]),
    "keys": ([of_global("waits", stat((1, 1, 1), (2, 3, 9)), "x")], ["waits, from"]),
    "areas": (PERIODIC, ["n"]),
    "buckets": (GROWING, ["lat, from"]),
    "numbers": (EVENTS, ["bytes, from"]),
}


@pytest.mark.parametrize("name", AXES)
def test_axes_have_the_names_that_the_script_has(name: str, tmp_path: Path) -> None:
    lines, wanted = AXES[name]
    there = texts(svg_of(tmp_path, *lines))
    assert set(wanted) <= set(there) and "value" not in there, there


def told(text: str, **fields: Any) -> list[dict[str, Any]]:
    return [{**of_print(at, **fields), "text": text} for at in range(3)]


WAITS = stat((1, 1, 1), (2, 3, 9))
# What is recorded, what --unit says -> names of the axes.
UNITS: dict[str, tuple[list[dict[str, Any]], dict[str, str], list[str]]] = {
    "end_of_a_name": ([of_global("wait_us", WAITS)], {}, ["wait (µs), from", "count"]),
    "all_of_a_name": ([of_global("ns", WAITS)], {}, ["time (ns), from"]),
    "a_thing": ([of_global("bytes", stat(), "x")], {}, ["sum of bytes"]),
    "asked_for": ([of_global("wait", WAITS)], {"wait": "us"}, ["wait (µs), from"]),
    "asked_before_the_name": ([of_global("wait_s", 3, "x")], {"wait_s": "ms"}, ["wait_s (ms)"]),
    "in_words": ([of_global("calls", 3, "x")], {"calls": "per second"}, ["calls (per second)"]),
    "of_a_printed_result": (
        [of_global("times", WAITS), *told("9 of 31 us on average", count_times=9, avg_times=31)],
        {},
        ["times (µs), from"],
    ),
    "printed": (told("7 ms for x, 70 in all", took=7, pages_read=70), {}, ["value"]),
    "printed_alone": (told("took 7ms", took=7), {}, ["took (ms)", "time since start (s)"]),
    "printed_as_parts": (told("5% of 9 %", used=5, free=9), {}, ["%"]),
    "not_the_same_everywhere": (
        [{**of_print(0, took=7), "text": "7 ms"}, {**of_print(1, took=8), "text": "8 us"}],
        {},
        ["took"],
    ),
    "of_another_number": (told("7 of 9 ms", took=7), {}, ["took"]),
    "no_unit": (told("7 files", took=7), {}, ["took"]),
    "no_number_that_ends": (told("9" * 9999 + " ms", took=7), {}, ["took"]),
    "over_time": (EVENTS, {"bytes": "kb"}, ["bytes (KB), from", "time since start (s)"]),
    "areas": (PERIODIC, {"n": "pages"}, ["n (pages)"]),
    "parts": (
        [of_global("sent_bytes", 1, p, m) for p in "xyz" for m in "rw"], {}, ["sent (bytes)"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNITS)
def test_axes_have_units(name: str, tmp_path: Path) -> None:
    lines, asked, wanted = UNITS[name]
    drawn = choose(read(tmp_path, *lines), PlotWish(units=asked))
    there = texts(ET.fromstring(files.WRITERS[".svg"](drawn, "t")))
    assert set(wanted) <= set(there), there


def test_boxes_of_a_flame_graph_tell_their_unit(tmp_path: Path) -> None:
    """They have no axis: it is told under the mouse."""
    drawn = choose(read(tmp_path, of_global("slept_us", 3, "dd", stack="f;g")), PlotWish())
    assert drawn[0].across == "slept (µs)"
    assert '"title":"slept (µs)"' in files.embedded(views.specification(drawn, "t", True)).replace(
        "\\u00b5", "µ"
    )
    assert choose(read(tmp_path, of_global("a", 3, stack="f")), PlotWish())[0].across == "count"


@pytest.mark.parametrize(("names", "is_oblique"), [("ab", False), (["x" * 40, *"abcdefg"], True)])
def test_names_of_columns_lie_where_they_have_room(
    names: list[str], is_oblique: bool, tmp_path: Path
) -> None:
    root = svg_of(tmp_path, *(of_global("waits", stat((1, 1, 1)), one) for one in names))
    turned = [
        one
        for one in root.iter(f"{NAME}text")
        if re.search(r"rotate\((-45|315)", one.get("transform", ""))
    ]
    assert len(turned) == (len(names) if is_oblique else 0)
