"""Abbreviation tables: each distinct declaration is compiled once into a plan.

A kernel has 2000 tables with 300 000 declarations but only some 8500 different
ones, so the memo is keyed on the declaration's bytes.
"""

from __future__ import annotations

import re
import struct

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.numbers import sleb, uleb
from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.errors import DebuginfoError
from stapy.record import Record

_U = rb"[\x80-\xff]*[\x00-\x7f]"
# code, then tag, children flag and pairs up to the pair of zeros; an implicit constant
# (form 0x21) brings its value along.
_DECLARATION = re.compile(
    rb"([\x80-\xff]*[\x01-\x7f])"
    rb"(" + _U + rb"[\x00\x01](?:[\x80-\xff]*[\x01-\x7f](?:\x21" + _U + rb"|(?!\x21)"
    rb"[\x80-\xff]*[\x01-\x7f]))*)\x00\x00",
    re.S,
)
_NEAR = 1 << 11  # bytes that are looked at for a single declaration
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}

# What to do for a variable part: skip a number, a string, or what a length says.
NUMBER, TEXT, SIZED, SIZED1, SIZED2, SIZED4, ANY = -1, -2, -3, -4, -5, -6, -7
_VARIABLE = {
    k.UDATA: NUMBER, k.SDATA: NUMBER, k.REF_UDATA: NUMBER, k.STRX: NUMBER, k.ADDRX: NUMBER,
    k.LOCLISTX: NUMBER, k.RNGLISTX: NUMBER, k.STRING: TEXT, k.BLOCK: SIZED, k.EXPRLOC: SIZED,
    k.BLOCK1: SIZED1, k.BLOCK2: SIZED2, k.BLOCK4: SIZED4, k.INDIRECT: ANY,
}  # fmt: skip


class Plan(Record):
    """One declaration.

    ``attributes`` are ``(attribute, form, implicit value)`` in file order.
    ``size`` is the entry's size behind its code, -1 when it varies; then
    ``skips`` says how to step over it.  ``unpack`` reads the plain numbers at its
    start, ``index`` tells which of them belongs to which attribute.
    ``sibling`` is the position of a four-byte sibling reference, -1 when there
    is none at a fixed position.
    """

    tag: int
    has_children: bool
    attributes: list[tuple[int, int, int]]
    size: int
    skips: tuple[int, ...]
    unpack: struct.Struct
    index: dict[int, int]
    sibling: int


class Abbreviations:
    """The tables of one file."""

    def __init__(self, data: Buffer, name: str) -> None:
        self._data = data
        self._name = name
        self._memo: dict[bytes, Plan] = {}
        self._last: tuple[int, dict[int, Plan]] = (-1, {})

    def table(self, offset: int, limit: int | None = None) -> dict[int, Plan]:
        """Compile the plans of one table, by code.

        ``limit`` is where the next table starts, when that is known. Raises `DebuginfoError` for
        one that is cut off.
        """
        if self._last[0] == offset:
            return self._last[1]
        end = len(self._data) if limit is None else limit
        if offset >= len(self._data):
            raise DebuginfoError(f"{self._name}: abbreviations outside of the file")
        # Tables have 2 KB on the average; without a limit take pieces until the end shows.
        size = end - offset if limit is not None else 1 << 14
        while True:
            window = bytes(self._data[offset : offset + size])
            try:
                plans, complete = self._split(window)
            except IndexError:
                raise self._damaged(offset) from None
            if complete:
                break
            if offset + size >= len(self._data):
                raise self._damaged(offset)
            size *= 4
        self._last = (offset, plans)
        return plans

    def one(self, offset: int, code: int) -> Plan | None:
        """Compile the plan of one code of a table; None when it is not near its beginning."""
        window = bytes(self._data[offset : offset + _NEAR])
        at = 0
        while at < len(window) and window[at]:
            found = _DECLARATION.match(window, at)
            if found is None:
                return None
            head, body = found.groups()
            if (head[0] if len(head) == 1 else uleb(head, 0)[0]) == code:
                return self._plan(body)
            at = found.end()
        return None

    def _plan(self, body: bytes) -> Plan:
        plan = self._memo.get(body)
        if plan is None:
            plan = self._memo[body] = compile_plan(body)
        return plan

    def _damaged(self, offset: int) -> DebuginfoError:
        return DebuginfoError(f"{self._name}: damaged abbreviations at {offset:#x}")

    def _split(self, window: bytes) -> tuple[dict[int, Plan], bool]:
        plans: dict[int, Plan] = {}
        at = 0
        match = _DECLARATION.match
        while True:
            if at >= len(window):
                return plans, False
            if not window[at]:
                return plans, True
            found = match(window, at)
            if found is None:
                return plans, False
            head, body = found.groups()
            code = head[0] if len(head) == 1 else uleb(head, 0)[0]
            plans[code] = self._plan(body)
            at = found.end()


def compile_plan(body: bytes) -> Plan:
    """Compile a declaration, given its bytes between its code and the final zeros."""
    tag, at = uleb(body, 0)
    children = bool(body[at])
    at += 1
    attributes: list[tuple[int, int, int]] = []
    while at < len(body):
        attribute, at = uleb(body, at)
        form, at = uleb(body, at)
        implicit = 0
        if form == k.IMPLICIT_CONST:
            implicit, at = sleb(body, at)
        attributes.append((attribute, form, implicit))
    return _compile(tag, children, attributes)


def _compile(tag: int, has_children: bool, attributes: list[tuple[int, int, int]]) -> Plan:
    skips: list[int] = []
    index: dict[int, int] = {}
    codes = "<"
    plain = True  # so far only numbers that struct knows
    size, total, sibling = 0, 0, -1
    for attribute, form, _ in attributes:
        if form in (k.FLAG_PRESENT, k.IMPLICIT_CONST):
            continue
        step = k.FIXED.get(form)
        if step is None:
            if form not in _VARIABLE:
                raise DebuginfoError(f"unknown DWARF form {form:#x}")
            if size:
                skips.append(size)
            skips.append(_VARIABLE[form])
            size, total, plain = 0, -1, False
            continue
        if attribute == k.AT_SIBLING and form == k.REF4 and total >= 0:
            sibling = total
        plain = plain and step in _CODES
        if plain:
            index[attribute] = len(codes) - 1
            codes += _CODES[step]
        size += step
        if total >= 0:
            total += step
    if size:
        skips.append(size)
    return Plan(
        tag, has_children, attributes, total, tuple(skips), struct.Struct(codes), index, sibling
    )


def skip(data: Buffer, at: int, steps: tuple[int, ...]) -> int:
    """Find the position behind an entry of varying size."""
    for step in steps:
        if step > 0:
            at += step
        elif step == NUMBER:
            while data[at] > 0x7F:
                at += 1
            at += 1
        elif step == SIZED:
            size, at = uleb(data, at)
            at += size
        elif step == TEXT:
            while data[at]:
                at += 1
            at += 1
        elif step == SIZED1:
            at += 1 + data[at]
        elif step == SIZED2:
            at += 2 + int.from_bytes(data[at : at + 2], "little")
        elif step == SIZED4:
            at += 4 + int.from_bytes(data[at : at + 4], "little")
        else:
            form, at = uleb(data, at)
            fixed = k.FIXED.get(form)
            if fixed is None and form not in _VARIABLE:
                raise DebuginfoError(f"unknown DWARF form {form:#x}")
            at = skip(data, at, (fixed if fixed is not None else _VARIABLE[form],))
    return at
