"""System call aliases, made from one table instead of hundreds of files.

``tapsets/syscalls/calls.table`` says what a row means.  For each call name
`generate` gives one text with the aliases of all spellings:

``syscall.x``
    ``dw_syscall.x``, or else ``nd_syscall.x``;
``dw_syscall.x``
    the kernel's entry function by type information;
``nd_syscall.x``
    the first of ``nd2_`` (entry function that takes the saved registers), ``nd1_``
    (entry function with plain arguments) and ``tp_`` (one tracepoint for all calls,
    told apart by number).  In this order, because kernels with entry functions of the
    first kind also have some of the second kind's names, for what those functions share;

each with its ``.return``.  In guru mode what a probe writes to a variable of an
entry alias becomes the argument of the call, and ``retval`` what it returns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from stapy.arch import ARCHITECTURES
from stapy.parse.library.syscall_rows import (
    ArgumentType,
    SyscallRow,
    TableError,
    Told,
    exact,
    kind_of,
    names,
    read_rows,
    told_variables,
    variable_meanings,
)
from stapy.record import Record

__all__ = ["TableError", "exact", "generate", "names"]


class TargetFacts(Protocol):
    """What of the target matters here."""

    arch: str
    guru: bool

    def at_least(self, version: str) -> bool:
        """Tell whether the language spoken is that of ``version`` or newer."""


# Entry functions that take a pt_regs, by architecture: native, then 32-bit ones.
_WRAPPERS = {
    **{one.name: one.wrappers for one in ARCHITECTURES.values()},
    "s390": ("__s390x_sys_", "__s390_sys_", "__s390_compat_sys_"),
    "riscv": ("__riscv_sys_", "__riscv_compat_sys_"),
}
_RETURNED = "if (@probewrite(retval)) set_returnval(retval)"
# The table's numbers are those of this architecture.
_NUMBERED = "x86_64"

# How a variable was made of the raw argument, and the function that stores it there again.
_SETTERS = {
    "$": "set_ulong_arg",
    "$long": "set_long_arg",
    "$ << 32 >> 32": "set_int_arg",
    "$ & 0xffffffff": "set_uint_arg",
    'user_string($, "<unavailable>")': "set_user_string_arg",
}
_TEXT = "user_string_quoted($)"  # of a program's memory, as it is when the call begins
_REPLACING = ("execve", "execveat")  # calls after which the program has another memory
_RAW = re.compile(r"\$(next|loff|long|[1-6])?")


def generate(text: str, facts: TargetFacts) -> dict[str, str]:
    """Write the text of each call's aliases, by call name; raise `TableError` for a bad table."""
    kinds, calls = read_rows(text, facts.arch)
    told = told_variables(text)
    return {name: _aliases(name, rows, kinds, facts, told) for name, rows in calls.items()}


# --- writing ---------------------------------------------------------------


class _Source(Record):
    """Where raw arguments come from: expression templates with the number as ``{}``."""

    argument: str
    position: str
    signed: str  # 32-bit calls have it in 32 bits, with a sign


_PLAIN = _Source("ulong_arg({})", "longlong_arg({})", "long_arg({})")
_WRAPPED = _Source("__syscall_arg({})", "__syscall_loff({})", "__syscall_long({})")
# What the call was given, known when it returns.
_PLAIN_SAVED = _Source("@entry(ulong_arg({}))", "@entry(longlong_arg({}))", "@entry(long_arg({}))")
_WRAPPED_SAVED = _Source(
    "@entry(__syscall_arg({}))", "@entry(__syscall_loff({}))", "@entry(__syscall_long({}))"
)
_TRACED = _Source(*["__syscall_regs_arg($regs, {})"] * 3)


def _fill(template: str, variable: str, index: int, source: _Source) -> str:
    """Replace ``@`` and ``$`` in a template of the table."""

    def raw(found: re.Match[str]) -> str:
        which = found[1]
        if which == "loff":
            return source.position.format(index)
        if which == "long":
            return source.signed.format(index)
        if which == "next":
            return source.argument.format(index + 1)
        return source.argument.format(which or index)

    return _RAW.sub(raw, template.replace("@", variable))


def _argument(
    spec: str, index: int, kinds: dict[str, ArgumentType], source: _Source
) -> tuple[list[tuple[str, str]], str, str, bool]:
    """Build an argument: its assignments, its format, what argstr shows, whether it does."""
    kind, variable, visible = kind_of(spec, kinds)
    pairs = [
        (name.replace("@", variable), _fill(value, variable, index, source))
        for name, value in kind.variables
    ]
    return pairs, kind.form, _fill(kind.shown, variable, index, source), visible


