"""What stapy needs out of a packed kernel image: BTF, build-id and the symbol tables.

The image is inflated as a stream and only as far as these reach, which is half
of it; nothing but these parts is kept.
"""

from __future__ import annotations

import contextlib
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from stapy.debuginfo.elf import ElfFile, build_id_of, parse_notes
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.symbols import kallsyms_layout
from stapy.debuginfo.unpack import lz4
from stapy.debuginfo.unpack.unpackers import CHUNK, MAX_FILE, MAX_MEMORY, through
from stapy.record import Record

_BTF_MAGIC = struct.pack("<HBBI", 0xEB9F, 1, 0, 24)
_NOTE = struct.pack("<III4s", 4, 20, 3, b"GNU\0")
# What boot loaders look for in an Image of arm64, and in an EFI program that unpacks a kernel.
_ARM64, _EFI_PACKED = b"ARM\x64", b"zimg"
# magic -> (name, program that inflates it from standard input)
_PACKERS = {
    b"\x1f\x8b": ("gzip", []),
    b"\xfd7zXZ\0": ("xz", []),
    b"BZh": ("bzip2", []),
    b"\x5d\0\0": ("lzma", []),
    lz4.MAGIC: ("lz4", ["lz4", "-dcq"]),
    b"(\xb5/\xfd": ("zstd", ["zstd", "-dcq"]),
    b"\x89LZO": ("lzo", ["lzop", "-dcq"]),
}


class ImageParts(Record):
    """``symbols`` is the piece of read-only data that ``layout`` describes."""

    btf: bytes = b""
    build_id: str = ""
    symbols: bytes = b""
    layout: kallsyms_layout.Layout | None = None


def read_image(path: Path) -> ImageParts:
    """Read the parts of ``/boot/vmlinuz-RELEASE`` (bzImage, Image, a packed or a plain vmlinux).

    Raises `DebuginfoError` when it cannot be read or is damaged.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DebuginfoError(f"{path}: {error.strerror}") from None
    return extract(inflate(payload(data, path.name), path.name))


def payload(data: bytes, name: str) -> bytes:
    """Cut the packed kernel out of a bzImage or of an image that is an EFI program.

    Other files are returned as they are.  Raises `DebuginfoError` for a damaged header.
    """
    if data[:2] == b"MZ" and data[4:8] == _EFI_PACKED:
        start, size = struct.unpack_from("<II", data, 8)
        if size == 0 or start + size > len(data):
            raise DebuginfoError(f"{name}: damaged boot header")
        return data[start : start + size]
    if len(data) < 0x260 or data[0x202:0x206] != b"HdrS":
        return data
    offset, size = struct.unpack_from("<II", data, 0x248)
    start = ((data[0x1F1] or 4) + 1) * 512 + offset
    if size == 0 or start + size > len(data):
        raise DebuginfoError(f"{name}: damaged boot header")
    return data[start : start + size]


def inflate(data: bytes, name: str) -> Iterator[bytes]:
    """Inflate a packed kernel piece by piece; a plain ELF file or Image of arm64 passes through."""
    if data[:4] == b"\x7fELF" or data[56:60] == _ARM64:
        return iter((data,))
    for magic, (kind, command) in _PACKERS.items():
        if data.startswith(magic):
            return (
                _by_program(data, command, kind, name) if command else _by_library(data, kind, name)
            )
    raise DebuginfoError(f"{name}: unknown kind of kernel image")


def _by_library(data: bytes, kind: str, name: str) -> Iterator[bytes]:
    import bz2
    import lzma

    try:
        if kind == "gzip":
            gzip = zlib.decompressobj(31)
            rest = data
            while rest and not gzip.eof:
                yield gzip.decompress(rest, CHUNK)
                rest = gzip.unconsumed_tail
            return
        unpacker = (
            bz2.BZ2Decompressor() if kind == "bzip2" else lzma.LZMADecompressor(memlimit=MAX_MEMORY)
        )
        rest = data
        while not unpacker.eof:
            piece = unpacker.decompress(rest, CHUNK)
            if not piece and unpacker.needs_input:
                return
            yield piece
            rest = b""
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DebuginfoError(f"{name}: damaged {kind} data: {error}") from None


def _by_program(data: bytes, command: list[str], kind: str, name: str) -> Iterator[bytes]:
    import shutil

    program = shutil.which(command[0])
    if program is None:
        if kind == "lz4":
            yield from lz4.blocks(data)
            return
        raise DebuginfoError(
            f"{name}: packed with {kind}; install the program {command[0]} to read it"
        )
    yield from through([program, *command[1:]], data)


def extract(pieces: Iterator[bytes]) -> ImageParts:
    """Find the parts in a stream of an inflated vmlinux.

    BTF follows the read-only data with the symbol tables, so the stream is left
    at the end of BTF; without BTF it is read to its end.
    """
    image = bytearray()
    start = end = -1
    searched = 0
    for piece in pieces:
        image += piece
        if start < 0:
            start = image.find(_BTF_MAGIC, searched)
            searched = max(0, len(image) - len(_BTF_MAGIC))
        if 0 <= start <= len(image) - 24 and end < 0:
            end = _btf_end(image, start)
            if end < 0:  # the same bytes by chance
                searched, start = start + 1, -1
        if 0 <= end <= len(image):
            break
        if len(image) > MAX_FILE:
            break
    parts = ImageParts()
    if 0 <= end <= len(image):
        parts.btf = bytes(image[start:end])
        # The read-only data also holds the vDSO's notes; the kernel's own come last.
        note = image.rfind(_NOTE, 0, start)
        if note >= 0:
            parts.build_id = build_id_of(parse_notes(bytes(image[note : note + 36])))
    else:
        with contextlib.suppress(DebuginfoError):
            parts.build_id = ElfFile(bytes(image), "vmlinux").build_id()
    layout = kallsyms_layout.locate(image)
    if layout is not None:
        parts.symbols = bytes(image[layout.start : layout.end])
        parts.layout = kallsyms_layout.shift(layout, layout.start)
    return parts


def _btf_end(image: bytearray, start: int) -> int:
    """Find the end of the BTF data whose header is at ``start``, -1 when it is none."""
    header: tuple[int, ...] = struct.unpack_from("<HBBIIIII", image, start)
    size, type_offset, type_size, text_offset, text_size = header[3:]
    if size != 24 or type_offset != 0 or text_offset != type_size or type_size % 4:
        return -1
    if type_size < 1 << 12 or text_size < 1 << 10:
        return -1
    return start + 24 + text_offset + text_size
