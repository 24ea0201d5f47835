"""Chains of members and subscripts over C types: from a place in memory to a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes
from stapy.diagnostics import NOWHERE
from stapy.diagnostics.suggest import nearest
from stapy.elaborate.lower.fold import constant, fold
from stapy.elaborate.lower.pending import Pending
from stapy.ir import program as p
from stapy.ir.walk import copy_tree, walk
from stapy.parse import nodes as n
from stapy.record import Record, new

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.diagnostics import Span
    from stapy.elaborate.lower.context import Context
    from stapy.ir.scope import TargetVariable

WORD = 8
SHOWN_MEMBERS = 8


class Place(Record):
    """Where a C value is.

    One of ``value`` (a scalar at hand), ``address`` (in memory) and ``parts``
    (a small struct in registers) is set.  ``bit_offset`` counts from the
    address; ``bit_size`` is 0 when it is no bit field.  The bits of ``parts``
    in ``gaps`` (start, end) are nowhere.  A pointer with ``behind`` has no
    value, see `TargetVariable`.  ``modules`` are those that the script named
    for the type.  ``member_name`` is the member that begins at ``bit_offset``, with
    the struct that begins at the address.
    """

    type: ctypes.CType
    value: p.Expr | None = None
    address: p.Expr | None = None
    parts: list[p.Expr] = new(list)
    bit_offset: int = 0
    bit_size: int = 0
    is_user: bool = False
    writable: bool = False
    gaps: list[tuple[int, int]] = new(list)
    behind: Callable[[], TargetVariable | str] | None = None
    behind_offset: int = 0
    modules: list[str] = new(list)
    member_name: str = ""


def place_of(variable: TargetVariable) -> Place:
    """Make the `Place` of a context variable."""
    return Place(
        variable.type,
        variable.value,
        variable.address,
        variable.parts,
        is_user=variable.is_user,
        writable=variable.writable or variable.address is not None,
        gaps=variable.gaps,
        behind=variable.behind,
        behind_offset=variable.behind_offset,
    )


def add(address: p.Expr, offset: int, member_name: str = "") -> p.Expr:
    """Build ``address + offset`` (bytes), simplified; the offset may be that of a member."""
    if not offset:
        return address
    step = p.Const(address.span, p.LONG, offset, member_name)
    return fold(p.BinaryOp(address.span, p.LONG, "+", address, step))


def is_user(type: ctypes.CType) -> bool:
    """Tell whether a type is a pointer that says that it points to user space."""
    while isinstance(type, (ctypes.Typedef, ctypes.Qualified)):
        if isinstance(type, ctypes.Qualified) and "user" in type.qualifier:
            return True
        type = type.target
    if isinstance(type, ctypes.Pointer):
        if type.is_user:
            return True
        target = type.target
        while isinstance(target, (ctypes.Typedef, ctypes.Qualified)):
            if isinstance(target, ctypes.Qualified) and "user" in target.qualifier:
                return True
            target = target.target
    return False


def address_of(low: Context, place: Place, span: Span) -> p.Expr:
    """Lower ``&place``; a `Pending` error for a bit-field or a value in a register."""
    if place.bit_size:
        return low.pending("E0245", "cannot take address of bit-field", span)
    if place.address is None:
        return low.pending(
            "E0245",
            "cannot take address of a value that is in a register",
            span,
            where="it has no place in memory",
        )
    return add(place.address, place.bit_offset // 8, place.member_name)


def rvalue(low: Context, place: Place, span: Span) -> p.Expr:
    """Read a place as 64 bits; an array gives its address, a whole struct a `Pending` error."""
    type = ctypes.strip(place.type)
    result: p.Expr
    if isinstance(type, ctypes.Array):
        if place.address is None:
            return low.pending("E0245", "cannot read an array that is in registers", span)
        result = add(place.address, place.bit_offset // 8, place.member_name)
        if result is place.address:
            result = copy_tree(result)  # what it was has a type of its own
        pointer = ctypes.Pointer(type.element, is_user=place.is_user)
        low.values.remember(result, pointer)
        return result
    if isinstance(type, ctypes.Struct):
        kind = f"{type.kind} {type.name}".strip()
        return low.pending(
            "E0246",
            f"'{kind}' is being accessed instead of a member of the {type.kind}",
            span,
            where="a whole struct is no value",
            hint="name a member, take its address with '&', or print it with '$'",
        )
    if isinstance(type, (ctypes.Void, ctypes.FunctionType, ctypes.UnknownType)):
        name = ctypes.c_name(place.type)
        return low.pending("E0246", f"unsupported type '{name}' of a target variable", span)
    if place.behind is not None:
        note = "the compiler has replaced it by what it points to, which has no address"
        hint = "what it points to can be asked for: a member, or an element"
        return _not_here(low, span, note, hint)
    if place.value is not None:
        result = _located(place.value, span)
        low.values.remember(result, _seen(place))
        return result
    if place.parts:
        if _in_gap(place):
            return _not_here(low, span, "the compiler has optimised this part of it out")
        result = _located(_from_parts(place, span), span)
    else:
        assert place.address is not None
        result = _located(_load(place, type, span), span)
    low.values.remember(result, _seen(place))
    return result


def _seen(place: Place) -> ctypes.CType:
    """Return the C type of a place's value: a pointer that a program has points to its memory."""
    type = ctypes.strip(place.type)
    if place.is_user and isinstance(type, ctypes.Pointer) and not is_user(place.type):
        return ctypes.Pointer(type.target, is_user=True)
    return place.type


