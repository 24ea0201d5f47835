"""Where the variables of an alias are computed, and where they must not be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.ir.dump import dump_program
from tests.elaborate.support import run

LIBRARY = {
    "library.stp": """
function pid:long() %{ /* pure */ /* stable */ %}
function now:long() %{ /* pure */ /* clock */ %}
function text:string(at:long) %{ /* pure */ %}
function quoted:string(at:long) { try { return text(at) } catch { return sprintf("%x", at) } }
function poke(at:long) %{ /* impure */ %}
global seen, most = 5
function short:long(at:long) { return at + most }
function last:long() { return seen }
probe lib.read = kernel.function("vfs_read") {
	name = "read"
	at = $count
	what = text(at)
	argstr = sprintf("%s, %d", what, at)
	safe = quoted(at)
	when = now()
	before = last()
	cut = short(at) + most
	pos = $file->f_pos
	lost = seen
}
probe lib.begin = begin { x = 1 } , { x = 2; printf("%d", x) }
"""
}
TAPSETS = Path(__file__).parents[2] / "tapsets"


def body(script: str, **options: object) -> list[str]:
    """List the lines of the only handler as ``-p2`` shows them with ``-v``."""
    result = run(script, LIBRARY, **options)
    assert result.program is not None, result.shown()
    text = dump_program(result.program, True)
    return [line.strip() for line in text.split("# body\n")[-1].splitlines()]


def probe(text: str, **options: object) -> list[str]:
    return body(f"global n probe lib.read {{ {text} }} probe end {{ print(n) }}", **options)


def order(lines: list[str], *starts: str) -> None:
    """Check that the first lines that begin so come in this order."""
    found = [next(at for at, line in enumerate(lines) if line.startswith(s)) for s in starts]
    assert found == sorted(found), lines


def dump(text: str, **options: object) -> str:
    result = run(f"global n {text}", LIBRARY, **options)
    assert result.program is not None, result.shown()
    return dump_program(result.program, True)


def lines_of(text: str, **options: object) -> list[str]:
    return [line.strip() for line in dump(f"probe lib.read {{ {text} }}", **options).splitlines()]


FILTER = "if (pid() == 1) next; "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Behind the script's test, in their own order.
        (FILTER + "print(argstr)", ["if (pid()", "at =", "what =", "argstr =", "print"]),
        (FILTER + "print(pos)", ["if (pid()", "pos ="]),
        (FILTER + "print(safe)", ["if (pid()", "at =", "safe ="]),
        (FILTER + "print(cut)", ["if (pid()", "at =", "cut ="]),
        # Into the branch that needs it.
        ("if (pid() > 5) { print(argstr) }", ["if (pid()", "at =", "argstr =", "print"]),
        # A test that counts what it turns away is a test all the same.
        ("if (pid() == 1) { n++; next } print(argstr)", ["if (pid()", "at =", "argstr ="]),
        # Past the script's own variables.
        ("mine = pid() + 1; if (mine == 1) next; print(argstr)", ["mine =", "if (mine", "at ="]),
        # Two branches, or what comes after, need it: once, before them.
        ("if (pid()) print(argstr) else println(argstr)", ["argstr =", "if (pid()"]),
        ("if (pid()) print(argstr); print(argstr)", ["argstr =", "if (pid()"]),
        # The test itself does.
        ('if (argstr == "") next; print(pid())', ["argstr =", "if (argstr"]),
        # An effect comes after the error that a value may be.
        ("n++; print(argstr)", ["argstr =", "n++"]),
        ('printf("hit"); if (pid()) print(argstr)', ["argstr =", "printf", "if (pid()"]),
        ("poke(1); print(argstr)", ["argstr =", "poke(1)"]),
        ("if (pid()) poke(1); print(argstr)", ["argstr =", "if (pid()"]),
        ("if (n++) next; print(argstr)", ["argstr =", "if (n++"]),
        # Never into a loop, nor where an error would be caught.
        ("for (i = 0; i < pid(); i++) print(argstr)", ["argstr =", "for ("]),
        ("try { print(argstr) } catch { n++ }", ["argstr =", "try"]),
        # What goes on by itself is read where it stands: clocks, globals, functions that read one.
        (FILTER + "print(when)", ["when =", "if (pid()"]),
        (FILTER + "print(before); seen = 5", ["before =", "if (pid()"]),
        (FILTER + "print(cut); most = 2", ["cut =", "if (pid()"]),
        (FILTER + "print(cut); n <<< most++", ["cut =", "if (pid()"]),
        # A variable that is set on the way.
        ("at = 7; if (pid()) next; print(argstr)", ["argstr =", "at = 7", "if (pid()"]),
        ("if (pid()) { what = \"\" } print(argstr . what)", ["argstr =", "if (pid()"]),
    ],
)  # fmt: skip
def test_a_variable_is_computed_where_it_is_needed(text: str, expected: list[str]) -> None:
    order(lines_of(text), *expected)


@pytest.mark.parametrize("options", [{"compatible": "4.3"}, {"unoptimized": True}])
def test_all_is_computed_first_as_systemtap_does(options: dict[str, object]) -> None:
    order(lines_of(FILTER + "print(argstr)", **options), "at =", "argstr =", "if (pid()")


def test_what_the_script_itself_sets_stays() -> None:
    order(lines_of("mine = $count; " + FILTER + "print(mine)"), "mine =", "if (pid()")


def test_a_literal_is_what_it_is_wherever_it_is_read() -> None:
    lines = lines_of('if (name == "write") next; n[name] = 1')
    assert not any(line.startswith("name =") for line in lines)
    assert 'n["read"] = 1' in lines


@pytest.mark.parametrize("text", ['name = "x"; print(name)', 'name .= "x"; print(name)'])
def test_a_variable_that_changes_is_no_literal(text: str) -> None:
    assert 'name = "read"' in lines_of(text)


def test_what_is_set_after_the_script_is_not_known_before_it() -> None:
    text = dump("probe lib.begin { print(x) } probe end { print(n++) }")
    assert "x = 1" in text and "x = 2" in text and "print" in text


# Words of C for what goes on by itself while a handler runs.
_GOES_ON = re.compile(r"\b(?:\w*_clock\w*|stapy_real_ns|ktime_\w+|jiffies|stapy_cycles|[us]time)\b")
_FUNCTION = re.compile(r"^function (\w+)[^\n]*\n%\{(.*?)\n%\}", re.M | re.S)


def test_the_library_marks_its_clocks() -> None:
    missing = []
    clocks = 0
    for path in sorted(TAPSETS.rglob("*.stp")):
        for name, code in _FUNCTION.findall(path.read_text()):
            if "/* stable */" in code or "/* pure */" not in code or not _GOES_ON.search(code):
                continue
            clocks += 1
            if "/* clock */" not in code:
                missing.append(f"{path.name}: {name}")
    assert clocks > 15
    assert not missing
