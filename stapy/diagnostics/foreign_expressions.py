"""Expressions that people write by habit from bpftrace, DTrace and C, and what is written here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.patterns import compiled_when_used

if TYPE_CHECKING:
    from collections.abc import Sequence

# What stands before '->' there; {} is the member.
_MEMBERS = {
    "args": "an argument has its own name: ${0}, or {0} where an alias such as syscall.openat sets "
    "it; stapy -L POINT lists them",
    "self": "what each thread keeps is an array: 'global {0}', then {0}[tid()]",
    "this": "a variable of a handler needs no declaration: {0}",
    "curthread": '@cast(task_current(), "task_struct")->{0}',
    "curtask": '@cast(task_current(), "task_struct")->{0}',
    "curpsinfo": "execname(), cmdline_str(), pid(), ppid() and uid() tell of the process",
    "curlwpsinfo": "tid() and task_state(task_current()) tell of the thread",
}
# What stands before '[' there.
_ARRAYS = {
    "args": "an argument has its own name, which stapy -L POINT lists; by number it is "
    "ulong_arg(1), pointer_arg(1)",
    "uregs": 'register("name"), in a probe of a program',
    "fds": "fullpath_struct_file(task_current(), task_fd_lookup(task_current(), number))",
}
_CONVERSIONS = {
    "r": "'%.16M' prints sixteen bytes at an address",
    "Y": "ctime(gettimeofday_s()) is the date and time, a text: '%s'",
}
_DECLARATIONS = {
    "struct": "types are those of the kernel, of programs and of headers: "
    '@cast(value, "name", "kernel<linux/file.h>")->member',
    "fn": "write 'function NAME(…) { … }'",
    "macro": "write '@define NAME(…) %( … %)'",
    "inline": "write '@define NAME %( value %)'",
    "config": "limits are options of the command line: -D MAXMAPENTRIES=10000",
}
_NUMBERS = compiled_when_used(
    r"u?int(?:8|16|32|64)?(?:_t)?|[us](?:8|16|32|64)|long|unsigned|short|char"
)


def member_hint(name: str, member: str) -> str:
    """Tell how a member of a variable of another tracer is written here; "" for other names."""
    return _MEMBERS.get(name, "").format(member)


def array_hint(name: str) -> str:
    """Tell how an element of an array of another tracer is written here; "" for other names."""
    return _ARRAYS.get(name, "")


def conversion_hint(letter: str) -> str:
    """Tell what prints as a conversion of another tracer's printf does; "" for other letters."""
    return _CONVERSIONS.get(letter, "")


def declaration_hint(word: str) -> str:
    """Tell how a declaration is written that begins with a word of other tracers; else ""."""
    return _DECLARATIONS.get(word, "")


def scratch_hint(name: str) -> str:
    """Tell how a variable is written that has a '$' in bpftrace's language."""
    return f"'$' stands before variables of what is probed; one of a handler has none: {name[1:]}"


def type_hint(before: Sequence[str], found: str) -> str:
    """Tell how C's use of a type is written here, by the words before ``found``; "" for others."""
    operator, bracket, word = ["", "", "", *before][-3:]
    if word in ("struct", "union", "enum") and bracket == "(" and found.isidentifier():
        if operator == "sizeof":
            return f'@cast_sizeof("{found}")'
        if operator == "offsetof":
            return f'@offsetof("{found}", member)'
        return f'@cast(value, "{found}")->member'
    if operator == "(" and word == ")" and _NUMBERS().fullmatch(bracket):
        return f"numbers are signed and have 64 bits: leave '({bracket})' out"
    return ""
