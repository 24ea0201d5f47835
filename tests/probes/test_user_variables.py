"""Variables of user programs: in the registers of the hit, in the memory of the process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from stapy.cache import Cache
from stapy.debuginfo import ctypes as c
from stapy.debuginfo.user.programs import Programs
from stapy.ir import program as p
from stapy.ir.dump import expression
from stapy.ir.scope import TargetScope
from stapy.ir.walk import walk
from stapy.probes.families import by_name
from stapy.translate.module import make_source
from tests.debuginfo.dwarf.samples import extracted
from tests.debuginfo.user.sources import built, compiled
from tests.debuginfo.user.sources import run as command
from tests.elaborate.support import FakeDebuginfo, Result, run
from tests.probes.test_begin_end import rows
from tests.vm.test_user_variables import PROGRAM

pytestmark = pytest.mark.slow
STYLES = {"optimised": ["-O2", "-pie", "-fPIE"], "fixed": ["-O2", "-no-pie"], "plain": ["-O0"]}


@pytest.fixture(scope="module", params=STYLES)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(str(request.param))
    return compiled(folder, PROGRAM, "-g", *STYLES[request.param])


def probe(path: Path, tail: str, body: str = "println(1)", **options: Any) -> Result:
    return run(f'probe process("{path}").{tail} {{ {body} }}', **options)


def scope_of(path: Path, tail: str) -> TargetScope:
    result = probe(path, tail)
    assert result.program is not None, result.shown()
    (site,) = result.program.probes[0].sites
    scope = by_name("uprobe").scope(site, result.services)
    assert scope is not None
    return scope


def text(value: p.Expr | None) -> str:
    assert value is not None
    return expression(value)


def test_parameters_are_where_callers_put_them(path: Path) -> None:
    scope = scope_of(path, 'function("walk")')
    found = scope.variables
    assert (scope.module, scope.is_user) == (str(path), True)
    assert text(found["$n"].value) == "@program_register(5):u64"
    assert text(found["$depth"].value) == "@program_register(4):s32"
    assert text(found["$c"].value) == "@program_register(2):s8"
    assert [text(part) for part in found["$both"].parts] == [
        "@program_register(8):u64",
        "@program_register(9):u64",
    ]
    assert text(found["$large"].address) == "(@program_register(7):u64) + 8"
    assert text(found["$seven"].value) == "@user_s64((@program_register(7):u64) + 32)"
    assert text(found["$eight"].value) == "@user_u8((@program_register(7):u64) + 40)"
    assert all(variable.is_user for variable in found.values())
    names = ["$n", "$depth", "$text", "$c", "$both", "$large", "$seven", "$eight"]
    assert scope.groups["$$parms"] == names


def test_nothing_of_the_kernel_is_in_them(path: Path) -> None:
    """Neither its registers nor its memory: every value and everything behind a pointer."""
    body = 'println($n->next->value, $text, $large->c, $counter, $hidden, $n$, @var("root")->value)'
    result = probe(path, 'function("walk")', body)
    assert result.program is not None, result.shown()
    handler = result.program.probes[0].handler
    reads = [node for node in walk(handler.body) if isinstance(node, p.MemoryRead)]
    registers = [node.name for node in walk(handler.body) if isinstance(node, p.ContextValue)]
    assert len(reads) > 4
    assert all(node.is_user for node in reads)
    assert set(registers) == {"program_register", "address"}


def test_globals_are_moved_as_far_as_the_program(path: Path) -> None:
    scope = scope_of(path, 'function("walk")')
    rows = (line.split() for line in command("nm", str(path)).splitlines())
    symbols = {row[2]: int(row[0], 16) for row in rows if len(row) == 3}
    assert scope.outside is not None and scope.everywhere is not None
    for find, name in ((scope.outside, "hidden"), (scope.everywhere, "counter@program.c")):
        found = find(name)
        assert found is not None
        offset = symbols[name.partition("@")[0]] - symbols["walk"]
        assert text(found[1]) == f"(@address(0):u64) + {offset}"
    assert scope.everywhere("nothing") is None


def test_results_and_what_was_passed(path: Path) -> None:
    scope = scope_of(path, 'function("made").return')
    assert [text(part) for part in scope.variables["$return"].parts] == [
        "@program_register(0):u64",
        "@program_register(1):u64",
    ]
    assert scope.entry is not None
    assert text(scope.entry.variables["$n"].value) == "@program_register(5):s64"
    byte = scope_of(path, 'function("byte").return')
    assert text(byte.variables["$return"].value) == "@program_register(0):u8"
    half = scope_of(path, 'function("half").return')
    assert text(half.variables["$return"].value) == "@vector(0):u64"
    assert half.entry is not None
    assert text(half.entry.variables["$d"].value) == "@vector(0):u64"
    assert text(half.entry.variables["$n"].value) == "@program_register(5):s32"


def test_without_debug_information_it_is_said(tmp_path: Path) -> None:
    path = compiled(tmp_path, PROGRAM, "-O2")
    shown = probe(path, 'function("walk")', "println($n)")
    notes = "\n".join(shown.diagnostics.items[0].notes)
    assert "need its debug information" in notes


def test_wrong_names_get_the_nearest(path: Path) -> None:
    result = probe(path, 'function("walk")', "println($deepth)")
    item = result.diagnostics.items[0]
    assert "alternatives: $depth" in item.message
    result = probe(path, 'function("walk")', "println($n->valu)")
    assert "unable to find member 'valu' for struct node" in result.diagnostics.items[0].message


class _Types(FakeDebuginfo):
    """Types of programs."""

    def type(self, name: str, modules: Sequence[str] = ()) -> c.CType | None:
        for path in modules:
            dwarf = self.programs.dwarf_at(path) if path.startswith("/") else None
            if dwarf is not None:
                return dwarf.type(name)
        return None


def test_what_has_ended_has_no_variables(path: Path) -> None:
    """Its memory is given back before that."""
    for event in ("begin", "syscall", "thread.begin"):
        assert probe(path, event, 'println(@var("root")->value)').codes == []
    for event in ("end", "thread.end"):
        result = probe(path, event, 'println(@var("root")->value)')
        assert result.codes == ["E0241"]
        assert "no memory any more" in "".join(result.diagnostics.items[0].notes)


@pytest.mark.parametrize("name", ["./shöp", "shöp", "./link", "{}/../{}/link", "./\\xff"])
def test_paths_are_meant_as_in_the_probe_point(
    name: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative, of a command in $PATH, by a link; strings of scripts are bytes, names are text."""
    (tmp_path / "shöp").write_bytes(path.read_bytes())
    (tmp_path / "shöp").chmod(0o755)
    (tmp_path / "link").symlink_to("shöp")
    (tmp_path / "\udcff").symlink_to("shöp")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    name = name.format(tmp_path, tmp_path.name)
    body = f'println(@cast($n, "struct node", "{name}")->value, '
    body += f'@var("root@program.c", "{name}")->value)'
    result = run(f'probe process("{name}").function("walk") {{ {body} }}', debuginfo=_Types())
    assert result.codes == [], result.shown()
    assert result.program is not None
    (point,) = result.program.probes[0].points
    assert point.startswith(f'process("{tmp_path}/sh\\303\\266p")')
    reads = [
        node
        for node in walk(result.program.probes[0].handler.body)
        if isinstance(node, p.MemoryRead)
    ]
    assert reads
    assert all(node.is_user for node in reads)
    source = make_source(result.program, result.services.options, result.diagnostics, "m")
    assert f'.file = "{tmp_path}/sh\\303\\266p"' in source.text()
    assert list(source.manifest["files"]) == [f"{tmp_path}/shöp"]


