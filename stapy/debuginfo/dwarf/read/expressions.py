"""DWARF expressions decoded to a small list of operations, and the lists that hold them."""

from __future__ import annotations

import struct
from typing import NamedTuple

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.numbers import number, sleb, uleb
from stapy.debuginfo.dwarf.read.lists import LOCATIONS, next_range
from stapy.debuginfo.dwarf.read.ranges import Range, low_pc
from stapy.debuginfo.dwarf.read.units import Die, DwarfUnit
from stapy.debuginfo.errors import DebuginfoError


class Op(NamedTuple):
    """One operation.

    ``register n``, ``address_in n offset`` (register plus offset), ``frame
    offset`` (from the frame base), ``cfa``, ``const n``, ``address n`` (of the
    file, before the kernel moved), ``read size``, ``value`` (the stack's top is
    the value itself), ``piece bits offset`` (both in bits), ``bytes n size``,
    arithmetic by its C operator (``>>>`` shifts in zeros), ``dup``, ``drop``,
    ``swap``, ``over``, ``rotate``, ``pick n``; ``branch n`` (when the top, which it
    takes, is not 0) and ``skip n`` go on at operation n, always a later one;
    ``entry_register n`` is what register n had when the function was entered;
    ``convert size signed`` makes the top a number of that type, of size 0 a plain
    one; ``implicit_pointer entry offset`` points into a variable that has no
    address; ``thread`` makes an offset of the top the address in this thread's block;
    ``parameter entry`` is what the caller would have passed for a parameter
    that the function does without; ``unknown code`` is what stapy does not evaluate.
    """

    name: str
    first: int = 0
    second: int = 0


_PLAIN = {
    0x12: "dup", 0x13: "drop", 0x14: "over", 0x16: "swap", 0x17: "rotate", 0x1A: "&",
    0x1B: "/", 0x1C: "-", 0x1D: "%", 0x1E: "*", 0x1F: "neg", 0x20: "~", 0x21: "|", 0x22: "+",
    0x24: "<<", 0x25: ">>>", 0x26: ">>", 0x27: "^", 0x29: "==", 0x2A: ">=", 0x2B: ">",
    0x2C: "<=", 0x2D: "<", 0x2E: "!=", 0x9B: "thread",
    0x9C: "cfa", 0x9F: "value", 0xE0: "thread",
}  # fmt: skip
_FIXED = {
    0x08: (1, False), 0x09: (1, True), 0x0A: (2, False), 0x0B: (2, True), 0x0C: (4, False),
    0x0D: (4, True), 0x0E: (8, False), 0x0F: (8, True),
}  # fmt: skip
_NOTHING = (0x96, 0xF0)  # nop, and GNU's mark of what is not initialised yet
_PIECE, _BIT_PIECE, _BRANCH, _SKIP, _BYTES = 0x93, 0x9D, 0x28, 0x2F, 0x9E
_IMPLICIT_POINTER = (0xA0, 0xF2)
_PARAMETER = (0xFA,)  # GNU's only
_ENTRY_VALUE = (0xA3, 0xF3)
_CONST_TYPE, _REGVAL_TYPE = (0xA4, 0xF4), (0xA5, 0xF5)
_DEREF_TYPE = (0xA6, 0xF6)
_CONVERT, _REINTERPRET = (0xA8, 0xF7), (0xA9, 0xF9)
# What has no value at a place: nothing in the kernel has it, or stapy cannot get it.
NOT_HERE = frozenset(("unknown", "implicit_pointer"))


def decode(data: bytes, unit: DwarfUnit, *, is_inner: bool = False) -> list[Op]:
    """Decode one expression; it ends with the first operation that is unknown.

    One that ``is_inner`` is part of another, and has no other in it. Raises `DebuginfoError` for
    damaged bytes.
    """
    ops: list[Op] = []
    numbers: dict[int, int] = {}  # position in the bytes -> number of the operation
    at = 0
    try:
        while at < len(data):
            numbers[at] = len(ops)
            if is_inner and data[at] in _ENTRY_VALUE:
                raise IndexError(at)
            found, at = _step(data, at, unit)
            ops += found
            if ops and ops[-1].name == "unknown":
                break
    except (IndexError, struct.error):
        raise DebuginfoError(f"{unit.info.name}: damaged expression {data.hex()}") from None
    numbers[len(data)] = len(ops)
    return [_aimed(op, number, numbers) for number, op in enumerate(ops)]


