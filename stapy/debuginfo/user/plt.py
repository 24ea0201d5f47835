"""The stubs by which a file calls functions of others: its procedure linkage table.

A stub jumps to what a slot holds; the relocation of the slot has the name.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from stapy.debuginfo.elf import SHT_NOBITS, Strings
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.user import a64
from stapy.debuginfo.user.file import UserFile
from stapy.debuginfo.user.instructions import reader

# With indirect branch tracking the stubs that are called are in a section of their own.
_SECTIONS = (".plt.sec", ".plt", ".plt.got")
_RELOCATION, _SYMBOL = struct.Struct("<QQq"), struct.Struct("<IBBHQQ")
_STUB, _SMALL_STUB = 16, 8
_ENDBR, _BND, _JUMP = b"\xf3\x0f\x1e\xfa", b"\xf2", b"\xff\x25"
_JUMP_BYTES = 6


class Stub(NamedTuple):
    """One stub: what it calls, and its address in the file as it was linked."""

    name: str
    address: int


def stubs(file: UserFile) -> list[Stub]:
    """Find all stubs whose names are known, by address; `DebuginfoError` for a damaged file."""
    names = _slots(file)
    found: dict[str, Stub] = {}
    for section in _SECTIONS if names else ():
        row = file.elf.section(section)
        if row is None or row.type == SHT_NOBITS:
            continue
        code = file.elf.content(row)
        if reader(file.machine).SIZE is not None:
            _add_pages(file, code, row.address, names, found)
            continue
        step = (row.entry_size or _SMALL_STUB) if section == ".plt.got" else _STUB
        for at in range(0, len(code) - _JUMP_BYTES + 1, max(step, _SMALL_STUB)):
            slot = _slot_of(code[at : at + step], row.address + at)
            name = names.get(slot) if slot is not None else None
            if name and file.code_offset(row.address + at) is not None:
                found.setdefault(name, Stub(name, row.address + at))
    return sorted(found.values(), key=lambda stub: stub.address)


def called(file: UserFile) -> set[str]:
    """List what a file has of others, by stubs or (``-fno-plt``) by pointers alone."""
    return set(_slots(file).values())


def _slot_of(code: bytes, address: int) -> int | None:
    """Decode the slot that a stub jumps by, None when it is no stub."""
    at = len(_ENDBR) if code.startswith(_ENDBR) else 0
    at += len(_BND) if code.startswith(_BND, at) else 0
    if not code.startswith(_JUMP, at) or len(code) < at + _JUMP_BYTES:
        return None
    (distance,) = struct.unpack_from("<i", code, at + len(_JUMP))
    return int(address + at + _JUMP_BYTES + distance)


def _add_pages(
    file: UserFile, code: bytes, start: int, names: dict[int, str], found: dict[str, Stub]
) -> None:
    """Add the stubs of a section that load the slot's page and then the slot, as arm64's do."""
    for at in range(0, len(code), 4):
        stub = a64.slot_of(code, at, start)
        name = names.get(stub[1]) if stub is not None else None
        if stub is not None and name and file.code_offset(stub[0]) is not None:
            found.setdefault(name, Stub(name, stub[0]))


def _slots(file: UserFile) -> dict[int, str]:
    """Map the addresses of slots to the functions that they will hold."""
    names: dict[int, str] = {}
    elf = file.elf
    for section in (".rela.dyn", ".rela.plt"):
        row = elf.section(section)
        if row is None or row.type == SHT_NOBITS or not 0 < row.link < len(elf.sections):
            continue
        table = elf.sections[row.link]
        if table.link >= len(elf.sections):
            raise DebuginfoError(f"{elf.name}: damaged relocations of {section}")
        symbols = elf.content(table)
        strings = Strings(elf.content(elf.sections[table.link]), elf.name)
        data = elf.content(row)
        whole = len(data) - len(data) % _RELOCATION.size
        for slot, what, _ in _RELOCATION.iter_unpack(data[:whole]):
            at = (what >> 32) * _SYMBOL.size
            if what & 0xFFFFFFFF not in file.machine.slots or at + 24 > len(symbols):
                continue
            (start,) = struct.unpack_from("<I", symbols, at)
            if word := strings.word(start):
                names[slot] = word.decode("utf-8", "surrogateescape")
    return names