NO_CALL = """typedef long T; volatile T sink;
__attribute__((noipa))
T ignoring(T n, T w) { sink = n; sink = 0; asm volatile("" ::: "rdi"); return n * 7; }
int main(void) { return ignoring(sink, 2); }
"""


def test_functions_that_are_called_in_a_way_of_their_own(tmp_path: Path) -> None:
    """DW_CC_nocall: LLVM drops parameters and results, and says so only by that.

    Here the column of the function's name (3) becomes its calling convention, and the places of
    parameters, for those that have just one, an attribute that nobody knows.
    """
    (tmp_path / "program.c").write_text(NO_CALL)
    assembler = tmp_path / "program.s"
    command("gcc", "-O2", "-g", "-S", "-o", str(assembler), str(tmp_path / "program.c"))
    code, mark, abbreviations = assembler.read_text().partition(".Ldebug_abbrev0:")
    entries = abbreviations.split("\t.byte\t0\n\t.byte\t0\n")
    for at, entry in enumerate(entries):
        tag = entry.strip().split("\n")[1:2]
        if tag == ["\t.uleb128 0x2e"]:
            entries[at] = entry.replace("\t.uleb128 0x39\n", "\t.uleb128 0x36\n")
        elif tag == ["\t.uleb128 0x5"]:
            one = "\t.uleb128 0x2\n\t.uleb128 0x18\n"
            entries[at] = entry.replace(one, one.replace("0x2\n", "0x2fff\n"))
    assembler.write_text(code + mark + "\t.byte\t0\n\t.byte\t0\n".join(entries))
    command("gcc", "-o", str(tmp_path / "program"), str(assembler))
    path = tmp_path / "program"
    scope = scope_of(path, 'function("ignoring")')
    assert list(scope.variables) == ["$n"]
    assert list(scope.unavailable) == ["$w"]
    returned = scope_of(path, 'function("ignoring").return')
    assert "$return" not in returned.variables
    assert returned.groups["$$return"] == ["$return"]
    result = probe(path, 'function("ignoring").return', "println($return)")
    assert result.codes == ["E0241"], result.shown()
    (item,) = result.diagnostics.items
    assert "in a way of its own" in item.notes[0]


