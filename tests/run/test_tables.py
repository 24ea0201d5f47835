"""Output as CSV and as folded stacks: what becomes of records, and what is told of the rest."""

from __future__ import annotations

import csv
import io
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stapy.run import render, stacks
from stapy.run.errors import RunError
from stapy.run.messages import MessagePrinter
from stapy.run.options import RunOptions
from tests.run.test_records import TABLE, piece, print_of, typed


def table(*prints: dict[str, Any]) -> dict[str, Any]:
    return {**TABLE, "prints": list(prints)}


def row(*kinds: str, shows: str = "", **more: Any) -> dict[str, Any]:
    """Describe a print of fields of these kinds, the last one with ``more``."""
    names = [f"key{at + 1}" for at in range(len(kinds) - 1)] + ["value"] * bool(kinds)
    fields: list[dict[str, Any]] = [
        {"name": name, "kind": kind} for name, kind in zip(names, kinds, strict=True)
    ]
    if fields:
        fields[-1].update(more)
    found: dict[str, Any] = {"fields": fields}
    return {**found, "shows": shows} if shows else {**found, "place": "x.stp:1:2"}


def run(
    form: str, about: dict[str, Any], *pieces: bytes, parameters: list[str] | None = None
) -> str:
    """Render pieces and the end of a session; the text, with what was told."""
    options = RunOptions(format=form, parameters=parameters)
    made = render.make(json.dumps(about), "mod", options, MessagePrinter())
    assert made is not None
    return (made.feed(memoryview(b"".join(pieces))) + made.finish(0)).decode()


