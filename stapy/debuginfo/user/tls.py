"""Where a file's thread-local variables are: below the thread's base, or wherever the loader says.

A program's own block lies right below the base, at a distance that the linker knew.  A library's is
found by what the loader has written into a slot of the library: the number of its block in the
thread's table, or how far a variable of it is from the base.  A descriptor (``-mtls-dialect=gnu2``)
has either, as the loader found room for the block.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from stapy.debuginfo.elf import SHT_NOBITS
from stapy.debuginfo.user.file import PT_TLS, UserFile

BASE, NUMBER, DISTANCE, DESCRIPTOR = "base", "number", "distance", "descriptor"
_DTPMOD, _TPOFF, _TLSDESC, _STT_TLS = 16, 18, 36, 6
_STB_LOCAL, _STV_DEFAULT = 0, 0
_HOW = {_DTPMOD: NUMBER, _TPOFF: DISTANCE, _TLSDESC: DESCRIPTOR}
# Linkers have those of descriptors among what may be bound when it is used for the first time.
_TABLES = (".rela.dyn", ".rela.plt")
_WORD = 8
_RELOCATION, _SYMBOL = struct.Struct("<QQq"), struct.Struct("<IBBHQQ")


class TlsBlock(NamedTuple):
    """How to come to the first byte of a file's thread-local variables.

    ``base``: ``distance`` from the thread's base.  ``number``: the word at the address
    ``slot`` is the block's number in the thread's table.  ``distance``: that word is a
    distance from the base, to which ``distance`` is added.  ``descriptor``: the word at ``slot``
    is such a distance, which is negative, or else the address of a word with the number.
    """

    how: str
    slot: int = 0
    distance: int = 0


def variable(file: UserFile, name: str) -> int | None:
    """Find how far, in bytes, an exported variable is from the begin of the file's block.

    Returns None when the file exports none of that name.
    """
    row = file.elf.section(".dynsym")
    if row is None or row.type == SHT_NOBITS or not 0 < row.link < len(file.elf.sections):
        return None
    symbols, names = file.elf.content(row), file.elf.content(file.elf.sections[row.link])
    wanted = name.encode() + b"\0"
    whole = len(symbols) - len(symbols) % _SYMBOL.size
    for text, kind, _, section, value, _ in _SYMBOL.iter_unpack(symbols[:whole]):
        if kind & 15 == _STT_TLS and section and names[text : text + len(wanted)] == wanted:
            return int(value)
    return None


def has_variables(file: UserFile) -> bool:
    """Tell whether a file has thread-local variables."""
    return any(row.type == PT_TLS for row in file.segments)


def block_of(file: UserFile) -> TlsBlock | None:
    """Find where the thread-local variables of a file begin; None when nothing tells."""
    segment = next((row for row in file.segments if row.type == PT_TLS), None)
    if segment is None:
        return None
    if not file.is_library:
        step = max(segment.alignment, 1)
        head = file.machine.thread_head
        if head is not None:
            return TlsBlock(BASE, 0, (head + step - 1) // step * step)
        return TlsBlock(BASE, 0, -((segment.memory_size + step - 1) // step * step))
    found: dict[tuple[bool, str], TlsBlock] = {}
    for is_own, block in (row for name in _TABLES for row in _slots(file, name)):
        found.setdefault((is_own, block.how), block)
    # A name that others may define as well can lead to the block of another file.
    order = [(is_own, how) for is_own in (True, False) for how in _HOW.values()]
    return next((found[key] for key in order if key in found), None)


def _slots(file: UserFile, table: str) -> Iterator[tuple[bool, TlsBlock]]:
    """List what the loader writes for the file's variables, by a table of relocations.

    The first of a pair tells whether that can only be of this file, whatever others define.
    """
    row = file.elf.section(table)
    if row is None or row.type == SHT_NOBITS or not 0 < row.link < len(file.elf.sections):
        return
    symbols, data = file.elf.content(file.elf.sections[row.link]), file.elf.content(row)
    whole = len(data) - len(data) % _RELOCATION.size
    for slot, what, addend in _RELOCATION.iter_unpack(data[:whole]):
        how, number = _HOW.get(what & 0xFFFFFFFF), what >> 32
        at = number * _SYMBOL.size
        if how is None or at + _SYMBOL.size > len(symbols):
            continue
        _, kind, seen, section, value, _ = _SYMBOL.unpack_from(symbols, at)
        if number and not section:
            continue  # of another file
        is_own = not number or kind >> 4 == _STB_LOCAL or seen & 3 != _STV_DEFAULT
        distance = -(value + addend if number else addend)
        if how == NUMBER:
            yield is_own, TlsBlock(NUMBER, slot)
        else:  # a descriptor is two words, of a function and what that is given
            yield is_own, TlsBlock(how, slot + (_WORD if how == DESCRIPTOR else 0), distance)
