"""Units of ``.debug_info`` and their entries, decoded one at a time where they are asked for."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.files.alternate import open_alternate
from stapy.debuginfo.dwarf.numbers import number, sleb, uleb
from stapy.debuginfo.dwarf.read.abbrev import Abbreviations, Plan
from stapy.debuginfo.dwarf.read.sections import Sections
from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.errors import DebuginfoError
from stapy.record import Record

Value = int | bytes | str
ALTERNATE = 1 << 31  # offsets of the alternate file's entries begin here
MAX_DEPTH = 200
# Forms of a fixed size whose number is the value, or is one of a unit.
_PLAIN = {
    form: k.FIXED[form]
    for form in (k.ADDR, k.DATA1, k.DATA2, k.DATA4, k.DATA8, k.FLAG, k.SEC_OFFSET, k.REF4)
}
_MAX_SCOPES = 32


class Header(Record):
    """Where a unit lies: offset of its header, of its first entry, and its end.

    ``shift`` makes offsets in the unit those of all entries, see `Info`.
    """

    offset: int
    first: int
    end: int
    version: int
    abbreviations: int
    shift: int


class Die:
    """One entry; attributes are decoded when it is made, ``forms`` keeps how they were stored.

    ``offset`` and the references among the values are of all entries, see `Info`.
    """

    __slots__ = ("after", "forms", "offset", "plan", "unit", "values")

    def __init__(
        self,
        unit: DwarfUnit,
        offset: int,
        plan: Plan,
        values: dict[int, Value],
        forms: dict[int, int],
        after: int,
    ) -> None:
        self.unit = unit
        self.offset = offset
        self.plan = plan
        self.values = values
        self.forms = forms
        self.after = after

    @property
    def tag(self) -> int:
        """What kind of entry this is."""
        return self.plan.tag

    def number(self, attribute: int, default: int = 0) -> int:
        """Read a numeric attribute; ``default`` when it is absent or no number."""
        value = self.values.get(attribute, default)
        return value if isinstance(value, int) else default

    def name(self) -> str:
        """Read the entry's name, "" when it has none; an origin's name when it only refers."""
        value = self.inherited(k.AT_NAME)
        return value if isinstance(value, str) else ""

    def holder(self, attribute: int) -> Die | None:
        """Find the entry that has an attribute: this one, or one that it completes; or None."""
        entry: Die | None = self
        for _ in range(4):
            if entry is None or attribute in entry.values:
                return entry
            entry = entry.origin()
        return None

    def qualified(self) -> str:
        """Read the name with the namespaces and classes around it."""
        name = self.name()
        scope = self.unit.scope(self.offset - self.unit.info.base) if name else ""
        return f"{scope}::{name}" if scope else name

    def inherited(self, attribute: int) -> Value | None:
        """Read an attribute of the entry or of what it completes; None without one."""
        entry = self.holder(attribute)
        return None if entry is None else entry.values[attribute]

    def origin(self) -> Die | None:
        """Find the abstract origin or the declaration that this entry completes, or None."""
        for attribute in (k.AT_ABSTRACT_ORIGIN, k.AT_SPECIFICATION):
            if attribute in self.values:
                return self.refer(attribute)
        return None

    def refer(self, attribute: int) -> Die | None:
        """Find the entry that an attribute refers to; None when it does not refer."""
        value = self.values.get(attribute)
        if not isinstance(value, int):
            return None
        if self.forms[attribute] == k.REF_SIG8:
            found = self.unit.info.signatures.get(value)
            return None if found is None else self.unit.info.entry(found)
        return self.unit.info.entry(value)

    def children(self) -> Iterator[Die]:
        """Yield the direct children."""
        if not self.plan.has_children:
            return
        at = self.after
        while True:
            entry = self.unit.entry_at(at)
            if entry is None:
                return
            yield entry
            at = entry.end()

    def end(self, depth: int = 0) -> int:
        """Find where the next sibling, or the end of the list, is."""
        if not self.plan.has_children:
            return self.after
        sibling = self.values.get(k.AT_SIBLING)
        if isinstance(sibling, int):
            sibling -= self.unit.info.base
            if self.after < sibling <= self.unit.header.end:
                return sibling
        if depth > MAX_DEPTH:
            raise DebuginfoError(f"{self.unit.info.name}: entries are nested too deep")
        at = self.after
        while True:
            entry = self.unit.entry_at(at)
            if entry is None:
                return at + 1
            at = entry.end(depth + 1)


class DwarfUnit:
    """One unit with its table of abbreviations."""

    def __init__(self, info: Info, header: Header, limit: int | None = None) -> None:
        self.info = info
        self.header = header
        self._limit = limit
        self._plans: dict[int, Plan] | None = None
        self._own: tuple[int, Plan | None] = 0, None
        self._root: Die | None = None
        self._scopes: list[tuple[int, int, str]] | None = None
        self._reading_root = False

    @property
    def plans(self) -> dict[int, Plan]:
        """How its entries are read, by the codes that they begin with."""
        if self._plans is None:
            found = self.info.abbreviations.table(self.header.abbreviations, self._limit)
            self._plans = found
        return self._plans

    def _plan(self, code: int) -> Plan | None:
        """Find how the unit's own entry is read; who asks for that alone needs no others."""
        if self._own[0] != code:
            self._own = code, self.info.abbreviations.one(self.header.abbreviations, code)
        return self._own[1] or self.plans.get(code)

    @property
    def root(self) -> Die:
        """The unit's own entry."""
        if self._root is None:
            # Indexed strings and addresses in it need bases that it holds itself.
            self._reading_root = True
            entry = self.entry_at(self.header.first)
            if entry is None:
                raise DebuginfoError(f"{self.info.name}: empty unit")
            self._root = entry
            again = self.entry_at(self.header.first)
            self._root = again or entry
        return self._root

    def scope(self, offset: int) -> str:
        """Name the namespaces and classes that an entry, by its offset in the section, is in."""
        if self._scopes is None:
            scoped = any(plan.tag in k.SCOPED for plan in self.plans.values())
            self._scopes = list(_scopes(self.root, "", 0)) if scoped else []
        inner = ""
        for start, end, name in self._scopes:  # inner ones come behind outer ones
            if start < offset < end:
                inner = name
        return inner

    def base(self, attribute: int, default: int) -> int:
        """Read a base for indexed forms; ``default`` while the root is being read."""
        if self._root is None and self._reading_root:
            return default
        return self.root.number(attribute, default)

    def entry_at(self, offset: int) -> Die | None:
        """Decode the entry at an offset; None at a list's end, `DebuginfoError` for damage."""
        if not self.header.first <= offset < self.header.end:
            return None
        try:
            return self._decode(offset)
        except (IndexError, struct.error):
            raise DebuginfoError(f"{self.info.name}: damaged entry at {offset:#x}") from None

    def _decode(self, offset: int) -> Die | None:
        data = self.info.data
        code, at = uleb(data, offset)
        if code == 0:
            return None
        plans = self._plans
        plan = self._plan(code) if plans is None else plans.get(code)
        if plan is None:
            raise DebuginfoError(f"{self.info.name}: unknown abbreviation at {offset:#x}")
        values: dict[int, Value] = {}
        forms: dict[int, int] = {}
        plain, shift, from_bytes = _PLAIN, self.header.shift, int.from_bytes
        for attribute, form, implicit in plan.attributes:
            size = plain.get(form)
            if size:  # nearly all: hundreds of thousands in a list with variables
                value = from_bytes(data[at : at + size], "little")
                values[attribute] = value + shift if form == k.REF4 else value
                forms[attribute] = form
                at += size
                continue
            if form == k.INDIRECT:
                form, at = uleb(data, at)
            if form == k.IMPLICIT_CONST:
                values[attribute] = implicit
            else:
                values[attribute], at = self._value(data, at, form)
            forms[attribute] = form
        return Die(self, offset + self.info.base, plan, values, forms, at)

    def _value(self, data: Buffer, at: int, form: int) -> tuple[Value, int]:
        size = k.FIXED.get(form)
        value: Value
        if size is not None:
            value = number(data, at, size)
            at += size
            if form in k.REFERENCES:
                return value + self.header.shift, at
            if form == k.REF_ADDR:
                return value + self.info.base, at
            if form == k.STRP:
                return self.info.sections.string("str", value), at
            if form in k.ALTERNATE:
                return value + ALTERNATE, at
            if form in k.ALTERNATE_STRINGS:
                return self.info.alternate.sections.string("str", value), at
            if form == k.LINE_STRP:
                return self.info.sections.string("line_str", value), at
            if form in (k.STRX1, k.STRX2, k.STRX3, k.STRX4):
                return self._indexed_string(value), at
            if form in (k.ADDRX1, k.ADDRX2, k.ADDRX3, k.ADDRX4):
                return self.indexed_address(value), at
            if form == k.DATA16:
                return bytes(data[at - 16 : at]), at
            return value, at
        if form == k.FLAG_PRESENT:
            return 1, at
        if form == k.SDATA:
            return sleb(data, at)
        if form in (k.UDATA, k.LOCLISTX, k.RNGLISTX):
            return uleb(data, at)
        if form == k.REF_UDATA:
            value, at = uleb(data, at)
            return value + self.header.shift, at
        if form == k.STRX:
            value, at = uleb(data, at)
            return self._indexed_string(value), at
        if form == k.ADDRX:
            value, at = uleb(data, at)
            return self.indexed_address(value), at
        if form == k.STRING:
            start = at
            while data[at]:
                at += 1
            return bytes(data[start:at]).decode("utf-8", "replace"), at + 1
        if form in k.BLOCKS:
            width = {k.BLOCK1: 1, k.BLOCK2: 2, k.BLOCK4: 4}.get(form)
            if width is None:
                size, at = uleb(data, at)
            else:
                size, at = number(data, at, width), at + width
            return bytes(data[at : at + size]), at + size
        raise DebuginfoError(f"{self.info.name}: unknown DWARF form {form:#x}")

    def _indexed_string(self, index: int) -> str:
        base = self.base(k.AT_STR_OFFSETS_BASE, 8)
        table = self.info.sections.section("str_offsets")
        at = base + 4 * index
        if at + 4 > len(table):
            return ""  # the unit's entry is met before its base is known
        return self.info.sections.string("str", number(table, at, 4))

    def indexed_address(self, index: int) -> int:
        """Look up an address of ``.debug_addr``."""
        at = self.base(k.AT_ADDR_BASE, 8) + 8 * index
        return number(self.info.sections.section("addr"), at, 8)


