"""Places in the code of user programs: addresses, and what takes no breakpoint or no return."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.debuginfo.user.sources import built, compiled
from tests.debuginfo.user.sources import run as command
from tests.probes.test_begin_end import rows
from tests.probes.uprobe import points, probe, symbol

pytestmark = pytest.mark.slow


def test_statements_by_address(folder: Path) -> None:
    """Where an instruction begins, and nowhere else."""
    path = folder / "program"
    start = symbol(path, "work")
    lines = command("objdump", "-d", "--no-show-raw-insn", str(path)).splitlines()
    at = next(number for number, line in enumerate(lines) if line.endswith("<work>:")) + 1
    begins = [int(line.split(":")[0], 16) for line in lines[at : at + 3]]
    for address in range(start, begins[2] + 1):
        result = probe(f'process("{path}").statement({address})')
        if address in begins:
            assert points(result) == [f'process("{path}").statement({address:#x})']
        else:
            assert result.codes == ["E0231"]
            assert "is not the beginning" in result.diagnostics.items[0].notes[0]


def test_addresses_of_a_process(folder: Path) -> None:
    """They are moved to those of the file; what no file has is refused."""
    pid, maps = os.getpid(), Path("/proc/self/maps").read_text().splitlines()
    # Others may be there, too: files that are read are mapped.
    library = next(line for line in maps if line.endswith("/libc.so.6") and " r-xp " in line)
    loaded = int(library.split("-")[0], 16) - int(library.split()[2], 16)
    path = Path(library.split()[-1])
    (function,) = (
        line.split() for line in command("nm", "-D", str(path)).splitlines() if " getpid@" in line
    )
    address = int(function[0], 16)
    text = f"probe process({pid}).statement({loaded + address}).absolute {{ println(1) }}"
    (row,) = rows(text, "uprobe", guru=True)
    assert (row["file"], row["pid"]) == (str(path), pid)
    assert row["offset"] == address
    assert row["point"] == f"process({pid}).statement({loaded + address:#x}).absolute"
    result = probe(f"process({pid}).statement({loaded + address}).absolute.return", guru=True)
    assert points(result) == [f"process({pid}).statement({loaded + address:#x}).absolute.return"]
    inside = next(  # where an instruction begins, but no function
        at
        for at in range(address + 1, address + 16)
        if probe(f"process({pid}).statement({loaded + at}).absolute", guru=True).program
    )
    result = probe(f"process({pid}).statement({loaded + inside}).absolute.return", guru=True)
    assert "is not where a function begins" in result.diagnostics.items[0].notes[0]
    result = probe(f"process({pid}).statement(4096).absolute", guru=True)
    assert "no code of a file at 0x1000" in result.diagnostics.items[0].notes[0]


NOT_CALLED = r"""
#define F(name) __attribute__((noinline)) int name(int n) { return n + counted++; }
volatile int counted;
F(_setjmp) F(getcontext) F(_dl_runtime_resolve_xsave) F(plain_setjmp) F(dlsym)
__attribute__((noinline)) int work(int n) { return n + counted++; }
int alias_of_setjmp(int n) __attribute__((alias("_setjmp")));
__asm__(".text\n.globl work.cold\n.type work.cold, @function\nwork.cold: ret\n"
	".size work.cold, .-work.cold\n");
F(entered)
int main(int n) { return work(n); }
"""


@pytest.fixture(scope="module")
def uncalled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a program with functions that keep, ask for or have no return address."""
    folder = tmp_path_factory.mktemp("uncalled")
    words = ("-fno-builtin", "-nostdlib", "-static", "-w", "-Wl,-e,entered")
    return compiled(folder, NOT_CALLED, *words)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("_setjmp", "it keeps its return address"),
        ("alias_of_setjmp", "it keeps its return address"),  # by its other name
        ("getcontext", "it keeps its return address"),
        ("dlsym", "who has called it"),
        ("_dl_runtime_resolve_xsave", "it is not called"),
        ("work.cold", "it is not called"),
        ("entered", "it is not called"),  # by the header of the file
    ],
)
def test_returns_of_what_is_not_called(name: str, reason: str, uncalled: Path) -> None:
    """Refused by name and by address, for the kernel would overwrite what is on the stack."""
    for target in (f'function("{name}")', f"function({symbol(uncalled, name)})"):
        result = probe(f'process("{uncalled}").{target}.return')
        assert result.codes == ["E0231"]
        assert reason in result.diagnostics.items[0].notes[0]
    assert points(probe(f'process("{uncalled}").function("{name}")'))


