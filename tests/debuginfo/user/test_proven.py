"""Where instructions begin, proven for all that debug information tells of at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo.user import boundaries, x86
from stapy.debuginfo.user.programs import Programs
from tests.debuginfo.user.sources import PROGRAM, compiled, run

_LINE = re.compile(r"^ +([0-9a-f]+):\t", re.M)
_INLINED = r"""
volatile int sink;
static inline __attribute__((always_inline)) void inside(int n) { sink = n; sink = n + 1; }
int outer(int n) { sink = 7; sink = 9; inside(n); sink = 3; return n; }
int main(int argc, char **argv) { inside(argc); return outer(argc); }
"""
_REFUSED = r"""
int stop(void) { __asm__ volatile("hlt"); return 1; }
int go(int n) { return n + 1; }
int main(int argc, char **argv) { return argc > 9 ? stop() : go(argc); }
"""


@pytest.mark.parametrize("options", [("-O2", "-g"), ("-O0", "-g", "-fcf-protection")])
def test_what_is_proven_is_what_a_disassembler_begins_with(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    programs = Programs(Cache(tmp_path / "cache"), pytest.fail)
    path = compiled(tmp_path, PROGRAM, *options)
    file = programs.open(str(path))
    table = programs.functions(file)
    begins = {int(row, 16) for row in _LINE.findall(run("objdump", "-d", "-w", str(path)))}
    rows = [row for name in ("main", "work", "helper", "maybe") for row in table.named(name)]
    spans = [range(row.address, row.address + row.size) for row in rows]
    asked = [address for span in spans for address in span]
    assert len(rows) == 4
    assert boundaries.proven(file, table, asked) == sorted(begins.intersection(asked))


def test_a_library_is_decoded_like_its_places_alone(tmp_path: Path) -> None:
    """Over each byte of some hundred functions, whatever instructions they have."""
    programs = Programs(Cache(tmp_path / "cache"), pytest.fail)
    file = programs.open("/usr/lib/x86_64-linux-gnu/libc.so.6")
    table, alone = programs.functions(file), boundaries.Instructions(file)
    asked, wanted = list[int](), list[int]()
    for row in table.matching("str*"):
        for address in range(row.address, row.address + min(row.size, 400)):
            start = table.last_start(address)
            asked.append(address)
            if start is not None and alone.start_of(start, address) == address:
                wanted.append(address)
    assert len(wanted) > 1000
    assert boundaries.proven(file, table, asked) == sorted(set(wanted))


def test_a_name_within_a_function_does_not_begin_it_anew(tmp_path: Path) -> None:
    """As hand-written code has them: the answers are those of each place alone."""
    text = r"""asm(".text\n.globl f, g\n.type f, @function\n.type g, @function\n"
    "f: mov %rdi, %rax\ng: nop\n.size g, 1\n"
    ".rept 400\nadd $0x12345678, %rax\n.endr\nret\n.size f, .-f\n");"""
    path = compiled(tmp_path, text + "int main(void) { return 0; }")
    programs = Programs(Cache(tmp_path / "cache"), pytest.fail)
    file = programs.open(str(path))
    table = programs.functions(file)
    ((f,), (g,)) = table.named("f"), table.named("g")
    asked = range(f.address, f.address + f.size)
    wanted = [f.address, g.address, *range(g.address + 1, f.address + f.size, 6)]
    steps = list[int]()
    run = boundaries.end_of_run

    def counted(code: bytes, at: int, end: int) -> int:
        steps.append(end - at)
        return run(code, at, end)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boundaries, "end_of_run", counted)
        assert boundaries.proven(file, table, asked) == wanted
    assert max(steps) <= 2 * x86.LONGEST


def test_a_patched_file_is_looked_at_again(tmp_path: Path) -> None:
    """Its build-id stays what it was, and what was kept of it would be wrong."""
    path = compiled(tmp_path, _INLINED, "-O2", "-g", "-Wl,--build-id=sha1")
    cache = Cache(tmp_path / "cache")
    first = Programs(cache, pytest.fail)
    file = first.open(str(path))
    dwarf = first.dwarf(file)
    assert dwarf is not None
    (outer,) = first.functions(file).named("outer")
    begin, _ = first.proven(file, dwarf)
    inside = [one for one in begin if outer.address < one < outer.address + outer.size]
    assert inside
    data = bytearray(path.read_bytes())
    at = file.code_offset(outer.address)
    assert at is not None
    data[at] = 0x06  # no instruction of 64 bits
    path.unlink()
    path.write_bytes(data)
    second = Programs(cache, pytest.fail)
    file = second.open(str(path))
    dwarf = second.dwarf(file)
    assert dwarf is not None
    again, _ = second.proven(file, dwarf)
    assert not again.intersection(inside)
    assert outer.address in again  # the beginning of a function is taken for what it is


def test_what_the_kernel_refuses_is_not_sound(tmp_path: Path) -> None:
    path = compiled(tmp_path, _REFUSED, "-O2", "-g", "-fno-inline", "-fcf-protection=none")
    programs = Programs(Cache(tmp_path / "cache"), pytest.fail)
    file = programs.open(str(path))
    dwarf, table = programs.dwarf(file), programs.functions(file)
    assert dwarf is not None
    ((stop,), (go,)) = table.named("stop"), table.named("go")
    assert x86.why_not(file, stop.address)[0]
    begin, sound = programs.proven(file, dwarf)
    assert {stop.address, go.address} <= begin
    assert sound & {stop.address, go.address} == {go.address}


def test_what_was_kept_and_damaged_is_made_anew(tmp_path: Path) -> None:
    path = compiled(tmp_path, _REFUSED, "-O2", "-g")
    cache = Cache(tmp_path / "cache")
    programs = Programs(cache, pytest.fail)
    file = programs.open(str(path))
    dwarf = programs.dwarf(file)
    assert dwarf is not None
    programs.functions(file)
    before = set((tmp_path / "cache").rglob("*"))
    found = programs.proven(file, dwarf)
    assert all(found)
    (made,) = [row for row in {*(tmp_path / "cache").rglob("*")} - before if _is_ours(row)]
    made.write_bytes(made.read_bytes()[:40])
    assert programs.proven(file, dwarf) == found


def _is_ours(path: Path) -> bool:
    return path.is_file() and b"sound" in path.read_bytes()
