"""The one model of C types, whether they came from BTF or from DWARF.

Members of structs and unions are loaded on first use through ``load``.
Sizes and offsets are in bytes unless a name says bits.
"""

from __future__ import annotations

from collections.abc import Callable

from stapy.record import Record, new


class CType(Record):
    """Base of all C types."""


class Void(CType):
    """``void``."""


class Int(CType):
    """Integer, character or boolean; ``encoding`` in "signed unsigned bool char"."""

    name: str
    size: int
    signed: bool
    encoding: str = ""


class Float(CType):
    """Floating point number."""

    name: str
    size: int


class Pointer(CType):
    """Pointer; ``is_user`` is True where the type says ``__user``."""

    target: CType
    size: int = 8
    is_user: bool = False


class Array(CType):
    """Array of ``count`` elements; 0 for a flexible array."""

    element: CType
    count: int


class Member(Record):
    """One member; ``name`` is "" for an anonymous struct or union.

    ``bit_offset`` counts from the start of the struct, ``bit_size`` is 0 for a
    member that is no bit field.
    """

    name: str
    type: CType
    bit_offset: int
    bit_size: int = 0


class Struct(CType):
    """Struct, union or class; ``kind`` is "struct" or "union".

    ``by_address`` tells of a class of C++ that functions pass by the address of a copy.
    """

    kind: str
    name: str
    size: int
    load: Callable[[], list[Member]]
    cached: list[Member] | None = None
    is_declaration: bool = False
    by_address: Callable[[], bool] | None = None

    def members(self) -> list[Member]:
        """List all members, read from the debug information on first use."""
        if self.cached is None:
            self.cached = self.load()
        return self.cached

    def __repr__(self) -> str:
        """Show no members: types refer to each other in circles."""
        return f"Struct({self.kind} {self.name or '{...}'})"


class Enumerator(Record):
    """``name = value``."""

    name: str
    value: int


class Enum(CType):
    """Enumeration."""

    name: str
    size: int
    signed: bool
    values: list[Enumerator] = new(list)


class Typedef(CType):
    """``typedef target name``."""

    name: str
    target: CType


class Qualified(CType):
    """``const``, ``volatile``, ``restrict`` or ``__user`` (a BTF type tag) on a type."""

    qualifier: str
    target: CType


class Parameter(Record):
    """Parameter of a function type."""

    name: str
    type: CType


class FunctionType(CType):
    """Function prototype; one of ``own_convention`` is called as only its callers know.

    One that ``hides_convention`` may be such a one, of which the debug information does not tell.
    """

    result: CType
    params: list[Parameter]
    is_variadic: bool = False
    own_convention: bool = False
    hides_convention: bool = False


class UnknownType(CType):
    """A type that the debug information names but does not describe."""

    name: str = ""


def strip(type: CType) -> CType:
    """Find the type below typedefs and qualifiers."""
    while isinstance(type, (Typedef, Qualified)):
        type = type.target
    return type


def size_of(type: CType) -> int:
    """Compute the size in bytes; 0 for void, functions and incomplete types."""
    type = strip(type)
    if isinstance(type, Array):
        return type.count * size_of(type.element)
    return getattr(type, "size", 0)


def is_signed(type: CType) -> bool:
    """Tell whether a value of this type has to be sign-extended to 64 bits."""
    type = strip(type)
    return isinstance(type, (Int, Enum)) and type.signed


def find_member(type: CType, name: str) -> tuple[Member, int] | None:
    """Find a member and its bit offset from the outermost struct; None without one.

    Anonymous members are searched, too.
    """
    return _find_member(type, name, [])


def _find_member(type: CType, name: str, around: list[CType]) -> tuple[Member, int] | None:
    type = strip(type)
    if not isinstance(type, Struct) or _is_one_of(type, around):
        return None
    # A class may have a member of the same name as one that it inherits.
    for member in type.members():
        if member.name == name:
            return member, member.bit_offset
    for member in type.members():
        if not member.name:
            found = _find_member(member.type, name, [*around, type])
            if found:
                return found[0], member.bit_offset + found[1]
    return None


def _is_one_of(type: CType, around: list[CType]) -> bool:
    """Tell whether a struct contains itself, as damaged debug information has it."""
    return any(type is other for other in around)


def member_names(type: CType) -> list[str]:
    """List all names that `find_member` would find, for suggestions."""
    return _member_names(type, [])


def _member_names(type: CType, around: list[CType]) -> list[str]:
    type = strip(type)
    if not isinstance(type, Struct) or _is_one_of(type, around):
        return []
    names: list[str] = []
    for member in type.members():
        names += [member.name] if member.name else _member_names(member.type, [*around, type])
    return names


def c_name(type: CType, declarator: str = "") -> str:
    """Write the type as C would around ``declarator`` (`-L` prints these)."""
    if isinstance(type, Pointer):
        inner = type.target
        star = "*" + declarator
        if isinstance(strip_qualifiers(inner), (Array, FunctionType)):
            star = f"({star})"
        return c_name(inner, star)
    if isinstance(type, Array):
        return c_name(type.element, f"{declarator}[{type.count or ''}]")
    if isinstance(type, FunctionType):
        params = ", ".join(c_name(p.type) for p in type.params) or "void"
        return c_name(type.result, f"{declarator}({params}{', ...' if type.is_variadic else ''})")
    if isinstance(type, Qualified):
        if isinstance(type.target, Pointer):
            return c_name(type.target, f" {type.qualifier} {declarator}".rstrip())
        text = c_name(type.target, declarator)
        # DWARF has an array of constants as constant itself.
        return text if text.startswith(type.qualifier + " ") else f"{type.qualifier} {text}"
    if isinstance(type, Void):
        base = "void"
    elif isinstance(type, Struct):
        base = f"{type.kind} {type.name or '{...}'}"
    elif isinstance(type, Enum):
        base = f"enum {type.name or '{...}'}"
    else:
        base = getattr(type, "name", "") or "<unknown>"
    if declarator and not declarator.startswith("["):
        return f"{base} {declarator}"
    return base + declarator


def strip_qualifiers(type: CType) -> CType:
    """Find the type below qualifiers only."""
    while isinstance(type, Qualified):
        type = type.target
    return type
