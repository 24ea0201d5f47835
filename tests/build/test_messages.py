"""Compiler output becomes places and reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.arch import X86_64
from stapy.build.messages import (
    Reporter,
    family_of,
    missing_program,
    problems,
    runtime_member,
    script_place,
    span_of_line,
    way_to_program,
)
from stapy.build.modpost import Imports
from stapy.diagnostics import Diagnostics, SourceMap
from tests.build import small

LOG = """In file included from /tmp/x/stapy-unit.c:1:
a.stp: In function 'f':
a.stp:3:24: error: 'foo' undeclared (first use in this function)
    3 | int f(void) { return foo; }
      |                        ^~~
a.stp:9:1: warning: unused variable 'x' [-Wunused-variable]
b.h:7: fatal error: linux/nope.h: No such file or directory
/tmp/c.c:1:2: error: implicit declaration of 'g' [-Werror=implicit-function-declaration]
make[1]: *** [Makefile:7: all] Error 1
"""


def test_problems() -> None:
    found = [(p.file, p.line, p.column, p.is_error, p.text) for p in problems(LOG)]
    assert found == [
        ("a.stp", 3, 24, True, "'foo' undeclared (first use in this function)"),
        ("a.stp", 9, 1, False, "unused variable 'x'"),
        ("b.h", 7, 1, True, "linux/nope.h: No such file or directory"),
        ("/tmp/c.c", 1, 2, True, "implicit declaration of 'g'"),
    ]


@pytest.mark.parametrize(
    ("name", "line", "column", "text"),
    [
        ("a.stp", 2, 1, "int"),
        ("a.stp", 2, 7, "foo"),
        ("./a.stp", 2, 7, "foo"),
        ("a.stp", 2, 99, ";"),
        ("a.stp", 3, 1, ""),
        ("a.stp", 4, 1, "last"),
        ("a.stp", 5, 1, None),
        ("other.stp", 1, 1, None),
    ],
)
def test_span_of_line(name: str, line: int, column: int, text: str | None) -> None:
    sources = SourceMap()
    sources.add("z.stp", "nothing")
    sources.add("a.stp", "%{\n  int foo;\n\nlast")
    span = span_of_line(sources, name, line, column)
    assert (span and sources.text(span)) == text


@pytest.mark.parametrize(
    ("text", "line", "place"),
    [
        ("int a;\n", 1, None),
        ('#line 7 "s.stp"\nx\ny\n', 2, ("s.stp", 7)),
        ('#line 7 "s.stp"\nx\ny\n', 3, ("s.stp", 8)),
        ('# 7 "s.stp"\nx\n', 2, ("s.stp", 7)),
        ("\t/* s.stp:3 */\n\tx;\n\ty;\n", 3, ("s.stp", 3)),
        ("\t/* s.stp:3:9 */\n\tx;\n", 2, ("s.stp", 3)),
        ("/* probe begin at s.stp:4:7 */\nx\n/* other */\ny\n", 4, ("s.stp", 4)),
        ("x\n/* s.stp:3 */\n", 1, None),
    ],
)
def test_script_place(text: str, line: int, place: tuple[str, int] | None) -> None:
    assert script_place(text, line) == place


@pytest.mark.parametrize(
    ("log", "program"),
    [
        ("/bin/sh: 1: gcc-99: not found\n", "gcc-99"),
        ("/bin/sh: line 1: gcc-99: command not found\n", "gcc-99"),
        (
            "make[2]: x86_64-linux-gnu-gcc-12: No such file or directory\n",
            "x86_64-linux-gnu-gcc-12",
        ),
        ("make: *** No rule to make target 'modules'.  Stop.\n", None),
    ],
)
def test_missing_program(log: str, program: str | None) -> None:
    assert missing_program(log) == program


@pytest.mark.parametrize(
    ("program", "package"),
    [
        ("make", "make"),
        ("gcc-12", "gcc-12"),
        ("/usr/bin/x86_64-linux-gnu-gcc-12", "gcc-12"),
        ("x86_64-linux-gnu-ld", "binutils"),
        ("ar", "binutils"),
        ("ld.lld", "lld"),
        ("aarch64-linux-gnu-gcc-12", "gcc-12-aarch64-linux-gnu"),
        ("aarch64-linux-gnu-ld", "binutils-aarch64-linux-gnu"),
    ],
)
def test_package_of_a_program(program: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler of this machine's architecture and that of another one are two packages."""
    monkeypatch.setattr("stapy.build.messages.host", lambda: X86_64)
    diagnostics = Diagnostics(SourceMap())
    Reporter(diagnostics, "6.1", small.source()).no_program(program)
    assert diagnostics.errors[0].hint == f"apt-get install {package}"


