"""Patterns, expressions, abbreviations and where debug files are looked for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.files import paths as files
from stapy.debuginfo.dwarf.query.spec import parse
from stapy.debuginfo.dwarf.read.abbrev import Abbreviations, skip
from stapy.debuginfo.dwarf.read.expressions import Op, decode
from stapy.debuginfo.dwarf.read.lines import LineReader
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.errors import DebuginfoError


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("vfs_read", ("vfs_read", "", None, False)),
        ("*@fs/open.c", ("*", "fs/open.c", None, False)),
        ("f@a.c:12", ("f", "a.c", [(12, 12)], False)),
        ("f@a.c:12-15", ("f", "a.c", [(12, 15)], False)),
        ("f@a.c+3", ("f", "a.c", [(3, 3)], True)),
        ("f@a.c:*", ("f", "a.c", [(1, 2**31)], False)),
        ("f+3", ("f", "", [(3, 3)], True)),
        ("f@a-b.c", ("f", "a-b.c", None, False)),
        ("f@a.c:3,7-9", ("f", "a.c", [(3, 3), (7, 9)], False)),
        ("f@libstdc++", ("f", "libstdc++", None, False)),
        ("f@a.c:15-12", None),
        ("f@a.c:3,", None),
        ("@a.c", None),
        ("f@", None),
        ("f@:3", None),
        ("f@a.c:*-3", None),
        ("", None),
    ],
)
def test_patterns(text: str, parts: Any) -> None:
    spec = parse(text)
    found = spec and (spec.function, spec.file, spec.lines, spec.is_relative)
    assert found == parts


class FakeUnit:
    """As much of a unit as expressions need."""

    class info:
        name = "test"
        base = 0

    class header:
        offset = shift = 0x100

    def entry_at(self, offset: int) -> Any:
        """Return a base type: int, float or unsigned long."""
        rows = {0x104: (4, k.ATE_SIGNED), 0x105: (8, k.ATE_FLOAT), 0x106: (8, k.ATE_UNSIGNED)}
        size, encoding = rows[offset]
        numbers = {k.AT_BYTE_SIZE: size, k.AT_ENCODING: encoding}
        return SimpleNamespace(tag=k.BASE_TYPE, number=numbers.__getitem__)

    def indexed_address(self, index: int) -> int:
        return 0x1000 + index


@pytest.mark.parametrize(
    ("code", "ops"),
    [
        ("55", [Op("register", 5)]),
        ("9010", [Op("register", 16)]),
        ("7778", [Op("address_in", 7, -8)]),
        ("920708", [Op("address_in", 7, 8)]),
        ("9170", [Op("frame", -16)]),
        ("9c", [Op("cfa")]),
        ("3a9f", [Op("const", 10), Op("value")]),
        ("09ff9f", [Op("const", -1), Op("value")]),
        ("0bfeff", [Op("const", -2)]),
        ("10e507", [Op("const", 997)]),
        ("117f", [Op("const", -1)]),
        ("038877665544332211", [Op("address", 0x1122334455667788)]),
        ("a102", [Op("address", 0x1002)]),
        ("5593085493" + "08", [Op("register", 5), Op("piece", 64), Op("register", 4),
                               Op("piece", 64)]),
        ("93045f9d01009d3f03", [Op("piece", 32), Op("register", 15), Op("piece", 1),
                                Op("piece", 63, 3)]),
        ("7500069404", [Op("address_in", 5, 0), Op("read", 8), Op("read", 4)]),
        ("75002304221c", [Op("address_in", 5, 0), Op("add", 4), Op("+"), Op("-")]),
        ("9e02feff", [Op("bytes", 0xFFFE, 2)]),
        ("a301559f", [Op("entry_register", 5), Op("value")]),
        ("f30275089f", [Op("entry_register", 5), Op("add", 8), Op("value")]),
        ("a303750806", [Op("unknown", 0xA3)]),  # memory may have changed since
        ("a00102030405", [Op("implicit_pointer", 0x04030201, 5)]),
        ("f20102030405", [Op("implicit_pointer", 0x04030201, 5)]),
        ("31329617f0", [Op("const", 1), Op("const", 2), Op("rotate")]),
        ("2e2801001613", [Op("!="), Op("branch", 3), Op("swap"), Op("drop")]),
        ("2f010016", [Op("skip", 2), Op("swap")]),
        ("302ffdff", [Op("const", 0), Op("unknown", 0x28)]),  # a loop
        ("302f0100" "0801", [Op("const", 0), Op("unknown", 0x28), Op("const", 1)]),
        ("a20a", [Op("const", 0x100A)]),
        ("a800", [Op("convert")]),
        ("a904", [Op("convert", 4, 1)]),
        ("a504059f", [Op("address_in", 4), Op("unknown", 0xA8)]),
        ("a40402feff", [Op("const", 0xFFFE), Op("convert", 4, 1)]),
        ("a806", [Op("convert", 8, 0)]),
        ("a60404", [Op("read", 4), Op("convert", 4, 1)]),
        ("1b1d", [Op("/"), Op("%")]),
        ("9e0a" + "01" * 10, [Op("bytes", 0x01010101010101010101, 10)]),
        ("fa120000009f", [Op("parameter", 0x112), Op("value")]),
    ],
)  # fmt: skip
def test_expressions(code: str, ops: list[Op]) -> None:
    assert decode(bytes.fromhex(code), FakeUnit()) == ops  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "code", ["03", "0b01", "77", "92", "a305", "9e0401", "2801", "9d01", "a5", "a302a300"]
)
def test_damaged_expressions(code: str) -> None:
    data = bytes.fromhex(code)
    if code in ("03", "0b01"):  # numbers that are cut off read as shorter ones
        assert len(decode(data, FakeUnit())) == 1  # type: ignore[arg-type]
        return
    with pytest.raises(DebuginfoError):
        decode(data, FakeUnit())  # type: ignore[arg-type]


def test_plans() -> None:
    # name:strp line:data1 file:implicit_const(-1) sibling:ref4 | location:exprloc sibling:ref4
    data = bytes.fromhex("012e01030e3b0b3a217f011300008101340002180113000000")
    table = Abbreviations(data, "test").table(0)
    assert sorted(table) == [1, 129]
    function, variable = table[1], table[129]
    assert (function.tag, function.has_children, function.size, function.sibling) == (
        k.SUBPROGRAM, True, 9, 5,
    )  # fmt: skip
    assert function.attributes[2] == (k.AT_DECL_FILE, k.IMPLICIT_CONST, -1)
    assert function.index == {k.AT_NAME: 0, k.AT_DECL_LINE: 1, k.AT_SIBLING: 2}
    assert (variable.size, variable.sibling) == (-1, -1)
    assert skip(bytes.fromhex("02aabb11223344ff"), 0, variable.skips) == 7


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x01\x2e\x00\x03",
        b"\x01\x2e\x00\x03\x7f\x00\x00\x00",
        b"\x01\x2e\x00\x03" + b"\x80" * 40 + b"\x08\x00\x00\x00",
    ],
)
def test_damaged_abbreviations(data: bytes) -> None:
    with pytest.raises(DebuginfoError):
        Abbreviations(data, "test").table(0)


def test_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", "+:.debug:-/a/b:/c:build")
    assert files.folders() == [Path("/a/b"), Path("/c")]
    assert files.folders(Path("/tree")) == [Path("/a/b"), Path("/c")]
    monkeypatch.delenv("SYSTEMTAP_DEBUGINFO_PATH")
    assert files.folders() == [Path("/usr/lib/debug")]


class FakeLines:
    """Sections with one line program of version 4 without files; ``code`` is what it runs."""

    def __init__(self, code: str) -> None:
        body = bytes.fromhex("010101fb0e0d" + "000101010100000001000001" + "0000" + code)
        header = b"\4\0" + (20).to_bytes(4, "little")
        self._data = (len(header) + len(body)).to_bytes(4, "little") + header + body
        self.elf = ElfFile.__new__(ElfFile)
        self.elf.name = "fake"

    def section(self, _: str) -> bytes:
        return self._data


@pytest.mark.parametrize(
    "code",
    [
        "030501" + "037701",  # line 6, then 9 lines back
        "03ffffffff3f01",  # line 34 thousand million
        "03" + "80" * 400 + "01",  # a number that does not end
        "0301" + "01" + "0280",  # an instruction that is cut off
        "0010" + "02" + "11" * 15,  # an address of fifteen bytes
        "0009" + "02" + "ff" * 8 + "0201" + "01" + "000101",  # a step beyond all addresses
        "0009" + "02" + "ff" * 8 + "0201" + "01",
    ],
)
def test_damaged_line_programs(code: str) -> None:
    reader = LineReader(FakeLines(code))  # type: ignore[arg-type]
    with pytest.raises(DebuginfoError, match="damaged line table"):
        reader.rows(reader.program(0, "", ""))


def test_a_table_of_files_without_columns() -> None:
    """So many rows of nothing would take all memory."""
    body = bytes.fromhex("010101fb0e0d" + "000101010100000001000001" + "00" + "ffffffffff7f")
    header = b"\5\0\x08\0" + (len(body)).to_bytes(4, "little")
    lines = FakeLines("")
    lines._data = (len(header) + len(body)).to_bytes(4, "little") + header + body
    with pytest.raises(DebuginfoError, match="damaged line table"):
        LineReader(lines).program(0, "", "")  # type: ignore[arg-type]


def test_names_that_are_too_long_for_files() -> None:
    assert files.existing([Path("/", "x" * 5000), Path("/"), Path(__file__)]) == [Path(__file__)]
