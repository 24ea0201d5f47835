from __future__ import annotations

import gzip
import lzma
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stapy.debuginfo.elf import ElfFile, map_file
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.unpack import unpackers

from .elfwriter import ElfWriter

BUILD_ID = bytes(range(20))


def sample() -> bytes:
    writer = ElfWriter()
    writer.section(".text", b"\x90" * 32, flags=6)
    writer.section(".data", b"hello")
    writer.note("GNU", 3, BUILD_ID)
    writer.symbol("one", 0x10)
    writer.symbol("two", 0x20, binding=0, section=2, kind=1)
    return writer.data()


def read_all(data: bytes) -> None:
    elf = ElfFile(data, "sample")
    for section in elf.sections:
        elf.content(section)
    list(elf.symbols())
    elf.build_id()


def test_sections_symbols_and_notes() -> None:
    elf = ElfFile(sample(), "sample")
    assert elf.machine == "x86_64"
    assert elf.read(".data") == b"hello"
    assert elf.read(".nothing") is None
    rows = [(s.name, s.value, s.kind, s.binding, s.section) for s in elf.symbols()]
    assert rows == [("", 0, 0, 0, 0), ("one", 0x10, 2, 1, 1), ("two", 0x20, 1, 0, 2)]
    assert elf.build_id() == BUILD_ID.hex()


def test_a_file_without_sections_has_none() -> None:
    data = bytearray(sample()[:64])
    data[40:48] = bytes(8)
    elf = ElfFile(bytes(data), "bare")
    assert elf.sections == []
    assert list(elf.symbols()) == []
    assert elf.build_id() == ""


PLAIN = b"some text " * 100


@pytest.mark.parametrize(
    ("name", "flags", "data"),
    [
        (".debug_str", 0x800, struct.pack("<IIQQ", 1, 0, 1000, 1) + zlib.compress(PLAIN)),
        (".zdebug_str", 0, b"ZLIB" + struct.pack(">Q", 1000) + zlib.compress(PLAIN)),
    ],
)
def test_compressed_sections_are_inflated(name: str, flags: int, data: bytes) -> None:
    writer = ElfWriter()
    writer.section(name, data, flags=flags)
    assert ElfFile(writer.data(), "x").read(".debug_str") == PLAIN


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"short", "compression header"),
        (struct.pack("<IIQQ", 1, 0, 999, 1) + zlib.compress(PLAIN), "wrong size"),
        (struct.pack("<IIQQ", 1, 0, 1 << 40, 1) + zlib.compress(PLAIN), "impossible size"),
        (struct.pack("<IIQQ", 2, 0, 1 << 40, 1) + zlib.compress(PLAIN), "impossible size"),
        (
            struct.pack("<IIQQ", 1, 0, 1 << 27, 1) + bytes(1 << 20),
            "impossible size 134217728, of 1048576 bytes",
        ),
        (
            struct.pack("<IIQQ", 2, 0, 1 << 27, 1) + bytes(1 << 20),
            "impossible size 134217728, of 1048576 bytes",
        ),
        (struct.pack("<IIQQ", 1, 0, 1000, 1) + b"rubbish!" * 4, "section .x"),
        (struct.pack("<IIQQ", 9, 0, 1000, 1) + zlib.compress(PLAIN), "unknown compression"),
    ],
)
def test_damaged_compressed_sections(data: bytes, why: str) -> None:
    writer = ElfWriter()
    writer.section(".x", data, flags=0x800)
    elf = ElfFile(writer.data(), "x")
    with pytest.raises(DebuginfoError, match=why):
        elf.read(".x")


@pytest.mark.parametrize(
    ("name", "flags", "head"),
    [
        (".debug_info", 0x800, struct.pack("<IIQQ", 1, 0, 1 << 26, 1)),
        (".debug_info", 0x800, struct.pack("<IIQQ", 2, 0, 1 << 26, 1)),
        (".zdebug_info", 0, b"ZLIB" + struct.pack(">Q", 1 << 26)),
    ],
    ids=["zlib", "zstd", "zdebug"],
)
def test_sections_that_there_is_no_memory_for(
    name: str, flags: int, head: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is inflated: the pieces and the whole would need twice as much."""
    writer = ElfWriter()
    writer.section(name, head + zlib.compress(PLAIN), flags=flags)
    monkeypatch.setattr("stapy.debuginfo.unpack.unpackers.free_memory", lambda: (1 << 27) - 1)
    why = f"f: section {name} inflates to 64 MiB, for which 127 MiB of free memory are too little"
    with pytest.raises(DebuginfoError, match=why):
        ElfFile(writer.data(), "f").read(".debug_info")


def test_free_memory_is_what_the_kernel_tells() -> None:
    assert 1 << 20 < unpackers.free_memory() < 1 << 62


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not an ELF"),
        (b"\x7fELF", "not an ELF"),
        (b"MZ" + bytes(100), "not an ELF"),
        (b"\x7fELF\x01\x01" + bytes(100), "64-bit"),
        (b"\x7fELF\x02\x02" + bytes(100), "little-endian"),
        (sample()[:-10], "ends outside"),
    ],
)
def test_what_is_no_elf_file(data: bytes, why: str) -> None:
    with pytest.raises(DebuginfoError, match=why):
        ElfFile(data, "x")


@given(st.data())
@settings(max_examples=120, deadline=None)
def test_damage_ends_in_a_clean_error(data: st.DataObject) -> None:
    image = bytearray(sample())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(6, len(image) - 1))
        image[at] = data.draw(st.integers(0, 255))
    try:
        read_all(bytes(image[: data.draw(st.integers(len(image) // 2, len(image)))]))
    except DebuginfoError as error:
        assert str(error).startswith("sample: ")


def test_modules_may_be_compressed(tmp_path: Path) -> None:
    data = sample()
    packed = {"a.ko": data, "a.ko.gz": gzip.compress(data), "a.ko.xz": lzma.compress(data)}
    zstd = shutil.which("zstd")
    if zstd:
        packed["a.ko.zst"] = subprocess.run(
            [zstd, "-cq"], input=data, capture_output=True, check=True
        ).stdout
    for name, content in packed.items():
        (tmp_path / name).write_bytes(content)
        assert ElfFile.open(tmp_path / name).build_id() == BUILD_ID.hex()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xfd7zXZ\0rubbish",
        b"\x1f\x8brubbish rubbish",
        b"(\xb5/\xfdrubbish",
        lzma.compress(b"x" * 999)[:-20],
    ],
)
def test_damaged_modules(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.ko").write_bytes(content)
    with pytest.raises(DebuginfoError, match=r"a\.ko"):
        ElfFile.open(tmp_path / "a.ko")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DebuginfoError, match="No such file"):
        map_file(tmp_path / "nothing")