@pytest.mark.parametrize(
    ("program", "package"),
    [
        ("ld", "binutils"),
        ("clang-16", "clang-16"),
        ("ld.lld", "lld"),
        ("ld.lld-16", "lld-16"),
        ("llvm-objcopy-16", "llvm-16"),
        ("llvm-nm", "llvm"),
    ],
)
def test_the_package_of_a_program(program: str, package: str) -> None:
    assert way_to_program(program, "6.1") == f"apt-get install {package}"


def test_a_beginning_of_names_that_nobody_knows() -> None:
    assert way_to_program("nonesuch-gcc-12", "6.1").startswith("'nonesuch-' is what CROSS_COMPILE")


@pytest.mark.parametrize(
    ("file", "member"),
    [
        ("{runtime}/probes/unused.c", "probes/unused.c"),
        ("/tmp/s/tree/runtime/stapy.h", "stapy.h"),
        ("probes/unused.c", "probes/unused.c"),
        ("/usr/src/linux/include/linux/kprobes.h", None),
        ("/tmp/s/small.c", None),
        ("small.c", None),
    ],
)
def test_runtime_member(tmp_path: Path, file: str, member: str | None) -> None:
    runtime = small.write_runtime(tmp_path / "rt")
    assert runtime_member(file.format(runtime=runtime), runtime) == member


@pytest.mark.parametrize(
    ("member", "family"),
    [
        ("probes/kprobe.c", "kprobe"),
        ("compat/linux/timer.h", "timer"),
        ("transport/ring.c", "transport"),
        ("map.c", "map"),
    ],
)
def test_family_of(member: str, family: str) -> None:
    assert family_of(member) == family


def test_refused_imports_name_the_rule() -> None:
    diagnostics = Diagnostics(SourceMap())
    imports = Imports([], ["gone"], [("usb_x", "needs MODULE_IMPORT_NS(USB)")])
    Reporter(diagnostics, "6.1", small.source()).imports(imports, {}, "x.log")
    assert [item.message for item in diagnostics.errors] == [
        "kernel 6.1 does not export 'gone' to modules",
        "'usb_x' needs MODULE_IMPORT_NS(USB)",
    ]


def test_log_without_an_error_line_shows_its_end() -> None:
    diagnostics = Diagnostics(SourceMap())
    report = Reporter(diagnostics, "6.1", small.source())
    report.compiler("something\nthe end\n", Path("/nowhere"), lambda: "x.log")
    assert diagnostics.errors[0].code == "E0403"
    assert diagnostics.errors[0].notes[0] == "the end"


@pytest.mark.parametrize(
    ("line", "column", "message", "text"),
    [
        ("\treturn a + b;", 20, "'b' undeclared", "b"),
        ("\treturn a + b;", 12, "'b' undeclared", "b"),
        ("f(1); f(2)", 7, "too few arguments to function 'f'", "f"),
        ("function f() %{ foo(); %}", 3, "implicit declaration of function 'foo'", "foo"),
        ("x = y;", 5, "something", "y"),
        ("\tx = y;", 6, "something", "y"),
        ("\tx = +;", 7, "expected expression before ';' token", ";"),
        ("\tx = +;", 14, "expected expression before ';' token", ";"),
        ("  x = y;", 1, "'gone' undeclared", "x"),
    ],
)
def test_columns_are_helped_by_names(line: str, column: int, message: str, text: str) -> None:
    sources = SourceMap()
    sources.add("a.stp", line)
    span = span_of_line(sources, "a.stp", 1, column, message)
    assert span is not None
    assert sources.text(span) == text


