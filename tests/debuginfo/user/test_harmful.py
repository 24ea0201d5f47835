"""Files that were made to take all memory, or hours: what is looked at of them is bounded."""

from __future__ import annotations

from pathlib import Path
from struct import Struct, pack, pack_into, unpack_from

import pytest

from stapy.cache import Cache
from stapy.debuginfo.elf import ElfFile, Strings
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.user import emulated, golang, reached
from stapy.debuginfo.user.file import PT_DYNAMIC, PT_LOAD, UserFile, UserFileError
from stapy.debuginfo.user.programs import Programs
from tests.debuginfo.elfwriter import ElfWriter
from tests.debuginfo.user.sources import BEHIND_ENDBR64, built

SOURCE = (
    BEHIND_ENDBR64
    + """\
main:	ret
{more}
	.section .note.GNU-stack, "", @progbits
"""
)
SEGMENT = Struct("<IIQQQQQQ")
F = 4  # how far behind its beginning the breakpoint of f lies, in a file that does no harm


def _program(folder: Path, more: str = "") -> Path:
    (folder / "f.s").write_text(SOURCE.format(more=more))
    return built(folder / "f", str(folder / "f.s"), "-pie")


def _distance(folder: Path, path: Path) -> int:
    programs = Programs(Cache(folder / "cache"), lambda text: pytest.fail(text))
    file = programs.open(str(path))
    (function,) = programs.functions(file).named("f")
    return programs.distance(file, function.address)


def _segments(path: Path) -> list[tuple[int, ...]]:
    data = path.read_bytes()
    (table,) = unpack_from("<Q", data, 32)
    (count,) = unpack_from("<H", data, 56)
    return [SEGMENT.unpack_from(data, table + SEGMENT.size * n) for n in range(count)]


def _write(path: Path, rows: list[tuple[int, ...]]) -> None:
    """Give a file other segments, in a table at its end."""
    data = bytearray(path.read_bytes())
    data += bytes(-len(data) % 8)
    pack_into("<Q", data, 32, len(data))
    pack_into("<H", data, 56, len(rows))
    path.write_bytes(bytes(data) + b"".join(SEGMENT.pack(*row) for row in rows))


def _parts(rows: list[tuple[int, ...]], count: int, size: int) -> list[tuple[int, ...]]:
    """List so many parts in memory, far away, of the beginning of the file."""
    return [(PT_LOAD, 5, 0, (n + 1) << 40, 0, size, size, 4096) for n in range(count)]


def test_a_file_without_harm(tmp_path: Path) -> None:
    path = _program(tmp_path)
    _write(path, _segments(path) + _parts([], 4, 100))
    assert _distance(tmp_path, path) == F


@pytest.mark.parametrize("what", ["many", "overlapping", "at the end of memory"])
def test_parts_in_memory(tmp_path: Path, what: str) -> None:
    path = _program(tmp_path)
    rows = _segments(path)
    if what == "many":
        rows += _parts(rows, 1000, 10)
    elif what == "overlapping":
        rows += _parts(rows, 10, path.stat().st_size)
    else:
        rows.append((PT_LOAD, 5, 0, (1 << 64) - 100, 0, 200, 200, 4096))
    _write(path, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reached.Reached, "_made", lambda _: pytest.fail("looked at"))
        assert _distance(tmp_path, path) == 0


def test_more_parts_than_the_kernel_takes(tmp_path: Path) -> None:
    path = _program(tmp_path)
    _write(path, _segments(path) + _parts([], 1200, 10))
    with pytest.raises(UserFileError, match="segments, more than any program"):
        UserFile.open(path)


def test_very_many_beginnings(tmp_path: Path) -> None:
    """What is not looked at to its end is not proven."""
    assert _distance(tmp_path, _program(tmp_path, ".rept 300000\n endbr64\n .endr")) == 0


@pytest.mark.parametrize(
    "more", [".skip 9000, 0xe8", ".data; .rept 9000; .quad f; .endr"], ids=["calls", "relocations"]
)
def test_what_may_lead_somewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    path = _program(tmp_path, more)
    assert _distance(tmp_path / "first", path) == F
    monkeypatch.setattr(reached, "_MOST_ROWS", 9000)
    assert _distance(tmp_path / "second", path) == 0
    assert _distance(tmp_path / "second", path) == 0  # what is kept of it says so, too


