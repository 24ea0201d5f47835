"""Events of threads: watched memory of programs, counters; whose, where, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from stapy.debuginfo.user.file import UserFile
from stapy.probes.families.perf import counter_number
from tests.debuginfo.user.sources import compiled
from tests.debuginfo.user.sources import run as command
from tests.elaborate.support import Result, run
from tests.probes.test_begin_end import rows

pytestmark = pytest.mark.slow

PROGRAM = """int number = 1; long many[4]; char letter; char text[3];
int main(void) { return number; }
"""


@pytest.fixture(scope="module", params=["-pie", "-no-pie"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("program"), PROGRAM, "-fPIE", str(request.param))


def address_of(path: Path, name: str) -> int:
    lines = [line.split() for line in command("nm", str(path)).splitlines()]
    return int(next(words[0] for words in lines if words[-1] == name), 16)


def probe(point: str, body: str = "println(1)", **options: Any) -> Result:
    return run(f"probe {point} {{ {body} }}", **options)


def row(point: str, **fields: Any) -> dict[str, Any]:
    known = {"file": None, "pid": 0, "optional": False, "length": 1, "reads": False}
    return {"point": point, **known, "linked": False, "address": 0, "code": 0} | fields


@pytest.mark.parametrize(
    ("name", "length"), [("number", 4), ("many", 8), ("letter", 1), ("main", 0)]
)
def test_variables(name: str, length: int, path: Path) -> None:
    """By the tables of symbols, as a whole where the hardware can."""
    point = f'process("{path}").data("{name}").write'
    if not length:
        result = probe(point)
        assert result.codes == ["E0231"]
        return
    file = UserFile.open(path)
    expected = row(
        point,
        file=str(path),
        length=length,
        linked=True,
        address=address_of(path, name),
        code=file.code_start,
    )
    assert rows(f"probe {point} {{ println(1) }}", "taskevent") == [expected]
    assert bool(file.code_start) != file.is_fixed


@pytest.mark.parametrize(
    ("data", "codes"),
    [('"many"', ["W0694"]), ('"many").length(8', []), ('"number"', []), ("0x12350001230", [])],
)
def test_variables_watched_in_part(data: str, codes: list[str], path: Path) -> None:
    result = probe(f'process("{path}").data({data}).write')
    assert result.codes == codes
    for item in result.diagnostics.items:
        assert "bytes of 'many' the first 8 are watched" in item.message


def test_a_pattern_leaves_out_what_compilers_make(path: Path) -> None:
    """Of the start of programs and of the linker; by its name each can be watched."""
    found = rows(f'probe process("{path}").data("*").write {{ println(1) }}', "taskevent")
    names = sorted(str(row["point"]).split('"')[3] for row in found)
    assert names == ["letter", "many", "number", "text"]
    point = f'process("{path}").data("_IO_stdin_used").write'
    (own,) = rows(f"probe {point} {{ println(1) }}", "taskevent")
    assert own["length"] == 4


def test_addresses_and_whose(path: Path) -> None:
    there = 0x7F5500001230
    point = f"process({os.getpid()}).data({there:#x}).length(6).rw"
    (found,) = rows(f"probe {point} {{ println(1) }}", "taskevent")
    assert found == row(point, pid=os.getpid(), address=there, length=8, reads=True)
    point = f'process("{path}").data({there:#x}).write'
    (found,) = rows(f"probe {point} {{ println(1) }}", "taskevent")
    assert found == row(point, file=str(path), address=there)
    result = probe(f"process.data({there:#x}).write", command="/bin/true")
    assert result.codes == []


def test_addresses_that_a_program_was_linked_with(path: Path) -> None:
    """They are moved with a program that is; by -c as by its path."""
    address = address_of(path, "number")
    file = UserFile.open(path)
    fields: dict[str, Any] = {"file": str(path), "address": address}
    if not file.is_fixed:
        fields |= {"linked": True, "code": file.code_start}
    point = f'process("{path}").data({address:#x}).write'
    assert rows(f"probe {point} {{ println(1) }}", "taskevent") == [row(point, **fields)]
    if file.is_fixed:
        return
    point = f"process.data({address:#x}).write"
    found = rows(f"probe {point} {{ println(1) }}", "taskevent", command=str(path))
    assert found == [row(point, **fields)]
    result = probe(f'process("{path}").data(0x90000).write')
    assert result.codes == ["E0234"]
    assert "nm" in result.diagnostics.items[0].hint


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a program of two files that have a variable of one name each."""
    folder = tmp_path_factory.mktemp("twice")
    (folder / "two.c").write_text(TWO)
    return compiled(folder, ONE, "-g", "-fPIE", "-pie", str(folder / "two.c"), name="one")


