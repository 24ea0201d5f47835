"""Recordings that were damaged, put together or made by somebody else, and very large ones."""

from __future__ import annotations

import codecs
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from stapy.plot import charts, files, recording
from stapy.plot.buckets import joined
from stapy.plot.choice import PlotWish, choose
from stapy.plot.errors import PlotError
from tests.plot.test_charts import BEGIN, of_global, of_print, read, stat

# What is in the second line of a recording that no session writes.
DAMAGED: dict[str, dict[str, Any]] = {
    "time_without_end": {"type": "global", "time": "inf", "name": "a", "value": 1},
    "no_time": {"type": "global", "time": "nan", "name": "a", "value": 1},
    "time_before_all": {"type": "global", "time": -1, "name": "a", "value": 1},
    "time_after_all": {"type": "global", "time": 1e300, "name": "a", "value": 1},
    "name": of_global("a", 1) | {"name": ["a"]},
    "keys": of_global("a", 1) | {"keys": "xy"},
    "host": of_global("a", 1, "x", host=[1]),
    "truth": of_global("a", True),
    "nothing": of_global("a", None),
    "negative_bucket": of_global("a", stat((1, 1, -3))),
    "buckets": of_global("a", {"count": 1, "buckets": {"low": 5}}),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_lines_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(PlotError, match="line 2: expected an object that --format=json wrote"):
        read(tmp_path, DAMAGED[name])


def drawn(folder: Path, *lines: dict[str, Any]) -> str:
    """Draw all; return the SVG, which is XML without a number that is none."""
    text = files.WRITERS[".svg"](choose(read(folder, *lines), PlotWish()), "t").decode()
    ET.fromstring(text)
    assert not re.search(">[^<]*(?:NaN|Infinity|undefined)[^<]*<", text)
    return text


def test_sums_beyond_64_bits_are_drawn(tmp_path: Path) -> None:
    lines = [of_global("s", 2**64 - 1, str(n), stack=f"f;{n}") for n in range(3)]
    lines += [of_global("two", 2**64 - 1, key, part) for key in "xyz" for part in "pq"]
    lines += [of_global("one", -(2**63), "x")]
    text = drawn(tmp_path, *lines)
    assert "flame graph: s" in text and "stacked: two" in text and "bars: one" in text


def test_a_field_that_changes_its_type_is_drawn_where_it_is_a_number(tmp_path: Path) -> None:
    values = [5, "text", stat((1, 1, 2)), 7]
    lines = [of_print(at, n=value) for at, value in enumerate(values)]
    found = choose(read(tmp_path, *lines), PlotWish(field="n", chart="lines"))
    assert [row["value"] for row in found[0].rows] == [5, 7]
    assert choose(read(tmp_path, *lines), PlotWish())


def test_many_buckets_share_lines(tmp_path: Path) -> None:
    many = stat(*((3 * n, 3 * n + 1, 1) for n in range(3000)))
    lines = [of_global("one", many), of_global("map", many, "x")]
    lines += [of_print(at, "timer.s(1)", lat=many) for at in range(2)]
    for chart in choose(read(tmp_path, *lines), PlotWish()):
        assert len(chart.labels) <= 400
        assert any(re.search("^[0-9,]+ buckets on [0-9]+ lines", note) for note in chart.notes)
        assert sum(row["value"] for row in chart.rows) == 3000, chart.title
    assert joined(["a", "b"]) == {"a": "a", "b": "b"}
    drawn(tmp_path, *lines)


def test_a_part_that_is_called_others_is_not_the_rest(tmp_path: Path) -> None:
    names = ["others", *(f"p{n}" for n in range(20))]
    lines = [of_global("a", 100 - at, "x", name) for at, name in enumerate(names)]
    lines += [of_print(t, name=name, n=100 - at) for t in range(3) for at, name in enumerate(names)]
    wishes = PlotWish(name="a", chart=charts.STACKED), PlotWish(field="n", chart=charts.STACKED)
    for wish in wishes:
        (chart,) = choose(read(tmp_path, *lines), wish)
        assert len(set(chart.parts)) == len(chart.parts) == 10
        sums = {row["part"]: row["value"] for row in chart.rows}
        assert sums["others"] == 100 and sums["all others"] > 100


def test_files_that_were_put_together_are_told(tmp_path: Path) -> None:
    again = {**BEGIN, "module": "other"}
    found = read(tmp_path, of_global("a", 1, "x"), BEGIN, again, again, of_global("a", 2, "x"))
    assert found.globals["a"]["x",].value == 2
    assert [text for text in found.warnings if "several sessions" in text] == found.warnings[:1]
    hosts = [{**BEGIN, "module": f"m{n}", "host": n} for n in range(2)]
    (tmp_path / "hosts").write_text("".join(json.dumps(line) + "\n" for line in hosts))
    assert recording.read(str(tmp_path / "hosts")).warnings == []
    with pytest.raises(PlotError, match="schema 2, expected 1"):
        read(tmp_path, {**BEGIN, "schema": 2})


def test_a_byte_order_mark_is_no_part_of_a_recording(tmp_path: Path) -> None:
    line = json.dumps(of_global("a", 1, "x")) + "\n"
    (tmp_path / "r").write_bytes(codecs.BOM_UTF8 + line.encode())
    assert list(recording.read(str(tmp_path / "r")).globals) == ["a"]


@pytest.mark.parametrize("name", ["\0\r\n\t", "\u202eabc", "", ";;", "a" * 100_000, "\U0001f525"])
def test_names_of_any_kind_are_drawn(name: str, tmp_path: Path) -> None:
    text = drawn(tmp_path, of_global("a", 3, name), of_global("s", 1, "q", stack=f"m;{name};z"))
    assert "bars: a" in text and len(text) < 100_000
    assert not set(text) & {"\0", "\u202e"}


def test_a_hundred_thousand_stacks(tmp_path: Path) -> None:
    path = tmp_path / "many"
    path.write_text("".join(f"m;f{n % 300};g{n} {n % 7 + 1}\n" for n in range(100_000)))
    (chart,) = choose(recording.read(str(path)), PlotWish())
    assert len(chart.rows) < 5_000
    assert chart.rows[0]["count"] == sum(n % 7 + 1 for n in range(100_000))
    assert any(note.startswith("boxes left out") for note in chart.notes)
