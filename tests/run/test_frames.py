"""Frame tables against pyelftools' reading of the same file, row by row; damaged files."""

from __future__ import annotations

import contextlib
import os
import random
import struct
import subprocess
import sys
from array import array
from pathlib import Path
from typing import Any

import pytest

from stapy.paths import data_dir
from stapy.run import eh_frame, frames, leb128, objects, usersymbols
from stapy.run.userfile import NoUserFile, UserFile
from tests.debuginfo.user.sources import LIBRARY, PROGRAM, compiled, run

FILES = (
    "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/bin/bash", "/usr/bin/sort",
)  # fmt: skip


def opened(path: Path | str) -> UserFile:
    """Read a file as the consumer does."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return UserFile.open(fd)
    finally:
        os.close(fd)


def expected(line: dict[Any, Any]) -> tuple[int, ...] | None:
    """Convert one of pyelftools' rows to our rule; None for what only expressions tell."""
    from elftools.dwarf.callframe import RegisterRule

    ra = line.get(16)
    if ra is not None and ra.type == RegisterRule.UNDEFINED:
        return (eh_frame.END, 0, eh_frame.SAME, 0)
    cfa = line["cfa"]
    if cfa.expr is not None:
        return None
    if cfa.reg not in (6, 7):
        kind, offset = eh_frame.FROM_REGISTER, cfa.offset | cfa.reg << 24
    else:
        kind, offset = (eh_frame.FROM_SP if cfa.reg == 7 else eh_frame.FROM_FP), cfa.offset
    rbp = line.get(6)
    if rbp is None or rbp.type == RegisterRule.SAME_VALUE:
        return (kind, offset, eh_frame.SAME, 0)
    if rbp.type == RegisterRule.OFFSET:
        return (kind, offset, eh_frame.AT_CFA, rbp.arg)
    return None


ARM64_FILES = tuple(
    f"/usr/aarch64-linux-gnu/lib/{name}"
    for name in ("libc.so.6", "ld-linux-aarch64.so.1", "libstdc++.so.6")
)


