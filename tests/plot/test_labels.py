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
    assert "seconds" in there or not [text for text in there if re.search(r"^\d*\.\d+$", text)]


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