def test_nearest_of_equal_names() -> None:
    sources = SourceMap()
    sources.add("a.stp", "\tf(1); f(2);")
    span = span_of_line(sources, "a.stp", 1, 15, "function 'f'")
    assert span is not None
    assert span.start == 7


@pytest.mark.parametrize(
    ("line", "name", "hint"),
    [
        ("function f() %{ STAP_RETVALUE = 5; %}", "STAP_RETVALUE", "give the function a type"),
        ("function f(a) %{ STAP_RETURN(STAP_ARG_b); %}", "STAP_ARG_b", "STAP_ARG_x is"),
        ('probe begin { println(@const("ODD")) }', "ODD", "when it is a macro"),
        ("function f() %{ return odd; %}", "odd", ""),
    ],
)
def test_hints_for_unknown_names(line: str, name: str, hint: str) -> None:
    sources = SourceMap()
    sources.add("a.stp", line)
    diagnostics = Diagnostics(sources)
    log = f"a.stp:1:1: error: '{name}' undeclared; did you mean 'PVOP_RETVAL'?\n"
    assert Reporter(diagnostics, "6.1", small.source()).script_errors(log)
    (item,) = diagnostics.errors
    assert sources.text(item.span) == name
    assert item.hint.startswith(hint) if hint else not item.hint
    assert ("PVOP" in item.message) == (not hint)


def test_consequences_are_not_reported() -> None:
    sources = SourceMap()
    sources.add("a.stp", "int f(void) {\nreturn x;\n}\n")
    log = "a.stp:2:8: error: 'x' undeclared\na.stp:3:1: error: control reaches end of f\n"
    diagnostics = Diagnostics(sources)
    report = Reporter(diagnostics, "6.1", small.source())
    assert report.script_errors(log)
    assert [item.message for item in diagnostics.errors] == ["embedded C: 'x' undeclared"]
    alone = Diagnostics(sources)
    assert Reporter(alone, "6.1", small.source()).script_errors(log.splitlines()[1])
    assert len(alone.errors) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            'ERROR: modpost: "gone" [/tmp/x/y.ko] undefined!',
            "kernel 6.1 does not export 'gone' to modules",
        ),
        (
            "ERROR: modpost: GPL-incompatible module y.ko uses GPL-only symbol 'kept'",
            "'kept' is for modules under the GPL only",
        ),
        (
            "ERROR: modpost: module y uses symbol usb_x from namespace USB, but it imports none",
            "'usb_x' needs MODULE_IMPORT_NS(USB)",
        ),
    ],
)
def test_kbuilds_own_modpost(line: str, message: str) -> None:
    diagnostics = Diagnostics(SourceMap())
    report = Reporter(diagnostics, "6.1", small.source())
    report.compiler(line + "\nmake: Error 1\n", Path("/nowhere"), lambda: "x.log")
    assert [(i.code, i.message) for i in diagnostics.errors] == [("E0407", message)]


def test_a_bracket_without_a_partner_comes_before_what_follows_from_it() -> None:
    """The compiler reads on into C that is ours, and complains there."""
    sources = SourceMap()
    sources.add("a.stp", "function f() %{ if (x) { y(); %}\nprobe begin { f() }")
    diagnostics = Diagnostics(sources)
    log = "/t/m.c:9:1: error: invalid storage class for function 'f_exit'"
    Reporter(diagnostics, "6.1", small.source()).compiler(log, Path("/r"), lambda: "log")
    (item,) = diagnostics.items
    assert (item.code, item.span.start) == ("E0404", 23)
    assert item.message == "embedded C: this '{' is not closed in the block"
