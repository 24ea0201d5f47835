"""Points of programs that debug information places: what they mean, how they are printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.debuginfo.user.sources import compiled
from tests.elaborate.support import Result, run
from tests.probes.test_begin_end import rows
from tests.vm.test_user_code import LINES, PROGRAM

pytestmark = pytest.mark.slow
STYLES = {"optimised": ["-O2"], "fixed": ["-O2", "-no-pie"], "plain": ["-O0"]}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("optimised"), PROGRAM, "-g", "-O2")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("plain"), PROGRAM, "-g", "-O0")


def probe(path: Path, tail: str, body: str = "println(1)") -> Result:
    return run(f'probe process("{path}").{tail} {{ {body} }}')


def told(result: Result) -> str:
    """Return all that is said about a mistake."""
    (item,) = result.diagnostics.items
    return "\n".join([item.message, *item.notes, item.hint])


def points(path: Path, tail: str) -> list[str]:
    """List what follows the program in each point, with its line instead of its file."""
    result = probe(path, tail)
    assert result.program is not None, result.shown()
    head, file = f'process("{path}").', f"@{path}.c"
    texts = [point for row in result.program.probes for point in row.points]
    assert all(text.startswith(head) for text in texts)
    return sorted(text[len(head) :].replace(file, "") for text in texts)


def line(text: str) -> int:
    return next(at for at, row in enumerate(PROGRAM.splitlines(), 1) if row.startswith(text))


def test_files_and_lines(path: Path, plain: Path) -> None:
    walk, total = line("static __attribute__((noipa)) int walk"), LINES["SUM"]
    for program in (path, plain):
        assert points(program, 'function("walk@program.c")') == [f'function("walk:{walk}")']
        assert points(program, f'function("*@program.c:{total}")') == [f'function("walk:{walk}")']
        assert points(program, f'function("walk@{program}.c").call') == [
            f'function("walk:{walk}").call'
        ]
        assert points(program, f'statement("walk@program.c:{total}")') == [
            f'statement("walk:{total}")'
        ]
        assert points(program, f'statement("w*@program.c+{total - walk}")') == [
            f'statement("walk:{total}")'
        ]
        found = points(program, f'statement("walk@program.c:{total - 2}-{total + 2}")')
        assert f'statement("walk:{total}")' in found
        assert len(found) > 2
        assert set(found) < set(points(program, 'statement("walk@program.c:*")'))
        assert points(program, f'statement("walk@program.c:{walk + 3}").nearest')
    everything = points(path, 'function("*")')
    assert f'function("walk:{walk}")' in everything
    assert 'function("_start")' in everything  # tables of symbols have the rest


def test_functions_are_also_where_they_are_inlined(path: Path) -> None:
    shown = f'function("twice:{line("static inline")}")'
    assert points(path, 'function("twice")') == [shown]
    assert points(path, 'function("twice").inline') == [f"{shown}.inline"]
    result = probe(path, 'function("twice").call')
    assert "every function that matches 'twice' is inlined" in told(result)


def test_labels_and_callees(path: Path) -> None:
    walk, leaf = (
        line("static __attribute__((noipa)) int walk"),
        line("__attribute__((noipa)) int l"),
    )
    middle, label = line("__attribute__((noipa)) int middle"), line("found:")
    for pattern in ("found", "f*"):
        assert points(path, f'function("walk").label("{pattern}")') == [
            f'function("walk:{label}").label("found")'
        ]
    assert points(path, 'function("middle").callee("leaf").return') == [
        f'function("middle:{middle}").callee("leaf:{leaf}").return'
    ]
    assert f'function("middle:{middle}").callee("leaf:{leaf}")' in points(
        path, 'function("main").callees(2)'
    )
    assert any(
        f'callee("walk:{walk}")' in text for text in points(path, 'function("main").callees')
    )


def test_calls_are_told_by_the_frames_around_them(path: Path) -> None:
    """One frame for a callee; two for a callee of a callee: how far each is, and how it is left."""
    text = f'probe process("{path}").function("main").callees(2) {{ println(1) }}'
    found = {
        row["point"].partition("callee(")[2][1:5]: row["callers"] for row in rows(text, "uprobe")
    }
    assert found["midd"][:5] == [1, 0, 8, 0, -8]
    leaf = found["leaf"]
    assert leaf[:5] == [2, 0, 8, 0, -8]
    assert leaf[5] in (1, 2)
    assert leaf[7] == 0  # by the stack pointer
    assert leaf[8] >= 16
    assert leaf[10] == -8


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        ('function("wakl@program.c")', "did you mean 'walk'?"),
        ('function("walk@progam.c")', "program.c'?"),
        ('function("walk").label("fond")', "did you mean 'found'?"),
        ('function("main").callee("midle")', "did you mean 'middle'?"),
        ('statement("walk@program.c:3")', "or add .nearest"),
        ('function("walk@/other/program.c")', "no source file matches '/other/program.c'"),
    ],
)
def test_what_is_not_there_gets_the_nearest_name(path: Path, tail: str, words: str) -> None:
    result = probe(path, tail)
    assert result.program is None
    assert words in told(result)


NAMES = r"""
static __attribute__((noipa)) int inner(int n) { return n + 1; }
__attribute__((noipa)) int real(int n) { return inner(n) * 2; }
int other_name(int n) __attribute__((alias("real")));
int main(int argc, char **argv)
{
	int sum = inner(argc);
	sum += other_name(sum);
	return sum;
}
"""


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("named"), NAMES, "-g", "-O0")


@pytest.mark.parametrize(
    ("tail", "words", "others"),
    [
        ('function("*@program.c").exported', "is exported to other files", "inlined"),
        ('statement("*@program.c:2700")', "try line ':9' or ':10', or add .nearest", "':2'"),
        ('statement("*@program.c:2700").nearest', "try line ':9' or ':10'", "add .nearest"),
        ('function("main").callees', "calls down with -O1 and more", "inlined"),
        ('statement("other_name@program.c:*")', "did you mean 'real'?", "inner"),
        ('functon("main")', "did you mean 'function'?", "not in this version"),
    ],
)
def test_mistakes_lead_to_what_is_there(named: Path, tail: str, words: str, others: str) -> None:
    shown = told(probe(named, tail))
    assert words in shown
    assert others not in shown


def test_without_debug_information_it_is_said(tmp_path: Path) -> None:
    path = compiled(tmp_path, PROGRAM, "-O2")
    for tail, what in (
        ('statement("walk@program.c:3")', "a statement probe"),
        ('function("walk").inline', ".inline"),
        ('function("walk").label("x")', ".label"),
        ('function("walk@program.c")', "a pattern with '@file'"),
    ):
        result = probe(path, tail)
        assert f"{what} needs debug information of '{path}'" in told(result)


def test_statements_by_address(path: Path) -> None:
    text = f'probe process("{path}").statement("walk@program.c:{LINES["SUM"]}") {{ println(1) }}'
    (row,) = rows(text, "uprobe")
    result = probe(path, f"statement({row['offset'] + 1:#x}).nearest")
    assert result.program is not None, result.shown()
    result = probe(path, f"statement({row['offset'] + 1})")
    assert "not the beginning of an instruction" in told(result)


def test_calls_of_other_files(tmp_path: Path) -> None:
    text = '#include <stdio.h>\nint main(int n, char **w) { puts(w[0]); return printf("%d", n); }'
    path = compiled(tmp_path, text, "-O1", "-fno-builtin")
    assert points(path, 'plt("p*")') == ['plt("printf")', 'plt("puts")']
    assert points(path, 'plt("puts").return') == ['plt("puts").return']
    assert {'plt("printf")', 'plt("puts")'} <= set(points(path, "plt"))
    assert "'puts'" in told(probe(path, 'plt("put")'))
    assert '.plt("puts") probes those calls' in told(probe(path, 'function("puts")'))
    result = probe(path, 'plt("puts")', "println($$name, $x)")
    assert "a stub has no variables" in told(result)
    static = compiled(tmp_path, text, "-static", name="static")
    assert "calls no function of another file" in told(probe(static, 'plt("puts")')) or (
        "has no table of calls" in told(probe(static, 'plt("puts")'))
    )


def test_variables_of_threads_that_the_file_does_not_tell_of(tmp_path: Path) -> None:
    """Nothing of the library itself uses the variable, so nothing in it leads there."""
    text = "__thread int own; static __thread int used;"
    text += " int get(int n) { return n; } int count(void) { return used++; }"
    words = ("-g", "-O1", "-shared", "-fPIC")
    path = compiled(tmp_path, text, *words, name="both.so")
    result = probe(path, 'function("get")', "println($own, $n)")
    assert result.program is not None, result.shown()
    silent = text.replace("return used++", "return 1")
    path = compiled(tmp_path, silent, *words, name="silent.so")
    result = probe(path, 'function("get")', "println($own, $n)")
    assert "but for thread-local ones: the file does not tell where" in told(result)