def test_methods_whose_own_convention_is_not_told(tmp_path: Path) -> None:
    """LLVM writes no DW_CC_nocall of what a type declares: a constant gives it away."""
    extracted("rust-till", tmp_path)
    scope = scope_of(tmp_path / "till", 'function("till::Till::sell")')
    own = {name: text(row.value) for name, row in scope.variables.items()}
    assert own["$rate"] == "7"
    assert "(4)" in own["$price"] and "(5)" in own["$self"]  # %esi, which a rate would be in
    returned = scope_of(tmp_path / "till", 'function("till::Till::sell").return')
    assert "in a way of its own" in returned.unavailable["$return"]()
    usual = scope_of(tmp_path / "till", 'function("till::Till::give").return')
    assert "$return" in usual.variables and usual.entry is not None
    assert "(1)" in text(usual.entry.variables["$last"].value)  # %edx, as everybody has it


@pytest.mark.parametrize("version", ["4", "5"])
def test_split_debug_information_is_told_of(version: str, tmp_path: Path) -> None:
    """Entries in files of their own: nothing is known, and it is said why."""
    (tmp_path / "program.c").write_text(PROGRAM)
    words = ("-g", f"-gdwarf-{version}", "-gsplit-dwarf", "-c", str(tmp_path / "program.c"))
    command("gcc", *words, "-o", str(tmp_path / "program.o"))
    path = built(tmp_path / "program", str(tmp_path / "program.o"))
    told: list[str] = []
    programs = Programs(Cache(tmp_path / "cache"), told.append)
    assert programs.dwarf(programs.open(str(path))) is None
    assert programs.functions(programs.open(str(path))).named("walk")
    assert len(told) == 1
    assert "-gsplit-dwarf" in told[0]


LOCAL = """__attribute__((noipa)) int add(int n) { volatile int sum = n; return sum + 1; }
int main(void) { return add(2) == 0; }
"""


