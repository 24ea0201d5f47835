"""Which charts become of a recording, and what is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stapy.plot import charts, recording
from stapy.plot.buckets import Bucket, ladder, of_number
from stapy.plot.choice import PlotWish, choose
from stapy.plot.errors import PlotError
from stapy.plot.recording import Recording

BEGIN = {
    "type": "begin", "time": 100.0, "schema": 1, "module": "m", "stapy": "0.1.0",
    "script": "x.stp", "release": "6.1", "arch": "x86_64",
}  # fmt: skip


def stat(*buckets: tuple[int, int, int]) -> dict[str, Any]:
    rows = [{"low": low, "high": high, "count": count} for low, high, count in buckets]
    size = sum(count for *_, count in buckets)
    about = {"count": size, "sum": 10 * size, "min": 1, "max": 99, "avg": 10}
    return {**about, "buckets": rows} if buckets else {"count": 3, "sum": 30, "min": 1, "max": 20}


def of_global(name: str, value: Any, *keys: str | int, **more: Any) -> dict[str, Any]:
    row = {"type": "global", "time": 110.0, "cpu": 0, "name": name, "value": value, **more}
    return {**row, "keys": list(keys)} if keys else row


def of_print(time: float, probe: str = "timer.s(1)", **fields: Any) -> dict[str, Any]:
    place = f"x.stp:1:{len(fields)}"
    about = {"cpu": 0, "probe": probe, "place": place, "text": "…"}
    return {"type": "print", "time": 100.0 + time, "fields": fields, **about}


def read(folder: Path, *lines: dict[str, Any]) -> Recording:
    path = folder / "r.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (BEGIN, *lines)))
    return recording.read(str(path))


PERIODIC = [of_print(at, name=name, n=at) for at in range(4) for name in ("a", "b")]
LEVELS = [of_print(at, free=9 - at, used=at, pid=7) for at in range(4)]
GROWING = [of_print(at, lat=stat((2, 3, at + 1), (8, 15, 2 * at + 1))) for at in range(3)]
SHRINKING = [of_print(at, lat=stat((2, 3, 3 - at))) for at in range(3)]
EVENTS = [of_print(at / 200, "vfs.read", bytes=at) for at in range(1200)]
STACK = "0xffffffff81000001 0xffffffff81000002 "

# What a recording has -> kind and title of each chart.
CHOSEN = {
    "array": ([of_global("a", 3, "x"), of_global("a", 5, "y")], ["bars a"]),
    "two_keys": (
        [of_global("a", 1, p, m) for p in "xyz" for m in ("read", "write")],
        ["stacked a"],
    ),
    "many_second_keys": ([of_global("a", 1, "x", n) for n in range(30)], ["bars a"]),
    "stacks": ([of_global("a", 3, "dd", STACK, stack="dd;f;g")], ["flame a"]),
    "statistic": ([of_global("a", stat((1, 1, 2), (4, 7, 1)))], ["histogram a"]),
    "statistics": ([of_global("a", stat((1, 1, 2)), "x")], ["heatmap a"]),
    "statistics_without_buckets": ([of_global("a", stat(), "x")], ["bars a"]),
    "number": ([of_global("n", 4)], ["bars globals"]),
    "number_beside_more": ([of_global("n", 4), of_global("a", 1, "x")], ["bars a"]),
    "periodic": (PERIODIC, ["stacked n (x.stp:1:2)"]),
    "levels": (LEVELS, ["lines free, used (x.stp:1:3)"]),
    "growing": (GROWING, ["heatmap lat (x.stp:1:1)"]),
    "shrinking": (SHRINKING, ["heatmap lat (x.stp:1:1)"]),
    "once": ([GROWING[0]], ["histogram lat"]),
    "events": (EVENTS, ["heatmap bytes (x.stp:1:1)"]),
    "printed_stacks": ([of_print(1, at=STACK)] * 2, ["flame printed stacks"]),
    "histograms_at_the_end": (
        [of_print(9 + at, "end", lat=stat((1, 1, at + 2))) for at in range(2)]
        + [of_global("a", stat((1, 1, 2)), name) for name in "xy"],
        ["heatmap a"],
    ),
    "histograms_of_one_moment": (
        [of_print(9 + at / 10, lat=stat((1, 1, at + 2))) for at in range(4)]
        + [of_global("a", stat((1, 1, 2)), name) for name in "xy"],
        ["heatmap a"],
    ),
    "top_list": (
        [of_print(9, "end", name=n, n=1) for n in "ab"] + [of_global("a", 1, "a")],
        ["bars a"],
    ),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_types_choose_the_chart(name: str, tmp_path: Path) -> None:
    lines, wanted = CHOSEN[name]
    found = choose(read(tmp_path, *lines), PlotWish())
    assert [f"{chart.kind} {chart.title}" for chart in found] == wanted


# What is asked for, of all of these -> the charts.
ASKED = {
    "kind": (PlotWish(chart="bars"), ["bars a", "bars s", "bars t"]),
    "global": (PlotWish(name="s"), ["flame s"]),
    "global_and_kind": (PlotWish(name="t", chart="bars"), ["bars t"]),
    "field": (PlotWish(field="n"), ["stacked n (x.stp:1:2)"]),
    "field_and_kind": (PlotWish(field="n", chart="heatmap"), ["heatmap n (x.stp:1:2)"]),
    "identity": (PlotWish(field="pid"), ["lines pid (x.stp:1:3)"]),
    "lines": (
        PlotWish(chart="lines"),
        ["lines n (x.stp:1:2)", "lines free, used (x.stp:1:3)"],
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_the_user_chooses_otherwise(name: str, tmp_path: Path) -> None:
    wish, wanted = ASKED[name]
    found = choose(read(tmp_path, *_all()), wish)
    assert [f"{chart.kind} {chart.title}" for chart in found] == wanted


def _all() -> list[dict[str, Any]]:
    return [
        *PERIODIC,
        *LEVELS,
        of_global("a", 3, "x"),
        of_global("s", 3, "dd", STACK, stack="dd;f;g"),
        of_global("t", stat((1, 1, 2)), "x"),
        of_global("text", "words"),
    ]


# What is asked for -> words of the refusal.
REFUSED = {
    "no_global": (PlotWish(name="aa"), r"no global 'aa'; did you mean 'a'\? \(there are: a, s, t"),
    "no_field": (PlotWish(field="fre"), r"no field 'fre'; did you mean 'free'\?"),
    "both": (PlotWish(name="a", field="n"), "of a global or of a field"),
    "no_stack": (
        PlotWish(name="a", chart="flame"),
        "cannot be drawn as flame: that needs an array",
    ),
    "no_second_key": (PlotWish(name="a", chart="stacked"), "needs two keys"),
    "no_buckets": (PlotWish(name="a", chart="heatmap"), "'a' has no buckets"),
    "an_array": (PlotWish(name="t", chart="histogram"), "drawn by --chart=heatmap"),
    "texts": (PlotWish(name="text"), "'text' has nothing to draw"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_drawn_is_told(name: str, tmp_path: Path) -> None:
    wish, words = REFUSED[name]
    with pytest.raises(PlotError, match=words):
        choose(read(tmp_path, *_all()), wish)


def test_statistics_into_which_nothing_came(tmp_path: Path) -> None:
    """Printed each second, and empty: no course in time, and no mistake of ours."""
    found = read(tmp_path, *(of_print(at, lat=stat((1, 1, 0))) for at in range(1, 4)))
    with pytest.raises(PlotError, match="nothing to draw"):
        choose(found, PlotWish())
    with pytest.raises(PlotError, match="'lat' "):
        choose(found, PlotWish(field="lat", chart="heatmap"))


def test_nothing_to_draw_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PlotError, match="nothing to draw: no global has numbers"):
        choose(read(tmp_path, of_print(1, name="x"), of_global("t", "x")), PlotWish())


def test_boxes_of_a_flame_graph(tmp_path: Path) -> None:
    lines = [of_global("a", 3, "s1", stack="m;a;b"), of_global("a", 1, "s2", stack="m;c")]
    (chart,) = choose(read(tmp_path, *lines), PlotWish())
    boxes = {row["name"]: (row["begin"], row["end"], row["depth"]) for row in chart.rows}
    assert boxes == {
        "all": (0, 4, 0), "m": (0, 4, 1), "a": (0, 3, 2), "b": (0, 3, 3), "c": (3, 4, 2),
    }  # fmt: skip
    assert next(row["share"] for row in chart.rows if row["name"] == "a") == "75.00%"


def test_narrow_boxes_are_counted_not_drawn(tmp_path: Path) -> None:
    lines = [of_global("a", 100000, "s1", stack="m;a"), of_global("a", 1, "s2", stack="m;b")]
    lines.append(of_global("a", -1, "s3", stack="m;c"))
    (chart,) = choose(read(tmp_path, *lines), PlotWish())
    assert "boxes left out, below 0.02%: 1" in chart.notes
    assert "stacks left out, with counts below 1: 1" in chart.notes


def test_a_differential_flame_graph_compares_shares(tmp_path: Path) -> None:
    now, then = tmp_path / "now", tmp_path / "then"
    now.write_text("m;a 30\nm;b 10\n")
    then.write_text("m;a 1\nm;b 3\nm;gone 4\n")
    (chart,) = choose(recording.read(str(now)), PlotWish(), recording.read(str(then)))
    rows = {row["name"]: row for row in chart.rows}
    assert (rows["a"]["share"], rows["a"]["before"]) == ("75.00%", "12.50%")
    assert rows["a"]["color"].startswith("#ff") and rows["b"]["color"].endswith("ff")
    assert rows["m"]["color"] == "#eeeeee"
    assert "50.0% of what was before is in stacks that are gone" in chart.notes


def test_a_heat_map_has_what_came_between_two_prints(tmp_path: Path) -> None:
    (chart,) = choose(read(tmp_path, *GROWING), PlotWish())
    cells = [(row["begin"], row["end"], row["label"], row["value"]) for row in chart.rows]
    assert cells == [
        (0.0, 0.0, "2", 1), (0.0, 0.0, "8", 1),
        (0.0, 1.0, "2", 1), (0.0, 1.0, "8", 2),
        (1.0, 2.0, "2", 1), (1.0, 2.0, "8", 2),
    ]  # fmt: skip
    assert chart.labels == ["2", "4", "8"]  # the empty one between has its row
    (chart,) = choose(read(tmp_path, *SHRINKING), PlotWish())
    assert [row["value"] for row in chart.rows] == [3, 2, 1]  # the script begins anew


def test_a_heat_map_of_numbers_counts_each_print(tmp_path: Path) -> None:
    (chart,) = choose(read(tmp_path, *EVENTS), PlotWish())
    assert sum(row["value"] for row in chart.rows) == len(EVENTS)
    assert chart.labels == ["0", "1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1,024"]


def test_areas_add_up_what_one_hit_printed(tmp_path: Path) -> None:
    late = 2.00001  # of the same hit, and "b" is not there
    lines = [
        of_print(t, name=n, n=5) for t, n in ((0, "a"), (0.00001, "b"), (1, "a"), (1.00001, "b"))
    ]
    lines += [of_print(2, name="a", n=5), of_print(late, name="c", n=1), of_print(3, name="c", n=1)]
    lines += [of_print(4, name="c", n=1)]
    (chart,) = choose(read(tmp_path, *lines), PlotWish(chart=charts.STACKED))
    at = {(row["time"], row["part"]): row["value"] for row in chart.rows}
    assert at[2.0, "a"] == 5 and at[2.0, "c"] == 1 and at[2.0, "b"] == 0
    assert len({when for when, _ in at}) == 5


def test_many_parts_and_many_bars_are_told(tmp_path: Path) -> None:
    lines = [of_global("a", n, f"p{n}") for n in range(50)]
    (chart,) = choose(read(tmp_path, *lines), PlotWish(top=5))
    assert [row["label"] for row in chart.rows] == ["p49", "p48", "p47", "p46", "p45"]
    assert chart.notes == ["the 5 greatest of 50"]
    lines = [of_print(at, name=f"p{n}", n=n) for at in range(3) for n in range(20)]
    (chart,) = choose(read(tmp_path, *lines), PlotWish())
    assert chart.parts[-1] == "others" and len(chart.parts) == 10


def test_long_names_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    lines = [of_global("a", 1, "x" * 80 + end) for end in "ab"]
    (chart,) = choose(read(tmp_path, *lines), PlotWish())
    assert len(set(chart.labels)) == 2


def test_hosts_are_told_apart(tmp_path: Path) -> None:
    hosts = [{**BEGIN, "host": n, "uri": f"ssh://h{n}"} for n in (0, 1)]
    lines = [of_global("a", 1, "s", stack="f;g", host=n) for n in (0, 1)]
    lines += [of_global("n", 1, "x", host=n) for n in (0, 1)]
    found = choose(read(tmp_path, *hosts, *lines), PlotWish())
    assert {"ssh://h0", "ssh://h1"} <= {row["name"] for row in found[0].rows}
    assert {row["label"] for row in found[1].rows} == {"ssh://h0, x", "ssh://h1, x"}


@pytest.mark.parametrize("value", [-1000, -3, -1, 0, 1, 2, 3, 4, 1023, 1024, 2**63 - 1])
def test_a_number_lies_in_its_bucket(value: int) -> None:
    one = of_number(value)
    assert one.low is not None and one.high is not None and one.low <= value <= one.high
    assert ladder([one, of_number(0), of_number(-5)]).count(one.label) == 1


def test_buckets_without_ends_stand_outside() -> None:
    rows = [(None, -1), (0, 9), (30, 39), (100, None)]
    labels = ladder([Bucket(low=low, high=high, count=1) for low, high in rows])
    assert labels == ["< 0", "0", "10", "20", "30", "100"]


def _damaged() -> list[str]:
    begin = json.dumps(BEGIN)
    return [
        "no json",
        "{}",
        "[1]",
        '{"type": "print"}',
        f'{begin}\n{{"type": "global", "time": 1, "name": "a", "value": NaN}}',
        f'{begin}\n{{"type": "global", "time": 1, "name": "a", "value": 1.5}}',
        f'{begin}\n{{"type": "global", "time": 1, "name": "a", "value": {10**40}}}',
        f'{begin}\n{{"type": "global", "time": 1, "name": "a", "value": {{"sum": 1}}}}',
        f'{begin}\n{{"type": "global", "time": 1, "name": "a", "value": 1, "keys": [[1]]}}',
        f'{begin}\n{{"type": "global", "time": 1, "name": "a", "value": {"[" * 99999}',
        f'{begin}\n{{"type": "print", "time": 1, "place": "x", "fields": [1]}}',
        f'{begin}\n{{"type": "print", "time": 1{"0" * 400}, "place": "x", "fields": {{"a": 1}}}}',
        "a;b 1\na;b x",
        "a;b 1\n 3",
    ]


@pytest.mark.parametrize("text", _damaged())
def test_what_is_no_recording_is_refused_with_its_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad"
    path.write_text(text + "\n")
    with pytest.raises(PlotError, match=r"line [12]: expected an object"):
        recording.read(str(path))


def test_a_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "cut"
    path.write_text(
        json.dumps(BEGIN) + "\n" + json.dumps(of_global("a", 1, "x")) + '\n{"type": "gl'
    )
    found = recording.read(str(path))
    assert list(found.globals) == ["a"] and "cut short" in found.warnings[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "is empty"), (json.dumps({**BEGIN, "schema": 2}) + "\n", "schema 2, expected 1")],
)
def test_other_files_are_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_text(text)
    with pytest.raises(PlotError, match=words):
        recording.read(str(path))


def test_addresses_without_names_are_told(tmp_path: Path) -> None:
    found = read(tmp_path, of_global("a", 3, STACK))
    assert found.globals["a"][STACK,].stack == "0xffffffff81000002;0xffffffff81000001"
    assert "addresses instead of names" in found.warnings[0]
