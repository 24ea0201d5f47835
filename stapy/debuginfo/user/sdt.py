"""The marks of a program (``.note.stapsdt``): where they are, and what their arguments are in.

An argument is written as the assembler had it, ``[-]SIZE[f]@OPERAND``; `operands` parses
all of them to `Operand` records. The one that is not understood is of kind `UNKNOWN`,
which costs that argument and nothing else.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from stapy.debuginfo.elf import SHT_NOBITS, open_regular
from stapy.debuginfo.glob import matcher
from stapy.debuginfo.user import x86
from stapy.debuginfo.user.file import UserFile
from stapy.record import Record

_NOTES, _BASE = ".note.stapsdt", ".stapsdt.base"
_TYPE = 3
_MOST = 16 << 20  # bytes of notes that are read: a hundred thousand marks
_ADDRESSES = struct.Struct("<QQQ")

CONSTANT, ADDRESS, REGISTER, MEMORY, VECTOR, UNKNOWN = (
    "constant", "address", "register", "memory", "vector", "unknown",
)  # fmt: skip


class Register(Record):
    """A general register: its number as DWARF counts, how much of it, and from which bit on."""

    number: int
    size: int
    shift: int = 0


RIP = 16


class Operand(Record):
    """One argument.

    - `CONSTANT`: the number ``offset``;
    - `ADDRESS`: that of ``symbols`` plus ``offset``;
    - `REGISTER`: what is in ``base``; `VECTOR`: in xmm register ``offset``;
    - `MEMORY`: what is at ``symbols`` + ``base`` + ``index`` * ``scale`` + ``offset``; where the
      base is the program counter (`RIP`), the symbols tell the whole address.

    ``symbols`` have a sign.  ``size`` and ``is_signed`` say how the value is to be read.
    """

    kind: str
    text: str
    size: int = 8
    is_signed: bool = False
    is_float: bool = False
    offset: int = 0
    base: Register | None = None
    index: Register | None = None
    scale: int = 1
    symbols: tuple[tuple[int, str], ...] = ()


class Mark(Record):
    """One place of a mark; a name may have several, with operands of their own.

    ``address`` is that of linking, ``offset`` the place in the file.  ``semaphore`` is the
    place in the file of the counter that tells the program that somebody listens, 0 for none.
    """

    provider: str
    name: str
    address: int
    offset: int
    semaphore: int
    arguments: str


_MOST_NAMES = 1 << 20  # bytes of the names of sections that are looked at


def may_have_marks(path: str) -> bool:
    """Tell from a file's headers whether it has a section of marks.

    Nothing is kept of it. True also for what cannot be told so: whoever opens it says what is wrong
    with it.
    """
    try:
        with open_regular(Path(path)) as file:
            head = file.read(64)
            if len(head) < 64 or head[4] != 2 or head[5] != 1:
                return False
            (table,) = struct.unpack_from("<Q", head, 40)
            size, count, names = struct.unpack_from("<HHH", head, 58)
            if not table or size != 64 or not count or names >= count:
                return bool(table)
            file.seek(table + 64 * names + 24)
            at, length = struct.unpack("<QQ", file.read(16))
            file.seek(at)
            known = b"" if length > _MOST_NAMES else bytes(file.read(length))
            return bool(length > _MOST_NAMES) or _NOTES.encode() + b"\0" in known
    except (OSError, ValueError, struct.error):
        return False


def marks(file: UserFile, warn: Callable[[str], None] = lambda _: None) -> list[Mark]:
    """Read the marks of a file in its order; ``warn`` of those that are damaged and left out."""
    elf = file.elf
    found: list[Mark] = []
    moved_to = elf.section(_BASE)
    for section in elf.sections:
        if section.name != _NOTES or section.type == SHT_NOBITS:
            continue
        if section.size > _MOST:
            warn(f"{file.path}: its marks are left out: {section.size >> 20} MB of notes")
            continue
        data, at = elf.content(section), 0
        while at + 12 <= len(data):
            name_size, size, kind = struct.unpack_from("<III", data, at)
            start = at + 12 + (name_size + 3 & ~3)
            if start + size > len(data):
                warn(f"{file.path}: its marks end outside of their section")
                break
            if kind == _TYPE and data[at + 12 : at + 12 + name_size] == b"stapsdt\0":
                base = moved_to.address if moved_to is not None else None
                mark = _mark(file, data[start : start + size], base)
                if isinstance(mark, Mark):
                    found.append(mark)
                else:
                    warn(f"{file.path}: a mark is left out: {mark}")
            at = start + (size + 3 & ~3)
    return found


def _mark(file: UserFile, data: bytes, base: int | None) -> Mark | str:
    """Decode one mark, or say what is wrong with it; ``base`` is where its base is now."""
    words = data[_ADDRESSES.size :].split(b"\0")
    if len(data) < _ADDRESSES.size or len(words) < 4:
        return "its note is cut off"
    address, written, semaphore = _ADDRESSES.unpack_from(data)
    # Prelink moves a library, but not the notes.
    moved = base - written if base is not None and written else 0
    provider, name, arguments = (word.decode("utf-8", "surrogateescape") for word in words[:3])
    address += moved
    offset = file.code_offset(address)
    if offset is None:
        return f"'{name}' at {address:#x} is not in the program's code"
    # A breakpoint anywhere else would be a damaged note's.
    instruction = x86.decode(file.read(address, x86.LONGEST))
    if instruction is None or not instruction.is_nop:
        return f"'{name}' at {address:#x} is not on an instruction that does nothing (nop)"
    counter = 0
    if semaphore:
        place = file.offset_of(semaphore + moved)
        if not place:
            return f"the semaphore of '{name}' is not in the file"
        counter = place
    return Mark(provider, name, address, offset, counter, arguments)


def matching(found: list[Mark], name: str, provider: str | None = None) -> list[Mark]:
    """Select those of some marks that patterns mean; ``-`` there is ``__`` in a name."""
    fits, fits_provider = matcher(_spelled(name)), matcher(_spelled(provider or "*"))
    return [row for row in found if fits(row.name) and fits_provider(row.provider)]


@lru_cache(maxsize=64)
def _spelled(pattern: str) -> str:
    """Replace each hyphen of a pattern that is not within brackets by ``__``."""
    pieces = re.split(r"(\[[^]]*\])", pattern)
    return "".join(piece if piece.startswith("[") else piece.replace("-", "__") for piece in pieces)


# --- operands ---------------------------------------------------------------

# In the order of DWARF's numbers.
_FAMILIES = [
    ("rax", "eax", "ax", "al"), ("rdx", "edx", "dx", "dl"), ("rcx", "ecx", "cx", "cl"),
    ("rbx", "ebx", "bx", "bl"), ("rsi", "esi", "si", "sil"), ("rdi", "edi", "di", "dil"),
    ("rbp", "ebp", "bp", "bpl"), ("rsp", "esp", "sp", "spl"),
    *((f"r{n}", f"r{n}d", f"r{n}w", f"r{n}b") for n in range(8, 16)),
]  # fmt: skip
_REGISTERS = {
    name: (number, size)
    for number, family in enumerate(_FAMILIES)
    for name, size in zip(family, (8, 4, 2, 1), strict=True)
}
_REGISTERS.update({f"r{n}l": (n, 1) for n in range(8, 16)})  # as Intel writes r8b
_HIGH = {"ah": 0, "dh": 1, "ch": 2, "bh": 3}
_SIZE = re.compile(r"(-?)([1248]|16)(f?)@(.+)$", re.S)
_VECTOR = re.compile(r"%[xyz]mm([0-9]|[12][0-9]|3[01])$")
_MEMORY = re.compile(
    r"(?P<sum>[^()%]*)\(\s*(?:%(?P<base>\w+))?\s*(?:,\s*%(?P<index>\w+)\s*(?:,\s*(?P<scale>[1248])\s*)?)?\)$"
)
_TERM = re.compile(r"\s*([+-]*)\s*(0[xX][0-9a-fA-F]+|[0-9]+|[A-Za-z_.$][\w.$]*)\s*")
_WORDS = re.compile(r"(?:[^\s(]|\([^)]*\)?)+")


def operands(text: str) -> list[Operand]:
    """Parse the arguments of a mark."""
    return [operand(word) for word in _WORDS.findall(text)]


def operand(text: str) -> Operand:
    """Parse one argument, such as ``-4@8(%rsp)``; of unknown kind when it is not understood."""
    found = _SIZE.match(text)
    # Without a size: the whole register, as very old notes have it.
    minus, size, real, rest = found.groups() if found else ("", "8", "", text)
    result = _place(rest, text)
    result.size, result.is_signed, result.is_float = int(size), bool(minus), bool(real)
    if result.size == 16:
        return Operand(UNKNOWN, text)
    return result


def _place(text: str, whole: str) -> Operand:
    unknown = Operand(UNKNOWN, whole)
    if text.startswith("$"):
        total = _sum(text[1:])
        if total is None:
            return unknown
        number, symbols = total
        return Operand(ADDRESS if symbols else CONSTANT, whole, offset=number, symbols=symbols)
    if text.startswith("%"):
        vector = _VECTOR.match(text)
        if vector:
            return Operand(VECTOR, whole, offset=int(vector[1]))
        register = _register(text[1:])
        return unknown if register is None else Operand(REGISTER, whole, base=register)
    memory = _MEMORY.match(text)
    if memory is None:
        # A place that the assembler was given as a bare number or name.
        total = _sum(text)
        if total is None:
            return unknown
        return Operand(MEMORY, whole, offset=total[0], symbols=total[1])
    total = _sum(memory["sum"]) if memory["sum"].strip() else (0, ())
    names = [memory["base"], memory["index"]]
    base, index = (_wide(name) for name in names)
    if total is None or any(name and row is None for name, row in zip(names, (base, index))):
        return unknown
    if base is not None and base.number == RIP and not total[1]:
        return unknown  # relative to an instruction that the note does not tell
    if index is not None and index.number in (RIP, 7):
        return unknown
    scale = int(memory["scale"] or 1)
    return Operand(
        MEMORY, whole, offset=total[0], base=base, index=index, scale=scale, symbols=total[1]
    )


def _register(name: str) -> Register | None:
    if name in _HIGH:
        return Register(_HIGH[name], 1, 8)
    found = _REGISTERS.get(name)
    return None if found is None else Register(*found)


def _wide(name: str | None) -> Register | None:
    """Find a register that addresses are made of, by its name; None for any other."""
    if name == "rip":
        return Register(RIP, 8)
    found = _register(name or "")
    return found if found is not None and found.size >= 4 else None


def _sum(text: str) -> tuple[int, tuple[tuple[int, str], ...]] | None:
    """Split a sum such as ``name+8-4`` into the number and the signed names; None if it is none."""
    number, symbols, at = 0, [], 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None or (at and not term[1]):
            return None
        sign = -1 if term[1].count("-") % 2 else 1
        if term[2][0].isdigit():
            if len(term[2]) > 20:
                return None
            number += sign * int(term[2], 16 if term[2][1:2] in ("x", "X") else 10)
        else:
            symbols.append((sign, term[2]))
        at = term.end()
    return (number, tuple(symbols)) if text.strip() else None
