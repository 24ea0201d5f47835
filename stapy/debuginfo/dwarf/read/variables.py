"""Parameters and locals of a place, with where they are at its address."""

from __future__ import annotations

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.read.expressions import Op, decode, location
from stapy.debuginfo.dwarf.read.ranges import Range, contains, ranges_of
from stapy.debuginfo.dwarf.read.types import Types
from stapy.debuginfo.dwarf.read.units import Die
from stapy.record import Record, new, replace

_MAX_BLOCKS = 64


class DwarfVariable(Record):
    """One variable in scope.

    ``ops`` is None when it is nowhere at this address; ``ranges`` are the
    addresses where it is somewhere, empty when that is everywhere or nowhere.
    ``origin`` is the entry that describes it for all copies of its function.
    """

    name: str
    type: c.CType
    is_parameter: bool
    ops: list[Op] | None
    ranges: list[Range] = new(list)
    origin: int = 0


def in_scope(entry: Die, address: int, types: Types) -> list[DwarfVariable]:
    """List the variables of a function or inlined instance at an address.

    Inner ones stand instead of outer ones of their name.
    """
    found: dict[str, DwarfVariable] = {}
    _collect(entry, address, types, found, 0)
    origin = entry.origin()
    if origin is not None:  # what the compiler dropped is in the function's description only
        for child in origin.children():
            if child.tag in (k.FORMAL_PARAMETER, k.VARIABLE):
                name = child.name()
                if name and name not in found:
                    found[name] = variable_at(child, address, types)
    return list(found.values())


def _collect(
    entry: Die, address: int, types: Types, found: dict[str, DwarfVariable], depth: int
) -> None:
    blocks: list[Die] = []
    for child in entry.children():
        if child.tag in (k.FORMAL_PARAMETER, k.VARIABLE):
            if child.name():
                found[child.name()] = variable_at(child, address, types)
        elif child.tag == k.LEXICAL_BLOCK and depth < _MAX_BLOCKS:
            blocks.append(child)
    for block in blocks:
        if contains(ranges_of(block), address):
            _collect(block, address, types, found, depth + 1)


def variable_at(entry: Die, address: int, types: Types) -> DwarfVariable:
    """Describe the variable of an entry at an address, or the bare location it gives."""
    parameter = entry.tag == k.FORMAL_PARAMETER
    constant = entry.inherited(k.AT_CONST_VALUE)
    ops: list[Op] | None
    ranges: list[Range] = []
    origin = entry.origin()
    if isinstance(constant, int):
        ops = [Op("const", constant), Op("value")]
    else:
        holder = entry
        if k.AT_LOCATION not in entry.values and origin is not None:
            holder = origin  # a static variable of an inlined function
        ops, ranges = location(holder, k.AT_LOCATION, address)
    described = (origin or entry).offset
    return DwarfVariable(entry.name(), types.of(entry), parameter, ops, ranges, described)


def not_passed(variable: DwarfVariable) -> DwarfVariable:
    """Describe, at a copy's entry, a parameter that it does without by what was meant for it.

    GCC says so behind the entry only, where the copy would have had it.
    """
    meant = replace(variable, ops=[Op("parameter", variable.origin), Op("value")])
    return meant


def global_address(entry: Die) -> int | None:
    """Find a global variable's address; None for one per thread or of several pieces."""
    value = entry.values.get(k.AT_LOCATION)
    if not isinstance(value, bytes):
        return None
    ops = decode(value, entry.unit)
    return ops[0].first if len(ops) == 1 and ops[0].name == "address" else None


def thread_offset(entry: Die) -> int | None:
    """Find where a thread-local variable is in each thread's block; None for any other."""
    value = entry.values.get(k.AT_LOCATION)
    if not isinstance(value, bytes):
        return None
    ops = decode(value, entry.unit)
    return ops[0].first if [op.name for op in ops] == ["const", "thread"] else None


def frame_base(entry: Die, address: int) -> list[Op] | None:
    """Decode the frame base of a function out of line; None where it has none."""
    return location(entry, k.AT_FRAME_BASE, address)[0]