def expected_on_arm64(line: dict[Any, Any]) -> tuple[int, ...] | None:
    """Do the same for arm64, where a row says where the return address is; None as well."""
    from elftools.dwarf.callframe import RegisterRule

    fp, ra = line.get(29), line.get(30)
    if ra is not None and ra.type == RegisterRule.UNDEFINED:
        return (eh_frame.END, 0, eh_frame.SAME, 0)
    cfa = line["cfa"]
    if cfa.expr is not None or cfa.reg not in (29, 31):
        return None
    at = {name: rule.arg if rule is not None and rule.type == RegisterRule.OFFSET else None
          for name, rule in (("fp", fp), ("ra", ra))}  # fmt: skip
    kind = eh_frame.FROM_SP if cfa.reg == 31 else eh_frame.FROM_FP
    if at["ra"] is None:
        return (kind, cfa.offset, eh_frame.SAME, 0) if at["fp"] is None else None
    if at["fp"] is None:
        return (kind, cfa.offset, eh_frame.LINK, at["ra"] // 8)
    return (kind, cfa.offset, eh_frame.PAIR, at["fp"] // 8) if at["fp"] + 8 == at["ra"] else None


def lookup(packed: tuple[int, bytes, bytes, bytes, bytes], place: int) -> tuple[int, ...] | None:
    """Find the rule of a place by the packed table, as the runtime looks it up."""
    base, first_b, low_b, chosen_b, rules_b = packed
    first, low, chosen = array("I", first_b), array("H", low_b), array("H", chosen_b)
    at = place - base
    if at < 0 or at >> 10 >= len(first) - 1:
        return None
    begin, end = first[at >> 10], first[(at >> 10) + 1]
    while begin < end:
        middle = (begin + end) // 2
        if low[middle] <= at & 0xFFFF:
            begin = middle + 1
        else:
            end = middle
    if not begin:
        return None
    offset, by, kind, where = struct.unpack_from("<IhBB", rules_b, 8 * chosen[begin - 1])
    if kind in (eh_frame.FROM_SP, eh_frame.FROM_FP) and offset >> 31:
        offset -= 1 << 32
    return (kind, offset, where, by)


@pytest.mark.parametrize("path", [*FILES, *ARM64_FILES])
def test_rows_are_those_of_another_reader(path: str) -> None:
    if not Path(path).exists():
        pytest.skip(f"no {path}")
    from elftools.dwarf.callframe import FDE
    from elftools.elf.elffile import ELFFile

    file = opened(path)
    packed = frames.packed(frames.rows_of(file))
    compared = 0
    with Path(path).open("rb") as stream:
        entries = [e for e in ELFFile(stream).get_dwarf_info().EH_CFI_entries() if type(e) is FDE]
        chosen = random.Random(1).sample(entries, min(150, len(entries)))
        for entry in chosen:
            start = entry["initial_location"]
            end = start + entry["address_range"]
            assert entry.cie is not None
            if "S" in entry.cie.header.augmentation.decode() or entry["address_range"] < 2:
                continue
            rows = entry.get_decoded().table
            stops = [row["pc"] for row in rows[1:]] + [end]
            for row, stop in zip(rows, stops, strict=True):
                wanted = expected_on_arm64(row) if path in ARM64_FILES else expected(row)
                if wanted is None or stop <= row["pc"]:
                    continue
                for address in (row["pc"], stop - 1):
                    place = file.code_offset(address)
                    assert place is not None
                    assert lookup(packed, place) == wanted, hex(address)
                    compared += 1
    assert compared > 300


def test_nothing_is_known_of_holes(tmp_path: Path) -> None:
    """Code without a description has no rule, though rows lie around it."""
    source = PROGRAM + 'asm(".text\\n bare: .fill 200, 1, 0x90");'
    file = opened(compiled(tmp_path, source, "-O2"))
    packed = frames.packed(frames.rows_of(file))
    listing = run("nm", str(tmp_path / "program"))
    places = {
        line.split()[2]: int(line.split()[0], 16) for line in listing.splitlines() if line[0] != " "
    }
    bare = file.code_offset(places["bare"])
    work = file.code_offset(places["work"])
    start = file.code_offset(places["_start"])
    assert bare is not None and work is not None and start is not None
    found = lookup(packed, bare + 100)
    assert found is not None and found[0] == eh_frame.UNKNOWN
    assert lookup(packed, work) == (eh_frame.FROM_SP, 8, eh_frame.SAME, 0)
    assert lookup(packed, start) == (eh_frame.END, 0, eh_frame.SAME, 0)
    assert lookup(packed, 1 << 30) is None


def test_kinds_of_frames() -> None:
    """The linker's stubs, signal frames and frames that only a register tells are all there."""
    kinds = {rule[0] for path in FILES[:2] for _, rule in frames.rows_of(opened(path))}
    usual = {eh_frame.FROM_SP, eh_frame.FROM_FP, eh_frame.END}
    assert kinds >= usual | {eh_frame.PLT, eh_frame.SIGNAL, eh_frame.FROM_REGISTER}


def test_damaged_files_end_in_tables_or_a_refusal(tmp_path: Path) -> None:
    whole = bytearray(compiled(tmp_path, LIBRARY, "-shared", "-fPIC", "-O2").read_bytes())
    chance = random.Random(7)
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.2:
            del data[chance.randrange(len(data)) :]
        try:
            table = objects.table(UserFile(bytes(data)), True)
        except (NoUserFile, ValueError, IndexError, struct.error, OverflowError):
            continue  # what the consumer expects
        assert table[:4] == b"STUO" and len(table) >= 56


def test_names_of_stripped_files_are_not_guessed(tmp_path: Path) -> None:
    options = ("-shared", "-fPIC", "-O2")
    full = opened(compiled(tmp_path, LIBRARY, *options, name="full"))
    bare = opened(compiled(tmp_path, LIBRARY, *options, "-s", name="bare"))
    full_names = {name for _, _, name in usersymbols.functions(full)}
    rows = {name: (place, size) for place, size, name in usersymbols.functions(bare)}
    assert {b"inside", b"outside", b"hidden"} <= full_names
    assert b"outside" in rows and not {b"inside", b"hidden"} & rows.keys()
    assert rows[b"outside"][1] < 40  # not up to the next name


def test_what_only_an_assembler_names_is_no_function(tmp_path: Path) -> None:
    """On arm64 such names stand wherever code or data begins, before that of a function."""
    text = 'asm(".text\\n\\"$x\\": nop\\n\\"$d.1\\": nop\\nplain: ret\\n");'
    text += " int main(void) { return 0; }"
    names = {name for _, _, name in usersymbols.functions(opened(compiled(tmp_path, text)))}
    assert b"plain" in names
    assert not [name for name in names if name.startswith(b"$")]


@pytest.mark.parametrize("part", ["machine", "signal return"])
def test_kept_tables_are_of_all_that_they_are_made_of(tmp_path: Path, part: str) -> None:
    """Two files of one build-id that differ in what rows come from are two files."""
    data = bytearray(compiled(tmp_path, PROGRAM, "-O2", "-Wl,--build-id").read_bytes())
    if part == "machine":
        first = UserFile(bytes(data))
        struct.pack_into("<H", data, 18, 183)
    else:
        struct.pack_into("<H", data, 18, 183)
        first = UserFile(bytes(data))
        place = first.code_offset(first.sections[".text"].address)
        assert place is not None
        struct.pack_into("<II", data, place + -place % 4, 0xD2801168, 0xD4000001)
    second = UserFile(bytes(data))
    assert first.build_id() == second.build_id()
    assert objects.table(first, False) != objects.table(second, False)
    assert first.digest() != second.digest()


def test_both_sides_have_one_version_of_tables() -> None:
    text = (data_dir("runtime") / "user/objects.c").read_text()
    assert f"#define VERSION {objects._VERSION}\n" in text


def test_tables_are_kept_by_build_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = compiled(tmp_path, PROGRAM, "-O2", "-Wl,--build-id")
    first = sent(path)
    ident = opened(path).build_id()
    (kept,) = (tmp_path / "cache/stapy/objects").glob(f"{ident}-*")
    kept.write_bytes(kept.read_bytes()[:-1] + b"\0")  # its sum is wrong: made again
    assert sent(path) == first
    monkeypatch.setattr(objects.Tables, "_make_vdso", lambda tables: None)
    monkeypatch.setattr(frames, "rows_of", lambda file: pytest.fail("it was kept"))
    assert sent(path) == first
    kept.chmod(0o666)  # anybody's
    monkeypatch.setattr(frames, "rows_of", lambda file: [])
    assert sent(path) != first


def test_a_build_id_is_no_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who says to be another file is not believed, nor is that file known by the liar's table."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ident = "-Wl,--build-id=0x" + "ab" * 20
    true = compiled(tmp_path, LIBRARY, "-shared", "-fPIC", "-O2", ident, name="true")
    liar = compiled(tmp_path, PROGRAM, "-O2", ident, name="liar")
    assert opened(true).build_id() == opened(liar).build_id()
    assert sent(liar) != sent(true) == objects.table(opened(true), True)


def test_others_files_do_not_fill_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = compiled(tmp_path, PROGRAM, "-O2", "-Wl,--build-id")
    recorder = Recorder(names=True)
    owner = os.fstat
    monkeypatch.setattr(
        os, "fstat", lambda fd: os.stat_result([*owner(fd)[:4], 12345, *owner(fd)[5:]], {})
    )
    recorder.tables.make(os.open(path, os.O_PATH), "program")
    assert len(recorder.taken) == 1
    assert not (tmp_path / "cache").exists()


def test_a_file_that_is_cut_off_while_it_is_read_ends_nobody(tmp_path: Path) -> None:
    path = compiled(tmp_path, PROGRAM, "-O2")
    script = (
        "import os, sys; from stapy.run import objects, userfile; "
        "file = userfile.UserFile.open(os.open(sys.argv[1], os.O_RDONLY)); "
        "os.truncate(sys.argv[1], 0); print(objects.table(file, True)[:4])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "b'STUO'\n"


def test_a_head_that_promises_more_than_the_file_has(tmp_path: Path) -> None:
    """Two functions 2^50 bytes apart: no table of what lies between them."""
    data = bytearray(compiled(tmp_path, PROGRAM, "-O2", "-s").read_bytes())
    (segments,), (count,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
    for at in range(segments, segments + 56 * count, 56):
        if struct.unpack_from("<II", data, at) == (1, 5):  # the code
            struct.pack_into("<QQ", data, at + 32, 1 << 60, 1 << 60)
    file = UserFile(bytes(data))
    section = file.sections[".eh_frame"]
    reader = eh_frame.FrameReader(file.content(section), section.address)
    reader.read()
    start = reader.functions[-1][0]
    far = struct.pack("<i", 1 << 30)  # of the 32 bits that a pointer has
    at, shift = section.offset, section.address - section.offset
    while True:  # the last function lies far away
        length, ident = struct.unpack_from("<II", data, at)
        (place,) = struct.unpack_from("<i", data, at + 8)
        if ident and place + at + shift + 8 == start:
            data[at + 8 : at + 12] = far
            break
        at += 4 + length
    assert len(objects.table(UserFile(bytes(data)), False)) < 10_000


def test_packed_reaches_no_further_than_code_does() -> None:
    rule = (eh_frame.FROM_SP, 8, eh_frame.SAME, 0)
    far = [(0, rule), (1 << 40, eh_frame.NOTHING)]
    assert len(frames.packed(far)[1]) <= 4 * ((1 << 20) + 1)


def test_numbers_and_parts_without_end() -> None:
    """Work grows with the file, not with its square."""
    with pytest.raises(leb128.Damaged):
        leb128.unsigned(b"\x80" * (1 << 20), 0)
    with pytest.raises(leb128.Damaged):
        leb128.signed(b"\xff" * (1 << 20), 0)
    # Functions that all name another common part, each of which reaches to the end.
    common = struct.pack("<II", 1 << 20, 0) + b"\1\0\1\x78\x10"
    piece = common + bytes(27)
    data = piece * 1000
    at = len(data)
    for number in range(1000):
        data += struct.pack("<IIQQ", 20, at + 4 - 40 * number, 1, 1)
        at += 24
    reader = eh_frame.FrameReader(data, 0)
    steps = 0
    follow = reader.follow

    def counted(at: int, end: int, pc: int, cie: eh_frame.Cie) -> Any:
        nonlocal steps
        before = reader._left
        try:
            return follow(at, end, pc, cie)
        finally:
            steps += max(before, 0) - max(reader._left, 0)

    reader.follow = counted  # type: ignore[method-assign]
    for number in range(1000):
        with contextlib.suppress(leb128.Damaged, IndexError, ValueError):
            reader._function(40_000 + 24 * number, 40_024 + 24 * number, 40 * number)
    assert steps <= 2 * len(data)


COMMON = struct.pack("<II", 16, 0) + b"\1zR\0\1\x78\x1e\1\4\0\0\0"  # pointers of 8 bytes


def test_what_reaches_behind_the_file_gives_no_time_back() -> None:
    """A part that says that it is longer than the whole is damaged, and costs what it has."""
    data = COMMON
    data += struct.pack("<IIQQ", 30, len(data) + 4, 0x1000, 16) + b"\xff" * 9 + b"\x3f"
    reader = eh_frame.FrameReader(data, 0, eh_frame.MACHINES[183])
    reader.read()
    assert not reader.functions
    assert reader._left <= 2 * len(data)
    # The same of a common part, of which instructions follow.
    data = struct.pack("<II", 24, 0) + b"\1zR\0\1\x78\x1e" + b"\xff" * 9 + b"\x3f" + bytes(2)
    reader = eh_frame.FrameReader(data, 0)
    with pytest.raises(leb128.Damaged):
        reader.cie(0)
    assert reader._left <= 2 * len(data)


@pytest.mark.parametrize("signed", [0x2C, 0x2D])
def test_return_addresses_that_are_signed(signed: int) -> None:
    """Both instructions that say so have no operand, and leave the rest as it is."""
    data = COMMON
    # the CFA is the stack pointer; advance 1; signed; advance 1; it is 32 bytes away
    code = bytes((0, 0x0C, 31, 0, 0x41, signed, 0x41, 0x0E, 32))
    data += struct.pack("<IIQQ", 20 + len(code), len(data) + 4, 0x1000, 16) + code
    reader = eh_frame.FrameReader(data, 0, eh_frame.MACHINES[183])
    reader.read()
    ((_, _, rows),) = reader.functions
    assert rows == [(0x1000 + 2 * n, (eh_frame.FROM_SP, 32 * n, eh_frame.SAME, 0)) for n in (0, 1)]


def test_names_without_end(tmp_path: Path) -> None:
    """Each of many symbols has a name that goes on up to the end of the file."""
    raw = bytearray(compiled(tmp_path, LIBRARY, "-shared", "-fPIC", "-O2").read_bytes())
    number = UserFile(bytes(raw)).sections[".symtab"].link
    (sections,) = struct.unpack_from("<Q", raw, 40)
    struct.pack_into("<QQ", raw, sections + 64 * number + 24, len(raw), 1 << 20)
    raw += b"x" * (1 << 20)
    found = usersymbols.functions(UserFile(bytes(raw)))
    assert found and all(len(name) <= 255 for _, _, name in found)


def test_packed_names_that_unpack_to_more_than_memory(tmp_path: Path) -> None:
    import lzma

    path = compiled(tmp_path, LIBRARY, "-shared", "-fPIC", "-O2", "-s")
    bomb = tmp_path / "bomb"
    bomb.write_bytes(lzma.compress(bytes(200 << 20), preset=0))
    run("objcopy", "--add-section", f".gnu_debugdata={bomb}", str(path))
    import tracemalloc

    tracemalloc.start()
    try:
        assert usersymbols.functions(opened(path))
        assert tracemalloc.get_traced_memory()[1] < 180 << 20
    finally:
        tracemalloc.stop()


def test_no_device_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watchdog that somebody opens and closes ends the machine a minute later."""
    path = compiled(tmp_path, PROGRAM, "-O2", "-Wl,--dynamic-linker=/dev/zero")
    names: list[str] = []
    real = os.open

    def watched(name: str, flags: int, *rest: Any, **more: Any) -> int:
        fd = real(name, flags, *rest, **more)
        names.extend([] if flags & os.O_PATH else [str(Path(f"/proc/self/fd/{fd}").readlink())])
        return fd

    monkeypatch.setattr(os, "open", watched)
    assert "/dev/zero" not in objects.closure(str(path))
    assert str(path) in names and "/dev/zero" not in names


def test_a_device_that_was_a_file_a_moment_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands at a path is its owner's affair, also while we look."""
    path = compiled(tmp_path, PROGRAM, "-O2", "-Wl,--dynamic-linker=/dev/zero")
    monkeypatch.setattr(objects, "is_regular", lambda name: True)
    opened: list[str] = []
    real = os.open

    def watched(name: str, flags: int, *rest: Any) -> int:
        fd = real(name, flags, *rest)
        opened.extend([] if flags & os.O_PATH else [str(Path(f"/proc/self/fd/{fd}").readlink())])
        return fd

    monkeypatch.setattr(os, "open", watched)
    assert "/dev/zero" not in objects.closure(str(path))
    assert str(path) in opened and "/dev/zero" not in opened


class Recorder:
    """Keeps what would be sent."""

    def __init__(self, names: bool = False) -> None:
        self.taken: list[tuple[int, str, bytes]] = []
        self.begun: list[str] = []
        self.tables = objects.Tables(
            {"names": names}, lambda *row: self.taken.append(row), self.begun.append
        )


def sent(path: Path) -> bytes:
    """Return the table that a session of this program is sent for it."""
    recorder = Recorder(names=True)
    recorder.tables.first([str(path)], "", 0)
    (found,) = [data for _, name, data in recorder.taken if name == str(path)]
    return found


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("sort /etc/services", ["sort"]),
        ('bash -c "for i in 1; do echo \\$i; done | sort -r"', ["sh", "bash", "echo", "sort"]),
        ("sh -c '/bin/ls -R /etc; A=b ./nosuch'", ["sh", "ls"]),
        ("timeout 5 env X=1 dd if=/dev/zero", ["timeout", "env", "dd"]),
        ("sh -c 'if true; then nice -n 5 sort bash; fi'", ["sh", "true", "nice", "sort"]),
        ("sh -c 'not closed", ["sh", "sh"]),  # /bin/sh says so; the other is named
        ("", []),
    ],
)
def test_programs_that_a_command_names(command: str, programs: list[str]) -> None:
    """A shell or a wrapper stands before the one that is meant."""
    assert [Path(path).name for path in objects.programs_of(command)] == programs


def test_first_hits_have_the_tables_of_all_that_is_linked(tmp_path: Path) -> None:
    """The program of the script, that of -c, their libraries and what the kernel maps."""
    path = compiled(tmp_path, PROGRAM, "-O2")
    recorder = Recorder()
    recorder.tables.first([str(path)], "sort /etc/services", 0)
    names = [name for _, name, _ in recorder.taken]
    assert len(names) == len(set(names))
    bases = {Path(name).name for name in names}
    assert {"[vdso]", "program", "sort", "libc.so.6", "ld-linux-x86-64.so.2"} <= bases
