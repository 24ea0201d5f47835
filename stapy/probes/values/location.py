"""Where DWARF says that a variable is, as expressions of the handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stapy.debuginfo import ctypes
from stapy.debuginfo.errors import DebuginfoError
from stapy.diagnostics import NOWHERE
from stapy.ir.program import LONG, Expr, MemoryRead
from stapy.ir.scope import TargetVariable
from stapy.probes.values.evaluate import Evaluator
from stapy.probes.values.frames import Here
from stapy.probes.values.numbers import (
    BITS,
    WORD,
    Unavailable,
    add,
    binary,
    const,
    cut,
    mask,
    shift_right,
)

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.dwarf.read.expressions import Op
    from stapy.debuginfo.dwarf.read.variables import DwarfVariable

_MAX_BYTES = 4096  # of a value that is nowhere in memory


def describe(
    variable: DwarfVariable, place: CodePlace, dwarf: DwarfFile, here: Here | None = None
) -> TargetVariable:
    """Describe a variable at a place; raises `Unavailable` when it cannot be had there.

    ``here`` is the call that the place is in, if it is not one of the kernel.
    """
    name, type, ops = "$" + variable.name, variable.type, variable.ops
    if not ops:
        raise Unavailable
    frame = here or Here(place, dwarf)
    evaluator = Evaluator(frame)
    if any(op.name == "piece" for op in ops):
        return _in_pieces(name, type, ops, evaluator)
    scalar = not isinstance(ctypes.strip(type), (ctypes.Struct, ctypes.Array))
    size = ctypes.size_of(type)
    if len(ops) == 1 and ops[0].name == "register":
        number = ops[0].first
        if not scalar:
            if size > WORD:
                raise Unavailable
            return TargetVariable(name, type, None, None, [frame.held(number)])
        width = size if size in (1, 2, 4, 8) else WORD
        value = frame.held(number, width, ctypes.is_signed(type))
        return TargetVariable(name, type, value, writable=number < frame.machine.vectors[0])
    if len(ops) == 1 and ops[0].name == "bytes":
        return _in_pieces(name, type, ops, evaluator)
    if len(ops) == 1 and ops[0].name == "implicit_pointer":
        return _pointing(name, type, ops[0], place, dwarf, here)
    result, is_value = evaluator.run(ops)
    if not is_value:
        return TargetVariable(name, type, None, result)
    if not scalar:
        if size > WORD:
            raise Unavailable
        return TargetVariable(name, type, None, None, [result])
    return TargetVariable(name, type, cut(result, type))


def _pointing(
    name: str,
    type: ctypes.CType,
    op: Op,
    place: CodePlace,
    dwarf: DwarfFile,
    here: Here | None,
) -> TargetVariable:
    """Describe a pointer that the compiler has replaced by what it points to."""

    def behind() -> TargetVariable | str:
        try:
            variable = dwarf.pointed_to(op.first, place)
            return describe(variable, place, dwarf, here)
        except (Unavailable, DebuginfoError) as error:
            return str(error) or "the compiler has optimised out what it points to"

    return TargetVariable(name, type, behind=behind, behind_offset=op.second)


# --- pieces -------------------------------------------------------------------


class _Piece(NamedTuple):
    """Bits of a value; ``ops`` is empty for bits that are nowhere."""

    ops: list[Op]
    bits: int
    offset: int


def _in_pieces(
    name: str, type: ctypes.CType, ops: list[Op], evaluator: Evaluator
) -> TargetVariable:
    """Put a value in several places together as words; some bits may be missing.

    Raises `Unavailable` when that is too many.
    """
    size = ctypes.size_of(type) * 8
    if not 0 < size <= _MAX_BYTES * 8:
        raise Unavailable
    pieces = _split(ops, size)
    words: list[Expr | None] = [None] * ((size + BITS - 1) // BITS)
    gaps: list[tuple[int, int]] = []
    at = 0
    for piece in pieces:
        if piece.ops:
            for value, bits in _chunks(piece, evaluator):
                _store(words, at, value, min(bits, size - at))
                at += bits
        else:
            gaps.append((at, min(at + piece.bits, size)))
            at += piece.bits
        if at >= size:
            break
    if at < size:
        gaps.append((at, size))
    gaps = [(start, end) for start, end in gaps if start < end]
    if sum(end - start for start, end in gaps) >= size:
        raise Unavailable
    struct = isinstance(ctypes.strip(type), (ctypes.Struct, ctypes.Array))
    parts = [word if word is not None else const(0) for word in words]
    if not struct:
        if gaps:
            raise Unavailable("a part of it is optimised out")
        if len(parts) == 1:
            return TargetVariable(name, type, cut(parts[0], type))
    return TargetVariable(name, type, None, None, parts, gaps=gaps)


def _split(ops: list[Op], size: int) -> list[_Piece]:
    pieces: list[_Piece] = []
    pending: list[Op] = []
    for op in ops:
        if op.name == "piece":
            pieces.append(_Piece(pending, min(op.first, size), op.second))
            pending = []
        else:
            pending.append(op)
    if pending:  # the whole is one constant, or the last piece lacks its size
        pieces.append(_Piece(pending, max(0, size - sum(piece.bits for piece in pieces)), 0))
    return pieces


def _chunks(piece: _Piece, evaluator: Evaluator) -> list[tuple[Expr, int]]:
    """Split a piece into ``(value, bits)`` of at most one word each, the lowest first."""
    ops, bits, offset = piece
    if len(ops) == 1 and ops[0].name == "bytes":
        number = ops[0].first >> offset
        return [
            (const(number >> at & ((1 << min(BITS, bits - at)) - 1)), min(BITS, bits - at))
            for at in range(0, bits, BITS)
        ]
    if len(ops) == 1 and ops[0].name == "register":
        value = evaluator.frame.register(ops[0].first)
    else:
        value, is_value = evaluator.run(ops)
        if not is_value:
            return _from_memory(value, bits, offset)
    if bits + offset > BITS:
        raise Unavailable
    return [(mask(shift_right(value, offset), bits), bits)]


def _from_memory(address: Expr, bits: int, offset: int) -> list[tuple[Expr, int]]:
    if offset % 8 or bits % 8:  # a bit field: all its bytes, then its bits
        whole = (offset % 8 + bits + 7) // 8
        if whole > WORD:
            raise Unavailable
        ((value, _),) = _from_memory(add(address, offset // 8), 64, 0)
        return [(mask(shift_right(value, offset % 8), bits), bits)]
    found: list[tuple[Expr, int]] = []
    at, end = offset // 8, (offset + bits) // 8
    while at < end:
        width = next(size for size in (8, 4, 2, 1) if size <= end - at)
        found.append((MemoryRead(NOWHERE, LONG, add(address, at), width, False), 8 * width))
        at += width
    return found


def _store(words: list[Expr | None], at: int, value: Expr, bits: int) -> None:
    """Put a value's lowest bits at a place among the words; what lies there is 0."""
    number, shift = divmod(at, BITS)
    if bits <= 0 or number >= len(words):
        return
    _or(words, number, binary("<<", value, const(shift)) if shift else value)
    if shift + bits > BITS and number + 1 < len(words):
        _or(words, number + 1, shift_right(value, BITS - shift))


def _or(words: list[Expr | None], number: int, value: Expr) -> None:
    known = words[number]
    words[number] = value if known is None else binary("|", known, value)
