"""Entries of types as the C types that everything else works with."""

from __future__ import annotations

from functools import partial

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.read.expressions import decode
from stapy.debuginfo.dwarf.read.units import Die
from stapy.debuginfo.errors import DebuginfoError

_QUALIFIERS = {k.CONST_TYPE: "const", k.VOLATILE_TYPE: "volatile", k.RESTRICT_TYPE: "restrict"}
_POINTERS = (k.POINTER_TYPE, k.REFERENCE_TYPE, k.RVALUE_REFERENCE_TYPE)
_REFERENCES = (k.REFERENCE_TYPE, 0x42)
_MAX_DEPTH = 64
_FAR = 1 << 40  # bits; no struct is so large
CHOOSER = "__variant"  # the member that tells which variant of an enumeration there is


class Types:
    """Types of one file, each made once."""

    def __init__(self) -> None:
        self._known: dict[int, c.CType] = {}
        self._making: set[int] = set()

    def of(self, entry: Die, depth: int = 0) -> c.CType:
        """Make the type that an entry's type attribute names; void without one."""
        holder = entry.holder(k.AT_TYPE)
        target = holder.refer(k.AT_TYPE) if holder is not None else None
        if target is None:  # one in a unit of its own, of DWARF 4, is not read
            return c.Void() if holder is None else c.UnknownType("...")
        return self.type(target, depth)

    def type(self, entry: Die, depth: int = 0) -> c.CType:
        """Make the type that an entry describes, once; `Unknown` where it contains itself."""
        known = self._known.get(entry.offset)
        if known is not None:
            return known
        # Only a struct can refer to itself, and its members are read later: all else is damage.
        if depth > _MAX_DEPTH or entry.offset in self._making:
            return c.UnknownType("...")
        self._making.add(entry.offset)
        try:
            known = self._known[entry.offset] = self._make(entry, depth + 1)
        finally:
            self._making.discard(entry.offset)
        return known

    def _make(self, entry: Die, depth: int) -> c.CType:
        described = entry.refer(k.AT_SIGNATURE)  # in a unit of its own
        if described is not None:
            return self.type(described, depth)
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
            members, by_address = partial(self._members, entry), partial(passed_by_address, entry)
            return c.Struct(kind, name, size, members, None, declared, by_address)
        if tag == k.ARRAY_TYPE:
            return self._array(entry, depth)
        if tag == k.ENUMERATION_TYPE:
            return _enumeration(entry, name, size)
        if tag == k.SUBROUTINE_TYPE:
            return self._function(entry, depth)
        if tag == k.PTR_TO_MEMBER_TYPE:
            return self._to_member(entry, depth)
        return c.UnknownType(name)

    def _to_member(self, entry: Die, depth: int) -> c.CType:
        """Make a pointer to a member: of data a distance, of functions more than a number."""
        type = self.of(entry, depth)
        owner = entry.refer(k.AT_CONTAINING_TYPE)
        scope = owner.qualified() if owner is not None else ""
        if isinstance(c.strip(type), c.FunctionType):
            return c.UnknownType(c.c_name(type, f"({scope}::*)"))
        return c.Int(c.c_name(type, f"{scope}::*"), 8, True, "signed")

    def function(self, entry: Die) -> c.FunctionType:
        """Make the prototype of a function, out of line or inlined.

        A copy may lack parameters that the compiler dropped: the function's own
        description has them all.
        """
        origin = entry.origin() if k.AT_ABSTRACT_ORIGIN in entry.values else None
        found = self._function(origin or entry, 0)
        found.own_convention = entry.inherited(k.AT_CALLING_CONVENTION) == _NO_CALL
        found.hides_convention = entry.holder(k.AT_SPECIFICATION) is not None and _is_by_llvm(
            entry.unit.root
        )
        return found

    def _function(self, entry: Die, depth: int) -> c.FunctionType:
        params = [
            c.Parameter(child.name(), self.of(child, depth))
            for child in entry.children()
            if child.tag == k.FORMAL_PARAMETER
        ]
        return c.FunctionType(self.of(entry, depth), params)

    def _array(self, entry: Die, depth: int) -> c.CType:
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

    def _members(self, entry: Die) -> list[c.Member]:
        members: list[c.Member] = []
        for child in entry.children():
            if child.tag == k.VARIANT_PART:
                members += self._variants(child)
            # What a class inherits are members of it; its static members are elsewhere.
            elif child.tag in (k.MEMBER, k.INHERITANCE) and k.AT_DECLARATION not in child.values:
                member = self._member(child)
                if member is not None:
                    members.append(member)
        return members

    def _member(self, child: Die) -> c.Member | None:
        """Make one member; None for a virtual base, whose place differs in each object."""
        type = self.of(child)
        place = child.values.get(k.AT_DATA_MEMBER_LOCATION, 0)
        if isinstance(place, bytes):
            ops = decode(place, child.unit)
            if len(ops) != 1 or ops[0].name not in ("add", "const"):
                return None
            place = ops[0].first
        start = 8 * place if isinstance(place, int) else 0
        bits = child.number(k.AT_BIT_SIZE)
        if k.AT_DATA_BIT_OFFSET in child.values:
            start = child.number(k.AT_DATA_BIT_OFFSET)
        elif k.AT_BIT_OFFSET in child.values:
            # DWARF 2 and 3 count from the highest bit of the storage unit.
            whole = (child.number(k.AT_BYTE_SIZE) or c.size_of(type)) * 8
            start += whole - child.number(k.AT_BIT_OFFSET) - bits
        if not 0 <= start < _FAR:
            raise DebuginfoError(f"{child.unit.info.name}: a member at an impossible place")
        return c.Member(child.name(), type, start, bits)

    def _variants(self, part: Die) -> list[c.Member]:
        """Make Rust's enumeration with data: which variant there is, and a union of all.

        The first is an enumeration of the variants' names; one that stands for all
        other numbers is not in it.  It is missing where there is one variant only.
        """
        chooser = part.refer(k.AT_DISCR)
        names: list[c.Enumerator] = []
        members: list[c.Member] = []
        for child in part.children():
            if child.tag != k.VARIANT:
                continue
            for item in child.children():
                member = self._member(item) if item.tag == k.MEMBER else None
                if member is None:
                    continue
                members.append(member)
                if k.AT_DISCR_VALUE in child.values:
                    names.append(c.Enumerator(member.name, child.number(k.AT_DISCR_VALUE)))
        size = max((m.bit_offset // 8 + c.size_of(m.type) for m in members), default=0)
        union = c.Member("", c.Struct("union", "", size, lambda: members), 0)
        which = self._member(chooser) if chooser is not None else None
        if which is None:
            return [union]
        width = c.size_of(which.type)
        negative = any(name.value < 0 for name in names)
        which.type = c.Enum("", width, negative, names) if width else which.type
        which.name = which.name or CHOOSER
        return [which, union]


def _base(name: str, size: int, encoding: int) -> c.CType:
    if encoding == k.ATE_FLOAT:
        return c.Float(name, size)
    signed = encoding in (k.ATE_SIGNED, k.ATE_SIGNED_CHAR)
    kinds = {k.ATE_BOOLEAN: "bool", k.ATE_SIGNED_CHAR: "char", k.ATE_UNSIGNED_CHAR: "char"}
    return c.Int(name, size, signed, kinds.get(encoding, "signed" if signed else "unsigned"))


def _enumeration(entry: Die, name: str, size: int) -> c.CType:
    values = [
        c.Enumerator(child.name(), child.number(k.AT_CONST_VALUE))
        for child in entry.children()
        if child.tag == k.ENUMERATOR
    ]
    return c.Enum(name, size or 4, any(item.value < 0 for item in values), values)


# --- classes ------------------------------------------------------------------

_NO_CALL, _BY_ADDRESS, _BY_VALUE = 3, 4, 5


def passed_by_address(entry: Die, depth: int = 0) -> bool:
    """Tell whether functions of a C++ class copy or destroy its objects.

    Calls pass the address of a copy then.  What GCC does not say by an attribute follows
    from the functions, and from what the class is made of.
    """
    convention = entry.number(k.AT_CALLING_CONVENTION)
    if convention in (_BY_ADDRESS, _BY_VALUE) or depth > _MAX_DEPTH:
        return convention == _BY_ADDRESS
    for child in entry.children():
        if child.tag == k.SUBPROGRAM:
            if child.number(k.AT_VIRTUALITY) or _copies_or_destroys(child, entry):
                return True
        elif child.tag in (k.MEMBER, k.INHERITANCE) and k.AT_DECLARATION not in child.values:
            part = _class_of(child)
            if child.number(k.AT_VIRTUALITY) or (part and passed_by_address(part, depth + 1)):
                return True
    return False


def _copies_or_destroys(function: Die, entry: Die) -> bool:
    if k.AT_ARTIFICIAL in function.values or k.AT_DEFAULTED in function.values:
        return False
    name = function.name()
    if name.startswith("~"):
        return True
    if name != entry.name().partition("<")[0]:
        return False
    given = [
        child
        for child in function.children()
        if child.tag == k.FORMAL_PARAMETER and k.AT_ARTIFICIAL not in child.values
    ]
    target = given[0].refer(k.AT_TYPE) if len(given) == 1 else None
    if target is None or target.tag not in _REFERENCES:
        return False
    copied = _class_of(target)
    return copied is not None and copied.offset == entry.offset


def _class_of(entry: Die) -> Die | None:
    """Find the class that a type is, or an array is of, without its other names; or None."""
    for _ in range(_MAX_DEPTH):
        target = entry.refer(k.AT_TYPE)
        if target is None or target.tag in (k.STRUCTURE_TYPE, k.CLASS_TYPE, k.UNION_TYPE):
            return target
        if target.tag not in _QUALIFIERS and target.tag not in (k.TYPEDEF, k.ARRAY_TYPE):
            return None
        entry = target
    return None


def _is_by_llvm(unit: Die) -> bool:
    producer = unit.values.get(k.AT_PRODUCER)
    return isinstance(producer, str) and ("clang" in producer or "LLVM" in producer)
