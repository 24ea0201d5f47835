"""What pages say of contexts: derived from code, and true by what passes 2 and 3 know."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stapy.cli import parse
from stapy.diagnostics import Diagnostics, SourceMap, Stop
from stapy.elaborate.names.privilege import FREE
from stapy.ir import program as p
from stapy.ir.effects import calls
from stapy.ir.walk import walk
from stapy.kernel import Kernel, find_kernel
from stapy.manual.context import NONE, OTHER, Conduct
from stapy.manual.entries import DocEntry
from stapy.manual.library import Reference, open_reference
from stapy.options import Options
from stapy.parse import nodes as n
from stapy.parse.facts import PreprocessFacts
from stapy.parse.library import Library
from stapy.session.check import Check
from stapy.session.messages import PassMessages
from stapy.translate.tables.failures import Failures
from tests.vm.harness import releases

USER = "Reads memory of the current process."
FAILS = "Can fail with a run-time error."
CURRENT = "Is about the current task; in an interrupt that is the one interrupted."
FREELY = "Also for unprivileged users (--privilege=stapusr)."
NOT = "Not for unprivileged users (--privilege=stapusr)."

HEADER = """\
%{
static long helper(long at) { return 0; }
#define QUIET(how) do { if ((how) == STAPY_LOUD) STAP_ERROR("no"); } while (0)
#define LOUD(at) \\
	do { if (at) STAP_ERROR("no"); } while (0)
static long either(bool user, long at)
{
	return user ? stapy_peek_user(at) : stapy_peek_kernel(at);
}
static long peek(long at)
{
	return below(at);
}
static long below(long at)
{
	return stapy_peek_user(at);
}
%}
function callee(a:long) %{ /* unprivileged */ STAP_ERROR("no"); %}
function callee(a:long, b:long) %{ /* unprivileged */ %}
probe mine.switch = kernel.trace("sched_switch") { }
private function harmful() %{ /* guru */ %}
"""


@pytest.fixture
def context(tmp_path: Path) -> Callable[[str, str], str]:
    def of(declaration: str, name: str) -> str:
        (tmp_path / "mine.stp").write_text(HEADER + declaration + "\n")
        sources = SourceMap()
        facts = PreprocessFacts(kernel_release="6.12.0")
        library = Library([str(tmp_path)], facts, None, sources, Diagnostics(sources))
        found = Reference(library).find(name)
        assert len(found) == 1
        return found[0].context

    return of


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("%{ /* unprivileged */ STAP_RETVALUE = 1; %}", [FREELY]),
        ("%{ /* pure */ %}", [NOT]),
        (
            "%{ /* myproc-unprivileged */ %}",
            ["Also for unprivileged users (--privilege=stapusr), in their processes."],
        ),
        ("%{ /* guru */ %}", ["Only in guru mode (-g).", NOT]),
        ("{ harmful() }", [NOT]),  # a tapset may call what a script may not
        ("%{ /* unprivileged */ LOUD(1); %}", [FAILS, FREELY]),
        ("%{ /* unprivileged */ QUIET(2); %}", [FREELY]),
        ('%{ /* unprivileged */ stapy_copy("STAP_ERROR"); /* current */ %}', [FREELY]),
        ("%{ /* unprivileged */ either(false, 1); %}", [FREELY]),
        ("%{ /* unprivileged */ peek(1); %}", [USER, FREELY]),
        ("%{ /* unprivileged */ STAP_RETVALUE = current->pid; %}", [CURRENT, FREELY]),
        ("%{ /* unprivileged */ task_pt_regs(current); %}", [FREELY]),
        (
            "%{ /* unprivileged */ STAP_RETVALUE = c->user_regs != NULL; %}",
            ["Looks at the registers of the hit, where the probe has them.", FREELY],
        ),
        ("{ callee(1) }", [FAILS, FREELY]),
        ("{ callee(1, 2) }", [FREELY]),
        ("{ try { callee(1) } catch { } }", [FREELY]),
        ("{ try { println(1) } catch { callee(1) } }", [FAILS, FREELY]),
        ("{ f() }", [FREELY]),
        ('{ return @cast(1, "task_struct")->pid }', [FAILS, FREELY]),
        ('{ return &@cast(1, "task_struct")->pid }', [FREELY]),
        ('%( systemtap_privilege == "stapusr" %? { } %: { harmful() } %)', [NOT]),
    ],
)
def test_functions(context: Callable[[str, str], str], code: str, told: list[str]) -> None:
    assert context(f"/** f - it */\nfunction f() {code}", "f") == " ".join(told)


def test_what_the_comment_says_comes_first(context: Callable[[str, str], str]) -> None:
    text = "/**\n * f - it\n * Context: any probe\n */\nfunction f() %{ /* pure */ %}"
    assert context(text, "f") == f"any probe. {NOT}"


@pytest.mark.parametrize(
    ("points", "told"),
    [
        ('kernel.function("vfs_read")', "A kernel function begins."),
        ('module("nfs").function("a").return ?', "A kernel function returns."),
        ('kernel.trace("sched_switch")', "The kernel reaches a tracepoint."),
        (
            'kernel.trace("a") !, kernel.function("b").call, kernel.trace("c")',
            "The kernel reaches a tracepoint, or a kernel function begins.",
        ),
        ("mine.switch", "The kernel reaches a tracepoint."),
        ('process("a").library("b").mark("c")', "A program reaches a mark, in its process."),
        ("timer.s(1)", "A timer runs out."),
        ("never", ""),
        ('begin, kernel.data("x").write', ""),  # one that is not known: nothing is said
        ("a.b", ""),  # stands for itself
    ],
)
def test_aliases(context: Callable[[str, str], str], points: str, told: str) -> None:
    assert context(f"/** a.b - it */\nprobe a.b = {points} {{ }}", "a.b") == told


# --- all of our own functions, as passes 2 and 3 see them ---------------------------


class Elaborated(Check):
    """A check that ends with the program of pass 2."""

    program: p.Program | None = None

    def translate(self, program: p.Program) -> None:  # type: ignore[override]
        """Keep the program."""
        self.program = program


def kernel(release: str) -> Kernel:
    """Find an installed kernel."""
    try:
        return find_kernel(release, PassMessages(Options()).diagnostics)
    except Stop:
        pytest.skip(f"no kernel {release}")


def calls_of_all(rows: list[DocEntry]) -> str:
    """Write a script that calls each function."""
    lines = []
    for at, row in enumerate(rows):
        words = [
            {"string": '""', "long": "0"}.get(one.type, f"a{at}_{number}")
            for number, one in enumerate(row.arguments)
        ]
        lines.append(f"probe begin {{ {row.name}({', '.join(words)}) }}\n")
    return "".join(lines)


def is_free(function: p.Function, seen: set[str]) -> bool:
    """Tell whether unprivileged users may call a function, by its C and that of its callees."""
    if function.c_name in seen:
        return True
    seen.add(function.c_name)
    if function.code is not None:
        return bool(function.markers & FREE)
    assert function.body is not None
    embedded = [x for x in walk(function.body) if isinstance(x, (p.EmbeddedValue, p.EmbeddedC))]
    below = calls(function.body).values()
    return all(one.markers & FREE for one in embedded) and all(is_free(x, seen) for x in below)


@pytest.mark.slow
@pytest.mark.parametrize("release", releases() or ["none"])
def test_ours_are_what_passes_2_and_3_know(release: str) -> None:
    there = kernel(release)
    reference = open_reference(Options(release=there.release))
    told: dict[tuple[str, int], Conduct] = {}
    rows = []
    for path in reference.files():
        if "#" in path:
            continue
        for row in reference.of_file(path):
            if isinstance(row.decl, n.FunctionDecl):
                told[row.name, len(row.arguments)] = reference.conduct(row)
                rows.append(row)
    options = parse(["-u", "-g", "--color=never", "-e", ""])
    check = Elaborated(options, "all.stp", calls_of_all(rows))
    check.translate_for(there)
    assert check.program is not None, [one.text for one in check.messages if one.is_error][:3]
    failures = Failures(check.program, lambda _: False)
    wrong = []
    seen = set()
    for function in check.program.functions:
        key = function.name, len(function.params)
        if key not in told or key in seen:
            continue
        seen.add(key)
        if told[key].level != OTHER and (told[key].level == NONE) == is_free(function, set()):
            wrong.append(f"{key}: who may call it")
        if "fails" in told[key].does and not failures.of(function):
            wrong.append(f"{key}: it cannot fail")
    assert wrong == []
    assert len(seen) > 500, len(seen)
