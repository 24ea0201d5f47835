"""Code blocks of the manuals: those that must be refused, and the list of all the others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.elaborate.golden import LIBRARY
from tests.elaborate.support import run

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests/vm/cases/langref"

# Section, options, a script with what the block shows, code, line and column.
REFUSED: list[tuple[str, str, str, str, int, int]] = [
    ("3.3", "", "probe begin { x[1] = 2; println(x[1]) }", "E0202", 1, 15),
    ("3.3", "", 'probe begin { x = 1; x = "one"; println(x) }', "E0301", 1, 26),
    ("3.5", "", "function f() %{ %} probe begin { f() }", "E0130", 1, 14),
    ("3.5", "", "probe begin { println(%{ 1 %}) }", "E0130", 1, 23),
    ("4.1", "", 'probe module{"ext3"}.function("ext3_*") { println(1) }', "E0109", 1, 21),
    ("4.1", "", 'probe kernel.function("no_such_function") { println(1) }', "E0231", 1, 14),
    ("4.1.3", "", 'probe kernel.function("sys_*) { println(1) }', "E0101", 1, 23),
    ("4.1.3", "", "probe kernel.syscall.* { println(1) }", "E0230", 1, 14),
    ("4.1.5", "", "probe begin.{a?,b} { println(1) }", "E0236", 1, 17),
    ("4.4", "", "probe kprobe.statement(0x10).absolute { println(1) }", "E0214", 1, 14),
    ("4.11", "", "probe timer.hz(10).randomize(5) { println(1) }", "E0236", 1, 20),
    ("4.11", "", "probe timer.ms(10).randomize(20) { println(1) }", "E0212", 1, 20),
    ("4.12", "", "probe begin { println($var) }", "E0240", 1, 23),
    ("5.1", "", "probe begin { 1st = 2 }", "E0104", 1, 15),
    ("5.2", "", 'probe begin { println("1" + 1) }', "E0301", 1, 23),
    ("5.2.1", "", "probe begin { println(10L) }", "E0104", 1, 23),
    ("5.2.2", "", "probe begin { println(18446744073709551616) }", "E0104", 1, 23),
    ("5.6.6", "", 'probe begin { x = "a"; println("a" =~ x) }', "E0105", 1, 39),
    ("5.6.11", "", 'probe begin { @cast(1, "file")->f_pos = 1 }', "E0216", 1, 15),
    ("5.6.13", "", "global a probe begin { a[1] = 1; println([1, 2] in a) }", "E0205", 1, 52),
    ("5.7", "", "probe begin { println($1) }", "E0106", 1, 23),
    ("5.8.6", "", "%( 1 == 1 %? **ERROR** %) probe begin { println(1) }", "E0109", 1, 14),
    ("5.8.6", "", '%( arch ~ "x86" %? 1 %) probe begin { println(1) }', "E0112", 1, 9),
    ("5.9.1", "", "probe begin { println(@nothing) }", "E0129", 1, 23),
    ("5.9.1", "", "@define add(a,b) %( @a %) probe begin { println(@add(1)) }", "E0126", 1, 49),
    ("6.1", "", "probe begin { break }", "E0252", 1, 15),
    ("6.2", "", "probe begin { try { println(1) } }", "E0105", 1, 34),
    ("6.3", "", "probe begin { delete nothing }", "E0202", 1, 22),
    ("6.6", "", "global a probe begin { foreach (k+ in a-) println(k) a[1] = 1 }", "E0146", 1, 40),
    ("6.6", "", "global a probe begin { a[1] = 1; foreach (k in a) a[k + 1] = 1 }", "E0260", 1, 51),
    ("6.10", "", "probe begin { return 1 }", "E0148", 1, 15),
    ("7.2", "", 'global a probe begin { a[1] = 1; a[2] = "two" println(a[1]) }', "E0301", 1, 41),
    ("8.1", "", "probe begin { x <<< 1; println(@count(x)) }", "E0203", 1, 15),
    ("8.4", "", "global x probe begin { x <<< 1; y = @hist_log(x) }", "E0151", 1, 37),
    ("9.2", "", 'probe begin { printf("%d\\n", "text") }', "E0301", 1, 30),
    ("9.2", "", 'probe begin { f = "%d"; printf(f, 1) }', "E0105", 1, 32),
    ("9.3", "", 'probe begin { printd("/", 1) }', "E0105", 1, 28),
    ("9.3", "", 'probe begin { d = "/"; printd(d, 1, 2) }', "E0105", 1, 31),
]


# Section, a point of a family that does not exist yet: it parses, and is said not to be here.
NOT_YET = [
    ("4.5.8", "process(1).insn.block"),
    ("stapprobes", "input.char"),
]


@pytest.mark.parametrize(("section", "point"), NOT_YET)
def test_a_family_that_is_not_here_is_named(section: str, point: str) -> None:
    result = run(f"probe {point.replace('?', '')} {{ println(1) }}", LIBRARY)
    error = result.diagnostics.errors[0]
    assert error.code == "E0230", section
    words = [word.partition("(")[0] for word in point.split(".")]
    family = f"process.{words[1]}" if words[0] == "process" else words[0]
    assert error.notes == [f"SystemTap's {family} probes are not in this version of stapy"]


@pytest.mark.parametrize(("section", "options", "text", "code", "line", "column"), REFUSED)
def test_refused(section: str, options: str, text: str, code: str, line: int, column: int) -> None:
    result = run(text, LIBRARY, guru="-g" in options)
    assert result.program is None, section
    first = result.diagnostics.errors[0]
    _, found_line, found_column = result.diagnostics.sources.position(first.span)
    assert (first.code, found_line, found_column) == (code, line, column)


def test_every_case_is_listed_and_every_listed_file_is_there() -> None:
    named = set(re.findall(r"`([\w./]+\.(?:stp|py))`", (CASES / "README.md").read_text()))
    for name in named:
        assert (CASES / name).exists() or (ROOT / name).exists(), name
    assert {path.name for path in CASES.glob("*.stp")} <= named


def test_every_case_says_which_section_it_is_about() -> None:
    for path in CASES.glob("*.stp"):
        first = path.read_text().splitlines()[0]
        pattern = r"s(\d+)(?:_(\d+))?(?:_(\d+))?_|(stap|stapprobes|subtle)_"
        section = re.match(pattern, path.name)
        assert section is not None, path.name
        number = ".".join(part for part in section.groups()[:3] if part) or section[4]
        assert number.lower() in first.lower(), path.name