def _aimed(op: Op, number: int, numbers: dict[int, int]) -> Op:
    """Give a branch the number of the operation that it leads to; loops become unknown."""
    if op.name not in ("branch", "skip"):
        return op
    target = numbers.get(op.first, 0)
    return Op(op.name, target) if target > number else Op("unknown", _BRANCH)


def _step(data: bytes, at: int, unit: DwarfUnit) -> tuple[list[Op], int]:
    """Decode the operation at ``at`` into zero to two `Op`s; return them and the offset behind."""
    code = data[at]
    if code in _NOTHING:
        return [], at + 1
    if code in _ENTRY_VALUE:
        size, at = uleb(data, at + 1)
        if at + size > len(data):
            raise IndexError(size)
        return _entry_value(decode(data[at : at + size], unit, is_inner=True), code), at + size
    if code in _CONST_TYPE:
        type, at = uleb(data, at + 1)
        size = data[at]
        value = Op("const", number(data, at + 1, size))
        return [value, _convert(unit, type)] if size <= 8 else [_unknown(code)], at + 1 + size
    if code in _REGVAL_TYPE:
        register, at = uleb(data, at + 1)
        type, at = uleb(data, at)
        return [Op("address_in", register), _convert(unit, type)], at
    if code in _DEREF_TYPE:
        size = data[at + 1]
        type, at = uleb(data, at + 2)
        return [Op("read", size), _convert(unit, type)], at
    if code in _CONVERT or code in _REINTERPRET:
        type, at = uleb(data, at + 1)
        return [_convert(unit, type)], at
    if code in _PARAMETER:
        entry = number(data, at + 1, 4) + unit.header.shift
        return [Op("parameter", entry)], at + 5
    op, at = _one(data, at, unit)
    return [op], at


def _unknown(code: int) -> Op:
    return Op("unknown", code)


def _entry_value(ops: list[Op], code: int) -> list[Op]:
    """Decode what a register had on entry, plus a number perhaps.

    All else is unknown: memory may have changed since.
    """
    if len(ops) == 1 and ops[0].name == "register":
        return [Op("entry_register", ops[0].first)]
    if len(ops) == 1 and ops[0].name == "address_in":
        return [Op("entry_register", ops[0].first), Op("add", ops[0].second)]
    return [_unknown(code)]


def _convert(unit: DwarfUnit, type: int) -> Op:
    """Make the conversion to a base type, told as an offset in the unit.

    Offset 0 is the type of plain numbers.
    """
    if not type:
        return Op("convert")
    entry = unit.entry_at(unit.header.offset + type)
    if entry is None or entry.tag != k.BASE_TYPE:
        return _unknown(_CONVERT[0])
    size, encoding = entry.number(k.AT_BYTE_SIZE), entry.number(k.AT_ENCODING)
    if encoding == k.ATE_FLOAT or not 0 < size <= 8:
        return _unknown(_CONVERT[0])
    return Op("convert", size, int(encoding in (k.ATE_SIGNED, k.ATE_SIGNED_CHAR)))