def test_functions_that_lie_one_over_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is decoded is bounded by the file, however large they are said to be."""
    names = [f"g{n}" for n in range(300)]
    ends = "".join(f".size {name}, end - {name}\n" for name in names)
    code = "".join(f".type {name}, @function\n{name}: endbr64; push %rbp\n" for name in names)
    path = _program(tmp_path, f"{code} ret\nend:\n{ends}")
    programs = Programs(Cache(tmp_path / "cache"), lambda text: pytest.fail(text))
    file = programs.open(str(path))
    steps = 0

    def step(code: bytes, at: int) -> int:
        nonlocal steps
        steps += 1
        return before(code, at)

    before = emulated.x86.step
    monkeypatch.setattr(emulated.x86, "step", step)
    monkeypatch.setattr(emulated, "_LARGEST", 1 << 12)
    for name in names * 2:
        (function,) = programs.functions(file).named(name)
        programs.distance(file, function.address)
    code_bytes = sum(row.file_size for row in file.executable)
    assert 300 * 2 < steps < (emulated._OFTEN + 2) * code_bytes < 300 * 600 / 2


def test_strings_that_are_part_of_many_names() -> None:
    names = Strings(b"\0" + b"n" * 100_000 + b"\0no end", "f")
    assert names.word(99_999) == b"nn" and names.text(100_002) == "" == names.text(1 << 31)
    with pytest.raises(DebuginfoError, match="f: its names lie one over the other"):
        for offset in range(1, 2000):
            names.word(offset)


def test_symbols_of_one_long_name() -> None:
    writer = ElfWriter()
    writer.section(".text", b"\x90" * 16, flags=4)
    for _ in range(2000):
        writer.symbol("n" * 50)
    data = bytearray(writer.data())
    elf = ElfFile(bytes(data), "f")
    table = elf.section(".symtab")
    assert table and len(list(elf.symbols())) == 2001
    strings = elf.sections[table.link]
    middle = bytes(data[strings.offset : strings.offset + strings.size]).replace(b"\0", b"n")
    data[strings.offset : strings.offset + strings.size] = middle[:-1] + b"\0"
    with pytest.raises(DebuginfoError, match="its names lie one over the other"):
        list(ElfFile(bytes(data), "f").symbols())


def test_notes_in_the_same_place() -> None:
    writer = ElfWriter()
    for _ in range(200):
        writer.note("N", 1, b"")
    writer.note("big", 1, b"x" * 10_000)
    data = bytearray(writer.data())
    (table,) = unpack_from("<Q", data, 40)
    place = bytes(data[table + 64 * 201 + 24 : table + 64 * 201 + 40])
    for number in range(1, 201):
        data[table + 64 * number + 24 : table + 64 * number + 40] = place
    notes = list(ElfFile(bytes(data), "f").notes())
    assert 0 < len(notes) < 10


def test_a_list_of_folders_may_be_long(tmp_path: Path) -> None:
    """One for each library that a program needs: some build systems link so."""
    folders = ":".join(f"/opt/packages/library-{number:0>90}/lib" for number in range(200))
    text = tmp_path / "p.c"
    text.write_text("int main(void) { return 0; }")
    path = built(tmp_path / "p", str(text), "-Wl,--enable-new-dtags", f"-Wl,-rpath,{folders}")
    dynamic = UserFile.open(path).dynamic
    assert dynamic.runpath == folders and dynamic.needed == ["libc.so.6"]


def test_a_dynamic_section_without_end(tmp_path: Path) -> None:
    path = _program(tmp_path)
    rows = _segments(path)
    (place,) = (row[2] for row in rows if row[0] == PT_DYNAMIC)
    data = path.read_bytes()
    strings = next(row for row in UserFile.open(path).elf.sections if row.name == ".dynstr")
    wanted = pack("<QQ", 5, strings.address) + pack("<QQ", 10, strings.size)
    path.write_bytes(data + wanted + pack("<QQ", 1, 1) * 100_000)
    size = path.stat().st_size - len(data)
    rows = [row for row in rows if row[0] != PT_DYNAMIC]
    rows += [(PT_DYNAMIC, 6, len(data), 0, 0, size, size, 8)] * 20
    _write(path, rows)
    assert place and 1000 < len(UserFile.open(path).dynamic.needed) < 20_000


@pytest.mark.parametrize("rows", [3, 9000])
def test_functions_of_go_with_one_long_name(rows: int) -> None:
    """Its names are counted as those of other tables are."""
    head = golang._HEAD.size
    table = b"".join(pack("<II", 8 * n, 8 * rows + 8) for n in range(rows)) + pack(
        "<II", 8 * rows, 0
    )
    texts = head + len(table) + 8
    words = (rows, 0, 0x1000, texts, 0, 0, 0, head)
    data = golang._HEAD.pack(0xFFFFFFF1, 0, 0, 1, 8, *words) + table + bytes(8)
    writer = ElfWriter()
    writer.section(".gopclntab", data + b"n" * 4000 + b"\0")
    found = golang.functions(ElfFile(writer.data(), "f"))
    if rows == 3:
        assert [row[1:] for row in found] == [(0x1000 + 8 * n, 8) for n in range(3)]
        return
    with pytest.raises(DebuginfoError, match="f: its names lie one over the other"):
        list(found)
