"""Functions of programs and libraries: every table that may have them, and what is refused."""

from __future__ import annotations

import lzma
import shutil
import struct
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo.user.file import UserFileError
from stapy.debuginfo.user.instructions import reader
from stapy.debuginfo.user.programs import Programs
from tests.debuginfo.user.sources import LIBRARY, PROGRAM, compiled, run


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def programs(tmp_path: Path, warnings: list[str]) -> Programs:
    return Programs(Cache(tmp_path / "cache"), warnings.append)


def _nm(path: Path) -> dict[str, int]:
    rows = (line.split() for line in run("nm", str(path)).splitlines())
    return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}


@pytest.mark.parametrize("style", [["-pie"], ["-no-pie"], ["-static"]])
def test_functions_of_a_program_have_places_in_its_file(
    programs: Programs, tmp_path: Path, style: list[str]
) -> None:
    path = compiled(tmp_path, PROGRAM, "-O2", *style)
    file = programs.open(str(path))
    table = programs.functions(file)
    assert table.complete
    assert table.source == f".symtab of {path}"
    (main,) = table.named("main")
    assert main.address == _nm(path)["main"]
    assert file.read(main.address, 16) == path.read_bytes()[main.offset : main.offset + 16]
    assert file.address_of(main.offset) == main.address
    assert any(start <= main.offset < end for start, end in file.code)
    assert (file.is_fixed, file.is_library) == (style != ["-pie"], False)
    assert not table.named("counted"), "data is no function"
    assert len(table.named("helper")) == 1


def test_many_functions_are_found_as_each_is(programs: Programs, tmp_path: Path) -> None:
    library = Path(run("cc", "-print-file-name=libc.so.6").strip())
    for path in (compiled(tmp_path, PROGRAM, "-O2"), library):
        file = programs.open(str(path))
        table = programs.functions(file)
        every = table.matching("*")
        assert [row.name for row in every] == table.names()
        assert set(every) == {row for name in set(table.names()) for row in table.named(name)}
        addresses = [row.address for row in every]
        edges = [edge for row in file.loads for edge in (row.address, row.address + row.file_size)]
        asked = [*addresses, 0, *edges, *(edge - 1 for edge in edges), *reversed(edges), 1 << 63]
        assert file.code_offsets(asked) == [file.code_offset(address) for address in asked]
        doubtful = reader(file.machine).doubtful(file, [*addresses, *edges])
        sure = {*addresses, *edges} - {*doubtful}
        assert len(sure) > len(every) // 2
        assert all(reader(file.machine).why_not(file, row) == ("", False) for row in sure)


def test_names_of_one_address_and_ifuncs_are_known(programs: Programs, tmp_path: Path) -> None:
    file = programs.open(str(compiled(tmp_path, PROGRAM, "-O2")))
    table = programs.functions(file)
    (work,) = table.named("work")
    assert table.aliases(work.address) == ["work", "work_alias"]
    assert [row.name for row in table.matching("work*")] == ["work", "work_alias"]
    assert table.named("chosen")[0].is_indirect
    assert not work.is_indirect
    assert table.nearest("wrok") == ["work"]
    inside = table.at(work.address + 1)
    assert inside is not None
    assert inside.name == "work"


def test_a_stripped_library_has_its_exported_functions_only(
    programs: Programs, tmp_path: Path
) -> None:
    path = compiled(tmp_path, LIBRARY, "-shared", "-fPIC", "-O2", "-s", "-Wl,-soname,libx.so.1")
    file = programs.open(str(path))
    table = programs.functions(file)
    assert file.is_library
    assert file.dynamic.soname == "libx.so.1"
    assert not table.complete
    assert table.source == f".dynsym of {path}"
    (outside,) = table.named("outside")
    assert outside.is_exported
    assert not table.named("inside")
    # Where the names of inside() and hidden() were taken away, nothing is guessed.
    assert table.at(outside.address + outside.size) is None


