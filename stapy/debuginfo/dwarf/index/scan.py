"""The fast walk over all of ``.debug_info``: functions, inlined instances, types, globals.

A kernel has 17 million entries, so the loops below touch as little as they can:
entries of a fixed size are stepped over with one addition, siblings jump over
what cannot hold anything of interest.
No entry's parent is needed: what lies before the sibling of a function's entry
lies in that function.
"""

from __future__ import annotations

import struct

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.files.alternate import link_of
from stapy.debuginfo.dwarf.index.found import NO_NAME, NO_ORIGIN, CollectedEntries
from stapy.debuginfo.dwarf.index.shapes import (
    EXPRESSION,
    FUNCTION,
    GLOBAL,
    INLINED,
    JUMP,
    LOOK,
    SKIPPED,
    TYPE,
    VARIES,
    EntryShape,
    end_of_entry,
    end_of_function,
    over_children,
    shape_of,
    sibling_at,
)
from stapy.debuginfo.dwarf.numbers import uleb
from stapy.debuginfo.dwarf.read.abbrev import Plan, skip
from stapy.debuginfo.dwarf.read.ranges import entry_address
from stapy.debuginfo.dwarf.read.units import MAX_DEPTH, Header, Info
from stapy.debuginfo.elf import Patience, Strings
from stapy.debuginfo.errors import DebuginfoError

_MAX_CODES = 1 << 14
# Bytes of names with what they are in: a class of C++ has a long one, which its many types repeat.
_JOINED, _FEW_JOINED, _MOST_JOINED = 64, 16 << 20, 2 << 30
_u32 = struct.Struct("<I").unpack_from


