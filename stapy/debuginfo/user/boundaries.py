"""Proves that an address is where an instruction begins.

The kernel checks nothing: a breakpoint inside of an instruction breaks each process that runs it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable

from stapy.debuginfo.elf import SHF_EXECINSTR
from stapy.debuginfo.user import x86
from stapy.debuginfo.user.file import UserFile
from stapy.debuginfo.user.flow import Flow
from stapy.debuginfo.user.instructions import reader
from stapy.debuginfo.user.runs import end_of_run
from stapy.debuginfo.user.symbols import FunctionTable

_MOST = 1 << 20  # bytes that are decoded for one address
_PIECE = 4096
_NEAR = 128  # bytes that are decoded again for each address


class NoBoundary(Exception):
    """Nothing may be armed at an address; the text says why."""


class Instructions:
    """Where the instructions of a file begin, decoded once from each place that is known.

    A function has many places in it, and each would be decoded from the function's beginning.
    """

    def __init__(self, file: UserFile) -> None:
        self.file = file
        # Beginnings behind a known place, some `_NEAR` bytes from each other.
        self._begin: dict[int, array[int]] = {}
        self._ends: set[int] = set()  # known places behind which no more can be decoded

    def start_of(self, known: int, address: int) -> int | None:
        """Find where the instruction begins that ``address`` is in; ``known`` is one before it.

        None when there is something between the two that is no instruction.
        """
        if known == address:
            return address
        begin = self._begin.setdefault(known, array("Q", [known]))
        if begin[-1] < address and known not in self._ends:
            self._decode(known, begin, address)
        if begin[-1] < address:
            return None
        return self._nearby(begin[bisect_right(begin, address) - 1], address)

    def _nearby(self, start: int, address: int) -> int:
        """Find the beginning of the instruction around an address, from one shortly before it."""
        code, at = self.file.read(start, address - start + x86.LONGEST), start
        while at < address:
            at = start + end_of_run(code, at - start, address - start)
            found = x86.decode(code, at - start) if at < address else None
            if found is None or at + found.length > address:
                break
            at += found.length
        return at

    def _decode(self, known: int, begin: array[int], address: int) -> None:
        """Decode up to an address or behind it."""
        at = begin[-1]
        code, base = b"", at
        while at < address:
            if at + _NEAR + x86.LONGEST > base + len(code):
                base, code = at, self.file.read(at, _PIECE)
            behind = base + end_of_run(code, at - base, at - base + _NEAR)
            if behind == at:
                found = x86.decode(code, at - base)
                if found is None:
                    self._ends.add(known)
                    return
                behind += found.length
            at = behind
            begin.append(at)


def proven(file: UserFile, functions: FunctionTable, addresses: Iterable[int]) -> list[int]:
    """Select those of many addresses that decoding a function from its beginning comes by, sorted.

    Each function is decoded once, from one address to the next. `check` has to be asked of the
    others, and of all on machines whose instructions have one size: there it is quick.
    """
    found: list[int] = []
    if reader(file.machine).SIZE is not None:
        return found
    ordered = sorted(set(addresses))
    start, end, at, moved = -1, 0, 0, 0
    for address, offset in zip(ordered, file.code_offsets(ordered)):
        before = functions.last_start(address)
        if offset is None or before is None:
            continue
        if before == address:
            found.append(address)
            continue
        if before != start:
            if file.code_offset(before) != before - address + offset:
                continue
            start, end, at, moved = before, before, before, offset - address
        if address >= end:
            around = functions.at(address)
            if around is None:
                continue
            end = around.address + max(around.size, 1)
        if address - start <= _MOST:
            at = _decoded_to(file, at, address, moved)
            if at == address:
                found.append(address)
    return found


def _decoded_to(file: UserFile, at: int, address: int, moved: int) -> int:
    """Decode from a beginning up to an address or behind it; return where that ends.

    That is short of the address where something is no instruction. ``moved`` leads from addresses
    to the file.
    """
    data = file.elf.data
    while at < address:
        behind = end_of_run(data, at + moved, address + moved) - moved
        if behind == at:
            one = x86.decode(file.read(at, x86.LONGEST))
            if one is None:
                return at
            behind += one.length
        at = behind
    return at


def check(
    file: UserFile,
    functions: FunctionTable,
    address: int,
    row_before: Callable[[int], int | None] | None = None,
    instructions: Instructions | None = None,
) -> None:
    """Raise `NoBoundary` unless an instruction begins at ``address``.

    It is decoded from the nearest place that is known to begin one: the function it is in, or what
    ``row_before`` gives (the last row of the line table at or before an address). Without that,
    nothing but the code tells: it is followed from the beginning of its function. Who asks
    for many addresses keeps ``instructions``.
    """
    if file.code_offset(address) is None:
        what = "is not in its code" if file.offset_of(address) is not None else "is not in it"
        raise NoBoundary(f"{address:#x} {what}: '{file.path}'")
    decoded = instructions or Instructions(file)
    before = _function_before(file, functions, address)
    if before is None and address in file.unwound:
        before = address  # of a function whose name was stripped
    size = reader(file.machine).SIZE
    if size is not None:
        _check_place(file, size, address, is_known=address == before or row_before is not None)
        return
    if before is not None and row_before is None and address - before <= _MOST:
        _check_flow(file, functions, before, address)
        return
    if before is not None and _decodes(decoded, before, address):
        return  # which is most places: asking for rows takes longer than all else
    starts = [before, row_before(address) if row_before is not None else None]
    known = [start for start in starts if start is not None and start <= address]
    if not known or address - max(known) > _MOST:
        raise NoBoundary(
            f"{address:#x} cannot be shown to begin an instruction of '{file.path}': "
            "it is in no function that is known"
        )
    start = decoded.start_of(max(known), address)
    if start is None:
        raise NoBoundary(f"what is before {address:#x} in '{file.path}' cannot be decoded")
    if start != address:
        raise NoBoundary(
            f"{address:#x} is not the beginning of an instruction of '{file.path}' ({start:#x} is)"
        )


def _check_place(file: UserFile, size: int, address: int, *, is_known: bool) -> None:
    """Raise `NoBoundary` unless an instruction begins there, of which all have one size.

    What else is at such a place may be a number that the code reads.
    """
    if address % size:
        raise NoBoundary(
            f"{address:#x} is not the beginning of an instruction of '{file.path}' "
            f"({address - address % size:#x} may be)"
        )
    if not is_known:
        raise NoBoundary(
            f"{address:#x} cannot be shown to begin an instruction of '{file.path}': "
            "it is not where a function begins"
        )


def _check_flow(file: UserFile, functions: FunctionTable, before: int, address: int) -> None:
    """Raise `NoBoundary` unless following a function's code comes by an address."""
    if address == before:
        return
    around = functions.at(address)
    size = around.size if around is not None else 0
    end = around.address + size if around is not None and size else address + x86.LONGEST
    why = Flow(file, before, end, is_whole=size > 0).why_not(address)
    if why.startswith("("):
        raise NoBoundary(
            f"{address:#x} is not the beginning of an instruction of '{file.path}' {why}"
        )
    if why:
        raise NoBoundary(
            f"{address:#x} cannot be shown to begin an instruction of '{file.path}': {why}"
        )


def _decodes(instructions: Instructions, known: int, address: int) -> bool:
    """Tell whether an address is come to from a known place."""
    return address - known <= _MOST and instructions.start_of(known, address) == address


def _function_before(file: UserFile, functions: FunctionTable, address: int) -> int | None:
    """Find the start of the function that an address is, or may be, in; None for none.

    What is behind the end of a function may be data, which can be decoded like anything else.
    A function of unknown size goes up to the next one in its section.
    """
    start = functions.last_start(address)
    if start is None or start == address or functions.at(address) is not None:
        return start
    around = functions.at(start)
    if around is not None and around.address == start and around.size:
        return None
    for section in file.elf.sections:
        inside = section.address <= start <= address < section.address + section.size
        if inside and section.flags & SHF_EXECINSTR:
            return start
    return None
