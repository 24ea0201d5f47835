"""Tracepoints of a kernel without BTF: names by its symbols, parameters by its trace headers.

A header is compiled once, by who sets `HeaderPoints.compile`, to an object whose DWARF is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.glob import literal_prefix, matcher
from stapy.debuginfo.tracepoints.systems import trace_headers
from stapy.debuginfo.units import KernelUnits
from stapy.record import replace

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile

_TRACEITER = "__traceiter_"  # the function behind each tracepoint
_PRIVATE = "stapy_private"  # the struct that stands for types that no header declares
_STUB = "trace_"  # the inline function by which the kernel passes one

Compile = Callable[[Path, list[str]], Path | None]


class HeaderPoints:
    """What headers tell; each is compiled when the parameters of one of its points are wanted."""

    def __init__(self, units: KernelUnits, open_object: Callable[[Path], DwarfFile | None]) -> None:
        self._units = units
        self._open = open_object
        # Makes an object of a header and the names of its points; None, told, when that fails.
        self.compile: Compile | None = None
        self._headers: dict[str, Path] | None = None
        self._objects: dict[Path, DwarfFile | None] = {}
        self._types = _KnownTypes()

    @property
    def headers(self) -> dict[str, Path]:
        """Map tracepoints to the headers that declare them."""
        if self._headers is None:
            self._headers = trace_headers(self._units.kernel, self._units.cache)
        return self._headers

    def names(self, pattern: str, of_modules: Callable[[], set[str]]) -> Iterator[str]:
        """Yield the tracepoints of the kernel itself that match.

        Headers also declare those of modules and those that this kernel was built without; its
        symbols tell. Without symbols ``of_modules`` are left out at least.
        """
        matches = matcher(pattern)
        symbols = self._units.loaded.symbols
        known: Iterator[str] | list[str] = iter(())
        if symbols is not None and symbols.kinds(_TRACEITER + "sched_switch"):
            rows = symbols.rows(_TRACEITER + literal_prefix(pattern))
            known = (name[len(_TRACEITER) :] for name, _ in rows)
        else:
            others = of_modules()
            known = sorted(name for name in self.headers if name not in others)
        yield from dict.fromkeys(name for name in known if matches(name))

    def parameters(self, name: str) -> list[c.Parameter]:
        """Find what a tracepoint passes; nothing when no header that compiles declares it.

        A parameter of a type that is nobody's but the code's ends the list: where those behind it
        are depends on its size.
        """
        dwarf = self._object(name)
        if dwarf is None:
            return []
        place = self._units.safe(None, dwarf.place_of, _STUB + name)
        if place is None:
            return []
        found: c.FunctionType | None = self._units.safe(None, dwarf.prototype, place)
        params = found.params if found is not None else ()
        known = takewhile(lambda one: not self._units.safe(True, _holds_private, one.type), params)
        return [replace(one, type=self._types.known(one.type)) for one in known]

    def type(self, name: str) -> c.CType | None:
        """Find the definition of a struct in what was compiled up to now.

        One that holds a type that nobody knows is none: where its members are is not known.
        """
        for dwarf in self._objects.values():
            found = self._units.safe(None, dwarf.type, name) if dwarf is not None else None
            if found is None or (isinstance(found, c.Struct) and found.is_declaration):
                continue
            if not self._units.safe(True, _holds_private, found):
                return self._types.known(found)
        return None

    def _object(self, name: str) -> DwarfFile | None:
        header = self.headers.get(name)
        if header is None or self.compile is None:
            return None
        if header not in self._objects:
            names = sorted(point for point, path in self.headers.items() if path == header)
            path = self.compile(header, names)
            self._objects[header] = self._open(path) if path is not None else None
        return self._objects[header]


class _KnownTypes:
    """Types in which structs have no members where nobody knows the size of one."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[c.Struct, c.Struct]] = {}  # by the id of the first

    def known(self, type: c.CType) -> c.CType:
        """Return such a type; the same for the same struct."""
        if isinstance(type, c.Struct):
            made = replace(type, load=partial(self._members, type), cached=None)
            return self._made.setdefault(id(type), (type, made))[1]
        if isinstance(type, c.Array):
            return replace(type, element=self.known(type.element))
        if isinstance(type, c.Pointer | c.Typedef | c.Qualified):
            return replace(type, target=self.known(type.target))
        return type

    def _members(self, struct: c.Struct) -> list[c.Member]:
        if _holds_private(struct):
            return []
        return [replace(one, type=self.known(one.type)) for one in struct.members()]


def _holds_private(type: c.CType) -> bool:
    """Tell whether a type is, or has inside, one that is nobody's but the code's."""
    type = c.strip(type)
    if isinstance(type, c.Pointer):
        return isinstance(type.target, c.Struct) and type.target.name == _PRIVATE
    if isinstance(type, c.Array):
        return _holds_private(type.element)
    return isinstance(type, c.Struct) and any(_holds_private(one.type) for one in type.members())
