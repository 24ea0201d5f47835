"""Reads and writes of memory and of the probe's context."""

from __future__ import annotations

from stapy.diagnostics import Bug
from stapy.ir import program as p
from stapy.ir.effects import MEMORY, PROBED
from stapy.translate.c import values as v
from stapy.translate.c.operations import CONTEXT, INTEGERS
from stapy.translate.c.text import string_literal
from stapy.translate.c.values import Value
from stapy.translate.lower.body import FunctionWriter
from stapy.translate.lower.dispatch import hint_for, lower, lowers

WORD = 8


@lowers(p.MemoryRead)
def _memory_read(body: FunctionWriter, expr: p.MemoryRead) -> Value:
    address = lower(body, expr.address)
    return read(body, expr, address, hint_for(body, expr, "word"))


def read(body: FunctionWriter, expr: p.MemoryRead, address: Value, hint: str) -> Value:
    """Write a checked read; a fault is an error of the script."""
    kind, wide = INTEGERS[expr.size, expr.signed and not expr.bits]
    name = body.temp(kind, hint)
    space = "user" if expr.is_user else "kernel"
    place = body.place(expr.span)
    body.check(f"stapy_read_{space}(c, &{name}, {address.text}, sizeof({name}), {place})")
    if not expr.bits:
        return Value(name, is_wide=wide)
    return _bits(name, expr)


def _bits(name: str, expr: p.MemoryRead) -> Value:
    if expr.signed:
        up = 64 - expr.shift - expr.bits
        return Value(f"(s64)((u64){name} << {up}) >> {64 - expr.bits}", v.SHIFT)
    mask = f"{(1 << expr.bits) - 1:#x}" + ("ULL" if expr.bits > 31 else "")
    if expr.shift:
        return Value(f"((u64){name} >> {expr.shift}) & {mask}", v.AND)
    return Value(f"(u64){name} & {mask}", v.AND)


def write(body: FunctionWriter, expr: p.MemoryRead, address: Value, value: Value) -> None:
    """Write a checked write (guru mode)."""
    space = "user" if expr.is_user else "kernel"
    place = body.place(expr.span)
    kind, _ = INTEGERS[expr.size, False]
    name = body.temp(kind, "new")
    if expr.bits:
        mask = f"{((1 << expr.bits) - 1) << expr.shift:#x}ULL"
        body.check(f"stapy_read_{space}(c, &{name}, {address.text}, sizeof({name}), {place})")
        moved = f"(u64){value.at(v.UNARY)} << {expr.shift}"
        body.out.line(f"{name} = ({name} & ~{mask}) | (({moved}) & {mask});")
    else:
        body.out.line(f"{name} = {value.text};")
    body.check(f"stapy_write_{space}(c, {address.text}, &{name}, sizeof({name}), {place})")


@lowers(p.ContextValue)
def _context_value(body: FunctionWriter, expr: p.ContextValue) -> Value:
    row = CONTEXT.get(expr.name)
    if row is None:
        raise Bug(f"pass 3 does not know the context value '{expr.name}'")
    if row.is_function:
        name = body.temp("s64", hint_for(body, expr, "register"))
        members = getattr(body.unit.architecture, row.registers)
        member = f"offsetof(struct pt_regs, {members[expr.index]})"
        place = body.place(expr.span)
        body.check(f"{row.template}(c, &{name}, {member}, {place})")
        return Value(name)
    text = context_text(body, expr)
    if row.is_text:
        return Value(text, reads=frozenset((PROBED,)))
    if row.is_address:
        kind, wide = INTEGERS[expr.size, expr.signed]
        name = body.temp(kind, hint_for(body, expr, "argument"))
        place = body.place(expr.span)
        body.check(f"stapy_read_kernel(c, &{name}, {text}, sizeof({name}), {place})")
        return Value(name, is_wide=wide)
    kind, wide = INTEGERS[expr.size, expr.signed]
    return Value(f"({kind}){text}", v.UNARY, frozenset((PROBED,)), is_wide=wide)


def context_text(body: FunctionWriter, expr: p.ContextValue) -> str:
    """Return the C expression of a context value, before it is widened."""
    row = CONTEXT[expr.name]
    machine = body.unit.architecture
    register = getattr(machine, row.registers)[expr.index] if row.registers else ""
    return row.template.format(
        register=register,
        index=expr.index,
        first=machine.arguments[0],
        result=machine.result,
        pointer=machine.registers[machine.stack_pointer],
        stack=machine.stack_arguments + WORD * expr.index,
    )


def write_context(body: FunctionWriter, expr: p.ContextValue, value: Value) -> None:
    """Change a register of the probed context (guru mode)."""
    row = CONTEXT.get(expr.name)
    if row is None:
        raise Bug(f"pass 3 does not know the context value '{expr.name}'")
    kind, _ = INTEGERS[expr.size, expr.signed]
    if not row.is_address:
        body.out.line(f"{context_text(body, expr)} = ({kind}){value.at(v.UNARY)};")
        return
    place = body.place(expr.span)
    name = body.temp(kind, "new")
    body.out.line(f"{name} = {value.text};")
    body.check(
        f"stapy_write_kernel(c, {context_text(body, expr)}, &{name}, sizeof({name}), {place})"
    )


def set_text(body: FunctionWriter, expr: p.ContextValue, op: str, value: Value) -> Value:
    """Set a text that belongs to the family, or add to it; return the new text."""
    body.out.line(f"{dict(CONTEXT[expr.name].setters)[op]}(c, {value.text});")
    return Value(context_text(body, expr), reads=frozenset((PROBED,)))


@lowers(p.FileImage)
def _file_image(body: FunctionWriter, expr: p.FileImage) -> Value:
    name = body.temp("s64", "code")
    row = body.unit.mapped_file(expr)
    body.check(f"stapy_user_mapped(c, &{name}, &{row}, {body.place(expr.span)})")
    return Value(name)


@lowers(p.SavedEntry)
def _saved_entry(body: FunctionWriter, expr: p.SavedEntry) -> Value:
    return Value(f"((struct {body.slots} *)c->slots)->s{expr.slot}", reads=frozenset((MEMORY,)))


@lowers(p.EntryRegister)
def _entry_register(body: FunctionWriter, expr: p.EntryRegister) -> Value:
    frame = lower(body, expr.frame)
    name = body.temp("s64", hint_for(body, expr, "argument"))
    function = expr.function
    number = body.unit.entrance(function)
    place = body.place(expr.span)
    text = f"{number}, {expr.register}, {frame.text}, {string_literal(function.symbol)}, {place}"
    body.check(f"stapy_entry_register(c, &{name}, {text})")
    return Value(name)


@lowers(p.NotKnown)
def _not_known(body: FunctionWriter, expr: p.NotKnown) -> Value:
    place = body.place(expr.span)
    body.check(f'stapy_error(c, {place}, "%s", {string_literal(expr.why)})')
    return Value("0", constant=0)