def _scopes(entry: Die, outer: str, depth: int) -> Iterator[tuple[int, int, str]]:
    """Yield ``(start, end, name)`` of the scopes below an entry, in the section's offsets."""
    base = entry.unit.info.base
    for child in entry.children():
        if child.tag in k.SCOPES and child.plan.has_children and depth < _MAX_SCOPES:
            name = child.name()
            inside = f"{outer}::{name}" if outer and name else name or outer
            yield child.offset - base, child.end(), inside
            yield from _scopes(child, inside, depth + 1)


class Info:
    """``.debug_info`` of one file, and of the alternate file that it shares with others.

    Offsets from `ALTERNATE` on mean entries of that file; ``base`` is what is
    added to those of this section.  Units are numbered over both.  ``signatures`` are the
    entries of types that have a unit of their own (DWARF 5), by their numbers.
    """

    def __init__(self, sections: Sections, base: int = 0) -> None:
        self.sections = sections
        self.base = base
        self.name = sections.elf.name
        self.data = sections.section("info")
        if len(self.data) > ALTERNATE:
            raise DebuginfoError(f"{self.name}: more than 2 GB of entries")
        self.abbreviations = Abbreviations(sections.section("abbrev"), self.name)
        self.signatures: dict[int, int] = {}
        self.headers = list(self._headers())
        self._starts = [header.offset for header in self.headers]
        self._units: dict[int, DwarfUnit] = {}
        self._alternate: Info | None = None

    @property
    def alternate(self) -> Info:
        """The entries of the alternate file; `DebuginfoError` when it cannot be read."""
        if self._alternate is None:
            if self.base:
                raise DebuginfoError(f"{self.name}: an alternate file has none itself")
            self._alternate = Info(Sections(open_alternate(self.sections.elf)), ALTERNATE)
        return self._alternate

    def _headers(self) -> Iterator[Header]:
        data, at, size = self.data, 0, len(self.data)
        while at + 12 <= size:
            (length,) = struct.unpack_from("<I", data, at)
            end = at + 4 + length
            if length >= 0xFFFFFFF0 or end > size or length < 8:
                raise DebuginfoError(f"{self.name}: 64-bit or damaged DWARF at {at:#x}")
            self.sections.prepare(at, min(at + 24, end))
            (version,) = struct.unpack_from("<H", data, at + 4)
            if version == 5:
                kind = data[at + 6]
                address_size = data[at + 7]
                (table,) = struct.unpack_from("<I", data, at + 8)
                first = at + 12
                if kind in (4, 5):  # skeleton and split units have an id
                    first += 8
                elif kind in (2, 6):  # type units: signature and offset
                    signature, place = struct.unpack_from("<QI", data, first)
                    self.signatures.setdefault(signature, at + place + self.base)
                    first += 12
            elif version in (2, 3, 4):
                (table,) = struct.unpack_from("<I", data, at + 6)
                address_size = data[at + 10]
                first = at + 11
            else:
                raise DebuginfoError(f"{self.name}: DWARF version {version} is not supported")
            if address_size != 8:
                raise DebuginfoError(f"{self.name}: addresses of {address_size} bytes")
            yield Header(at, first, end, version, table, at + self.base)
            at = end

    def number_of(self, offset: int) -> int:
        """Find the number of the unit that an offset lies in."""
        if offset >= ALTERNATE and not self.base:
            return len(self.headers) + self.alternate.number_of(offset)
        return bisect_right(self._starts, offset - self.base) - 1

    def unit(self, index: int, limit: int | None = None) -> DwarfUnit:
        """Open a unit by its number, or `DebuginfoError`; ``limit``: its abbreviations' end."""
        found = self._units.get(index)
        if found is None:
            if index >= len(self.headers) and not self.base:
                return self.alternate.unit(index - len(self.headers))
            if not 0 <= index < len(self.headers):
                raise DebuginfoError(f"{self.name}: no unit {index}")
            header = self.headers[index]
            self.sections.prepare(header.offset, header.end)
            found = self._units[index] = DwarfUnit(self, header, limit)
        return found

    def entry(self, offset: int) -> Die:
        """Decode the entry at an offset; raises `DebuginfoError` when there is none."""
        if offset >= ALTERNATE and not self.base:
            return self.alternate.entry(offset)
        found = self.unit(self.number_of(offset)).entry_at(offset - self.base)
        if found is None:
            raise DebuginfoError(f"{self.name}: no entry at {offset:#x}")
        return found


__all__ = ["ALTERNATE", "MAX_DEPTH", "Die", "DwarfUnit", "Header", "Info", "Value"]
