"""Marks of user programs: which places a point means, where arguments are, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stapy.elaborate.listing import list_points
from stapy.ir.dump import dump_program, expression
from stapy.parse import parse_script
from stapy.parse.facts import PreprocessFacts
from stapy.paths import data_dir
from stapy.probes.families import by_name
from tests.debuginfo.user.sources import compiled
from tests.elaborate.support import Result, run
from tests.probes.test_begin_end import rows

pytestmark = pytest.mark.slow

PROGRAM = r"""
#include <sys/sdt.h>
volatile unsigned short ours_told_semaphore __attribute__((section(".probes")));
static int twice, array[4];
int main(int count, char **words)
{
	STAP_PROBE(ours, plain);
	STAP_PROBE(theirs, plain__er);
	STAP_PROBE2(ours, plain, count, words);
	__asm__ volatile(
		"990: nop\n"
		"\t.pushsection .note.stapsdt,\"?\",\"note\"\n\t.balign 4\n"
		"\t.4byte 992f-991f, 994f-993f, 3\n991:\t.asciz \"stapsdt\"\n992:\t.balign 4\n"
		"993:\t.8byte 990b, _.stapsdt.base, ours_told_semaphore\n"
		"\t.asciz \"ours\"\n\t.asciz \"told\"\n\t.asciz \"ARGUMENTS\"\n994:\t.balign 4\n"
		"\t.popsection\n" : : "m" (twice), "m" (array));
	return 0;
}
"""
ALL = (
    "8@%rbx -4@%ecx 1@%ah -4@-4(%rdx,%rsi,4) 8@(%rsp) -4@$-1 8f@%xmm0 4@array+4(%rip) 8@nobody "
    "8@%xmm16"
)


def program(folder: Path, arguments: str = ALL, name: str = "marked") -> Path:
    text = PROGRAM.replace("ARGUMENTS", arguments.replace("%", "%%"))
    return compiled(folder, text, f"-I{data_dir('include')}", "-no-pie", name=name)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program(tmp_path_factory.mktemp("marks"))


def probe(path: Path, tail: str, body: str = "println(1)", **options: Any) -> Result:
    return run(f'probe process("{path}").{tail} {{ {body} }}', **options)


def points(result: Result) -> list[str]:
    assert result.program is not None, result.shown()
    return [point for probe in result.program.probes for point in probe.points]


def said(result: Result) -> str:
    """Return the first message with its notes and its hint."""
    item = result.diagnostics.items[0]
    return "\n".join([item.message, item.where, *item.notes, item.hint])


def test_rows(path: Path) -> None:
    (row,) = rows(f'probe process("{path}").mark("told") {{ println(1) }}', "usdt")
    data = path.read_bytes()
    assert data[row["offset"]] == 0x90
    assert data[row["counter"] : row["counter"] + 2] == b"\0\0"
    assert row == {
        "point": f'process("{path}").mark("told")',
        "file": str(path),
        "program": None,
        "pid": 0,
        "offset": row["offset"],
        "distance": 0,
        "counter": row["counter"],
        "is_return": False,
        "optional": False,
        "slot_bytes": 0,
        "callers": None,
    }
    assert row["counter"]
    first, second = rows(f'probe process("{path}").mark("plain") ? {{ println(1) }}', "usdt")
    assert first["offset"] != second["offset"]
    assert (first["counter"], first["optional"]) == (0, True)


@pytest.mark.parametrize(
    ("tail", "names"),
    [
        ('mark("told")', ['mark("told")']),
        ('mark("plain-er")', ['mark("plain__er")']),
        ('mark("plain__er")', ['mark("plain__er")']),
        ('mark("pl*")', ['mark("plain")', 'mark("plain__er")', 'mark("plain")']),
        ('provider("ours").mark("pl*")', ['provider("ours").mark("plain")'] * 2),
        ('provider("t*").mark("*")', ['provider("theirs").mark("plain__er")']),
    ],
)
def test_patterns(path: Path, tail: str, names: list[str]) -> None:
    wanted = [f'process("{path}").{name}' for name in names]
    assert points(probe(path, tail)) == wanted


def test_arguments_are_where_the_note_says(path: Path) -> None:
    result = probe(path, 'mark("told")')
    assert result.program is not None
    (site,) = result.program.probes[0].sites
    scope = by_name("usdt").scope(site, result.services)
    assert scope is not None
    shown = {}
    for name, variable in scope.variables.items():
        assert variable.value is not None
        shown[name] = expression(variable.value)
    address, array = site.mark.address, symbol(site, "array")
    assert {name: text for name, text in shown.items() if not name.startswith("$$")} == {
        "$arg1": "@program_register(3):u64",
        "$arg2": "@program_register(2):s32",
        "$arg3": "((((@program_register(0):u64) >> 8) & 72057594037927935) & 255) & 255",
        "$arg4": "@user_s32(((@program_register(1):u64) + -4) + ((@program_register(4):u64) * 4))",
        "$arg5": "@user_u64(@program_register(7):u64)",
        "$arg6": "-1",
        "$arg7": "@vector(0):u64",
        "$arg8": f"@user_u32((@address(0):u64) + {array + 4 - address})",
    }
    assert set(scope.unavailable) == {"$arg9", "$arg10"}
    assert "no symbol 'nobody'" in scope.unavailable["$arg9"]()
    assert scope.texts == {"$$name": "told", "$$provider": "ours"}


def symbol(site: Any, name: str) -> int:
    return next(row.value for row in site.file.elf.symbols() if row.name == name)


def test_names_and_groups(path: Path) -> None:
    body = "println($$name, $$provider, $$vars, $$parms, $$locals)"
    result = probe(path, 'mark("plain-er")', body)
    assert result.program is not None
    text = dump_program(result.program, with_bodies=True)
    assert '"plain__er"' in text
    assert '"theirs"' in text


def test_the_program_is_told_by_its_build(path: Path) -> None:
    result = probe(path, 'mark("told")')
    assert result.program is not None
    assert list(result.program.probes[0].sites[0].user_files) == [str(path)]


@pytest.mark.parametrize(
    ("tail", "body", "words"),
    [
        ('mark("tolt")', "1", ["no match (similar marks: told)", "did you mean 'told'?"]),
        ('mark("nothing like it")', "1", ["its marks are plain, plain__er, told"]),
        ('provider("theirs").mark("told")', "1", ["'told' is of provider 'ours'"]),
        ('mark("plain-er")', "$arg1", ["unable to find local 'arg1'", "has no arguments"]),
        ('mark("told")', "$arg11", ["mark 'told' has 10 arguments: $arg1 to $arg10"]),
        ('mark("told")', "$arg9", ["'arg9' is not accessible", "no symbol 'nobody'"]),
        ('mark("told")', "$arg10", ["'arg10' is not accessible", "vector register of AVX-512"]),
        ('mark("told").return', "1", ["invalid suffix for probe"]),
    ],
)
def test_what_is_wrong_is_said(path: Path, tail: str, body: str, words: list[str]) -> None:
    shown = said(probe(path, tail, f"println({body})"))
    for word in words:
        assert word in shown


def test_a_number_too_high_is_not_taken_for_another(path: Path) -> None:
    shown = said(probe(path, 'mark("told")', "println($arg11)"))
    assert "has 10 arguments" in shown
    assert "did you mean" not in shown


def test_a_program_without_marks(tmp_path: Path) -> None:
    plain = compiled(tmp_path, "int main(void) { return 0; }")
    shown = said(probe(plain, 'mark("*")'))
    assert f"'{plain}' has no marks" in shown
    assert "<sys/sdt.h>" in shown


def test_lists_tell_types(path: Path) -> None:
    result = probe(path, 'mark("pl*")')
    text = f'probe process("{path}").mark("pl*") {{}}'
    script = parse_script(
        "<l>", text, PreprocessFacts(), None, result.services.sources, result.diagnostics
    )
    assert script is not None
    assert list_points([script], result.services, True) == [
        f'process("{path}").mark("plain")',
        f'process("{path}").mark("plain") $arg1:long $arg2:long',
        f'process("{path}").mark("plain__er")',
    ]


def test_marks_of_a_library(path: Path, tmp_path: Path) -> None:
    text = PROGRAM.replace("ARGUMENTS", "").replace("main", "entered")
    include = f"-I{data_dir('include')}"
    library = compiled(tmp_path, text, include, "-shared", "-fPIC", name="libmarked.so")
    user = compiled(
        tmp_path, "int main(void) { return 0; }", "-Wl,--no-as-needed", str(library),
        f"-Wl,-rpath,{tmp_path}",
    )  # fmt: skip
    (row,) = rows(
        f'probe process("{user}").library("libmark*").mark("told") {{ println(1) }}', "usdt"
    )
    assert row["point"] == f'process("{user}").library("{library}").mark("told")'
    assert (row["file"], row["program"]) == (str(library), str(user))


def test_files_without_marks_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a wide pattern only what has marks is opened, and each file once."""
    from stapy.debuginfo.user.file import UserFile
    from stapy.debuginfo.user.sdt import may_have_marks

    folder = tmp_path / "wide"
    (folder / "a/b").mkdir(parents=True)
    marked = program(folder / "a/b")
    plain = compiled(folder / "a", "int main(void) { return 0; }", name="plain")
    (folder / "link").symlink_to(marked)
    for name in ("circle", "other"):  # of which a walk that follows them would not come back
        (folder / "a/b" / name).symlink_to(folder)
    (folder / "text").write_text("x" * 100)
    (folder / "short").write_bytes(b"\x7fELF\2\1")
    damaged = bytearray(plain.read_bytes())
    damaged[40:48] = b"\xff" * 7 + b"\x7f"
    (folder / "damaged").write_bytes(damaged)
    assert may_have_marks(str(marked)) and not may_have_marks(str(plain))
    assert not may_have_marks(str(folder)) and not may_have_marks(str(folder / "damaged"))
    opened: list[str] = []
    real = UserFile.open
    monkeypatch.setattr(
        UserFile, "open", lambda path, *more: (opened.append(path.name), real(path, *more))[1]
    )
    result = run(f'probe process("{folder}/**").mark("*") {{ println(1) }}')
    assert result.codes == [], result.shown()
    assert opened == ["marked"]
    result = run(f'probe process("{folder}/a/*").mark("*") {{ println(1) }}')
    assert result.codes == ["E0231"]
    assert "plain' has no marks" in result.diagnostics.items[0].notes[0]
    compiled(folder / "a", "int main(void) { return 1; }", name="another")
    result = run(f'probe process("{folder}/a/*").mark("*") {{ println(1) }}')
    assert "none of the 2 files that match" in result.diagnostics.items[0].notes[0]