@pytest.mark.parametrize(("name", "kind"), [("n", "parameter"), ("sum", "variable")])
def test_what_is_read_at_the_entry_is_called_what_it_is(
    name: str, kind: str, tmp_path: Path
) -> None:
    found = compiled(tmp_path, LOCAL, "-g", "-O0")
    result = probe(found, 'function("add").return', f"println(${name})")
    assert result.codes == ["W0641"]
    assert f"the value that the {kind} had" in result.diagnostics.items[0].where


def test_prologue_search(tmp_path: Path) -> None:
    """With -P functions are probed where their frames are: the variables are in memory there."""
    found = compiled(tmp_path, LOCAL, "-g", "-O0")
    point = f'probe process("{found}").function("add")'
    (entry,) = rows(f"{point} {{ println($n) }}", "uprobe")
    result = run(f"{point} {{ println($n) }} {point}.return {{ println(1) }}", prologue_search=True)
    assert result.program is not None
    behind, left = [site for one in result.program.probes for site in one.sites]
    assert entry["offset"] < behind.offset <= entry["offset"] + 16
    assert left.offset == entry["offset"]
    scope = by_name("uprobe").scope(behind, result.services)
    assert scope is not None
    assert text(scope.variables["$n"].value or scope.variables["$n"].address).find("(6)") >= 0


CONSTANTS = {
    "one.c": """
        #include <stdio.h>
        enum color { RED, GREEN = 7 };
        int other(int);
        __attribute__((noipa)) int paint(int size)
        {
            enum { INNER = 42 };
            return size + GREEN + INNER;
        }
        int main(int c, char **v) { return printf("%d %d\\n", paint(c), other(c)) < 0; }
    """,
    "two.c": "enum kind { sizes = 3 }; int other(int x) { return x + sizes; }",
}


@pytest.mark.parametrize("point", ['function("paint")', 'function("paint").return'])
def test_constants_are_those_that_the_source_sees(point: str, tmp_path: Path) -> None:
    """Those of another file would make a misspelled variable a number."""
    for name, source in CONSTANTS.items():
        (tmp_path / name).write_text(source)
    path = tmp_path / "program"
    command("gcc", "-g", "-O0", *(str(tmp_path / name) for name in CONSTANTS), "-o", str(path))
    for name, value in {"GREEN": 7, "RED": 0, "INNER": 42}.items():
        result = probe(path, point, f"println(${name})")
        assert result.program is not None, result.shown()
        (printed,) = [one for one in walk(result.program.probes[0].handler.body)
                      if isinstance(one, p.PrintOp)]  # fmt: skip
        assert text(printed) == f'printf("%d\\n", {value})'
    for name in ("sizes", "PIDTYPE_MAX"):  # of the other file, of the kernel
        result = probe(path, point, f"println(${name})")
        assert [item.code for item in result.diagnostics.errors] == ["E0241"], name
    assert "'$size'" in probe(path, point, "println($sizes)").diagnostics.errors[0].hint


class AskedFirst(FakeDebuginfo):
    """Types and enumerators that the first of the units that are asked has."""

    def enumerator(self, name: str, modules: Iterable[str] = ()) -> int | None:
        """Find the number 7 in a program, in the kernel 1."""
        return 7 if [*modules, "kernel"][0].startswith("/") else 1

    def type(self, name: str, modules: Iterable[str] = ()) -> c.CType | None:
        """Find the enumeration of a program, or that of the kernel."""
        own = [*modules, "kernel"][0].startswith("/")
        return c.Enum("state", 4, False, [c.Enumerator("OF_TOOL" if own else "OF_KERNEL", 3)])


@pytest.mark.parametrize(
    ("asked", "printed"),
    [('@enumname(3, "state")', "'OF_TOOL'"), ('@enum("NAME")', "value=7")],
)
def test_enumerators_of_the_program_come_first(asked: str, printed: str, tmp_path: Path) -> None:
    """The kernel has an enum state, too."""
    path = compiled(tmp_path, "int main(int c, char **v) { return c; }", "-g")
    result = probe(path, 'function("main")', f"println({asked})", debuginfo=AskedFirst())
    assert result.program is not None, result.shown()
    assert printed in repr(result.program.probes[0].handler.body)
