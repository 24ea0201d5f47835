"""What damage of debug sections must not lead to: loops, recursion, too much memory.

Each case is a fault that `tests.debuginfo.fuzz` found, or one of its kind.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.index.build import build
from stapy.debuginfo.dwarf.read.expressions import Op
from stapy.debuginfo.dwarf.read.frames import unwound
from stapy.debuginfo.dwarf.read.sections import Sections
from stapy.debuginfo.dwarf.read.types import Types
from stapy.debuginfo.dwarf.read.units import Info
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.errors import DebuginfoError
from stapy.diagnostics import NOWHERE
from stapy.elaborate.lower.chains import Place
from stapy.elaborate.lower.pretty import _PrettyWriter
from stapy.ir.program import Expr
from stapy.probes.values.evaluate import Evaluator
from stapy.probes.values.location import _in_pieces
from stapy.probes.values.numbers import Unavailable, address_of, const
from tests.debuginfo.elfwriter import ElfWriter

UNIT, FIRST = 11, 12  # of a version 4 header; the unit's own entry is one byte
# Codes 1 to 6: a unit, a type that refers, a class, a function type, a parameter, a struct.
ABBREVIATIONS = bytes.fromhex(
    "0111010000" + "020f0049130000" + "033901" + "03080000" + "0415010000" + "05050049130000"
    "061301" + "03080000" + "070d00" + "03084913" + "380b0000" + "00"
)


def unit(entries: bytes, abbreviations: bytes = ABBREVIATIONS) -> ElfFile:
    """Make a file with one unit of DWARF 4."""
    body = struct.pack("<HIB", 4, 0, 8) + b"\x01" + entries + b"\0"
    writer = ElfWriter(2)
    writer.section(".debug_info", struct.pack("<I", len(body)) + body)
    writer.section(".debug_abbrev", abbreviations)
    return ElfFile(writer.data(), "damaged")


def info(entries: bytes) -> Info:
    return Info(Sections(unit(entries)))


def ref(code: int, to: int) -> bytes:
    return bytes([code]) + struct.pack("<I", to)


def test_pointers_in_a_circle() -> None:
    found = Types().type(info(ref(2, FIRST + 5) + ref(2, FIRST)).entry(FIRST))
    assert isinstance(found, c.Pointer)
    assert c.c_name(found) == "... **"


def test_function_types_in_a_circle() -> None:
    """Each parameter is the function again: without care, two to the power of the depth."""
    entries = b"\x04" + ref(5, FIRST) * 8 + b"\0"
    found = Types().type(info(entries).entry(FIRST))
    assert c.c_name(found) == f"void ({', '.join(['...'] * 8)})"


def test_a_type_that_completes_itself() -> None:
    table = ABBREVIATIONS.replace(bytes.fromhex("05050049130000"), bytes.fromhex("05050031130000"))
    entry = Info(Sections(unit(ref(5, FIRST), table))).entry(FIRST)
    assert k.AT_ABSTRACT_ORIGIN in entry.values
    assert isinstance(Types().of(entry), c.Void)
    assert entry.name() == ""


def test_scopes_without_end() -> None:
    """Their names would grow with the square of their number."""
    with pytest.raises(DebuginfoError, match="nested too deep"):
        build(unit(b"\x03x\0" * 5000))
    build(unit(b"\x03x\0" * 30 + b"\0" * 30))


def circle() -> c.Struct:
    """Make a struct that contains itself, without a name."""
    made = c.Struct("struct", "s", 8, lambda: [c.Member("", made, 0), c.Member("a", c.Void(), 0)])
    return made


def test_a_struct_that_contains_itself() -> None:
    found = c.find_member(circle(), "a")
    assert found is not None and found[1] == 0
    assert c.find_member(circle(), "b") is None
    assert c.member_names(circle()) == ["a"]


def test_printing_a_struct_that_contains_itself() -> None:
    made = c.Struct("struct", "s", 8, lambda: [c.Member("", made, 0), c.Member("me", made, 0)])
    writer = _PrettyWriter(None, NOWHERE)  # type: ignore[arg-type]
    writer.place(Place(made, None, None), 8)
    assert [piece.text for piece in writer.pieces] == ["{{...}, .me={...}}"]


def test_pieces_larger_than_what_they_are_part_of() -> None:
    class Memory:
        def run(self, ops: list[Op]) -> tuple[object, bool]:
            return const(0), False

    number = c.Int("long", 8, True)
    for ops in ([Op("frame", 0), Op("piece", 1 << 66)], [Op("bytes", 1, 1), Op("piece", 1 << 66)]):
        assert _in_pieces("x", number, ops, Memory()).value is not None  # type: ignore[arg-type]


def test_a_location_that_doubles_with_each_operation() -> None:
    class Call:
        def register(self, number: int) -> Expr:
            return const(number)

    def double(times: int) -> list[Op]:
        return [Op("address_in", 3), *([Op("dup"), Op("*")] * times), Op("value")]

    machine = Evaluator(Call())  # type: ignore[arg-type]
    assert machine.run(double(3))[1]
    with pytest.raises(Unavailable):
        machine.run(double(60))


def test_a_member_beyond_all_structs() -> None:
    """Its place would not fit into the generated code."""
    pair = b"\x06s\0" + b"\x07x\0" + struct.pack("<IQ", FIRST, 0xFFFFFFFFFFFFFFF0) + b"\0"
    table = ABBREVIATIONS.replace(bytes.fromhex("380b0000"), bytes.fromhex("38070000"))
    found = Types().type(Info(Sections(unit(pair, table))).entry(FIRST))
    assert isinstance(found, c.Struct)
    with pytest.raises(DebuginfoError, match="impossible place"):
        found.members()


def test_an_address_that_is_none_of_the_kernel() -> None:
    class Kernel:
        module = None

        class index:
            @staticmethod
            def functions(name: str) -> list[object]:
                site = type("Site", (), {"pc": 0xFFFFFFFF81000000, "inlined": False})
                return [type("Row", (), {"sites": [site]})]

    address_of(0xFFFFFFFF82000000, Kernel())  # type: ignore[arg-type]
    for address in (0x0F00000082000000, 0xFFFFFFFF00000000):
        with pytest.raises(Unavailable):
            address_of(address, Kernel())  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["gzip", "xz", "zstd"])
def test_files_that_inflate_without_end(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import gzip
    import lzma
    import shutil
    import subprocess

    from stapy.debuginfo import elf
    from stapy.debuginfo.unpack import unpackers

    data = bytes(5 << 20)
    if kind == "zstd":
        if shutil.which("zstd") is None:
            pytest.skip("no zstd program")
        packed = subprocess.run(["zstd", "-cq"], input=data, capture_output=True, check=True).stdout
    else:
        packed = gzip.compress(data) if kind == "gzip" else lzma.compress(data)
    assert elf.inflate(packed, kind, "x") == data
    monkeypatch.setattr(unpackers, "MAX_FILE", 4 << 20)
    with pytest.raises(DebuginfoError, match="inflates to more than"):
        elf.inflate(packed, kind, "x")


def test_a_packer_that_asks_for_gigabytes() -> None:
    import lzma

    from stapy.debuginfo.vmlinuz import inflate

    packed = bytearray(lzma.compress(b"x" * 9999, lzma.FORMAT_ALONE))
    packed[3:5] = b"\xff\xff"  # the size of its dictionary
    with pytest.raises(DebuginfoError, match="damaged lzma data"):
        list(inflate(bytes(packed), "image"))


def shared(letters: bytes, numbers: bytes = b"\1\x78\x10", size: bytes = b"\1\0") -> bytes:
    """Make what functions of ``.eh_frame`` share: its letters, three numbers, what letters say."""
    body = struct.pack("<I", 0) + b"\1" + letters + numbers + size
    return struct.pack("<I", len(body)) + body


def unwinding(data: bytes) -> ElfFile:
    writer = ElfWriter(2)
    writer.section(".eh_frame", data)
    return ElfFile(writer.data(), "damaged")


@pytest.mark.parametrize(
    ("common", "is_read"),
    [
        (shared(b"zR\0"), True),
        (shared(b"zR" + b"S" * 14 + b"\0"), True),
        (shared(b"zR" + b"S" * 15 + b"\0"), False),  # each function could name such a row
        (shared(b"zR\0", size=b"\x40\0"), False),
        (shared(b"zR\0", numbers=b"", size=b""), False),
        (shared(b"\xff" * 9, numbers=b"", size=b""), False),
    ],
)
def test_frames_of_damaged_descriptions(common: bytes, is_read: bool) -> None:
    function = struct.pack("<IIQQI", 24, len(common) + 4, 0x1010, 0x20, 0)
    assert unwound(unwinding(common + function)) == ({0x1010} if is_read else set())
    nowhere = struct.pack("<II", 32, 1) + b"\xff" * 28  # and without any end of a string
    assert unwound(unwinding(nowhere)) == set()


def test_names_that_end_alike_are_no_gigabytes() -> None:
    """Names begin anywhere in one string: each is as long as what is left of it."""
    entries = b"".join(b"\x02" + struct.pack("<I", at) for at in range(3000))
    body = struct.pack("<HIB", 4, 0, 8) + b"\x01" + entries + b"\0"
    writer = ElfWriter(2)
    writer.section(".debug_info", struct.pack("<I", len(body)) + body)
    writer.section(".debug_abbrev", bytes.fromhex("0111010000" + "022400" + "030e" + "0000" + "00"))
    writer.section(".debug_str", b"n" * 20_000 + b"\0")
    with pytest.raises(DebuginfoError, match="damaged: its names lie one over the other"):
        build(ElfFile(writer.data(), "damaged"))


@pytest.mark.parametrize("size", [100, 100_000])
def test_a_long_scope_of_many_types(size: int) -> None:
    """Each type of a class has the class's name in front: a real one's is not that long."""
    types = b"".join(b"\x06" + b"%d\0" % number + b"\0" for number in range(2000))
    elf = unit(b"\x03" + b"n" * size + b"\0" + types + b"\0")
    if size == 100:
        assert build(elf)
        return
    with pytest.raises(DebuginfoError, match="damaged: its names lie one over the other"):
        build(elf)