def long(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


STAT = struct.pack("<qqqqI", 3, 12, 1, 8, 2) + struct.pack("<IqIq", 65, 1, 68, 2)
NO_STAT = struct.pack("<qqqqI", 0, 0, 0, 0, 0)


def test_prints_are_rows_of_one_table() -> None:
    about = table(
        {"place": "a:1:1", "fields": [{"name": "pid", "kind": "long"}]},
        {"place": "a:2:1", "fields": []},  # a heading
        {"place": "a:2:9", "fields": [{"name": "arg1", "kind": "string", "constant": True}]},
        {
            "place": "a:3:1",
            "fields": [
                {"name": "time", "kind": "string"},
                {"name": "pid", "kind": "unsigned"},
                {"name": "l", "kind": "stat", "shape": ["log"]},
            ],
        },
    )
    text = run(
        "csv",
        about,
        piece(typed(1, b"", b"PID\n")),
        piece(typed(2, b"PID\n\0", b"PID\n")),
        piece(typed(0, long(-7), b"-7\n", 0)),
        piece(typed(3, b"now\0" + long(-1) + NO_STAT)),
    )
    head, first, second = csv.reader(io.StringIO(text))
    assert head == ["time", "cpu", "probe", "place", "pid", "time_2", "l"]
    assert first[1:] == ["1", "begin", "a:1:1", "-7", "", ""]
    assert second[1:] == ["1", "timer.s(1)", "a:3:1", str(2**64 - 1), "now", second[6]]
    assert json.loads(second[6]) == {"count": 0, "buckets": []}
    assert float(first[0]) > 1e9


GLOBALS = table(
    row(shows="n"),
    row("long", shows="n"),
    row("string", shows="name"),
    row("string", "long", "long", shows="a"),
    row("long", "stat", shows="s", shape=["log"]),
    row("stat", shows="t"),
    row("string", "long", shows="never"),
)


def test_globals_are_tables_of_their_own() -> None:
    text = run(
        "csv",
        GLOBALS,
        piece(typed(0, b"", b"n=5\n")),
        piece(typed(1, long(5))),
        piece(typed(2, b"x\0")),
        piece(typed(3, b"k\0" + long(1, 2))),
        piece(typed(3, b"j\0" + long(-1, 3))),
        piece(typed(4, long(9) + STAT)),
        piece(typed(5, NO_STAT)),
    )
    assert text == (
        "global,value\nn,5\nname,x\n\n"
        "global,key1,key2,value\na,k,1,2\na,j,-1,3\n\n"
        "global,key1,count,sum,min,max,avg\ns,9,3,12,1,8,4\n\n"
        "global,count,sum,min,max,avg\nt,0,,,,\n\n"
        "global,key1,low,high,count\ns,9,1,1,1\ns,9,8,15,2\n\n"
        "global,key1,value\n"
    )


@given(st.binary(max_size=30).map(lambda data: data.replace(b"\0", b"")))
def test_any_key_is_one_cell(key: bytes) -> None:
    about = table(row("string", "long", shows="a"))
    text = run("csv", about, piece(typed(0, key + b"\0" + long(1))))
    _, found = csv.reader(io.StringIO(text, newline=""))
    assert found == ["a", key.decode("utf-8", "backslashreplace"), "1"]


@pytest.mark.parametrize(
    "key, cell",
    [
        (b"a,b", '"a,b"'),
        (b'say "x"', '"say ""x"""'),
        (b"two\nlines", '"two\nlines"'),
        (b"two\r\n", '"two\r\n"'),
        (b"odd \xff", "odd \\xff"),
        ("größe".encode(), "größe"),
        (b"", ""),
    ],
)
def test_quotes(key: bytes, cell: str) -> None:
    text = run(
        "csv", table(row("string", "long", shows="a")), piece(typed(0, key + b"\0" + long(1)))
    )
    assert text == f"global,key1,value\na,{cell},1\n"


def test_another_file_has_its_header() -> None:
    made = render.make(json.dumps(GLOBALS), "m", RunOptions(format="csv"), MessagePrinter())
    assert made is not None
    block = piece(typed(1, long(5)))
    assert made.feed(memoryview(block)) == b"global,value\nn,5\n"
    assert made.feed(memoryview(block)) == b"n,5\n"
    made.restart()
    assert made.feed(memoryview(block)) == b"global,value\nn,5\n"


def test_what_no_table_has_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    run("csv", GLOBALS, piece(b"\0text", lost=7), piece(b"\0more", overwritten=5))
    told = capfd.readouterr().err
    assert "WARNING: output was lost" in told and "12 bytes of output were lost" in told
    assert "2 prints have no fields" in told


@pytest.mark.parametrize(
    "form, prints, what",
    [
        ("csv", [row()], "no print of it has fields, and it writes no globals"),
        ("csv", [row(shows="x")], "no tables"),
        ("folded", [row("long", "long", shows="x"), row("long")], "needs stacks"),
        ("folded", [row("string", shows="x")], "needs stacks"),
        ("folded", [row("string", "string", shows="x")], "needs stacks"),
    ],
)
def test_nothing_to_show_is_refused(form: str, prints: list[dict[str, Any]], what: str) -> None:
    with pytest.raises(RunError, match=what):
        run(form, table(*prints))


KERNEL = b"0xffffffff81000012 0xffffffff81000200 0xffffffff81000f00 "
SYMBOLS = """\
ffffffff81000000 T read_it
ffffffff81000000 t alias
ffffffff81000100 t call;it
ffffffff81000180 d data
ffffffff81000200 T next
"""


@pytest.fixture
def symbols(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kallsyms"
    path.write_text(SYMBOLS)
    monkeypatch.setattr(stacks.StackWriter.__init__, "__defaults__", (0, 0, str(path)))
    return path


ARRAY = table(row("string", "long", "string", "long", shows="a"))


def test_stacks_are_written_from_the_outermost_frame(symbols: Path) -> None:
    def one(count: int, stack: bytes = KERNEL) -> bytes:
        return piece(typed(0, b"c;t\0" + long(7) + stack + b"\0" + long(count)))

    # The second is a return address: the call stands in the function before.
    same = one(2, KERNEL.replace(b"12", b"14"))
    assert run("folded", ARRAY, one(5), same) == "c:t;7;next;call:it;read_it 7\n"


def test_addresses_keep_theirs_without_symbols(
    symbols: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    symbols.write_text("0000000000000000 T hidden\n")
    about = table(row("string", "long", shows="a"))
    found = run("folded", about, piece(typed(0, b"0xffffffff81000012 \0" + long(1))))
    assert found == "0xffffffff81000012 1\n"
    assert "kernel have no names" in capfd.readouterr().err
    found = run("folded", about, piece(typed(0, b"0x55001 0x7f22 \0" + long(1))))
    assert found == "0x7f22;0x55001 1\n"
    assert "sprint_ubacktrace() does" in capfd.readouterr().err


@pytest.mark.parametrize(
    "key, line",
    [
        (b"vfs_read+0x4 [kernel]\nksys_read+0xbb [kernel]\n", "ksys_read;vfs_read"),
        (
            b" 0xff12 : a+0x1/0x20 [ext4 1234ab]\n 0xffffffff810013 : b+0x0/0x2 at f.c:3\n",
            "b;a",
        ),
        (b"main+0x2e [tool]\n0x7f3300 [libc.so.6]\n0x55\n", "0x55;[libc.so.6];main"),
        (
            b"std::map<int, char>::find(int) const+0x12 [t]\n",
            "std::map<int, char>::find(int) const",
        ),
        (b"main+0x2e [tool]\nstart+0x", "main"),
        (
            b'Traceback (most recent call first):\n  File "/a/b.py", line 3, in f\n'
            b'  File "/a/c.py", line 9, in g\n',
            "g (c.py);f (b.py)",
        ),
        (b"odd\xff+0x1\n", "odd\\xff"),
    ],
)
def test_stacks_of_lines(key: bytes, line: str) -> None:
    about = table(row("string", "long", shows="a"))
    assert run("folded", about, piece(typed(0, key + b"\0" + long(3)))) == f"{line} 3\n"


@pytest.mark.parametrize(
    "key", [b"", b"cat", b"0x10", b"two\nlines\n", b"0xg 0x1 ", b"a+b", b"main+0x1", b"\n", b"12"]
)
def test_other_texts_are_no_stacks(key: bytes) -> None:
    assert not stacks.is_stack(key)


@given(st.binary(max_size=60))
def test_any_text_is_one_or_none(key: bytes) -> None:
    if stacks.is_stack(key):
        assert "\n" not in stacks.StackWriter(0, 0, "/nowhere").line([], [key])


def test_programs_come_outside_of_the_kernel(symbols: Path) -> None:
    about = table(row("string", "string", "string", "long", shows="a"))
    keys = b"0xffffffff81000012 \0main+0x2e [tool]\n\0name\0"
    assert run("folded", about, piece(typed(0, keys + long(3)))) == "name;main;read_it 3\n"


def test_statistics_count_by_their_sum_and_arrays_have_names(symbols: Path) -> None:
    about = table(row("string", "stat", shows="s"), row("string", "long", shows="a"))
    stack = b"0xffffffff81000012 \0"
    text = run("folded", about, piece(typed(0, stack + STAT)), piece(typed(1, stack + long(1))))
    assert text == "a;read_it 1\ns;read_it 12\n"


def test_printed_stacks_count_where_no_array_has_any(symbols: Path) -> None:
    prints = {"place": "a", "fields": [{"name": "b", "kind": "string"}]}
    about = table(prints, row("string", "long", shows="a"))
    printed = piece(typed(0, b"0xffffffff81000012 \0"))
    plain = piece(typed(0, b"x\0"))
    assert run("folded", about, printed, plain, printed) == "read_it 2\n"
    counted = piece(typed(1, b"f+0x1\n\0" + long(9)))
    assert run("folded", about, printed, counted) == "f 9\n"


def test_who_leaves_takes_what_was_printed(symbols: Path) -> None:
    prints = {"place": "a", "fields": [{"name": "b", "kind": "string"}]}
    options = RunOptions(format="folded")
    made = render.make(json.dumps(table(prints)), "m", options, MessagePrinter())
    assert made is not None
    assert made.feed(memoryview(piece(typed(0, b"0xffffffff81000012 \0")))) == b""
    assert made.leave() == b"read_it 1\n"
    assert made.leave() == b""


@pytest.mark.parametrize(
    "pieces, what",
    [
        ([], "no array has one as a key at the end"),
        (
            [piece(b"\0 0xffffffff81000012 : f+0x1/0x2\n")],
            "what print_backtrace() and the like print",
        ),
        (
            [piece(typed(0, b"x\0" + long(7) + b"f+0x1\n\0" + long(-1)))],
            "1 stacks have counts below 1",
        ),
        ([piece(b"", lost=9)], "9 bytes of output were lost"),
    ],
)
def test_stacks_that_do_not_come_are_told(
    pieces: list[bytes], what: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("folded", ARRAY, *pieces) == ""
    assert what in capfd.readouterr().err


def test_stacks_of_a_host_say_so(symbols: Path) -> None:
    given_ = ["stapy_remote=1", "stapy_remote_uri=ssh://web"]
    about = table(row("string", "long", shows="a"))
    one = piece(typed(0, b"f+0x1\n\0" + long(9)))
    assert run("folded", about, one, parameters=given_) == "ssh://web;f 9\n"


def test_forms_of_one_module_are_many() -> None:
    assert run("csv", TABLE, piece(print_of())).startswith("time,cpu,probe,place,name,n,u,c,m,M\n")


@pytest.mark.parametrize(
    "stack, is_cut",
    [
        (b"f+0x1\n" * 3, False),
        (b"f+0x1\n" * 4, True),  # as many frames as there can be
        (b"f+0x1\ng+0x", True),
        (b"a_function_of_a_long_name" * 3 + b"+0x1\n", True),
        (b"0xffffffff81000012 " * 3, False),
        (b"0xffffffff81000012 0xffffffff81000012", False),  # of callers()
        (b"0xffffffff81000012 " * 4, True),
    ],
)
def test_stacks_that_may_be_cut_are_told(
    symbols: Path, stack: bytes, is_cut: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    about = {**table(row("string", "long", shows="a")), "string_bytes": 96, "stack_frames": 4}
    run("folded", about, piece(typed(0, stack + b"\0" + long(1))))
    assert ("1 stacks may lack their outermost frames" in capfd.readouterr().err) == is_cut
