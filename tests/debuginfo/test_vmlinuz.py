from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stapy.debuginfo.btf.reader import Btf
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.symbols.kallsyms import Kallsyms
from stapy.debuginfo.unpack import lz4
from stapy.debuginfo.vmlinuz import extract, inflate, payload, read_image

from .btfwriter import BtfWriter
from .elfwriter import ElfWriter, note
from .kallsymswriter import symbols, write

BUILD_ID = bytes(range(100, 120))


def btf() -> bytes:
    w = BtfWriter()
    w.int("int")
    for number in range(300):
        w.function(f"func_{number:04}", 1, [("a", 1)])
    return w.data()


def vmlinux() -> bytes:
    writer = ElfWriter(2)
    vdso = note("GNU", 3, bytes(20))
    writer.section(".rodata", vdso + bytes(-len(vdso) % 8) + write(symbols(), "6.12"))
    writer.section(".notes", note("GNU", 3, BUILD_ID), type=7)
    writer.section(".BTF", btf())
    writer.section(".data", bytes(4096))
    return writer.data()


def lz4_block(data: bytes) -> bytes:
    """Encode data as literals only: valid, if large."""
    size = len(data)
    if size < 15:
        return bytes([size << 4]) + data
    rest = size - 15
    return b"\xf0" + b"\xff" * (rest // 255) + bytes([rest % 255]) + data


def lz4_legacy(data: bytes) -> bytes:
    block = lz4_block(data)
    return lz4.MAGIC + struct.pack("<I", len(block)) + block


def zstd(data: bytes) -> bytes:
    program = shutil.which("zstd")
    if program is None:
        pytest.skip("no zstd program")
    return subprocess.run([program, "-cq"], input=data, capture_output=True, check=True).stdout


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    "lz4": lz4_legacy,
    "zstd": zstd,
}


def bz_image(packed: bytes) -> bytes:
    """Boot sector, one setup sector, then code before and behind the packed kernel."""
    code, size = bytes(100), struct.pack("<I", 12345)
    data = bytearray(1024)
    data[0x1F1] = 1
    data[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", data, 0x248, len(code), len(packed) + len(size))
    return bytes(data) + code + packed + size + bytes(50)


def efi_image(packed: bytes) -> bytes:
    """Make a program of the firmware that has the packed kernel behind its own code."""
    head = struct.pack("<4s4sII", b"MZ", b"zimg", 512, len(packed))
    return head.ljust(512, b"\0") + packed + bytes(50)


def arm64_image(kernel: bytes) -> bytes:
    """Make the file that boot loaders of arm64 copy into memory as it is."""
    return bytes(56) + b"ARM\x64" + bytes(4) + kernel


@pytest.mark.parametrize(
    "image",
    [arm64_image, lambda kernel: efi_image(gzip.compress(arm64_image(kernel)))],
    ids=["Image", "zimg"],
)
def test_images_of_arm64(tmp_path: Path, image: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "vmlinuz"
    path.write_bytes(image(vmlinux()))
    parts = read_image(path)
    assert parts.btf == btf()
    assert parts.build_id == BUILD_ID.hex()
    assert parts.layout is not None


@pytest.mark.parametrize("packer", PACKERS)
def test_a_packed_image(tmp_path: Path, packer: str) -> None:
    path = tmp_path / "vmlinuz"
    path.write_bytes(bz_image(PACKERS[packer](vmlinux())))
    parts = read_image(path)
    assert parts.btf == btf()
    assert Btf(parts.btf, "x").has_function("func_0123")
    assert parts.build_id == BUILD_ID.hex()
    assert parts.layout is not None
    assert Kallsyms(parts.symbols, parts.layout).find("func_0003") == ["Tb"]


def test_lz4_without_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    path = tmp_path / "vmlinuz"
    path.write_bytes(bz_image(lz4_legacy(vmlinux())))
    assert read_image(path).btf == btf()


def test_zstd_without_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    path = tmp_path / "vmlinuz"
    path.write_bytes(bz_image(b"(\xb5/\xfd" + bytes(99)))
    with pytest.raises(DebuginfoError, match="install the program zstd"):
        read_image(path)


def test_an_image_without_btf() -> None:
    writer = ElfWriter(2)
    writer.note("GNU", 3, BUILD_ID)
    parts = extract(iter((writer.data(),)))
    assert (parts.btf, parts.build_id, parts.layout) == (b"", BUILD_ID.hex(), None)


def test_the_stream_is_left_at_the_end_of_btf() -> None:
    image = vmlinux()
    end = image.index(btf()) + len(btf())
    taken = []
    for at in range(0, len(image), 512):
        taken.append(image[at : at + 512])
    used = 0

    def pieces():  # type: ignore[no-untyped-def]
        nonlocal used
        for piece in taken:
            used += len(piece)
            yield piece

    assert extract(pieces()).btf == btf()
    assert end <= used < end + 512


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"rubbish", "unknown kind"),
        (bz_image(b"rubbish"), "unknown kind"),
        (bz_image(gzip.compress(b"x" * 9999)[:20] + b"rubbish" * 9), "damaged gzip"),
        (bz_image(lzma.compress(b"x" * 9999)[:30] + b"rubbish" * 9), "damaged xz"),
        (bz_image(gzip.compress(vmlinux()))[:2000], "damaged boot header"),
        (efi_image(gzip.compress(vmlinux()))[:600], "damaged boot header"),
    ],
)
def test_damaged_images(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "vmlinuz"
    path.write_bytes(data)
    with pytest.raises(DebuginfoError, match=why):
        read_image(path)


def test_a_plain_vmlinux_needs_no_unpacking() -> None:
    image = vmlinux()
    assert payload(image, "x") == image
    assert b"".join(inflate(image, "x")) == image


@given(st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_lz4_blocks_round_trip(data: bytes) -> None:
    assert lz4.inflate_block(lz4_block(data)) == data


def test_lz4_matches() -> None:
    # "ab", then a copy of 9 from 2 back (it overlaps itself), then the literal "!"
    assert lz4.inflate_block(b"\x25ab\x02\x00" + b"\x10!") == b"ab" + b"ababababa" + b"!"


@given(st.binary(min_size=1, max_size=200))
@settings(max_examples=120, deadline=None)
def test_damaged_lz4_blocks_end_cleanly(data: bytes) -> None:
    try:
        assert len(lz4.inflate_block(data)) <= 8 << 20
    except DebuginfoError as error:
        assert "lz4" in str(error)
