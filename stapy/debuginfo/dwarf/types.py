"""Entries of types as the C types that everything else works with."""

from __future__ import annotations

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.units import Entry

_QUALIFIERS = {k.CONST_TYPE: "const", k.VOLATILE_TYPE: "volatile", k.RESTRICT_TYPE: "restrict"}
_POINTERS = (k.POINTER_TYPE, k.REFERENCE_TYPE, k.RVALUE_REFERENCE_TYPE)
_MAX_DEPTH = 64


class Types:
    """Types of one file, each made once."""

    def __init__(self) -> None:
        self._known: dict[int, c.CType] = {}

    def of(self, entry: Entry, depth: int = 0) -> c.CType:
        """The type that an entry's type attribute names; void without one."""
        holder: Entry | None = entry
        while holder is not None and k.AT_TYPE not in holder.values:
            holder = holder.origin()
        target = holder.refer(k.AT_TYPE) if holder is not None else None
        return c.Void() if target is None else self.type(target, depth)

    def type(self, entry: Entry, depth: int = 0) -> c.CType:
        """The type that an entry describes."""
        known = self._known.get(entry.offset)
        if known is None:
            # Pointers to incomplete chains end in a type without a description.
            known = c.Unknown("...") if depth > _MAX_DEPTH else self._make(entry, depth + 1)
            if depth <= _MAX_DEPTH:
                self._known[entry.offset] = known
        return known

    def _make(self, entry: Entry, depth: int) -> c.CType:
        tag, name, size = entry.tag, entry.qualified(), entry.number(k.AT_BYTE_SIZE)
        if tag == k.BASE_TYPE:
            return _base(name, size, entry.number(k.AT_ENCODING))
        if tag in _POINTERS:
            return c.Pointer(self.of(entry, depth), size or 8)
        if tag in _QUALIFIERS:
            return c.Qualified(_QUALIFIERS[tag], self.of(entry, depth))
        if tag == k.ATOMIC_TYPE:
            return self.of(entry, depth)
        if tag == k.TYPEDEF:
            return c.Typedef(name, self.of(entry, depth))
        if tag in (k.STRUCTURE_TYPE, k.CLASS_TYPE, k.UNION_TYPE):
            kind = "union" if tag == k.UNION_TYPE else "struct"
            declared = bool(entry.number(k.AT_DECLARATION))
            return c.Struct(kind, name, size, lambda: self._members(entry), None, declared)
        if tag == k.ARRAY_TYPE:
            return self._array(entry, depth)
        if tag == k.ENUMERATION_TYPE:
            return _enumeration(entry, name, size)
        if tag == k.SUBROUTINE_TYPE:
            return self._function(entry, depth)
        return c.Unknown(name)

    def function(self, entry: Entry) -> c.Function:
        """The prototype of a function, out of line or inlined.

        A copy may lack parameters that the compiler dropped: the function's own
        description has them all.
        """
        origin = entry.origin() if k.AT_ABSTRACT_ORIGIN in entry.values else None
        return self._function(origin or entry, 0)

    def _function(self, entry: Entry, depth: int) -> c.Function:
        params = [
            c.Parameter(child.name(), self.of(child, depth))
            for child in entry.children()
            if child.tag == k.FORMAL_PARAMETER
        ]
        return c.Function(self.of(entry, depth), params)

    def _array(self, entry: Entry, depth: int) -> c.CType:
        counts: list[int] = []
        for child in entry.children():
            if child.tag != k.SUBRANGE_TYPE:
                continue
            if k.AT_COUNT in child.values:
                counts.append(child.number(k.AT_COUNT))
            elif k.AT_UPPER_BOUND in child.values:
                upper = child.values[k.AT_UPPER_BOUND]
                plain = isinstance(upper, int) and upper < 1 << 31
                counts.append(child.number(k.AT_UPPER_BOUND) + 1 if plain else 0)
            else:
                counts.append(0)
        result = self.of(entry, depth)
        for count in reversed(counts or [0]):
            result = c.Array(result, count)
        return result

    def _members(self, entry: Entry) -> list[c.Member]:
        members: list[c.Member] = []
        for child in entry.children():
            # What a class inherits are members of it; its static members are elsewhere.
            if child.tag not in (k.MEMBER, k.INHERITANCE) or k.AT_DECLARATION in child.values:
                continue
            type = self.of(child)
            start = child.number(k.AT_DATA_MEMBER_LOCATION) * 8
            bits = child.number(k.AT_BIT_SIZE)
            if k.AT_DATA_BIT_OFFSET in child.values:
                start = child.number(k.AT_DATA_BIT_OFFSET)
            elif k.AT_BIT_OFFSET in child.values:
                # DWARF 2 and 3 count from the highest bit of the storage unit.
                whole = (child.number(k.AT_BYTE_SIZE) or c.size_of(type)) * 8
                start += whole - child.number(k.AT_BIT_OFFSET) - bits
            members.append(c.Member(child.name(), type, start, bits))
        return members


def _base(name: str, size: int, encoding: int) -> c.CType:
    if encoding == k.ATE_FLOAT:
        return c.Float(name, size)
    signed = encoding in (k.ATE_SIGNED, k.ATE_SIGNED_CHAR)
    kinds = {k.ATE_BOOLEAN: "bool", k.ATE_SIGNED_CHAR: "char", k.ATE_UNSIGNED_CHAR: "char"}
    return c.Int(name, size, signed, kinds.get(encoding, "signed" if signed else "unsigned"))


def _enumeration(entry: Entry, name: str, size: int) -> c.CType:
    values = [
        c.Enumerator(child.name(), child.number(k.AT_CONST_VALUE))
        for child in entry.children()
        if child.tag == k.ENUMERATOR
    ]
    return c.Enum(name, size or 4, any(item.value < 0 for item in values), values)