def _located(value: p.Expr, span: Span) -> p.Expr:
    """Copy a family's expression to where it is asked for: run-time errors tell that place."""
    if all(item.span != NOWHERE for item in walk(value)):
        return value
    own: p.Expr = copy_tree(value)
    for item in walk(own):
        if item.span == NOWHERE:
            item.span = span
    return own


def _not_here(low: Context, span: Span, note: str, hint: str = "") -> Pending:
    text = "value is not accessible at this address"
    return _pend(low.pending("E0241", text, span, notes=[note], hint=hint))


def _unit(place: Place, size: int) -> tuple[int, int, int]:
    """Split a bit field's place into ``(byte offset, bytes to read, shift in bits)``."""
    byte = place.bit_offset // (size * 8) * size
    shift = place.bit_offset - byte * 8
    if shift + place.bit_size > size * 8:
        byte = place.bit_offset // 8
        shift = place.bit_offset - byte * 8
        size = WORD
    return byte, size, shift


def _load(place: Place, type: ctypes.CType, span: Span) -> p.Expr:
    assert place.address is not None
    size = min(WORD, max(1, ctypes.size_of(type)))
    signed = ctypes.is_signed(type)
    if place.bit_size:
        byte, size, shift = _unit(place, size)
        address = add(place.address, byte, place.member_name)
        return p.MemoryRead(
            span, p.LONG, address, size, signed, place.is_user, place.bit_size, shift
        )
    address = add(place.address, place.bit_offset // 8, place.member_name)
    return p.MemoryRead(span, p.LONG, address, size, signed, place.is_user)


def _in_gap(place: Place) -> bool:
    start = place.bit_offset
    end = start + (place.bit_size or 8 * ctypes.size_of(place.type))
    return any(low < end and start < high for low, high in place.gaps)


def _from_parts(place: Place, span: Span) -> p.Expr:
    """Extract a member of a struct that is in registers: shift and mask, sign by two shifts."""
    size_bits = place.bit_size or min(WORD, ctypes.size_of(place.type)) * 8
    word, shift = divmod(place.bit_offset, WORD * 8)
    value = place.parts[min(word, len(place.parts) - 1)]

    def binary(op: str, left: p.Expr, right: int) -> p.Expr:
        return p.BinaryOp(span, p.LONG, op, left, p.Const(span, p.LONG, right))

    if size_bits >= WORD * 8:
        return value
    if ctypes.is_signed(place.type):
        left = WORD * 8 - shift - size_bits
        value = binary("<<", value, left) if left else value
        return binary(">>", value, WORD * 8 - size_bits)
    value = binary(">>", value, shift) if shift else value
    return binary("&", value, (1 << size_bits) - 1)


def _behind(low: Context, place: Place, span: Span, index: int) -> Place | Pending:
    """Find what a pointer without a value points to, ``index`` elements further on."""
    type = ctypes.strip(place.type)
    assert isinstance(type, ctypes.Pointer) and place.behind is not None
    found = place.behind()
    if isinstance(found, str):
        return _not_here(low, span, f"the compiler has replaced what it points to: {found}")
    size, whole = ctypes.size_of(type.target), ctypes.size_of(found.type)
    offset = place.behind_offset + index * size
    if offset < 0 or (whole and offset + size > whole):
        note = f"what it points to has {whole} bytes: none {offset} bytes behind its beginning"
        return _not_here(low, span, note)
    below = place_of(found)
    value = below.value
    if value is not None and (offset or size != whole):
        below.value, below.parts, below.writable = None, [value], False
    below.type, below.bit_offset = type.target, 8 * offset
    return below


def pointee(low: Context, place: Place, span: Span) -> Place | Pending:
    """Find the place that a pointer points to; `Pending` when the pointer cannot be read."""
    type = ctypes.strip(place.type)
    assert isinstance(type, ctypes.Pointer)
    if place.behind is not None:
        return _behind(low, place, span, 0)
    value = rvalue(low, place, span)
    if isinstance(value, Pending):
        return value
    user = place.is_user or is_user(place.type)
    return Place(type.target, None, value, is_user=user, writable=True, modules=place.modules)


def member(low: Context, place: Place, step: n.MemberAccess) -> Place | Pending:
    """Find ``->name``, through a pointer or of a struct; `Pending` when there is none."""
    for _ in range(2):
        if isinstance(ctypes.strip(place.type), ctypes.Pointer):
            below = pointee(low, place, step.span)
            if isinstance(below, Pending):
                return below
            place = below
    type = ctypes.strip(place.type)
    if not isinstance(type, ctypes.Struct):
        name = ctypes.c_name(place.type)
        return _pend(
            low.pending(
                "E0243",
                f"invalid access '->{step.name}' for type '{name}'",
                step.span,
                where="only structs and unions have members",
            )
        )
    if type.is_declaration:
        whole = complete(low, type, place)
        if whole is not None:
            type = whole
    found = ctypes.find_member(type, step.name)
    if found is None:
        return _unknown_member(low, type, step)
    item, offset = found
    return Place(
        item.type,
        None,
        place.address,
        place.parts,
        place.bit_offset + offset,
        item.bit_size,
        place.is_user,
        place.writable,
        place.gaps,
        modules=place.modules,
        member_name=f"{place.member_name or type.name or type.kind}.{step.name}",
    )


def complete(low: Context, type: ctypes.Struct, place: Place) -> ctypes.Struct | None:
    """Find the definition of a struct that is only declared at its pointer; None if unknown."""
    scope = low.body.scope
    here = [*place.modules, *([scope.module] if scope is not None else []), "kernel"]
    found = low.services.debuginfo.complete(type, list(dict.fromkeys(here)))
    stripped = ctypes.strip(found) if found is not None else None
    return stripped if isinstance(stripped, ctypes.Struct) else None


def _unknown_member(low: Context, type: ctypes.Struct, step: n.MemberAccess) -> Pending:
    names = ctypes.member_names(type)
    kind = f"{type.kind} {type.name}".strip()
    near = nearest(step.name, names, 3)
    shown = near or names[:SHOWN_MEMBERS]
    text = f"unable to find member '{step.name}' for {kind}"
    if shown:
        text += f" (alternatives: {', '.join(shown)})"
    hint = f"did you mean '{near[0]}'?" if near else ""
    notes = [] if names else [f"{kind} is only declared, its members are not known"]
    item = low.pending(
        "E0242", text, step.span, where=f"unknown member of {kind}", notes=notes, hint=hint
    )
    return _pend(item)


def _pend(item: p.Expr) -> Pending:
    assert isinstance(item, Pending)
    return item


def subscript(low: Context, place: Place, step: n.Subscript) -> Place | Pending:
    """Find ``[index]`` of an array or of a pointer; `Pending` for any other type."""
    type = ctypes.strip(place.type)
    index = low.expr(step.index)
    known = constant(index)
    if place.behind is not None and isinstance(type, ctypes.Pointer):
        if isinstance(known, int):
            return _behind(low, place, step.span, known)
        return _not_here(low, step.span, "what it points to has no address: give a number")
    if isinstance(type, ctypes.Array):
        element = type.element
        base = rvalue(low, place, step.span)
        user = place.is_user
    elif isinstance(type, ctypes.Pointer):
        element = type.target
        base = rvalue(low, place, step.span)
        user = place.is_user or is_user(place.type)
    else:
        name = ctypes.c_name(place.type)
        return _pend(low.pending("E0243", f"invalid subscript of type '{name}'", step.span))
    if isinstance(base, Pending):
        return base
    size = ctypes.size_of(element) or 1
    modules = place.modules
    if isinstance(known, int):
        base = add(base, known * size)
        return Place(element, None, base, is_user=user, writable=True, modules=modules)
    scaled = index
    if size != 1:
        factor = p.Const(step.span, p.LONG, size)
        scaled = p.BinaryOp(step.span, p.LONG, "*", index, factor)
    address = p.BinaryOp(step.span, p.LONG, "+", base, scaled)
    return Place(element, None, address, is_user=user, writable=True, modules=modules)


def follow(low: Context, place: Place, chain: list[n.Component], span: Span) -> Place | Pending:
    """Follow all members and subscripts of a chain (without its ``$``); return the last place."""
    for step in chain:
        found: Place | Pending
        if isinstance(step, n.MemberAccess):
            found = member(low, place, step)
        elif isinstance(step, n.Subscript):
            found = subscript(low, place, step)
        else:
            return _pend(low.pending("E0244", "'$' must be the end of the chain", step.span))
        if isinstance(found, Pending):
            return found
        place = found
    return place
