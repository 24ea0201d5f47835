"""An argument of a mark: what it is in, whatever the machine."""

from __future__ import annotations

from stapy.record import Record

CONSTANT, ADDRESS, REGISTER, MEMORY, VECTOR, UNKNOWN = (
    "constant", "address", "register", "memory", "vector", "unknown",
)  # fmt: skip


class Register(Record):
    """A general register: its number as DWARF counts, how much of it, and from which bit on.

    One that is added to an address ``is_signed`` where its upper half is that of a signed number.
    """

    number: int
    size: int
    shift: int = 0
    is_signed: bool = False


PLACE = -1  # instead of a number: the program counter


class Operand(Record):
    """One argument.

    - `CONSTANT`: the number ``offset``;
    - `ADDRESS`: that of ``symbols`` plus ``offset``;
    - `REGISTER`: what is in ``base``; `VECTOR`: in vector register ``offset``;
    - `MEMORY`: what is at ``symbols`` + ``base`` + ``index`` * ``scale`` + ``offset``; where the
      base is the program counter (`PLACE`), the symbols tell the whole address.

    ``symbols`` have a sign.  ``size`` and ``is_signed`` say how the value is to be read.
    """

    kind: str
    text: str
    size: int = 8
    is_signed: bool = False
    is_float: bool = False
    offset: int = 0
    base: Register | None = None
    index: Register | None = None
    scale: int = 1
    symbols: tuple[tuple[int, str], ...] = ()