ONE = """extern char **environ; static volatile int dup; volatile int whole; int two(void);
__thread volatile int own; volatile short red, rest;
int main(void) { dup++; whole++; own++; return two() + !environ; }
"""
TWO = "static volatile int dup, once; int two(void) { dup++; once++; return 0; }\n"


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("dup@two.c", ["dup@two.c"]),
        ("once", ["once"]),
        ("once@two.c", ["once@two.c"]),
        ("whole@one.c", ["whole@one.c"]),
        ("re[sd]*", ["red", "rest"]),
        ("dup@*", ["dup@one.c", "dup@two.c"]),
    ],
)
def test_names_of_variables(name: str, points: list[str], twice: Path) -> None:
    result = probe(f'process("{twice}").data("{name}").write')
    assert result.program is not None, result.shown()
    found = [point for one in result.program.probes for point in one.points]
    assert sorted(found) == [f'process("{twice}").data("{point}").write' for point in points]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dup", '.data("dup@one.c") or .data("dup@two.c")'),
        ("own", "each thread has one of its own"),
        ("two", "is a function"),
        ("environ@one.c", "but not of 'one.c'"),
        ("once@one.c", '.data("once@two.c") is the one that it has'),
        ("puts", "has no variable 'puts'"),
        ("__libc_start_main", "defined in another file"),
        ("onse", "did you mean 'once'"),
    ],
)
def test_names_that_are_no_variables(name: str, said: str, twice: Path) -> None:
    """Each case is told in its own words."""
    result = probe(f'process("{twice}").data("{name}").write')
    assert result.codes == ["E0231"]
    item = result.diagnostics.items[0]
    assert said in " ".join([*item.notes, item.hint])


def test_data_of_libraries(twice: Path) -> None:
    result = probe(f'process("{twice}").library("libc.so.6").data("environ").write')
    assert result.codes == ["E0230"]
    assert "process(PID).data(ADDRESS)" in result.diagnostics.items[0].hint


@pytest.mark.parametrize(
    ("tail", "code", "message"),
    [
        ('data("numbre").write', "E0231", "similar symbols: number"),
        ('data("number").length(9).write', "E0212", "length value out of range (1, 8)"),
        ("data(0x1231).length(4).write", "E0234", "4 bytes at 0x1231 cannot be watched"),
        ("data(0xffffffff81000000).write", "E0234", "is no address of a program"),
        ("data(0x1000).execute", "E0230", "no probe point matches"),
    ],
)
def test_refused(tail: str, code: str, message: str, path: Path) -> None:
    result = probe(f'process("{path}").{tail}')
    assert result.codes == [code]
    assert message in result.shown()[0]


def test_nobody_is_meant_without_a_target() -> None:
    result = probe("process.data(0x1000).write")
    assert result.codes == ["E0231"]
    assert "neither -c nor -x" in result.diagnostics.items[0].notes[0]


def test_more_than_there_are_registers(path: Path) -> None:
    text = "".join(
        f'probe process("{path}").data({8 * number + 8}).write {{ println(1) }}\n'
        for number in range(5)
    )
    assert run(text).codes == ["W0609"]


def test_events_of_a_program(path: Path) -> None:
    point = f'perf.type(1).config(2).process("{path}")'
    (found,) = rows(f"probe {point} {{ println(1) }}", "taskevent")
    assert found["file"] == str(path)
    fields = ("type", "config", "period", "hz", "length")
    assert [found[name] for name in fields] == [1, 2, 1_000_000, 0, 0]
    assert "counter" not in found
    result = probe("perf.type(1).config(2).process", command=f"{path} word")
    assert result.program is not None
    assert result.program.probes[0].points == [point]
    assert probe("perf.type(1).config(2).process").codes == ["E0231"]


def test_counters(path: Path) -> None:
    """Their probes have nothing to do, and stay."""
    text = f"""probe perf.type(1).config(2).process("{path}").counter("own") {{}}
    probe perf.type(1).config(0).counter("all") {{}}
    probe process("{path}").begin {{ printf("%d %d", @perf("own"), @perf("all")) }}
    """
    (own,) = rows(text, "taskevent")
    (every,) = rows(text, "perf")
    assert (own["counter"], own["period"]) == (counter_number("own"), 0)
    assert (every["counter"], every["period"]) == (counter_number("all"), 0)
    result = run(text.replace("{}", "{ println(1) }", 1))
    assert result.codes == ["W0696"]
    assert run(text.replace('"all"', '"own"')).codes[0] == "E0262"
    again = f'probe perf.type(1).config(2).process("{path}").counter("own") {{}}'
    assert run(text + again).codes == ["E0262"]
    assert run(text + again.replace(str(path), "/bin/sh")).codes == []
    result = run(text.replace('@perf("all")', '@perf("al")'))
    assert result.codes == ["E0261"]
    assert "'all'" in result.diagnostics.items[0].hint
