"""Output for programs: pieces of a module's output, decoded and written as lines."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stapy.run import render
from stapy.run.control import Channel
from stapy.run.errors import RunError
from stapy.run.messages import MessagePrinter
from stapy.run.options import RunOptions
from stapy.run.records import LOG_ZERO, PrintDecoder, RecordTable, bounds

ROOT = Path(__file__).resolve().parents[2]
# Made once: to look at the schema itself takes longer than a line.
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "docs" / "output.schema.json").read_text())
)
TABLE: dict[str, Any] = {
    "schema": 1,
    "stapy": "0",
    "format": "json",
    "script": "x.stp",
    "release": "6.1",
    "arch": "x86_64",
    "probes": [["begin", "x.stp:1:7"], ["timer.s(1)", "x.stp:2:7"]],
    "prints": [
        {
            "place": "x.stp:1:15",
            "fields": [
                {"name": "name", "kind": "string"},
                {"name": "n", "kind": "long"},
                {"name": "u", "kind": "unsigned"},
                {"name": "c", "kind": "char"},
                {"name": "m", "kind": "text"},
                {"name": "M", "kind": "bytes"},
            ],
        },
        {"fields": [], "shows": "total"},
        {"fields": [{"name": "value", "kind": "long"}], "shows": "total"},
        {
            "fields": [
                {"name": "key1", "kind": "string"},
                {"name": "key2", "kind": "long"},
                {"name": "value", "kind": "stat", "shape": ["linear", 0, 20, 10]},
            ],
            "shows": "a",
        },
        {"fields": [{"name": "value", "kind": "long"}], "shows": "total", "snapshot": True},
        {"fields": [], "shows": "a", "snapshot": True},
    ],
}


def piece(data: bytes, **more: int) -> bytes:
    """Put the header of ``struct stapy_piece`` in front of a print, or of a part of one."""
    total, done = more.get("total", len(data)), more.get("done", 0)
    losses = more.get("lost", 0), more.get("overwritten", 0)
    head = struct.pack(
        "<IIQQQIIII", 0x31505053, len(data), 5, *losses, more.get("cpu", 1), total, done,
        more.get("why", 0),
    )  # fmt: skip
    return head + data


def typed(number: int, fields: bytes, text: bytes = b"", probe: int = 1) -> bytes:
    return struct.pack("<BII", 1, number, probe) + fields + text


def print_of(name: bytes = b"cat", text: bytes = b"cat 1\n") -> bytes:
    fields = name + b"\0" + struct.pack("<qQqI", -3, 2**64 - 1, 65, 2) + b"xy"
    return typed(0, fields + struct.pack("<I", 1) + b"\xff", text)


def renderer(form: str = "json", table: dict[str, Any] | None = None) -> render.Renderer:
    options, messages = RunOptions(format=form), MessagePrinter()
    made = render.make(json.dumps(table or TABLE), "mod", options, messages)
    assert made is not None
    return made


def lines(data: bytes) -> list[dict[str, Any]]:
    """Read lines of JSON; each must be as the schema says."""
    found = [json.loads(line) for line in data.splitlines()]
    for one in found:
        SCHEMA.validate(one)
    return found


def rows(*pieces: bytes) -> list[dict[str, Any]]:
    """Decode pieces that came in one block; the first line, "begin", is not among them."""
    begin, *found = lines(renderer().feed(memoryview(b"".join(pieces))))
    assert begin["type"] == "begin" and begin["module"] == "mod" and begin["script"] == "x.stp"
    return found


def test_the_schema_is_one() -> None:
    SCHEMA.check_schema(SCHEMA.schema)


def test_a_print_has_its_fields_by_name() -> None:
    (row,) = rows(piece(print_of()))
    fields = {"name": "cat", "n": -3, "u": 2**64 - 1, "c": "A", "m": "xy", "M": "ff"}
    assert row["fields"] == fields
    assert row["text"] == "cat 1\n"
    assert (row["type"], row["cpu"], row["probe"]) == ("print", 1, "timer.s(1)")
    assert row["place"] == "x.stp:1:15"
    assert "raw" not in row


@pytest.mark.parametrize(
    "name", [b'a"b\\c', b"\x01\x1f\x7f\n\r\t", "größe €".encode(), "😀".encode(), b"", b"x" * 70000]
)
def test_what_is_utf8_comes_through_json(name: bytes) -> None:
    (row,) = rows(piece(print_of(name, name)))
    assert row["fields"]["name"].encode() == name
    assert row["text"].encode() == name


def test_bytes_that_are_no_utf8_are_told_in_digits_as_well() -> None:
    (row,) = rows(piece(print_of(b"a\xffb", b"t\xfe")))
    assert row["fields"]["name"] == "a\ufffdb"
    assert row["raw"] == {"fields": {"name": "61ff62"}, "text": "74fe"}


@given(st.binary(max_size=40).map(lambda data: data.replace(b"\0", b"")))
def test_any_text_gives_a_line_that_json_reads(data: bytes) -> None:
    (row,) = rows(piece(print_of(data, data)))
    raw = row.get("raw", {}).get("text")
    assert (bytes.fromhex(raw) if raw else row["text"].encode()) == data


def test_globals_are_typed_and_their_text_is_not_told_twice() -> None:
    found = rows(
        piece(typed(1, b"", b"total=7\n")),
        piece(typed(2, struct.pack("<q", 7))),
        piece(
            typed(
                3,
                b"k\0"
                + struct.pack("<q", 9)
                + struct.pack("<qqqqI", 3, -35, -40, 5, 2)
                + struct.pack("<IqIq", 0, 1, 1, 2),
            )
        ),
    )
    assert [row["type"] for row in found] == ["global", "global"]
    assert (found[0]["name"], found[0]["value"]) == ("total", 7)
    buckets = [{"high": -1, "count": 1}, {"low": 0, "high": 9, "count": 2}]
    stat = {"count": 3, "sum": -35, "min": -40, "max": 5, "avg": -11, "buckets": buckets}
    assert found[1]["keys"] == ["k", 9] and found[1]["value"] == stat


def test_snapshots_are_told_apart_from_the_end() -> None:
    (row,) = rows(piece(typed(4, struct.pack("<q", 7))))
    assert (row["type"], row["name"], row["value"]) == ("snapshot", "total", 7)
    assert "text" not in row
    # What tells that an array is looked at, and may be empty.
    (row,) = rows(piece(typed(5, b"")))
    assert (row["type"], row["name"]) == ("look", "a") and not {"value", "text"} & set(row)


def test_stacks_among_keys_are_told_as_frames() -> None:
    lines_of_stack = b"f+0x1 [kernel]\ng+0x2/0x9 [kernel]\n"
    fields = lines_of_stack + b"\0" + struct.pack("<qqqqqI", 9, 0, 0, 0, 0, 0)
    (row,) = rows(piece(typed(3, fields)))
    assert row["stack"] == "9;g;f" and row["keys"][0] == lines_of_stack.decode()


def test_a_session_is_recorded_beside_its_output(tmp_path: Path) -> None:
    """--record: what is printed stays as it is, messages and the end are recorded as well."""
    place, messages = tmp_path / "r.jsonl", MessagePrinter()
    place.write_text("what stood there gives way")
    options = RunOptions(format="text", record=str(place))
    made = render.make(json.dumps(TABLE), "mod", options, messages)
    assert made is not None
    assert made.feed(memoryview(piece(print_of()))) == b"cat 1\n"
    made.message("warning", "careful")
    assert made.take() == b"" and made.finish(1) == b""
    kinds = [row["type"] for row in lines(place.read_bytes())]
    assert kinds == ["begin", "print", "warning", "end"]


@pytest.mark.parametrize(
    ("place", "why"), [("none/r", "No such file"), (".", "Is a dir"), ("fifo", "no regular file")]
)
def test_what_cannot_be_recorded_to_is_refused(place: str, why: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    options = RunOptions(format="text", record=str(tmp_path / place))
    with pytest.raises(RunError, match=f"to record: .*{why}"):
        render.make(json.dumps(TABLE), "mod", options, MessagePrinter())
    os.close(reader)


def test_a_module_for_text_is_not_recorded() -> None:
    with pytest.raises(RunError, match="made for text only: make it with stapy --format=json"):
        render.make(None, "mod", RunOptions(record="r"), MessagePrinter())


def test_losses_are_records_in_their_place() -> None:
    found = rows(
        piece(b"\0one"), piece(b"\0two", lost=12, overwritten=3), piece(b"", lost=4, cpu=0)
    )
    assert [(row["type"], row["cpu"], row.get("bytes", row.get("text"))) for row in found] == [
        ("text", 1, "one"),
        ("overwritten", 1, 3),
        ("lost", 1, 12),
        ("text", 1, "two"),
        ("lost", 0, 4),
    ]


def test_a_long_print_comes_in_pieces_over_blocks() -> None:
    made = renderer()
    data = print_of(text=b"y" * 100)
    made.take()
    assert made.feed(memoryview(piece(data[:50], total=len(data)))) == b""
    (row,) = lines(made.feed(memoryview(piece(data[50:], total=len(data), done=50))))
    assert row["text"] == "y" * 100


def test_who_attaches_in_the_middle_of_a_print_begins_with_the_next() -> None:
    data = print_of(text=b"y" * 100)
    (row,) = rows(piece(data[50:], total=len(data), done=50), piece(b"\0next"))
    assert row["text"] == "next"


def test_prints_that_were_cut_short_are_nothing() -> None:
    assert rows(piece(b"\0"), piece(b"\1"), piece(b"\1\0\0\0\0")) == []


@pytest.mark.parametrize(
    "block",
    [
        b"short",
        piece(b"\0text")[:-1],
        bytes(len(piece(b""))),
        piece(typed(99, b"")),
        piece(typed(0, b"no end")),
        piece(typed(0, b"a\0" + bytes(24) + b"\xff\xff\0\0")),
    ],
)
def test_damage_is_told(block: bytes) -> None:
    with pytest.raises(RunError, match="damaged"):
        renderer().feed(memoryview(block))


def test_messages_are_records_too_and_the_end_counts_errors() -> None:
    messages = MessagePrinter()
    made = render.make(json.dumps(TABLE), "mod", RunOptions(), messages)
    assert made is not None
    messages.warning("odd \udcff")
    messages.error("bad")
    messages.log("said")
    found = lines(made.finish(messages.errors))
    assert [row["type"] for row in found] == ["begin", "warning", "error", "log", "end"]
    assert found[1]["message"] == "odd \ufffd" and found[1]["raw"] == {"message": "6f646420ff"}
    assert found[-1]["errors"] == 1
    assert made.take() == b""


def test_each_record_says_its_host() -> None:
    given = ["stapy_remote=2", "stapy_remote_uri=ssh://web"]
    options = RunOptions(parameters=given)
    made = render.make(json.dumps(TABLE), "mod", options, MessagePrinter())
    assert made is not None
    begin, row = lines(made.feed(memoryview(piece(b"\0x"))))
    assert (begin["host"], begin["uri"], row["host"]) == (2, "ssh://web", 2)


def test_text_is_what_it_is_without_a_format() -> None:
    made = renderer("text")
    block = piece(print_of()) + piece(typed(1, b"", b"total=7\n"))
    block += piece(typed(2, bytes(8)), lost=9, overwritten=1) + piece(b"\0raw\xff")
    block += piece(b"\0.", lost=5, why=6)
    expected = b"cat 1\ntotal=7\n[overwrote 1 bytes on cpu 1]\n[lost 9 bytes on cpu 1]\nraw\xff"
    expected += b"[lost 5 bytes on cpu 1: reader stopped, print longer than the buffer]\n."
    assert made.feed(memoryview(block)) == expected
    assert made.finish(0) == b""


def test_a_module_for_text_gives_no_records() -> None:
    messages = MessagePrinter()
    assert render.make(None, "mod", RunOptions(), messages) is None
    assert render.make(None, "mod", RunOptions(format="text"), messages) is None
    with pytest.raises(RunError, match="made for text only: make it with stapy --format=json"):
        render.make(None, "mod", RunOptions(format="json"), messages)


@pytest.mark.parametrize(
    "text, what", [("{", "damaged"), ("[]", "damaged"), ('{"schema": 2}', "another version")]
)
def test_a_strange_table_is_refused(text: str, what: str) -> None:
    with pytest.raises(RunError, match=what):
        RecordTable(text)


def bucket_of(shape: list[Any], value: int) -> int:
    """Find the bucket of a value as runtime/histogram.c does."""
    if shape[0] == "log":
        return LOG_ZERO + value.bit_length() if value >= 0 else LOG_ZERO - (-value).bit_length()
    _, low, high, step = shape
    if value < low:
        return 0
    buckets = (high - low if high > low else 0) // step + 3
    return min((value - low) // step + 1, buckets - 1)


SHAPES = [["log"], ["linear", 0, 100, 7], ["linear", -5, -5, 1], ["linear", -100, 100, 10]]


@given(st.sampled_from(SHAPES), st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 200))
def test_a_value_is_within_the_bounds_of_its_bucket(shape: list[Any], value: int) -> None:
    low, high = bounds(shape, bucket_of(shape, value))
    assert (low is None or low <= value) and (high is None or value <= high)
    for edge in (low, high):
        if edge is not None and edge >= -(2**63):
            assert bucket_of(shape, edge) == bucket_of(shape, value)


def test_the_table_is_a_file_of_the_module(tmp_path: Path) -> None:
    for name in ("control", "output"):
        (tmp_path / name).touch()
    channel = Channel.open(str(tmp_path))
    assert channel.records is None
    channel.close()
    (tmp_path / "records").write_text("{}")
    channel = Channel.open(str(tmp_path))
    assert channel.records == "{}" and len(channel.outputs) == 1
    channel.close()


def test_stamps_become_the_time_of_day() -> None:
    import time

    decoder = PrintDecoder(RecordTable(json.dumps(TABLE)))
    stamp = time.monotonic_ns()
    data = bytearray(piece(b"\0x"))
    struct.pack_into("<Q", data, 8, stamp)
    (row,) = decoder.feed(memoryview(bytes(data)))
    assert abs(row["time"] - time.time()) < 60