def _stores(call: SyscallRow, kinds: dict[str, ArgumentType], source: _Source) -> list[str]:
    """Write the lines that take what the script wrote to a variable back to the argument."""
    lines = []
    for index, spec in enumerate(call.arguments, 1):
        if spec == "-":
            continue
        kind, variable, _ = kind_of(spec, kinds)
        for name, value in kind.variables:
            setter = _SETTERS.get(value)
            if setter is None:
                continue
            name = name.replace("@", variable)
            question, place = f"@probewrite({name})", str(index)
            if setter == "set_user_string_arg":
                # Memory that the script did not mean to change may not be writable.
                place = source.argument.format(index)
                question += f" && {name} != {_fill(value, name, index, source)}"
            lines.append(f"if ({question}) {setter}({place}, {name})")
    return lines


def _entry_body(
    call: SyscallRow, kinds: dict[str, ArgumentType], source: _Source, facts: TargetFacts
) -> list[str]:
    pairs: list[tuple[str, str]] = []
    forms: list[str] = []
    shown: list[str] = []
    for index, spec in enumerate(call.arguments, 1):
        if spec == "-":
            continue
        more, form, value, visible = _argument(spec, index, kinds, source)
        pairs += more
        if visible:
            forms.append(form)
            shown.append(value)
    pairs += [(name, _fill(value, name, 1, source)) for name, value in call.extra]
    if call.argstr:
        argstr = _fill(call.argstr, "", 1, source)
    elif forms == ["%s"]:
        argstr = shown[0]
    elif forms:
        argstr = f'sprintf("{", ".join(forms)}", {", ".join(shown)})'
    else:
        argstr = '""'
    lines = [f'name = "{call.made}"']
    lines += [f"{name} = {value}" for name, value in pairs]
    lines.append(f"argstr = {argstr}")
    for version, name, value in call.older:
        if not facts.at_least(version):
            lines.append(f"{name} = {_fill(value, name, 1, source)}")
    return lines


def _return_body(call: SyscallRow, value: str, source: _Source) -> list[str]:
    return [
        f'name = "{call.made}"',
        f"retval = {value}",
        f"retstr = return_str({call.result}, retval)",
        *(f"{name} = {_fill(text, name, 1, source)}" for name, text in call.after),
    ]


# What the spellings of an alias differ by.
_BY = {
    "syscall": "",
    "dw_syscall": ", by the types of the kernel's function",
    "nd_syscall": ", by registers or a tracepoint",
    "nd1_syscall": ", by the registers of a function that takes the arguments",
    "nd2_syscall": ", by the registers that the kernel saved",
    "tp_syscall": ", by the tracepoint of all calls",
}


def _comment(alias: str, late: str = "") -> str:
    """Write the comment of an alias; ``late`` is how its return has a text that came later."""
    spelling, _, call = alias.partition(".")
    call = call.removesuffix(".return")
    what = f"the system call {call} {'returns' if alias.endswith('.return') else 'begins'}"
    if not late:
        return f"/** {alias} - {what}{_BY[spelling]} */\n"
    return (
        f"/**\n * {alias} - {what}{_BY[spelling]}\n *\n"
        " * A text in memory that the program has not touched yet is not there when the call\n"
        " * begins: its address stands in its place. When the call returns it is there:\n"
        f" * `probe {alias}.return {{ println({late}) }}`\n */\n"
    )


def _late_text(row: SyscallRow, kinds: dict[str, ArgumentType]) -> str:
    """Write how the return of a call has the first text that it is passed; "" for no text."""
    if not row.result or row.made in _REPLACING:
        return ""
    for index, spec in enumerate(row.arguments, 1):
        if spec != "-" and any(value == _TEXT for _, value in kind_of(spec, kinds)[0].variables):
            return f"user_string_quoted(@entry(pointer_arg({index})))"
    return ""


def _alias(
    name: str, points: list[str], body: list[str], after: Sequence[str] = (), late: str = ""
) -> str:
    inner = "".join(f"\t{line}\n" for line in body)
    text = f"{_comment(name, late)}probe {name} = {', '.join(points)}\n{{\n{inner}}}"
    if after:
        text += ", {\n" + "".join(f"\t{line}\n" for line in after) + "}"
    return text + "\n"


