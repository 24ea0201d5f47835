"""What the fast walk over ``.debug_info`` does with entries: a shape for each kind of them."""

from __future__ import annotations

import struct

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.read.abbrev import SIZED, Plan, skip

TYPES = {
    k.STRUCTURE_TYPE: "struct",
    k.CLASS_TYPE: "struct",
    k.UNION_TYPE: "union",
    k.ENUMERATION_TYPE: "enum",
    k.TYPEDEF: "typedef",
    k.BASE_TYPE: "base",
}
JUMP, EXPRESSION, VARIES, LOOK = 0, -1, -2, -3
_PLAIN = frozenset(
    (k.STRP, k.REF1, k.REF2, k.REF4, k.ADDR, k.DATA1, k.DATA2, k.DATA4, k.IMPLICIT_CONST)
)
_u32 = struct.Struct("<I").unpack_from


class EntryShape:
    """How the walk treats entries of one plan."""

    __slots__ = (
        "code", "constants", "exact", "expression", "has_code", "index", "jump",
        "late_sibling", "named", "plan", "scoped", "size",
    )  # fmt: skip

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        attributes = {attribute: form for attribute, form, _ in plan.attributes}
        self.constants = {a: v for a, form, v in plan.attributes if form == k.IMPLICIT_CONST}
        self.index = plan.index
        self.scoped = plan.tag in k.SCOPED or k.AT_OBJECT_POINTER in attributes
        self.has_code = k.AT_LOW_PC in attributes or k.AT_RANGES in attributes
        self.jump = plan.sibling if plan.has_children else -1
        self.size = plan.size
        steps = plan.skips
        self.expression = (-1, 0)  # entry with one short block: bytes before and behind it
        if plan.size < 0 and steps.count(SIZED) == 1 and all(s > 0 or s == SIZED for s in steps):
            where = steps.index(SIZED)
            self.expression = (sum(steps[:where]), sum(steps[where + 1 :]))
        # GCC writes four-byte siblings last, behind a frame base of varying size.
        last = plan.attributes[-1][:2] if plan.attributes else (0, 0)
        late = last == (k.AT_SIBLING, k.REF4) and plan.size < 0
        self.late_sibling = _without_last(steps, 4) if late else None
        wanted = _wanted(plan.tag, attributes)
        self.exact = all(
            (a in plan.index or a in self.constants) and attributes[a] in _PLAIN for a in wanted
        )
        self.code = _kind(plan.tag, attributes)
        # A type whose name is the first thing in an entry of fixed size.
        self.named = (
            self.code == TYPE and plan.size >= 0 and plan.attributes[0][:2] == (k.AT_NAME, k.STRP)
        )

    def value(self, values: tuple[int, ...], attribute: int, default: int = 0) -> int:
        """Look up an attribute among the plain numbers of an entry, else in its constants."""
        at = self.index.get(attribute)
        if at is not None:
            return values[at]
        return self.constants.get(attribute, default)


def _without_last(steps: tuple[int, ...], size: int) -> tuple[int, ...]:
    rest = steps[-1] - size
    return (*steps[:-1], rest) if rest else steps[:-1]


SKIPPED, FUNCTION, INLINED, TYPE, GLOBAL = range(5)


def _kind(tag: int, attributes: dict[int, int]) -> int:
    if tag == k.SUBPROGRAM:
        return SKIPPED if k.AT_DECLARATION in attributes else FUNCTION
    if tag == k.INLINED_SUBROUTINE:
        return INLINED
    if tag in TYPES and k.AT_NAME in attributes and k.AT_DECLARATION not in attributes:
        return TYPE
    if tag == k.VARIABLE and k.AT_LOCATION in attributes:
        return GLOBAL
    return SKIPPED


def _wanted(tag: int, attributes: dict[int, int]) -> list[int]:
    if tag == k.SUBPROGRAM:
        names = (k.AT_NAME, k.AT_DECL_FILE, k.AT_DECL_LINE, k.AT_LOW_PC, k.AT_ABSTRACT_ORIGIN,
                 k.AT_SPECIFICATION)  # fmt: skip
        ranged = k.AT_LOW_PC not in attributes and k.AT_RANGES in attributes
        # Functions in pieces have no low_pc: their ranges are read by the slow way.
        return [*(a for a in names if a in attributes), *([-1] if ranged else [])]
    if tag == k.INLINED_SUBROUTINE:
        pc = k.AT_ENTRY_PC if k.AT_ENTRY_PC in attributes else k.AT_LOW_PC
        plain = attributes.get(pc) == k.ADDR
        return [k.AT_ABSTRACT_ORIGIN, pc] if plain else [-1]
    if tag in TYPES:
        return [k.AT_NAME]
    if tag == k.VARIABLE:
        return [a for a in (k.AT_NAME, k.AT_SPECIFICATION) if a in attributes]
    return []


def shape_of(shapes: list[EntryShape | None], code: int) -> EntryShape:
    """Look up the shape of an abbreviation; `IndexError` for one that the unit has not."""
    shape = shapes[code]
    if shape is None:
        raise IndexError(code)
    return shape


def sibling_at(data: bytes, position: int, start: int, end: int) -> int:
    """Read where the sibling of an entry is; it has to lie behind the entry, in its unit."""
    (target,) = _u32(data, position)
    if not start < target <= end:
        raise IndexError(target)
    return int(target)


def end_of_entry(data: bytes, start: int, shape: EntryShape) -> int:
    """Find the position behind an entry's attributes."""
    return start + shape.size if shape.size >= 0 else skip(data, start, shape.plan.skips)


def over_children(data: bytes, start: int, step: int, shape: EntryShape, end: int) -> int:
    """Find the position behind an entry and, where its sibling is known, its children."""
    if step == JUMP:
        return sibling_at(data, start + shape.jump, start, end)
    return skip(data, start, shape.plan.skips)


def end_of_function(shape: EntryShape, data: bytes, start: int, end: int) -> int:
    """Find where a function's entry and its children end; -1 when it does not tell."""
    if shape.jump >= 0:
        return sibling_at(data, start + shape.jump, start, end)
    if shape.late_sibling is None:
        return -1
    return sibling_at(data, skip(data, start, shape.late_sibling), start, end)