def test_the_separate_debug_file_names_what_was_stripped(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    path = compiled(tmp_path, LIBRARY, "-shared", "-fPIC", "-O2", "-Wl,--build-id")
    address = _nm(path)["inside"]
    file = programs.open(str(path))
    folder = tmp_path / "debug/.build-id" / file.build_id[:2]
    folder.mkdir(parents=True)
    debug = folder / f"{file.build_id[2:]}.debug"
    run("objcopy", "--only-keep-debug", str(path), str(debug))
    run("strip", str(path))
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", str(tmp_path / "debug"))
    programs = Programs(Cache(tmp_path / "cache"), warnings.append)
    table = programs.functions(programs.open(str(path)))
    assert table.source == f".symtab of {debug}"
    assert [row.address for row in table.named("inside")] == [address]
    assert table.named("outside")[0].is_exported
    assert not table.named("hidden")[0].is_exported
    assert set(programs.files()) == {path, debug}

    # Without it the answers are those of the stripped file, whatever the cache has.
    debug.unlink()
    programs = Programs(Cache(tmp_path / "cache"), warnings.append)
    assert not programs.functions(programs.open(str(path))).named("inside")
    assert not warnings


def test_answers_depend_on_a_debug_file_that_may_come(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", str(tmp_path / "debug"))
    path = compiled(tmp_path, LIBRARY, "-shared", "-fPIC", "-Wl,--build-id", "-s")
    file = programs.open(str(path))
    programs.functions(file)
    below = f"{file.build_id[:2]}/{file.build_id[2:]}.debug"
    assert programs.files() == [path, tmp_path / "debug/.build-id" / below]


def test_a_debug_file_of_another_build_is_left_out(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    path = compiled(tmp_path, LIBRARY, "-shared", "-fPIC", "-O2", "-Wl,--build-id", "-s")
    other = compiled(tmp_path, PROGRAM, "-Wl,--build-id", name="other")
    build_id = programs.open(str(path)).build_id
    folder = tmp_path / "debug/.build-id" / build_id[:2]
    folder.mkdir(parents=True)
    other.rename(folder / f"{build_id[2:]}.debug")
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", str(tmp_path / "debug"))
    table = programs.functions(programs.open(str(path)))
    assert not table.named("main")
    assert len(warnings) == 1
    assert "belongs to another build" in warnings[0]


def test_packed_symbols_are_read(programs: Programs, tmp_path: Path) -> None:
    path = compiled(tmp_path, LIBRARY, "-shared", "-fPIC", "-O2")
    address = _nm(path)["inside"]
    mini = tmp_path / "mini"
    run("objcopy", "-S", "--keep-symbol=inside", "--remove-section=.comment", str(path), str(mini))
    packed = tmp_path / "mini.xz"
    packed.write_bytes(lzma.compress(mini.read_bytes()))
    run("strip", str(path))
    run("objcopy", "--add-section", f".gnu_debugdata={packed}", str(path))
    table = programs.functions(programs.open(str(path)))
    assert table.source == f".gnu_debugdata of {path}"
    assert [row.address for row in table.named("inside")] == [address]
    assert table.named("outside")[0].is_exported
    assert not table.named("hidden")


def test_the_answers_of_the_cache_are_those_of_the_file(tmp_path: Path) -> None:
    path = compiled(tmp_path, PROGRAM, "-O2")
    cache = Cache(tmp_path / "cache")
    answers = []
    for _ in range(2):
        programs = Programs(cache, pytest.fail)
        answers.append(programs.functions(programs.open(str(path))).matching("*"))
    assert answers[0] == answers[1]
    assert len(answers[0]) > 5


def test_versions_of_names_are_told_apart(programs: Programs) -> None:
    libc = Path("/usr/lib/x86_64-linux-gnu/libc.so.6")
    if not libc.exists():
        pytest.skip("needs glibc")
    table = programs.functions(programs.open(str(libc)))
    assert table.named("malloc")[0].is_exported
    assert table.named("memcpy")[0].is_indirect
    assert len(table.matching("*")) > 2000


def test_what_is_no_program_is_said(programs: Programs, tmp_path: Path) -> None:
    def head(machine: int, *, bits: int = 2, order: int = 1, type: int = 3) -> bytes:
        order_mark = "<" if order == 1 else ">"
        ident = b"\x7fELF" + bytes([bits, order, 1]) + bytes(9)
        return ident + struct.pack(order_mark + "HH", type, machine) + bytes(44)

    for content, words in (
        (b"", "is empty"),
        (b"#!/usr/bin/env python3\nprint()\n", "is a script, run by '/usr/bin/env python3'"),
        (b"hello", "is no ELF file"),
        (b"\x7fELF", "is no ELF file"),
        (head(3, bits=1), "is a 32-bit program"),
        (head(62, bits=1), "x32"),
        (head(183), "is for arm64, not for x86_64"),
        (head(21, order=2), "big-endian"),
        (head(62, type=1), "object file"),
        (head(62, type=4), "core dump"),
        (head(62, type=4)[:54] + struct.pack("<HHHHH", 56, 9000, 64, 0, 0), "core dump"),
    ):
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(UserFileError) as caught:
            Programs(Cache(tmp_path / "cache"), pytest.fail).open(str(path))
        assert words in str(caught.value)
    with pytest.raises(UserFileError, match="No such file"):
        programs.open(str(tmp_path / "nothing"))
    with pytest.raises(UserFileError, match="directory"):
        programs.open(str(tmp_path))


def test_a_file_that_was_cut_off_is_refused(programs: Programs, tmp_path: Path) -> None:
    path = compiled(tmp_path, PROGRAM)
    short = tmp_path / "short"
    for size in (64, 100, 500, 2000, 9000):
        short.write_bytes(path.read_bytes()[:size])
        with pytest.raises(UserFileError):
            Programs(Cache(tmp_path / "cache"), pytest.fail).open(str(short))


def test_a_program_without_sections_is_told_by_its_segments(
    programs: Programs, tmp_path: Path
) -> None:
    path = compiled(tmp_path, PROGRAM, "-Wl,--build-id")
    bare = tmp_path / "bare"
    data = bytearray(path.read_bytes())
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<HH", data, 60, 0, 0)
    bare.write_bytes(data)
    shutil.copymode(path, bare)
    file = programs.open(str(bare))
    assert file.build_id == programs.open(str(path)).build_id
    assert len(programs.functions(file)) == 0
