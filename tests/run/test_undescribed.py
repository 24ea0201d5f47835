"""Code of arm64 without descriptions: stubs, and where handlers of signals return to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stapy.run import eh_frame, frames
from stapy.run.userfile import UserFile
from tests.debuginfo.user.sources import run
from tests.run.test_frames import lookup, opened

SIGNAL, PLAIN = (eh_frame.SIGNAL, 0, eh_frame.SAME, 0), (eh_frame.FROM_SP, 0, eh_frame.SAME, 0)
RETURN = "mov x8, #139\n svc #0\n"
DESCRIBED = ".cfi_startproc\n nop\n ret\n .cfi_endproc\n"


def linked(tmp_path: Path, text: str, *options: str) -> tuple[UserFile, dict[str, int]]:
    """Make a library of arm64 of an assembler's or C text; it, and where in the file names are."""
    compiler = shutil.which("aarch64-linux-gnu-gcc-12")
    if compiler is None:
        pytest.skip("there is no cross compiler for arm64")
    source, path = tmp_path / ("text.c" if "{" in text else "text.s"), tmp_path / "library.so"
    source.write_text(text)
    run(compiler, "-nostdlib", "-shared", *options, str(source), "-o", str(path))
    file, places = opened(path), {}
    for line in run("nm", str(path)).splitlines():
        address, name = line[:16].strip(), line.split()[-1]
        place = file.code_offset(int(address, 16)) if address else None
        if place is not None:
            places[name] = place
    return file, places


def test_signals_end_in_code_that_nothing_describes(tmp_path: Path) -> None:
    """The vdso of arm64 has none: the place is known by its instructions, and by what is before."""
    file, places = linked(tmp_path, f".text\n work: ret\n nop\n sigreturn: {RETURN} ret\n")
    packed, place = frames.packed(frames.rows_of(file)), places["sigreturn"]
    assert lookup(packed, place - 1) == lookup(packed, place + 4) == SIGNAL
    assert lookup(packed, place + 8) == eh_frame.NOTHING
    assert lookup(packed, place - 8) in (None, eh_frame.NOTHING)


@pytest.mark.parametrize("between", [0, 1, 2, 3])
def test_places_that_signals_return_to_are_in_order(tmp_path: Path, between: int) -> None:
    text = f".text\n nop\n nop\n one: {RETURN} {'nop;' * between} two: {RETURN} ret\n"
    file, places = linked(tmp_path, text)
    rows = frames.rows_of(file)
    assert [place for place, _ in rows] == sorted({place for place, _ in rows})
    packed = frames.packed(rows)
    for name in ("one", "two"):
        assert lookup(packed, places[name] - 1) == SIGNAL, (name, rows)
        assert lookup(packed, places[name] + 4) == SIGNAL, (name, rows)
    if between == 3:
        assert lookup(packed, places["two"] - 8) == eh_frame.NOTHING


@pytest.mark.parametrize("gap", ["", "nop\n", ".fill 40, 4, 0xd503201f\n"])
def test_signals_end_in_files_that_are_described_too(tmp_path: Path, gap: str) -> None:
    """A program may bring a restorer of its own; what is described is known by that."""
    text = f".text\n before: {DESCRIBED}{gap} restorer: {RETURN} nop\n after: {DESCRIBED}"
    text += f".fill 40, 4, 0xd503201f\n own: .cfi_startproc\n {RETURN} ret\n .cfi_endproc\n"
    file, places = linked(tmp_path, text)
    packed = frames.packed(frames.rows_of(file))
    place = places["restorer"]
    assert lookup(packed, place) == lookup(packed, place + 7) == SIGNAL
    assert lookup(packed, place - 1) == (SIGNAL if gap else PLAIN)
    assert lookup(packed, place + 8) == eh_frame.NOTHING
    for name in ("before", "after", "own"):
        assert lookup(packed, places[name]) == lookup(packed, places[name] + 4) == PLAIN, name


@pytest.mark.parametrize("options", [[], ["-Wl,-z,force-bti"]])
def test_stubs_return_by_the_link_register(tmp_path: Path, options: list[str]) -> None:
    """No linker describes them; the first pushes the address for the loader."""
    text = "int there(int), too(int); int here(int n) { return there(n) + too(n) + 1; }"
    file, _ = linked(tmp_path, text, "-O1", *options)
    section = file.sections[".plt"]
    start = file.code_offset(section.address)
    assert start is not None
    packed = frames.packed(frames.rows_of(file))
    pushed = (eh_frame.FROM_SP, 16, eh_frame.LINK, -1)
    behind = start + (8 if options else 4)
    assert [lookup(packed, at) for at in (start, behind - 1)] == [PLAIN] * 2
    assert [lookup(packed, at) for at in (behind, start + 31)] == [pushed] * 2
    places = range(start + 32, start + section.size, 4)
    assert len(places) > 7
    assert {lookup(packed, at) for at in places} == {PLAIN}


@pytest.mark.parametrize("options", [[], ["-Wl,-z,force-bti"]])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_stub_of_thread_variables(tmp_path: Path, options: list[str], count: int) -> None:
    """It is wherever the others end, and pushes two registers until its last instruction."""
    names = [f"there{number}" for number in range(count)]
    text = f"int {', '.join(f'{name}(int)' for name in names)}; extern __thread int x;"
    text += f"int here(int n) {{ return x + {' + '.join(f'{name}(n)' for name in names)}; }}"
    file, _ = linked(tmp_path, text, "-O1", "-fPIC", "-Wl,-z,lazy", *options)
    section = file.sections[".plt"]
    start = file.code_offset(section.address)
    assert start is not None
    at = file.content(section).find(bytes.fromhex("e20fbfa9"))  # stp x2, x3, [sp, #-16]!
    assert at > 0
    begin = start + at - (4 if options else 0)
    packed = frames.packed(frames.rows_of(file))
    pushed = (eh_frame.FROM_SP, 16, eh_frame.SAME, 0)
    assert lookup(packed, start + at + 3) == PLAIN
    assert {lookup(packed, start + at + 4 + step) for step in (0, 8, 16)} == {pushed}
    assert lookup(packed, begin + 31) == pushed


def test_frames_of_many_kilobytes(tmp_path: Path) -> None:
    """Where the pair is counts in words: 16 bits of bytes end at 32 KiB."""
    text = "void use(char *); int big(int n) { char room[40000]; use(room); return room[n]; }"
    file, places = linked(tmp_path, text, "-O1", "-fno-stack-protector")
    kinds = {rule for _, rule in frames.rows_of(file)}
    assert "big" in places
    large = [by for _, _, where, by in kinds if where == eh_frame.PAIR]
    assert large and min(large) <= -40000 // 8
    assert not any(kind == eh_frame.NO_WAY for kind, _, _, _ in kinds)
