"""Output for programs (--format), from real modules: what comes out is what the schema says."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from stapy.vm.machine import EXITED, Machine
from tests.vm.harness import CONSUMER, ROOT, Guests, build, patience, tools

pytestmark = [pytest.mark.build, pytest.mark.vm]


def by_type(schema: dict[str, Any]) -> dict[str, jsonschema.Draft202012Validator]:
    """Make the schema of each type of line: a third of the time that trying all of them takes."""
    assert schema.keys() == {
        "$schema", "title", "type", "required", "properties", "unevaluatedProperties", "oneOf",
        "$defs",
    }, "what is said of all types must be said of each"  # fmt: skip
    found = {}
    for branch in schema["oneOf"]:
        assert branch.keys() == {"properties", "required"}
        own = {
            "type": schema["type"],
            "required": schema["required"] + branch["required"],
            "properties": {**schema["properties"], **branch["properties"]},
            "additionalProperties": schema["unevaluatedProperties"],
            "$defs": schema["$defs"],
        }
        kind = branch["properties"]["type"]
        for name in kind.get("enum", [kind.get("const")]):
            assert name not in found
            found[name] = jsonschema.Draft202012Validator(own)
    assert list(found) == schema["properties"]["type"]["enum"]
    return found


# Made once: to look at the schema itself takes longer than a line.
SCHEMAS = by_type(json.loads((ROOT / "docs" / "output.schema.json").read_text()))
# What it prints is the same in each run. The last print is longer than what one read takes.
STEADY = r"""
global reads, lat, by, names, unread, much
probe begin {
  printf("hello %s pid=%d mask=%x|%5d|%c\n", "w\303\266rld", pid() > 0, -1, reads, 65)
  printf("%s\n", "odd \377 \"quoted\\ \001")
  by["a", 1]++; by["b", 2] += 5; lat <<< 3; lat <<< 300; names["x"] = "y"; reads = 7; unread[1] = 2
  println("by ", by["a", 1], names["x"], reads)
  print(@hist_log(lat))
  try { printf("cut %s %M\n", "short", 16) } catch { println("caught") }
  foreach ([k, n] in by) printd(",", k, n)
  println("")
  warn("careful")
  for (i = 0; i < 12; i++) much .= "0123456789abcdefghijklmnopqrstuvwxyz"
  for (i = 0; i < 4; i++) much .= much
}
probe timer.ms(10) { exit() }
probe end {
  printf("%s%s%s%s%s%s%s%s%s%s%s%s\n", much, much, much, much, much, much, much, much, much, much,
         much, much)
  error("told")
}
"""
# Few prints fill a buffer: the emulated consumer writes some hundred lines a second.
FLOOD = """
global hits, pad
probe begin { for (i = 0; i < 100; i++) pad .= "xxxxxxxxxx" }
probe timer.ms(10) { for (i = 0; i < 20; i++) printf("hit %d %s\\n", hits++, pad) }
"""
STACKS = """
global calls, by_sum
probe kernel.function("vfs_write").call {
  if (pid() != target()) next
  calls[execname(), backtrace()]++
  by_sum[sprint_backtrace()] <<< 3
}
"""
# More elements than a snapshot has, which are more than a handler may have actions for.
GROWING = """
global all, total, lat, none
probe begin { none[1]++ delete none }
probe timer.ms(20) { total++; lat <<< total; for (i = 0; i < 20; i++) all[total % 60, i] = total }
probe timer.s(3) { exit() }
"""
FEW = ["-DMAXACTION=199", "-DMAXACTION_INTERRUPTIBLE=10000"]
PAD = 1000
LONG = ["-D", "MAXSTRINGLEN=8000"]


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("formats")
    found = {}
    for name, words in (
        ("records", [*LONG, "--format=json", "-e", STEADY]),
        ("plain", [*LONG, "-e", STEADY]),
        ("flood", ["--format=json", "-s", "1", "-D", "MAXSTRINGLEN=1100", "-e", FLOOD]),
        ("growing", ["--format=json", "--snapshots=0.5", *FEW, "-e", GROWING]),
        ("stacks", ["--format=folded", "-D", "MAXBACKTRACE=60", "-e", STACKS]),
    ):
        made = build(release, ["-m", name, *words], folder)
        assert made.module, made.stderr
        found[name] = made.module
    return found


@pytest.fixture
def two(guests: Guests, release: str) -> Machine:
    return guests.get(release, cpus=2)


def shell(guest: Machine, modules: dict[str, Path], text: str) -> tuple[bytes, str]:
    """Run a shell with ``$run`` and the modules by name; its output, and all that it said."""
    places = "".join(f"{name}={guest.push(path)};" for name, path in modules.items())
    start = f"{tools(guest)}export PYTHONPATH=/run/stapy/lib; run='{CONSUMER}'; {places}"
    done = guest.run(["sh", "-c", start + text], cwd="/tmp", timeout=120 * patience(guest))
    said = f"{done.kind}\n{done.stdout[-3000:]!r}\n{done.stderr.decode()}\n{done.dmesg[-2000:]}"
    assert done.kind == EXITED, said
    return done.stdout, said


def lines(text: bytes, said: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines()]
    assert found, said
    for one in found:
        SCHEMAS[one["type"]].validate(one)
    return found


def test_json_has_each_print_each_global_and_each_message(
    two: Machine, modules: dict[str, Path]
) -> None:
    stdout, said = shell(two, modules, "$run --format=json $records; true")
    found = lines(stdout, said)
    assert (found[0]["type"], found[0]["module"]) == ("begin", "records"), said
    assert (found[-1]["type"], found[-1]["errors"]) == ("end", 1), said
    prints = [row for row in found if row["type"] == "print"]
    fields = [row["fields"] for row in prints]
    hello = {"arg1": "w\u00f6rld", "pid": 1, "mask": 2**64 - 1, "reads": 0, "arg5": "A"}
    assert fields[0] == hello, said
    assert prints[0]["probe"] == "begin" and prints[0]["text"].startswith("hello w\u00f6rld pid=1")
    assert bytes.fromhex(prints[1]["raw"]["text"]) == b'odd \xff "quoted\\ \x01\n', said
    assert fields[2] == {"arg1": "by ", "by": 1, "names": "y", "reads": 7}, said
    buckets = [{"low": 2, "high": 3, "count": 1}, {"low": 256, "high": 511, "count": 1}]
    stat = {"count": 2, "sum": 303, "min": 3, "max": 300, "avg": 151, "buckets": buckets}
    assert fields[3] == {"lat": stat} and "value |--" in prints[3]["text"], said
    assert prints[4]["text"] == "caught\n", said  # what failed was taken back
    assert len(prints[-1]["text"]) == 12 * 6912 + 1, said
    assert prints[-1]["fields"]["much_12"] == prints[-1]["fields"]["much"]
    messages = [(row["type"], row["message"]) for row in found if "message" in row]
    assert ("warning", "careful") in messages, said
    assert any(kind == "error" and "told" in text for kind, text in messages), said


@pytest.mark.skipif(not shutil.which("jq"), reason="there is no jq: apt-get install jq")
def test_jq_reads_records_as_they_come(two: Machine, modules: dict[str, Path]) -> None:
    ask = """'select(.type == "print" and .fields.by) | [.probe, .fields.by, .fields.names]'"""
    stdout, said = shell(two, modules, f"$run --format=json $records | jq -c {ask}; true")
    assert stdout.decode().splitlines() == ['["begin",1,"y"]'], said


def test_globals_come_at_the_end_with_keys_and_types(
    two: Machine, modules: dict[str, Path]
) -> None:
    stdout, said = shell(two, modules, "$run --format=json -o out $flood -T 0.3; cat out")
    found = lines(stdout, said)
    ends = {row["name"]: row["value"] for row in found if row["type"] == "global"}
    assert ends["pad"] == "x" * PAD and isinstance(ends["hits"], int), said
    told = [row["fields"]["hits"] for row in found if row["type"] == "print"]
    assert told == sorted(told) and told, said  # of two processors, in the order of time


def test_snapshots_tell_globals_while_the_session_runs(
    two: Machine, modules: dict[str, Path]
) -> None:
    stdout, said = shell(two, modules, "$run --format=json $growing")
    found = lines(stdout, said)
    assert found[-1] == {**found[-1], "type": "end", "errors": 0}, said
    looks = [row for row in found if row["type"] == "snapshot"]
    totals = [row["value"] for row in looks if row["name"] == "total"]
    ends = [row for row in found if row["type"] == "global"]
    (end,) = (row["value"] for row in ends if row["name"] == "total")
    assert len(totals) >= 2 and totals == sorted(totals) and totals[0] < end >= totals[-1], said
    counts = [row["value"]["count"] for row in looks if row["name"] == "lat"]
    assert counts == sorted(counts) and counts[-1] > counts[0], said
    elements = [row["time"] for row in looks if row["name"] == "all"]
    last = [when for when in elements if when > elements[-1] - 0.25]
    assert len(last) == 100 < sum(row["name"] == "all" for row in ends), said
    begun = [row["name"] for row in found if row["type"] == "look"]
    assert min(begun.count("none"), begun.count("all")) >= 2 and len(set(begun)) == 2, said
    assert all(row["name"] != "none" for row in looks), said


def test_rows_of_files_have_whole_lines(two: Machine, modules: dict[str, Path]) -> None:
    """-S, SIGUSR2 and the background: what is in all files, one after the other, is the session."""
    text = """
    wait_for() { n=0; until eval "$1"; do sleep 0.1; n=$((n+1)); [ $n -lt 3000 ] || break; done; }
    rm -f row.*; pid=$($run -D -S 1 -o row $flood)
    wait_for '[ -s row.1 ]'; kill -USR2 $pid; wait_for '[ -s row.2 ]'
    kill -INT $pid; wait_for '[ ! -d /proc/$pid ]'
    for file in $(ls row.* | sort -V); do echo "== $file"; cat $file; done
    """
    stdout, said = shell(two, modules, text)
    files = [part.partition(b"\n")[2] for part in stdout.split(b"== ")[1:]]
    assert len(files) >= 3, said
    rows = []
    for one in files:
        assert one.endswith(b"\n"), said
        rows += [json.loads(line) for line in one.splitlines()]
    assert len(files[0]) <= 1 << 20, said
    assert (rows[0]["type"], rows[-1]["type"]) == ("begin", "end"), said
    told = [row["fields"]["hits"] for row in rows if row["type"] == "print"]
    assert told == sorted(set(told)) and told, said
    lost = any(row["type"] == "lost" for row in rows)
    ends = [row["value"] for row in rows if row["type"] == "global" and row["name"] == "hits"]
    assert ends and (ends[0] == len(told)) != lost, (ends, len(told), said)


def test_csv_has_prints_and_globals_as_tables(two: Machine, modules: dict[str, Path]) -> None:
    stdout, said = shell(two, modules, "$run --format=csv $records; true")
    tables: list[list[list[str]]] = [[]]
    for row in csv.reader(io.StringIO(stdout.decode(), newline="")):
        if row:
            tables[-1].append(row)
        else:
            tables.append([])
    heads = [table[0] for table in tables]
    ends = [tuple(row) for table in tables[1:] for row in table]
    prints = [dict(zip(heads[0], row, strict=True)) for row in tables[0][1:]]
    assert heads[0][:4] == ["time", "cpu", "probe", "place"], said
    assert prints[0]["pid"] == "1" and prints[0]["mask"] == str(2**64 - 1), said
    assert prints[1]["by"] == "1" and prints[1]["names"] == "y", said
    for row in ("reads", "7"), ("by", "b", "2", "5"), ("unread", "1", "2"):
        assert row in ends, (row, said)
    assert ("lat", "2", "303", "3", "300", "151") in ends, said
    assert ("lat", "256", "511", "1") in ends, said  # of its histogram


def test_folded_has_frames_by_name_and_counts(two: Machine, modules: dict[str, Path]) -> None:
    text = "$run $stacks -c 'dd if=/dev/zero of=/dev/null bs=1 count=7 status=none'; echo end"
    stdout, said = shell(two, modules, text)
    *rows, last = stdout.decode().splitlines()
    assert last == "end", said
    ends = {row.rpartition(" ")[0]: int(row.rpartition(" ")[2]) for row in rows}
    counted = {row: n for row, n in ends.items() if row.startswith("calls;dd;")}
    summed = {row: n for row, n in ends.items() if row.startswith("by_sum;")}
    assert sum(counted.values()) == 7 and sum(summed.values()) == 21, said
    for row in (*counted, *summed):
        frames = row.split(";")
        assert frames[-1] == "vfs_write" and frames[-2] == "ksys_write", said
        assert "do_syscall_64" in frames and "+0x" not in row, said
    without = {row.partition(";dd;")[2] for row in counted}
    assert without == {row.partition(";")[2] for row in summed}, said


def test_text_is_that_of_a_module_without_a_format(two: Machine, modules: dict[str, Path]) -> None:
    stdout, said = shell(
        two,
        modules,
        # Half a print, before the error in it, is text but no record.
        "$run $plain | sed 's/^cut short //' >a; $run --format=text $records >b; "
        "cmp a b && echo same; wc -l <a",
    )
    assert stdout.split()[:1] == [b"same"], said
    assert int(stdout.split()[1]) > 10, said


def test_who_attaches_has_records_and_losses_add_up(two: Machine, modules: dict[str, Path]) -> None:
    text = """
    $run -L $flood; sleep 2; $run -A -T 0.5 flood
    """
    stdout, said = shell(two, modules, text)
    found = lines(stdout, said)
    assert found[0]["type"] == "begin" and found[-1]["type"] == "end", said
    told = [row["fields"]["hits"] for row in found if row["type"] == "print"]
    missing = sum(row["bytes"] for row in found if row["type"] in ("lost", "overwritten"))
    causes = {why for row in found if row["type"] == "lost" for why in row["causes"]}
    assert causes <= {"buffer being read", "reader too slow"}, said
    # The text for itself, and once more in "hit N x...".
    least = 2 * PAD + len("hit 0 \n")
    ends = {row["name"]: row["value"] for row in found if row["type"] == "global"}
    gone = ends["hits"] - len(told)
    assert told == sorted(told), said
    assert missing >= gone * least and (missing > 0) == (gone > 0), (missing, gone, said)


def test_a_module_for_text_gives_no_records(two: Machine, modules: dict[str, Path]) -> None:
    stdout, said = shell(two, modules, "$run --format=json $plain; echo status $?; lsmod")
    assert b"status 1" in stdout and b"plain" not in stdout, said
    assert "made for text only: make it with stapy --format=json" in said