class Scanner:
    """Walks units one by one into a `CollectedEntries`."""

    def __init__(self, info: Info) -> None:
        self.info = info
        self.found = CollectedEntries()
        self._shapes: dict[int, EntryShape] = {}
        tables = sorted({header.abbreviations for header in info.headers})
        self._limits = dict(zip(tables, [*tables[1:], None]))
        size = len(info.data) + len(info.sections.section("str"))
        self._patience = Patience(min(_JOINED * size + _FEW_JOINED, _MOST_JOINED), info.name)

    def run(self) -> CollectedEntries:
        """Walk everything, the alternate file too; return what was collected."""
        for number, header in enumerate(self.info.headers):
            self._unit(number, header)
        if link_of(self.info.sections.elf) is not None:
            alternate = self.info.alternate
            other = Scanner(alternate).run()
            strings = Strings(bytes(alternate.sections.section("str")), alternate.name)
            self.found.add(other, len(self.info.headers), strings)
        return self.found

    def _shape(self, plan: Plan) -> EntryShape:
        shape = self._shapes.get(id(plan))  # plans live as long as the memo
        if shape is None:
            shape = self._shapes[id(plan)] = EntryShape(plan)
        return shape

    def _unit(self, number: int, header: Header) -> None:
        plans = self.info.unit(number, self._limits[header.abbreviations]).plans
        top = max(plans, default=0)
        if top >= _MAX_CODES:
            raise DebuginfoError(f"{self.info.name}: {top} abbreviations in one unit")
        shapes: list[EntryShape | None] = [None] * (top + 1)
        outer = [LOOK] * (top + 1)
        inner = [LOOK] * (top + 1)
        outer[0] = inner[0] = 1
        scoped = False
        get = self._shapes.get
        for code, plan in plans.items():
            shape = get(id(plan)) or self._shape(plan)
            shapes[code] = shape
            scoped = scoped or shape.scoped
            wide = 1 if code < 0x80 else 2
            if shape.jump >= 0:
                step = JUMP
            elif shape.size >= 0:
                step = shape.size + wide
            else:
                step = EXPRESSION if shape.expression[0] >= 0 else VARIES
            if shape.code == SKIPPED:
                outer[code] = step
            if shape.code not in (INLINED, TYPE):
                # Blocks are looked into for more instances.
                inner[code] = step
            if shape.plan.tag == k.LEXICAL_BLOCK and step == JUMP:
                inner[code] = shape.size + wide if shape.size >= 0 else VARIES
        try:
            if scoped:
                self._walk_scopes(number, header, shapes)
            else:
                self._walk(number, header, shapes, outer, inner)
        except (IndexError, OverflowError, struct.error):
            raise DebuginfoError(f"{self.info.name}: damaged unit at {header.offset:#x}") from None

    def _walk(
        self,
        number: int,
        header: Header,
        shapes: list[EntryShape | None],
        outer: list[int],
        inner: list[int],
    ) -> None:
        data = bytes(self.info.data[header.offset : header.end])
        end = len(data)
        types = self.found.types
        # The unit's own entry is stepped over whatever its size is.
        root, at = uleb(data, header.first - header.offset)
        if root:
            at = skip(data, at, shape_of(shapes, root).plan.skips)
        while at < end:
            code = data[at]
            if code > 0x7F:
                code = code & 0x7F | data[at + 1] << 7
            step = outer[code]
            if step > 0:
                at += step
                continue
            shape = shape_of(shapes, code)
            start = at + (1 if code < 0x80 else 2)
            if shape.named:  # nearly a million types, most of them met before
                key = shape.plan.tag, _u32(data, start)[0]
                if key not in types:
                    types[key] = header.shift + at
                if shape.jump >= 0:
                    at = sibling_at(data, start + shape.jump, start, end)
                else:
                    at = start + shape.size
                continue
            if step != LOOK:
                at = over_children(data, start, step, shape, end)
                continue
            following = end_of_entry(data, start, shape)
            if shape.code == FUNCTION:
                self._function(number, header, shape, data, start, at)
                if shape.plan.has_children:
                    sibling = end_of_function(shape, data, start, end)
                    if sibling < 0:
                        sibling = self._deep(header, data, following, shapes, shape.has_code)
                    else:
                        self._body(header, data, following, sibling, shapes, inner)
                    following = sibling
            else:
                if shape.code == TYPE:
                    self._type(header, shape, data, start, at)
                elif shape.code == GLOBAL:
                    self._global(header, shape, data, start, at)
                if shape.jump >= 0:
                    following = sibling_at(data, start + shape.jump, start, end)
            at = following

    def _body(
        self,
        header: Header,
        data: bytes,
        at: int,
        end: int,
        shapes: list[EntryShape | None],
        steps: list[int],
    ) -> None:
        while at < end:
            code = data[at]
            if code > 0x7F:
                code = code & 0x7F | data[at + 1] << 7
            step = steps[code]
            if step > 0:
                at += step
                continue
            shape = shape_of(shapes, code)
            start = at + (1 if code < 0x80 else 2)
            if step == EXPRESSION:
                before, behind = shape.expression
                length = data[start + before]
                if length < 0x80:
                    at = start + before + 1 + length + behind
                else:
                    at = skip(data, start, shape.plan.skips)
            elif step == LOOK:
                if shape.code == INLINED:
                    self._inlined(header, shape, data, start, at)
                    at = end_of_entry(data, start, shape)
                else:
                    self._type(header, shape, data, start, at)
                    at = over_children(
                        data, start, step if shape.jump < 0 else JUMP, shape, len(data)
                    )
            else:
                at = over_children(data, start, step, shape, len(data))

    def _walk_scopes(self, number: int, header: Header, shapes: list[EntryShape | None]) -> None:
        """Walk a unit of C++ or Rust: each entry is met, with its scope."""
        data = bytes(self.info.data[header.offset : header.end])
        at, end = header.first - header.offset, header.end - header.offset
        scope, in_function = "", False
        outer: list[tuple[str, bool]] = []
        while at < end:
            code, start = uleb(data, at)
            if not code:
                if outer:
                    scope, in_function = outer.pop()
                at = start
                continue
            shape = shape_of(shapes, code)
            tag = shape.plan.tag
            if shape.plan.has_children:
                outer.append((scope, in_function))
                if len(outer) > MAX_DEPTH:
                    raise DebuginfoError(f"{self.info.name}: entries are nested too deep")
            inside = scope
            if tag in k.SCOPES:
                inside = self._joined(scope, self._text(header.shift + at))
            if scope and tag in (k.SUBPROGRAM, k.VARIABLE, k.MEMBER):
                self.found.scopes[header.shift + at] = scope
            if tag == k.SUBPROGRAM:
                if shape.code == FUNCTION:
                    self._function(number, header, shape, data, start, at)
            elif shape.code == INLINED:
                self._inlined(header, shape, data, start, at)
            elif shape.code == TYPE:
                name = self._joined(scope, self._text(header.shift + at))
                key = tag, self.found.extra_name(name)
                self.found.types.setdefault(key, header.shift + at)
            elif shape.code == GLOBAL and not in_function:
                entry = self.info.entry(header.shift + at)
                declared = entry.number(k.AT_SPECIFICATION)
                home = self.found.scopes.get(declared, "") if declared else scope
                name = self._joined(home, entry.name())
                self.found.global_name.append(self.found.extra_name(name))
                self.found.global_entry.append(header.shift + at)
            if shape.plan.has_children:
                scope, in_function = inside, in_function or tag == k.SUBPROGRAM
            at = end_of_entry(data, start, shape)

    def _joined(self, scope: str, name: str) -> str:
        """Put a name behind its scope; what has no name counts as its scope does."""
        found = f"{scope}::{name}" if scope and name else name or scope
        self._patience.take(len(found))
        return found

    def _text(self, offset: int) -> str:
        return self.info.entry(offset).name()

    def _deep(
        self, header: Header, data: bytes, at: int, shapes: list[EntryShape | None], in_code: bool
    ) -> int:
        """Walk a function's children without help: clang tells no siblings.

        Returns where they end.
        """
        depth = 1
        while depth:
            number, start = uleb(data, at)
            if not number:
                depth -= 1
                at = start
                continue
            shape = shape_of(shapes, number)
            if in_code and shape.code == INLINED:
                self._inlined(header, shape, data, start, at)
            elif shape.code == TYPE:
                self._type(header, shape, data, start, at)
            depth += shape.plan.has_children
            at = end_of_entry(data, start, shape)
        return at

    def _function(
        self, number: int, header: Header, shape: EntryShape, data: bytes, start: int, at: int
    ) -> None:
        found = self.found
        offset = header.shift + at
        if shape.exact:
            values = shape.plan.unpack.unpack_from(data, start)
            value = shape.value
            name = value(values, k.AT_NAME, NO_NAME)
            origin = value(values, k.AT_ABSTRACT_ORIGIN) or value(values, k.AT_SPECIFICATION)
            origin = origin + header.shift if origin else NO_ORIGIN
            pc = value(values, k.AT_LOW_PC)
            file, line = value(values, k.AT_DECL_FILE), value(values, k.AT_DECL_LINE)
        else:
            entry = self.info.entry(offset)
            text = entry.values.get(k.AT_NAME)
            name = found.extra_name(text) if isinstance(text, str) else NO_NAME
            origin = entry.number(k.AT_ABSTRACT_ORIGIN) or entry.number(k.AT_SPECIFICATION)
            origin = origin or NO_ORIGIN
            pc = entry_address(entry) or 0
            file, line = entry.number(k.AT_DECL_FILE), entry.number(k.AT_DECL_LINE)
        found.name.append(name)
        found.unit.append(number)
        found.entry.append(offset)
        found.file.append(file)
        found.line.append(line & 0xFFFFFFFF)
        found.pc.append(pc)
        found.origin.append(origin)

    def _inlined(self, header: Header, shape: EntryShape, data: bytes, start: int, at: int) -> None:
        found = self.found
        if shape.exact:
            values = shape.plan.unpack.unpack_from(data, start)
            origin = shape.value(values, k.AT_ABSTRACT_ORIGIN) + header.shift
            pc = shape.value(values, k.AT_ENTRY_PC) or shape.value(values, k.AT_LOW_PC)
        else:
            entry = self.info.entry(header.shift + at)
            origin = entry.number(k.AT_ABSTRACT_ORIGIN)
            pc = entry_address(entry) or 0
        if pc and origin:
            found.inlined_origin.append(origin)
            found.inlined_entry.append(header.shift + at)
            found.inlined_pc.append(pc)

    def _name(self, header: Header, shape: EntryShape, data: bytes, start: int, at: int) -> int:
        if shape.exact and k.AT_NAME in shape.index:
            return shape.value(shape.plan.unpack.unpack_from(data, start), k.AT_NAME)
        text = self.info.entry(header.shift + at).name()
        return self.found.extra_name(text) if text else NO_NAME

    def _type(self, header: Header, shape: EntryShape, data: bytes, start: int, at: int) -> None:
        key = shape.plan.tag, self._name(header, shape, data, start, at)
        if key not in self.found.types:
            self.found.types[key] = header.shift + at

    def _global(self, header: Header, shape: EntryShape, data: bytes, start: int, at: int) -> None:
        name = self._name(header, shape, data, start, at)
        if name != NO_NAME:
            self.found.global_name.append(name)
            self.found.global_entry.append(header.shift + at)
