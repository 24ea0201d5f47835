"""DWARF expressions decoded to a small list of operations, and the lists that hold them."""

from __future__ import annotations

import struct
from typing import NamedTuple

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.numbers import number, sleb, uleb
from stapy.debuginfo.dwarf.ranges import Range, low_pc
from stapy.debuginfo.dwarf.units import Entry, Unit
from stapy.debuginfo.errors import DebuginfoError


class Op(NamedTuple):
    """One operation.

    ``register n``, ``address_in n offset`` (register plus offset), ``frame
    offset`` (from the frame base), ``cfa``, ``const n``, ``address n`` (of the
    file, before the kernel moved), ``read size``, ``value`` (the stack's top is
    the value itself), ``piece size``, ``bytes n size``, arithmetic by its C
    operator, ``dup``, ``drop``, ``swap``, ``over``, ``pick n``, and ``unknown
    code`` for what stapy does not evaluate.
    """

    name: str
    first: int = 0
    second: int = 0


_PLAIN = {
    0x12: "dup", 0x13: "drop", 0x14: "over", 0x16: "swap", 0x1A: "&", 0x1C: "-", 0x1E: "*",
    0x1F: "neg", 0x20: "~", 0x21: "|", 0x22: "+", 0x24: "<<", 0x25: ">>>", 0x26: ">>", 0x27: "^",
    0x29: "==", 0x2A: ">=", 0x2B: ">", 0x2C: "<=", 0x2D: "<", 0x2E: "!=", 0x9C: "cfa",
    0x9F: "value",
}  # fmt: skip
_FIXED = {
    0x08: (1, False), 0x09: (1, True), 0x0A: (2, False), 0x0B: (2, True), 0x0C: (4, False),
    0x0D: (4, True), 0x0E: (8, False), 0x0F: (8, True),
}  # fmt: skip


def decode(data: bytes, unit: Unit) -> list[Op]:
    """The operations of one expression; decoding ends at the first unknown one."""
    ops: list[Op] = []
    at = 0
    try:
        while at < len(data):
            op, at = _one(data, at, unit)
            ops.append(op)
            if op.name == "unknown":
                break
    except (IndexError, struct.error):
        raise DebuginfoError(f"{unit.info.name}: damaged expression {data.hex()}") from None
    return ops


def _one(data: bytes, at: int, unit: Unit) -> tuple[Op, int]:
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
    if code == 0xA1:
        index, at = uleb(data, at)
        return Op("address", unit.indexed_address(index)), at
    if code in (0x10, 0x23, 0x90, 0x93):
        value, at = uleb(data, at)
        name = {0x10: "const", 0x23: "add", 0x90: "register", 0x93: "piece"}[code]
        return Op(name, value), at
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
    if code == 0x96:
        return Op("add", 0), at
    if code == 0x9E:
        size, at = uleb(data, at)
        if size <= 8:
            return Op("bytes", number(data, at, size), size), at + size
    return Op("unknown", code), at


def location(entry: Entry, attribute: int, address: int) -> tuple[list[Op] | None, list[Range]]:
    """Where something is at an address, None when nowhere; and where else it is somewhere.

    A location that holds everywhere has no ranges.
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
    return found, [(start, end) for start, end, expression in rows if expression and start < end]


def location_list(entry: Entry, attribute: int) -> list[tuple[int, int, bytes]]:
    """``(start, end, expression)`` of each row of a location list."""
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


def _old(unit: Unit, at: int, base: int) -> list[tuple[int, int, bytes]]:
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


def _new(unit: Unit, at: int, base: int) -> list[tuple[int, int, bytes]]:
    data = unit.info.sections.section("loclists")
    rows: list[tuple[int, int, bytes]] = []
    while True:
        kind = data[at]
        at += 1
        if kind == 0:
            return rows
        if kind == 1:
            index, at = uleb(data, at)
            base = unit.indexed_address(index)
            continue
        if kind == 6:
            base, at = number(data, at, 8), at + 8
            continue
        start, end = 0, 2**64 - 1
        if kind in (2, 3):
            index, at = uleb(data, at)
            start = unit.indexed_address(index)
            second, at = uleb(data, at)
            end = unit.indexed_address(second) if kind == 2 else start + second
        elif kind == 4:
            start, at = uleb(data, at)
            end, at = uleb(data, at)
            start, end = base + start, base + end
        elif kind == 7:
            start, end = struct.unpack_from("<QQ", data, at)
            at += 16
        elif kind == 8:
            start = number(data, at, 8)
            size, at = uleb(data, at + 8)
            end = start + size
        elif kind != 5:
            raise DebuginfoError(f"{unit.info.name}: unknown location entry {kind}")
        size, at = uleb(data, at)
        rows.append((start, end, bytes(data[at : at + size])))
        at += size
