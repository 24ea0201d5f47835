"""Systems of tracepoints as the kernel itself has them: the trace events in an image or a module.

``TRACE_EVENT`` leaves a ``struct trace_event_call`` whose class names the system
and which points to its tracepoint; the addresses of all of them stand in one
table.  So the system of a tracepoint is known whose header is not among those
that are installed.  A tracepoint without an event (``DECLARE_TRACE``) is not there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.btf.reader import Btf
from stapy.debuginfo.dwarf.read.relocate import Relocations
from stapy.debuginfo.elf import ET_REL, SHT_NOBITS, Buffer, ElfFile, map_file
from stapy.debuginfo.symbols import kallsyms, kallsyms_layout
from stapy.debuginfo.unpack.unpackers import joined
from stapy.debuginfo.vmlinuz import inflate, payload
from stapy.record import Record

_TABLE = "_ftrace_events"  # the section of a module
_BOUNDS = ("__start_ftrace_events", "__stop_ftrace_events")
_SHF_ALLOC = 2
_WORD = 8
_LONGEST = 128  # bytes of a name


class Shapes(Record):
    """Offsets in bytes of what is read of the kernel's structs, and the flag of real events."""

    owner: int
    tracepoint: int
    flags: int
    system: int
    name: int
    flag: int


def shapes(btf: Btf) -> Shapes | None:
    """Look up the offsets in a kernel, by its BTF; None when its structs are others than ours."""

    def offset(struct_name: str, member: str) -> int:
        type = btf.type(f"struct {struct_name}")
        row = c.find_member(type, member) if type is not None else None
        return row[1] // 8 if row is not None else -1

    found = Shapes(
        offset("trace_event_call", "class"),
        offset("trace_event_call", "tp"),
        offset("trace_event_call", "flags"),
        offset("trace_event_class", "system"),
        offset("tracepoint", "name"),
        btf.enumerator("TRACE_EVENT_FL_TRACEPOINT") or -1,
    )
    return found if min(getattr(found, field) for field in Shapes.fields) >= 0 else None


class _Memory:
    """The data of a file at the addresses that pointers in it have."""

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf
        self._relocations = Relocations(elf) if elf.type == ET_REL else None
        self._parts: dict[int, bytes] = {}
        self._rows: list[tuple[int, int, int]] = []
        for number, section in enumerate(elf.sections):
            if section.flags & _SHF_ALLOC and section.type != SHT_NOBITS and section.size:
                start = self.start(number)
                self._rows.append((start, start + section.size, number))

    def start(self, number: int) -> int:
        """Return the address at which a section, by its number, begins."""
        if self._relocations is not None:
            return self._relocations.addresses[number]
        return self._elf.sections[number].address

    def read(self, address: int, size: int) -> bytes:
        """Read at most ``size`` bytes at an address; none where the file has none."""
        for start, end, number in self._rows:
            if start <= address < end:
                if number not in self._parts:
                    self._parts[number] = self._content(number)
                return self._parts[number][address - start : address - start + size]
        return b""

    def _content(self, number: int) -> bytes:
        raw = self._elf.content(self._elf.sections[number])
        if self._relocations is None or not self._relocations.has(number):
            return raw
        data = bytearray(raw)
        self._relocations.apply(number, data)
        return bytes(data)

    def word(self, address: int, size: int = _WORD) -> int:
        """Read a number of ``size`` bytes; 0 where the file has none."""
        data = self.read(address, size)
        return int.from_bytes(data, "little") if len(data) == size else 0

    def text(self, address: int) -> bytes:
        """Read a string; empty where there is none."""
        head, end, _ = self.read(address, _LONGEST).partition(b"\0")
        return head if end else b""


def of_image(path: Path, shape: Shapes) -> Iterator[bytes]:
    """Yield ``tracepoint system`` for each event of a kernel's image, packed or not."""
    with path.open("rb") as file:
        packed = file.read(4) != b"\x7fELF"
    data: Buffer = map_file(path)
    if packed:
        data = joined(inflate(payload(bytes(data), path.name), path.name), path.name)
    if bytes(data[:4]) != b"\x7fELF":  # some machines boot bare memory, which has no addresses
        return
    elf = ElfFile(data, str(path))
    start, end = _bounds(elf)
    if 0 < start < end:
        yield from _events(_Memory(elf), start, end, shape)


def _bounds(elf: ElfFile) -> tuple[int, int]:
    """Find where the table begins and ends; zeros when no table of symbols tells it."""
    known = {symbol.name: symbol.value for symbol in elf.symbols() if symbol.name in _BOUNDS}
    if not known:
        layout = kallsyms_layout.locate(elf.data)
        if layout is not None:
            symbols = kallsyms.Kallsyms(elf.data, layout)
            known = {name: symbols.address(name) for name in _BOUNDS}
    return known.get(_BOUNDS[0], 0), known.get(_BOUNDS[1], 0)


def of_module(elf: ElfFile, shape: Shapes) -> Iterator[bytes]:
    """Yield ``tracepoint system`` for each event of a module."""
    section = elf.section(_TABLE)
    if section is None or elf.type != ET_REL:
        return
    memory = _Memory(elf)
    start = memory.start(elf.number(section))
    yield from _events(memory, start, start + section.size, shape)


def _events(memory: _Memory, start: int, end: int, shape: Shapes) -> Iterator[bytes]:
    table = memory.read(start, end - start)
    for (event,) in struct.iter_unpack("<Q", table[: len(table) // _WORD * _WORD]):
        if not memory.word(event + shape.flags, 4) & shape.flag:
            continue
        name = memory.text(memory.word(memory.word(event + shape.tracepoint) + shape.name))
        system = memory.text(memory.word(memory.word(event + shape.owner) + shape.system))
        if name and system:
            yield name + b" " + system
