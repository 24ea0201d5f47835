"""Operations as rows of tables; special code elsewhere is for control flow only."""

from __future__ import annotations

from typing import NamedTuple

from stapy.translate.c import values as v


class BinaryRow(NamedTuple):
    """A pure binary operator on longs: its C operator, its level and what operands must bind."""

    operator: str
    level: int
    left: int
    right: int
    is_wide: bool  # the result is an s64, so at least one operand must be


# Operands in parentheses wherever gcc or a reader would ask for them.
BINARY: dict[str, BinaryRow] = {
    "*": BinaryRow("*", v.MUL, v.MUL, v.UNARY, True),
    "+": BinaryRow("+", v.ADD, v.ADD, v.MUL, True),
    "-": BinaryRow("-", v.ADD, v.ADD, v.MUL, True),
    "&": BinaryRow("&", v.AND, v.UNARY, v.UNARY, True),
    "|": BinaryRow("|", v.OR, v.UNARY, v.UNARY, True),
    "^": BinaryRow("^", v.XOR, v.UNARY, v.UNARY, True),
    "<": BinaryRow("<", v.LESS, v.ADD, v.ADD, False),
    ">": BinaryRow(">", v.LESS, v.ADD, v.ADD, False),
    "<=": BinaryRow("<=", v.LESS, v.ADD, v.ADD, False),
    ">=": BinaryRow(">=", v.LESS, v.ADD, v.ADD, False),
    "==": BinaryRow("==", v.EQUAL, v.ADD, v.ADD, False),
    "!=": BinaryRow("!=", v.EQUAL, v.ADD, v.ADD, False),
}
SHIFTS = {"<<": "<<", ">>": ">>"}


class FailingRow(NamedTuple):
    """An operation on two longs that can fail: ``function(c, left, right, &result, place)``."""

    function: str
    hint: str


FAILING: dict[str, FailingRow] = {
    "/": FailingRow("stapy_divide", "quotient"),
    "%": FailingRow("stapy_modulo", "remainder"),
    "u/": FailingRow("stapy_unsigned_divide", "quotient"),
    "u%": FailingRow("stapy_unsigned_modulo", "remainder"),
}

# Those that C has with this sign and these words.
TRUNCATING = frozenset(("/", "%"))

STAT_OPS: dict[str, str] = {
    "count": "STAPY_COUNT",
    "sum": "STAPY_SUM",
    "min": "STAPY_MIN",
    "max": "STAPY_MAX",
    "avg": "STAPY_AVG",
    "variance": "STAPY_VARIANCE",
}
# These two have a value for an empty statistic.
STAT_NEVER_FAILS = frozenset({"count", "sum"})

# Fields of an architecture: members of pt_regs by argument number, by DWARF number, by system
# call argument.
ARGUMENTS, DWARF_REGISTERS, SYSCALL_ARGUMENTS = "arguments", "registers", "syscall_arguments"


class ContextRow(NamedTuple):
    """How to read a value of the probe's context.

    ``template`` is the C expression; ``{register}`` comes from the architecture's field
    ``registers``, ``{index}`` is the number itself, ``{first}``, ``{result}`` and ``{pointer}``
    the members of the first argument, the result and the stack pointer, ``{stack}`` the distance
    of an argument on the stack.  With ``is_address`` the template gives an
    address from which the value is read with checks; with ``is_function`` it is the
    runtime's function that reads a register when the probe has registers.
    """

    template: str
    registers: str = ""
    is_address: bool = False
    is_function: bool = False
    is_text: bool = False  # the value is a C pointer to a string
    setters: tuple[tuple[str, str], ...] = ()  # of a text: functions by operator


CONTEXT: dict[str, ContextRow] = {
    "arg": ContextRow("c->regs->{register}", ARGUMENTS),
    "stack_arg": ContextRow("c->regs->{pointer} + {stack}", is_address=True),
    "register": ContextRow("c->regs->{register}", DWARF_REGISTERS),
    "kernel_register": ContextRow("stapy_kernel_register", DWARF_REGISTERS, is_function=True),
    "user_register": ContextRow("stapy_user_register", DWARF_REGISTERS, is_function=True),
    "program_register": ContextRow("c->user_regs->{register}", DWARF_REGISTERS),
    "thread_base": ContextRow("stapy_user_thread_base()"),
    "cpu_counter": ContextRow("stapy_cpu_counter({index})"),
    "task_counter": ContextRow("stapy_task_counter({index})"),
    "image": ContextRow("stapy_user_image()"),
    "vector": ContextRow("stapy_user_vector({index})"),
    "return": ContextRow("c->regs->{result}"),
    "trace_arg": ContextRow("c->args[{index}]"),
    "word": ContextRow("((unsigned long *)c->data)[{index}]"),
    "syscall_arg": ContextRow(
        "c->regs->{first} + offsetof(struct pt_regs, {register})",
        SYSCALL_ARGUMENTS,
        is_address=True,
    ),
    "address": ContextRow("c->address"),
    "value": ContextRow(
        "stapy_procfs_text(c)",
        is_text=True,
        setters=(("=", "stapy_procfs_set"), (".=", "stapy_procfs_add")),
    ),
}

# C types by (bytes, signed), and whether C's arithmetic on them is 64 bits wide.
INTEGERS: dict[tuple[int, bool], tuple[str, bool]] = {
    (1, True): ("s8", False),
    (1, False): ("u8", False),
    (2, True): ("s16", False),
    (2, False): ("u16", False),
    (4, True): ("s32", False),
    (4, False): ("u32", False),
    (8, True): ("s64", True),
    (8, False): ("s64", True),
}