def _aliases(
    name: str,
    rows: list[SyscallRow],
    kinds: dict[str, ArgumentType],
    facts: TargetFacts,
    told: Told,
) -> str:
    """Write all spellings of one call, behind what their variables are."""
    lines = [f" * @{one}: {means}\n" for one, means in variable_meanings(rows, kinds, told).items()]
    parts = [f"/*\n * The system call {name}.\n *\n{''.join(lines)} */\n"]
    ends = [""] + ([".return"] if any(row.result for row in rows) else [])
    for end in ends:
        dwarf, without = f"dw_syscall.{name}{end}", f"nd_syscall.{name}{end}"
        late = "" if end else _late_text(rows[0], kinds)
        parts.append(_alias(f"syscall.{name}{end}", [f"{dwarf} !", f"{without} ?"], [], late=late))
        ways = [f"nd2_syscall.{name}{end} !", f"nd1_syscall.{name}{end} !"]
        traced = facts.arch == _NUMBERED and any(row.number is not None for row in rows)
        if traced:
            ways.append(f"tp_syscall.{name}{end} ?")
        parts.append(_alias(without, ways, []))
    for row in rows:
        parts += _row(row, kinds, facts)
    return "\n".join(parts)


def _row(row: SyscallRow, kinds: dict[str, ArgumentType], facts: TargetFacts) -> list[str]:
    parts = []
    prefixes = _WRAPPERS.get(facts.arch, ())
    if not row.arguments:
        # Calls without arguments have one function; the other names are aliases of it, but for
        # functions that 32-bit programs have for themselves.
        prefixes = (*prefixes[:1], *(prefix for prefix in prefixes[1:] if "compat" in prefix))
    wrapped = [prefix + function for function in row.functions for prefix in prefixes]
    plain = ["sys_" + function for function in row.functions]
    gates = []
    if facts.arch == _NUMBERED and row.others:
        tests = " || ".join(f"nr == {number}" for number in row.others)
        gates = ["nr = _stp_syscall_nr()", f"if ({tests}) next"]
    for end in ["", ".return"] if row.result else [""]:
        # With .call, so that no alias without a return takes ".return" as a suffix.
        suffix = end or ".call"
        with_regs, without_regs = _bodies(row, kinds, facts, end)
        back_with, back_without = _epilogues(row, kinds, facts, end)
        best = gates + (with_regs if wrapped else without_regs)
        best_back = back_with if wrapped else back_without
        for name, probe, functions, body, back in (
            ("dw_syscall", "kernel", wrapped or plain, best, best_back),
            ("nd1_syscall", "kprobe", plain, gates + without_regs, back_without),
            ("nd2_syscall", "kprobe", wrapped or plain, best, best_back),
        ):
            points = [f'{probe}.function("{function}"){suffix} ?' for function in functions]
            parts.append(_alias(f"{name}.{row.name}{end}", points, body, back))
        if facts.arch == _NUMBERED and row.number is not None:
            gate = f"if (__syscall_regs_nr($regs) != {row.number}) next"
            if end:
                traced = _return_body(row, "$ret", _TRACED)
            else:
                traced = _entry_body(row, kinds, _TRACED, facts)
            point = "sys_exit" if end else "sys_enter"
            parts.append(
                _alias(f"tp_syscall.{row.name}{end}", [f'kernel.trace("{point}")'], [gate, *traced])
            )
    return parts


def _bodies(
    row: SyscallRow, kinds: dict[str, ArgumentType], facts: TargetFacts, end: str
) -> tuple[list[str], list[str]]:
    """Write what an alias sets in a wrapper, which has registers only, and in a plain function."""
    if end:
        return (
            _return_body(row, "returnval()", _WRAPPED_SAVED),
            _return_body(row, "returnval()", _PLAIN_SAVED),
        )
    return _entry_body(row, kinds, _WRAPPED, facts), _entry_body(row, kinds, _PLAIN, facts)


def _epilogues(
    row: SyscallRow, kinds: dict[str, ArgumentType], facts: TargetFacts, end: str
) -> tuple[list[str], list[str]]:
    """Write what stores changed variables back, in guru mode, for the bodies of `_bodies`."""
    if not facts.guru:
        return [], []
    if end:
        return [_RETURNED], [_RETURNED]
    return _stores(row, kinds, _WRAPPED), _stores(row, kinds, _PLAIN)