def test_patterns_of_returns_leave_out_what_is_not_called(uncalled: Path) -> None:
    head = f'process("{uncalled}").function'
    found = points(probe(f'process("{uncalled}").function("*").return'))
    assert found == [f'{head}("{name}").return' for name in ("main", "work")]
    assert probe(f'process("{uncalled}").function("*setjmp").return').codes == ["E0231"]
    assert len(points(probe(f'process("{uncalled}").function("*")'))) > 6


INSTRUCTIONS = r"""
	.text
	.macro function name:req, instruction:vararg
	.globl \name
	.type \name, @function
\name:	\instruction
	ret
	.size \name, .-\name
	.endm
	function locked, lock incl (%rdi)
	function tracked, notrack jmp *%rax
	function vector, vpxor %xmm0, %xmm0, %xmm0
	function shuffled, vpshufd $16, %xmm0, %xmm0
	function good, incl (%rdi)
	function main, nop
	.section .note.GNU-stack,"",@progbits
"""


def test_instructions_that_the_kernel_refuses(tmp_path: Path) -> None:
    """Told in the translation: the kernel does so only when a process maps the file."""
    (tmp_path / "code.s").write_text(INSTRUCTIONS)
    path = built(tmp_path / "code", str(tmp_path / "code.s"))
    head = f'process("{path}").function'
    for name in ("locked", "tracked", "vector"):
        for target in (f'function("{name}")', f"statement({symbol(path, name)})"):
            result = probe(f'process("{path}").{target}')
            assert result.codes == ["W0691"]
            assert len(points(result)) == 1
    # What the kernel would do wrongly is never armed.
    for target in ('function("shuffled")', f"statement({symbol(path, 'shuffled')})"):
        result = probe(f'process("{path}").{target}')
        assert result.codes == ["E0231"]
        assert "the kernel takes this vector instruction" in result.diagnostics.items[0].notes[0]
    assert probe(f'process("{path}").function("good")').codes == []
    result = probe(f'process("{path}").function("[gltsv]o*[ed]")')
    assert result.codes == ["W0691"]
    assert points(result) == [f'{head}("good")']
    assert result.diagnostics.items[0].where == "1 left out"
    result = probe(f'process("{path}").function("[glstv]*[edr]")')
    assert points(result) == [f'{head}("good")']
    assert result.diagnostics.items[0].where == "4 left out"
    assert probe(f'process("{path}").function("[ltv]*ed")').codes == ["E0231"]


def test_returns_of_programs_with_exceptions_warn(folder: Path, tmp_path: Path) -> None:
    """An exception ends at a return that is probed; C that is compiled like that has none."""
    table = f".gcc_except_table={folder}/lib.c"
    command("objcopy", "--add-section", table, f"{folder}/program", str(tmp_path / "c"))
    (tmp_path / "comment").write_bytes(b"rustc version 1.63.0\0")
    add = ("--remove-section", ".comment", "--add-section", f".comment={tmp_path}/comment")
    command("objcopy", *add, str(tmp_path / "c"), str(tmp_path / "rust"))
    words = ("-shared", "-fPIC", str(folder / "lib.c"), "-Wl,-soname,libstdc++.so.6")
    built(tmp_path / "libstdc++", *words)
    built(
        tmp_path / "plain",
        str(folder / "program.c"),
        "-Wl,--no-as-needed",
        str(tmp_path / "libstdc++"),
    )
    command("objcopy", "--add-section", table, str(tmp_path / "plain"), str(tmp_path / "cxx"))
    for name, codes in (("c", []), ("plain", []), ("cxx", ["W0692"]), ("rust", ["W0692"])):
        assert probe(f'process("{tmp_path}/{name}").function("work").return').codes == codes
        assert probe(f'process("{tmp_path}/{name}").function("work")').codes == []
    # One of those that a pattern matches and that has no such function is not warned of.
    compiled(tmp_path, "int lonely(void) { return 1; } int main(void) { return lonely(); }")
    assert probe(f'process("{tmp_path}/*").function("lonely").return').codes == []
