"""Enumeration constants by name, wherever in a debug file they are: anonymous enums, too.

They are not in the index.  An entry of one holds the offset of its name (or the
name itself), so that number is searched for in ``.debug_info``, and what stands
around it is looked at.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.numbers import uleb
from stapy.debuginfo.dwarf.read.units import Die, Info


def enumerator(info: Info, name: str) -> int | None:
    """Find the value of the first constant of a name; None when there is none."""
    for header in info.headers:  # of a file that was not linked, the numbers are made first
        info.sections.prepare(header.offset, header.end)
    text = name.encode() + b"\0"
    wanted = [(k.STRP, struct.pack("<I", offset)) for offset in _offsets(info, text)]
    for form, needle in [*wanted, (k.STRING, text)]:
        for found in re.finditer(re.escape(needle), info.data):
            entry = _named_at(info, found.start(), form)
            if entry is not None:
                return entry.number(k.AT_CONST_VALUE)
    return None


def seen_enumerator(info: Info, place: int, name: str) -> int | None:
    """Find the value of a constant that the code of an entry sees; None when it sees none.

    Those are its own, and what its unit and the units that this imports have, in whatever class or
    namespace: ``dwz`` moves to units of their own what several have in common.
    """
    own = info.entry(place)
    roots = [own.unit.root]
    known = {roots[0].offset}
    for root in roots:  # which grows meanwhile
        for child in root.children():
            imported = child.refer(k.AT_IMPORT) if child.tag == k.IMPORTED_UNIT else None
            if imported is not None and imported.offset not in known:
                known.add(imported.offset)
                roots.append(imported)
    for holder in (own, *roots):
        for entry in _constants(holder):
            if entry.name() == name:
                return entry.number(k.AT_CONST_VALUE)
    return None


def _constants(holder: Die, depth: int = 8) -> Iterator[Die]:
    """Yield the constants of the enumerations in a unit, function, namespace or class."""
    for child in holder.children():
        if child.tag == k.ENUMERATION_TYPE:
            yield from child.children()
        elif depth and (child.tag in k.SCOPES or child.tag == k.LEXICAL_BLOCK):
            yield from _constants(child, depth - 1)


def _offsets(info: Info, text: bytes) -> list[int]:
    """Find where a name is among the strings: as one of its own, else as the end of another."""
    strings = info.sections.section("str")
    found = [match.start() for match in re.finditer(re.escape(text), strings)]
    return [at for at in found if not at or not strings[at - 1]] or found


def _named_at(info: Info, at: int, form: int) -> Die | None:
    """Find the constant whose name stands at a position; None when something else does."""
    number = info.number_of(at + info.base)
    if number < 0 or at < info.headers[number].first:
        return None
    unit = info.unit(number)
    for start in _starts(info, at):
        plan = unit.plans.get(uleb(info.data, start)[0])
        if plan is not None and plan.tag == k.ENUMERATOR:
            first = plan.attributes[0][:2] if plan.attributes else (0, 0)
            entry = unit.entry_at(start) if first == (k.AT_NAME, form) else None
            if entry is not None and _is_listed(entry):
                return entry
    return None


def _is_listed(entry: Die) -> bool:
    """Tell whether an entry is where the unit's enumerations have one, not within another."""
    code = uleb(entry.unit.info.data, entry.after)[0]
    if code and getattr(entry.unit.plans.get(code), "tag", 0) != k.ENUMERATOR:
        return False  # cheap, and says nearly always what the walk below would
    holder: Die | None = None
    for child in entry.unit.root.children():
        if child.offset > entry.offset:
            break
        holder = child
    while holder is not None and holder.tag != k.ENUMERATION_TYPE:
        # In a class, a namespace or a function.
        inside = [child for child in holder.children() if child.offset <= entry.offset]
        holder = inside[-1] if inside else None
    return holder is not None and any(c.offset == entry.offset for c in holder.children())


def _starts(info: Info, at: int) -> Iterator[int]:
    """Yield where an entry may begin whose code ends at a position."""
    for start in (at - 1, at - 2):
        if start >= 0 and uleb(info.data, start)[1] == at:
            yield start
