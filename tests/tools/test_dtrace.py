"""``stapy dtrace`` and our ``sys/sdt.h``: what compilers make of them, read back."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from stapy import cli
from stapy.debuginfo.user import operand, sdt
from stapy.debuginfo.user.file import UserFile
from stapy.debuginfo.user.operands import operands
from stapy.paths import data_dir
from stapy.tools import dtrace
from tests import debugpackage
from tests.debuginfo.user.sources import run

PROVIDERS = """
/* a comment with provider { in it */
#pragma D option quiet
typedef struct { int a; } thing;   // also left out
struct other { char *text; };
provider shop {
	probe opened();
	probe sold__out(char *what, long);
	probe price-changed(int (*compare)(int, int), struct other *row) : (int x);
	probe closed(void);
};
#pragma D attributes Evolving/Evolving/Common provider shop provider
provider second { probe only(int); };
"""

PROGRAM = """
#include "shop.h"
#include <stdio.h>
int main(int argc, char **argv)
{
	SHOP_OPENED();
	if (SHOP_SOLD__OUT_ENABLED())
		SHOP_SOLD__OUT(argv[0], 5L * argc);
	SHOP_PRICE__CHANGED(0, argv);
	SHOP_CLOSED();
	SECOND_ONLY(argc);
	return SHOP_OPENED_ENABLED();
}
"""

ARGUMENTS = r"""
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
enum colour { RED, GREEN };
struct pair { unsigned low : 3; int high; };
int global = 5;
#define OWN us
int main(int argc, char **argv)
{
	signed char c = argc; unsigned char u = argc; short s = argc; unsigned short us = argc;
	long l = argc; unsigned long ul = argc; unsigned int ui = argc;
	char text[] = "hello"; const char *p = text;
	double d = argc * 1.5; float f = d;
	struct pair st = { 1, 2 };
	enum colour col = argc ? GREEN : RED;
	STAP_PROBE(ours, none);
	STAP_PROBE12(ours, twelve, c, u, s, us, argc, ui, l, ul, text, p, d, f);
	STAP_PROBE3(ours, three, col, +st.low, 7);
	DTRACE_PROBE1(ours, literal, "text");
	STAP_PROBEV(ours, no_more);
	STAP_PROBEV(ours, counted, global, &global);
	STAP_PROBEV(ours, full, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
	return 0;
}
"""
TWELVE = [-1, 1, -2, 2, -4, 4, -8, 8, 8, 8, 8, 4]

TEMPLATES = r"""
#include <sys/sdt.h>
template<typename T> void tell(const T &value, T *place)
{
	STAP_PROBE2(ours, told, value, place);
}
struct Thing {
	int number;
	void act(int &by) { STAP_PROBE3(ours, acted, this, number, by); }
};
int main(int argc, char **)
{
	long number = argc;
	bool yes = argc > 1;
	Thing thing = { argc };

	tell(number, &number);
	tell(argc, &argc);
	thing.act(argc);
	STAP_PROBE1(ours, answered, yes);
	return 0;
}
"""

# Values of every kind, at places of every kind.
KINDS = r"""
#define SDT_USE_VARIADIC
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#define COUNTER(name) unsigned short p_##name##_semaphore __attribute__((section(".probes")))
COUNTER(zero); COUNTER(two); COUNTER(twelve); COUNTER(kinds); COUNTER(seven); COUNTER(real);
int table[4];
const char text[] = "text";
struct all { char a; short b; int c; long d; unsigned char e; unsigned short f; unsigned g; };
__attribute__((noipa)) void tell(struct all *p, double real, float less, _Bool yes, const char *s)
{
	DTRACE_PROBE(p, zero);
	DTRACE_PROBE2(p, two, p->a, p);
	STAP_PROBE12(p, twelve, 1, -2, 3l, 4ul, 'x', (char) -6, p->b, p->c, p->d, p->e, p->f, p->g);
	STAP_PROBEV(p, kinds, yes, s, table, text, &table[2], (short) 3, 1ull << 40);
	STAP_PROBE7(p, seven, p->a, p->b, p->c, p->d, p->e, p->f, p->g);
	STAP_PROBE2(p, real, real, less);
}
int main(void)
{
	struct all all = { 0 };

	tell(&all, 1, 2, 1, "s");
	return 0;
}
"""


def _compiled(folder: Path, text: str, *options: str, compiler: str = "gcc") -> UserFile:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    source = folder / ("marks.cc" if compiler == "g++" else "marks.c")
    source.write_text(text)
    program = folder / "marks"
    include = f"-I{data_dir('include')}"
    run(compiler, "-Wall", "-Wextra", "-Wno-unused", "-Werror", include, f"-I{folder}", *options,
        str(source), "-o", str(program))  # fmt: skip
    subprocess.run([program], check=True)
    return UserFile.open(program)


def _sizes(mark: sdt.Mark) -> list[int]:
    found = operands(mark.arguments)
    assert all(row.kind != operand.UNKNOWN for row in found), mark.arguments
    return [-row.size if row.is_signed else row.size for row in found]


@pytest.mark.parametrize(
    "options", [["-O0"], ["-O2"], ["-O2", "-fPIE", "-pie"], ["-O2", "-no-pie"], ["-Os", "-static"],
                ["-O2", "-std=c99", "-Wpedantic", "-Wno-error"]]
)  # fmt: skip
def test_marks_tell_sizes_and_signs_of_arguments(tmp_path: Path, options: list[str]) -> None:
    file = _compiled(tmp_path, ARGUMENTS, *options)
    found = {row.name: row for row in sdt.marks(file, pytest.fail)}
    sizes = {name: _sizes(row) for name, row in found.items()}
    assert sizes == {
        "none": [],
        "twelve": TWELVE,
        "three": [4, -4, -4],
        "literal": [8],
        "no_more": [],
        "counted": [-4, 8],
        "full": [-4] * 12,
    }
    assert [row.offset for row in operands(found["full"].arguments)] == list(range(1, 13))
    for row in found.values():
        assert file.read(row.address, 1) == b"\x90"
        assert row.semaphore == 0


def test_marks_in_templates_and_methods(tmp_path: Path) -> None:
    for standard in ("-std=c++98", "-std=c++20"):
        file = _compiled(tmp_path, TEMPLATES, "-O2", standard, compiler="g++")
        sizes = {(row.name, *_sizes(row)) for row in sdt.marks(file, pytest.fail)}
        wanted = {("told", -8, 8), ("told", -4, 8), ("acted", 8, -4, -4), ("answered", 1)}
        assert sizes == wanted


def test_a_wide_nop_stands_behind_the_place(tmp_path: Path) -> None:
    file = _compiled(tmp_path, ARGUMENTS, "-DSTAPY_SDT_NOP5")
    for row in sdt.marks(file, pytest.fail):
        assert file.read(row.address, 6) == bytes.fromhex("90 0f 1f 44 00 00")


@pytest.mark.parametrize("style", [["-pie", "-fPIE"], ["-no-pie"]])
def test_header_and_object_make_a_program_with_counters(
    tmp_path: Path, style: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop.d").write_text(PROVIDERS)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["dtrace", "-h", "-s", "shop.d"]) == 0
    assert cli.main(["dtrace", "-G", "-s", "shop.d", "-o", "counters.o"]) == 0
    file = _compiled(tmp_path, PROGRAM, "-O2", *style, str(tmp_path / "counters.o"))
    rows = sdt.marks(file, pytest.fail)
    assert {(row.provider, row.name, len(operands(row.arguments))) for row in rows} == {
        ("shop", "opened", 0),
        ("shop", "sold__out", 2),
        ("shop", "price__changed", 2),
        ("shop", "closed", 0),
        ("second", "only", 1),
    }
    symbols = {name: int(value, 16) for value, _, name in (
        line.split() for line in run("nm", str(file.path)).splitlines() if line.count(" ") == 2)
    }  # fmt: skip
    for row in rows:
        counter = symbols[f"{row.provider}_{row.name}_semaphore"]
        assert file.address_of(row.semaphore) == counter
        assert file.read(counter, 2) == b"\0\0"


def test_the_preprocessor_is_asked_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.d").write_text("#ifdef MORE\nprovider NAME { probe it(TEXT); };\n#endif\n")
    monkeypatch.chdir(tmp_path)
    words = ["-C", "-DMORE", "-D", "NAME=named", "-DTEXT=char *", "-hs", "x.d"]
    assert dtrace.main([*words[:-2], "-h", "-s", "x.d"]) == 0
    assert "DTRACE_PROBE1(named, it, arg1)" in (tmp_path / "x.h").read_text()
    assert not (tmp_path / "x.d.i").exists()
    assert dtrace.main([*words[:-2], "-k", "-h", "-s", "x.d"]) == 0
    assert (tmp_path / "x.d.i").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("provider {};", "x.d:1: '{' is no name of a provider"),
        ("provider p {\n prob x(); };", "x.d:2: 'prob' where 'probe' is expected"),
        ("provider p { probe x(int }; ", "the arguments of 'x' have no end"),
        ("provider p { probe x(int,,int); };", "an argument of 'x' is empty"),
        ("provider p { probe x(" + ", ".join(["int"] * 13) + "); };", "'x' has 13 arguments"),
        ("provider p { probe x();", "'the end' where 'probe'"),
        ("struct x {", "a declaration has no end"),
        ("\nProvider p { probe x(); };", "x.d:2: 'Provider' is no provider"),
        ("PROVIDER p { probe x(); }", "x.d:1: 'PROVIDER' is no provider"),
        ("provider a { };\nProvider p { probe x(); };", "x.d:2: 'Provider' is no provider"),
        ("int x\nprovider p { probe x(); };", "x.d:2: 'provider' stands in a declaration"),
        ("struct x { int y;\nprovider p { probe x(); };};", "x.d:2: 'provider' stands in"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("x.d").write_text(text)
    assert dtrace.main(["-h", "-s", "x.d"]) == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-h"], "-s FILE says"),
        (["-s", "x.d"], "-h or -G says"),
        (["-h", "-G", "-s", "x.d"], "exclude each other"),
        (["-s"], "-s needs a value"),
        (["-z", "-s", "x.d"], "unknown option '-z'"),
        (["x.d"], "unknown word 'x.d'"),
        (["-h", "-s", "x.d", "x.o"], "'x.o': objects belong to -G"),
        (["-x"], "-x needs a value"),
        (["--install"], "--install takes a folder"),
        (["--install", "/nowhere"], "'/nowhere' is no folder"),
        (["-h", "-s", "/nowhere/x.d"], "No such file"),
    ],
)
def test_wrong_command_lines(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dtrace.main(words) == 1
    assert text in capsys.readouterr().err


def test_the_compilers_complaint_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.d").write_text("provider p { probe x(); };")
    monkeypatch.setenv("CC", "/nowhere/cc")
    assert dtrace.main(["-G", "-s", "x.d"]) == 1
    assert "'/nowhere/cc' cannot be run" in capsys.readouterr().err
    monkeypatch.setenv("CC", "gcc")
    monkeypatch.setenv("CFLAGS", "-fno-such-flag-at-all")
    assert dtrace.main(["-G", "-s", "x.d"]) == 1
    assert "cannot be compiled" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "",
        "int x;",
        "/* provider */ // Provider p {\n",
        "#pragma D provider\n",
        'BEGIN { trace("provider"); }',
        "BEGIN{}",
        "syscall:::entry /pid == 1/ { trace(1); }\nEND { exit(0); }",
    ],
)
def test_a_file_without_providers_makes_an_empty_object(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Configure scripts ask so whether there is -G."""
    monkeypatch.chdir(tmp_path)
    Path("x.d").write_text(text)
    for word, made in (("-G", "x.o"), ("-h", "x.h")):
        assert dtrace.main(["-q", "-x", "nolibs", word, "-s", "x.d"]) == 0
        assert "x.d: there is no provider" in capsys.readouterr().err
        assert Path(made).exists()
    text += "struct s { char *provider; };"
    assert [row.name for row in dtrace.providers(text + "provider p { probe x(); };")] == ["p"]


def test_the_folder_of_the_header_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["dtrace", "--include"]) == 0
    folder = Path(capsys.readouterr().out.strip())
    assert (folder / "sys/sdt.h").is_file()


@pytest.mark.parametrize("options", [["-O0"], ["-O2"], ["-O2", "-no-pie"]], ids=" ".join)
def test_notes_are_those_of_the_header_of_systemtap(tmp_path: Path, options: list[str]) -> None:
    """Marks, counters, and the arguments' sizes; where values are is for the compiler to say."""
    try:
        theirs = debugpackage.program_root("systemtap-sdt-dev") / "usr/include"
    except debugpackage.NoPackage as error:
        pytest.skip(str(error))
    (header,) = theirs.rglob("sdt.h")
    source = tmp_path / "kinds.c"
    source.write_text(KINDS)
    told = []
    for name, folder in (("ours", data_dir("include")), ("theirs", header.parents[1])):
        path = tmp_path / name
        run("gcc", "-w", *options, "-isystem", str(folder), str(source), "-o", str(path))
        file = UserFile.open(path)
        told.append(
            [
                (row.provider, row.name, bool(row.semaphore), [
                    (one.kind != operand.UNKNOWN, -one.size if one.is_signed else one.size)
                    for one in operands(row.arguments)
                ])
                for row in sdt.marks(file)
            ]
        )  # fmt: skip
    assert len(told[0]) == 6
    assert told[0] == told[1]
