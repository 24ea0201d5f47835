"""The calls that locations are about: the one that a probe is in, and the one that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.arch import X86_64, Architecture
from stapy.diagnostics import NOWHERE
from stapy.ir.program import (
    LONG,
    BinaryOp,
    Conditional,
    Entrance,
    EntryRegister,
    Expr,
    MemoryRead,
    NotKnown,
)
from stapy.probes.values.evaluate import Evaluator
from stapy.probes.values.numbers import WORD, Unavailable, add, address_of, register

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.dwarf.read.frames import Address, UnwindRow

_MAX_CALLERS = 64


class Here:
    """The call that a probe is in: what registers have now."""

    def __init__(self, place: CodePlace, dwarf: DwarfFile, machine: Architecture = X86_64) -> None:
        self.place = place
        self.dwarf = dwarf
        self.machine = machine

    def register(self, number: int) -> Expr:
        """Read a register by its DWARF number."""
        return register(number, machine=self.machine)

    def address(self) -> Expr:
        """Compute the canonical frame address: the stack pointer from before the call."""
        return self._address(self._row().address)

    def _row(self) -> UnwindRow:
        row = self.dwarf.frame(self.place)
        if row is None:
            raise Unavailable
        return row

    def _address(self, rule: Address) -> Expr:
        if isinstance(rule, tuple):
            return add(self.register(rule[0]), rule[1])
        value, _ = Evaluator(self).run(self.dwarf.operations(rule, self.place))
        return value

    def base(self) -> Expr:
        """Compute what offsets of local variables count from, or raise `Unavailable`."""
        ops = self.dwarf.frame_base(self.place)
        if len(ops) != 1:
            raise Unavailable
        if ops[0].name == "cfa":
            return self.address()
        if ops[0].name in ("register", "address_in"):
            return add(self.register(ops[0].first), ops[0].second)
        raise Unavailable

    def address_of(self, address: int) -> Expr:
        """Turn an address of the debug file into one at run time."""
        return address_of(address, self.dwarf)

    def held(self, number: int, size: int = WORD, signed: bool = False) -> Expr:
        """Read a register that a variable is in."""
        return register(number, size, signed, self.machine)

    def in_thread(self, offset: Expr) -> Expr:
        """Raise `Unavailable`: the kernel has nothing thread-local."""
        raise Unavailable("it is thread-local")

    def at_entry(self, number: int) -> Expr:
        """Read what a register had when the function was entered, or raise `Unavailable`."""
        if self.place.is_exact:
            return self.register(number)
        entrance = self.dwarf.entrance(self.place)
        if entrance is None:
            raise Unavailable
        symbol, offset, address = entrance
        if address == self.place.address:
            return self.register(number)
        if number not in self.machine.argument_numbers:
            raise Unavailable(
                f"it was in a register that takes no argument when '{symbol}' was entered"
            )
        function = Entrance(symbol, self.place.module, offset)
        which = self.machine.argument_numbers.index(number)
        return EntryRegister(NOWHERE, LONG, function, which, self.address())

    def parameter(self, entry: int) -> Expr:
        """Compute what the caller would have passed for a parameter that is not passed.

        Each call tells for itself; which one it was, the return address says. Raises `Unavailable`
        when no call tells.
        """
        calls = self.dwarf.calls_with(entry, self.place)[:_MAX_CALLERS]
        back = self._return_address()
        function = self.place.function
        value: Expr = NotKnown(
            NOWHERE, LONG, f"what the caller of '{function}' would have passed is not known"
        )
        known = False
        for call in reversed(calls):
            try:
                passed, _ = Evaluator(Caller(self, call.place)).run(call.ops)
            except Unavailable:
                continue
            known = True
            same = BinaryOp(NOWHERE, LONG, "==", back, self.address_of(call.back))
            value = Conditional(NOWHERE, LONG, same, passed, value)
        if not known:
            raise Unavailable("it is not passed, and no caller tells what it would be")
        return value

    def _return_address(self) -> Expr:
        """Read where the call returns to: on the stack, or in the link register or its copy."""
        if self.machine.link is None:
            return MemoryRead(NOWHERE, LONG, add(self.address(), -WORD), WORD, False)
        saved = self._row().saved.get(self.machine.link)
        if saved is None:
            return self.register(self.machine.link)
        if saved.name != "frame":
            raise Unavailable
        return MemoryRead(NOWHERE, LONG, add(self.address(), saved.number), WORD, False)


class Caller(Here):
    """The call from which another one was made: registers as they will be on return."""

    def __init__(self, inner: Here, place: CodePlace) -> None:
        super().__init__(place, inner.dwarf, inner.machine)
        self._inner = inner

    def address_of(self, address: int) -> Expr:
        """Turn an address of the debug file into one at run time."""
        return self._inner.address_of(address)

    def register(self, number: int) -> Expr:
        """Read a register by its DWARF number; `Unavailable` for what calls may change."""
        if number == self.machine.stack_pointer:
            return self._inner.address()
        inner = self._inner
        saved = inner._row().saved.get(number)
        if saved is None:
            if number not in self.machine.kept:
                raise Unavailable
            return inner.register(number)
        if saved.name == "register":
            return inner.register(saved.number)
        if saved.name in ("memory", "value"):
            address = inner._address(saved.expression)
        else:
            address = add(inner.address(), saved.number)
        if saved.name in ("sum", "value"):
            return address
        if saved.name == "lost":
            raise Unavailable
        return MemoryRead(NOWHERE, LONG, address, WORD, False)