def _one(data: bytes, at: int, unit: DwarfUnit) -> tuple[Op, int]:
    code = data[at]
    at += 1
    if code in _PLAIN:
        return Op(_PLAIN[code]), at
    if code in _FIXED:
        size, signed = _FIXED[code]
        value = int.from_bytes(data[at : at + size], "little", signed=signed)
        return Op("const", value), at + size
    if 0x30 <= code <= 0x4F:
        return Op("const", code - 0x30), at
    if 0x50 <= code <= 0x6F:
        return Op("register", code - 0x50), at
    if 0x70 <= code <= 0x8F:
        offset, at = sleb(data, at)
        return Op("address_in", code - 0x70, offset), at
    if code == 0x03:
        return Op("address", number(data, at, 8)), at + 8
    if code in (0xA1, 0xA2):
        index, at = uleb(data, at)
        return Op("address" if code == 0xA1 else "const", unit.indexed_address(index)), at
    if code in (0x10, 0x23, 0x90):
        value, at = uleb(data, at)
        return Op({0x10: "const", 0x23: "add", 0x90: "register"}[code], value), at
    if code == _PIECE:
        value, at = uleb(data, at)
        return Op("piece", 8 * value), at
    if code == _BIT_PIECE:
        value, at = uleb(data, at)
        offset, at = uleb(data, at)
        return Op("piece", value, offset), at
    if code in (_BRANCH, _SKIP):
        (distance,) = struct.unpack_from("<h", data, at)
        return Op("branch" if code == _BRANCH else "skip", at + 2 + int(distance)), at + 2
    if code in (0x11, 0x91):
        value, at = sleb(data, at)
        return Op("const" if code == 0x11 else "frame", value), at
    if code == 0x92:
        register, at = uleb(data, at)
        offset, at = sleb(data, at)
        return Op("address_in", register, offset), at
    if code == 0x06:
        return Op("read", 8), at
    if code == 0x94:
        return Op("read", data[at]), at + 1
    if code == 0x15:
        return Op("pick", data[at]), at + 1
    if code == _BYTES:
        size, at = uleb(data, at)
        if at + size > len(data):
            raise IndexError(size)
        return Op("bytes", number(data, at, size), size), at + size
    if code in _IMPLICIT_POINTER:
        entry = number(data, at, 4) + unit.info.base
        offset, at = sleb(data, at + 4)
        return Op("implicit_pointer", entry, offset), at
    return _unknown(code), at


def location(entry: Die, attribute: int, address: int) -> tuple[list[Op] | None, list[Range]]:
    """Find where something is at an address, None when nowhere; and where else it can be had.

    The second part are address ranges; a location that holds everywhere has none.
    """
    value = entry.values.get(attribute)
    if isinstance(value, bytes):
        return (decode(value, entry.unit) if value else None), []
    if not isinstance(value, int):
        return None, []
    rows = location_list(entry, attribute)
    found: list[Op] | None = None
    for start, end, expression in rows:
        if start <= address < end and expression and found is None:
            found = decode(expression, entry.unit)
    ranges = [
        (start, end)
        for start, end, expression in rows
        if start < end and is_available(decode(expression, entry.unit))
    ]
    return found, ranges


def is_available(ops: list[Op]) -> bool:
    """Tell whether what a location says can be had where it holds."""
    return bool(ops) and not any(op.name in NOT_HERE for op in ops)


def location_list(entry: Die, attribute: int) -> list[tuple[int, int, bytes]]:
    """Read ``(start, end, expression)`` of each row of a location list.

    Raises `DebuginfoError` for a damaged list.
    """
    unit = entry.unit
    offset = entry.number(attribute)
    base = low_pc(unit.root) or 0
    try:
        if unit.header.version < 5:
            return _old(unit, offset, base)
        if entry.forms[attribute] == k.LOCLISTX:
            start = unit.base(k.AT_LOCLISTS_BASE, 12)
            section = unit.info.sections.section("loclists")
            offset = start + number(section, start + 4 * offset, 4)
        return _new(unit, offset, base)
    except (IndexError, struct.error):
        raise DebuginfoError(f"{unit.info.name}: damaged location list at {offset:#x}") from None


def _old(unit: DwarfUnit, at: int, base: int) -> list[tuple[int, int, bytes]]:
    data = unit.info.sections.section("loc")
    rows: list[tuple[int, int, bytes]] = []
    while True:
        start, end = struct.unpack_from("<QQ", data, at)
        at += 16
        if not start and not end:
            return rows
        if start == 2**64 - 1:
            base = end
            continue
        (size,) = struct.unpack_from("<H", data, at)
        at += 2
        rows.append((base + start, base + end, bytes(data[at : at + size])))
        at += size


def _new(unit: DwarfUnit, at: int, base: int) -> list[tuple[int, int, bytes]]:
    data = unit.info.sections.section("loclists")
    rows: list[tuple[int, int, bytes]] = []
    entry = next_range(unit, data, at, base, LOCATIONS)
    while entry is not None:
        start, end, at, base = entry
        size, at = uleb(data, at)
        rows.append((start, end, bytes(data[at : at + size])))
        entry = next_range(unit, data, at + size, base, LOCATIONS)
    return rows
