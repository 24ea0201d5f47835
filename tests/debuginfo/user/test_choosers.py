"""What an IFUNC may choose, by its code: in all shapes that compilers give it."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo.dwarf.read import frames
from stapy.debuginfo.dwarf.read.frames import unwound
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.user.choosers import choices
from stapy.debuginfo.user.programs import Programs
from tests.debuginfo.user.sources import built, compiled, run

_HEAD = """
typedef int function(int);
static int one(int n) { return n + 1; }
static int two(int n) { return n + 2; }
static int three(int n) { return n + 3; }
extern int level;
int level = 1;
extern function *pointer;
function *pointer = one;
static int table[4];
__attribute__((noinline)) function *given(void) { return level > 7 ? two : pointer; }
"""
_TAIL = """
int chosen(int n) __attribute__((ifunc("choose")));
int main(int argc, char **argv) { return chosen(argc) + three(argc); }
"""
_ONLY = "static function *choose(void) { return one; }"
_TWO = "static function *choose(void) { return level > 3 ? one : two; }"
_BRANCHES = """static function *choose(void) {
    if (level & 0x48) return level & 2 ? one : three;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) return two;
    return one;
}"""
_LOOP = """static function *choose(void) {
    function *found = one;
    for (int n = 0; n < level; n++) if (table[n & 3] == n) found = two;
    return found;
}"""
_MEMORY = "static function *choose(void) { return level ? one : pointer; }"
_CALL = "static function *choose(void) { return level ? one : given(); }"
_SUM = "static function *choose(void) { return (function *)((char *)one + level); }"
_HIDDEN = """static function *choose(void) {
    function *found = one;
    __asm__("lock cmpxchg %1, level(%%rip)" : "+a"(found) : "r"(level));
    return found;
}"""
_DATA = "static function *choose(void) { return level ? one : (function *)table; }"


def _chosen(path: Path, folder: Path) -> set[int]:
    programs = Programs(Cache(folder / "cache"), lambda text: pytest.fail(text))
    file = programs.open(str(path))
    table = programs.functions(file)
    (chooser,) = table.named("chosen")
    assert chooser.is_indirect
    found = choices(file, table, chooser)
    assert all(file.code_offset(row.address) == row.offset for row in found)
    return {row.address for row in found}


def _addresses(path: Path, names: str) -> set[int]:
    rows = [line.split() for line in run("nm", str(path)).splitlines()]
    found = {row[2]: int(row[0], 16) for row in rows if len(row) == 3}
    return {found[name] for name in names.split()}


@pytest.mark.parametrize("style", ["-pie -fPIE -O2", "-no-pie -fno-pie -O2", "-static -O1"])
@pytest.mark.parametrize(
    ("code", "names"),
    [
        (_ONLY, "one"),
        (_TWO, "one two"),
        (_BRANCHES, "one two three"),
        (_LOOP, "one two"),
        (_MEMORY, ""),
        (_CALL, ""),
        (_SUM, ""),
        (_HIDDEN, ""),
        (_DATA, ""),
    ],
)
def test_all_that_may_be_chosen_or_nothing(
    code: str, names: str, style: str, tmp_path: Path
) -> None:
    path = compiled(tmp_path, _HEAD + code + _TAIL, *style.split())
    assert _chosen(path, tmp_path) == _addresses(path, names)


def test_names_are_not_needed(tmp_path: Path) -> None:
    """A stripped library says by its descriptions of frames what begins a function."""
    words = ("-shared", "-fPIC", "-O2")
    path = compiled(tmp_path, _HEAD + _BRANCHES + _TAIL, *words)
    expected = _addresses(path, "one two three")
    stripped = tmp_path / "stripped.so"
    shutil.copy(path, stripped)
    run("strip", str(stripped))
    assert _chosen(stripped, tmp_path) == expected
    run("objcopy", "--remove-section=.eh_frame", str(stripped))
    assert _chosen(stripped, tmp_path) == set()


def test_descriptions_of_frames_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = compiled(tmp_path, _HEAD + _TWO + _TAIL, "-shared", "-fPIC", "-O2")
    run("strip", str(path))
    read = []
    monkeypatch.setattr(frames, "unwound", lambda elf: read.append(elf) or unwound(elf))
    programs = Programs(Cache(tmp_path / "cache"), lambda text: pytest.fail(text))
    file = programs.open(str(path))
    table = programs.functions(file)
    for _ in range(3):
        assert len(choices(file, table, table.named("chosen")[0])) == 2
    assert len(read) == 1


@pytest.mark.parametrize(("field", "value"), [(8, 0x802), (24, 1 << 62)])
def test_without_readable_descriptions_of_frames(field: int, value: int, tmp_path: Path) -> None:
    """Of an unknown compression, or outside of the file."""
    path = compiled(tmp_path, _HEAD + _TWO + _TAIL, "-shared", "-fPIC", "-O2")
    run("strip", str(path))
    data = bytearray(path.read_bytes())
    names = [section.name for section in ElfFile(bytes(data), "stripped").sections]
    row = struct.unpack_from("<Q", data, 40)[0] + 64 * names.index(".eh_frame")
    struct.pack_into("<Q", data, row + field, value)
    path.write_bytes(data)
    assert _chosen(path, tmp_path) == set()


# Code behind "lea one(%rip), %rax", which changes rax or not, in ways that compilers do not use.
_WAYS = [
    ("lea two(%rip), %r8; xchg %rax, %r8", ""),  # 49 90
    ("nop; pause", "one"),
    ("{vex} blsr %rcx, %rax", ""),
    ("{vex} shlx %rcx, %rdx, %rax", ""),
    ("{vex} vmovmskps %xmm1, %eax", ""),
    ("lea (%rax), %r9; mov %rax, %r9; vmovq %xmm1, %r9; mov %r9, %rax", ""),
    ("pcmpestri $0, %xmm1, %xmm2", ""),
    ("mov %rax, %rcx; loop 1f; 1: mov %rcx, %rax", ""),
    ("rdsspq %rax", ""),
    ("endbr64; nopw (%rax)", "one"),
    ("mov %cl, %ah", ""),
    ("mov $1, %ah", ""),
    ("add %cl, %ah", ""),
    ("incb %ah", ""),
    ("shlb $1, %ah", ""),
    ("notb %ah", ""),
    ("xchg %bh, %ah", ""),
    ("setz %ah", ""),
    ("xadd %cl, %ah", ""),
    ("mov %cl, %spl; mov %cl, %r12b", "one"),
    ("cmp %cl, %ah; test %ah, %ah; cmpb $1, %ah", "one"),
    ("add %esi, %edi", "one"),
]


@pytest.mark.parametrize(("code", "names"), _WAYS)
def test_instructions_that_change_registers(code: str, names: str, tmp_path: Path) -> None:
    lines = [".text"]
    for name, body in (("one", "ret"), ("two", "nop; ret")):
        lines += [f".type {name}, @function", f"{name}: {body}", f".size {name}, .-{name}"]
    lines += [".globl chosen", ".type chosen, @gnu_indirect_function"]
    lines += [f"chosen: lea one(%rip), %rax; {code}; ret", ".size chosen, .-chosen"]
    lines += ['.section .note.GNU-stack,"",@progbits', ""]
    (tmp_path / "code.s").write_text("\n".join(lines))
    path = built(tmp_path / "code", str(tmp_path / "code.s"), "-shared", "-nostdlib")
    assert _chosen(path, tmp_path) == _addresses(path, names)


def test_the_c_library(tmp_path: Path) -> None:
    """Its clocks come from the vdso, which is not in the file; the rest is known by code alone."""
    library = Path("/usr/lib/x86_64-linux-gnu/libc.so.6")
    if not library.exists():
        pytest.skip("needs a C library for x86-64")
    programs = Programs(Cache(tmp_path / "cache"), lambda text: pytest.fail(text))
    file = programs.open(str(library))
    table = programs.functions(file)

    def count(name: str) -> int:
        return len(choices(file, table, table.named(name)[0]))

    counts = [count(name) for name in ("strlen", "memcpy", "memset", "strchr", "wcslen")]
    assert all(2 <= number <= 40 for number in counts), counts
    assert count("time") == count("gettimeofday") == 0
