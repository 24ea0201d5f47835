"""The table of system calls, read: what each row, type and other line of it says.

``tapsets/syscalls/calls.table`` says what they mean; `syscalls.py` makes aliases of them.
"""

from __future__ import annotations

import re

from stapy.record import Record, new

__all__ = [
    "ArgumentType",
    "SyscallRow",
    "TableError",
    "Told",
    "exact",
    "kind_of",
    "names",
    "read_rows",
    "told_variables",
    "variable_meanings",
]


class TableError(ValueError):
    """A line of the table that does not follow its own rules."""


class ArgumentType(Record):
    """A ``%type``: variables that an argument gives, and how argstr shows it."""

    variables: list[tuple[str, str]]
    form: str
    shown: str
    meanings: list[str] = new(list)  # what each variable is


class Told(Record):
    """What the table says of variables, by their names, beside their types."""

    means: dict[str, str]  # of those that no type tells of
    units: dict[str, str]  # of numbers: "in bytes"


class SyscallRow(Record):
    """One row."""

    name: str
    made: str  # what the variable ``name`` says: the call that was made
    number: int | None
    functions: list[str]
    arguments: list[str]
    argstr: str
    result: int
    extra: list[tuple[str, str]] = new(list)
    after: list[tuple[str, str]] = new(list)
    older: list[tuple[str, str, str]] = new(list)  # version, variable, value
    others: list[int] = new(list)  # numbers that reach the same function but are other calls


_ARGUMENT = re.compile(
    r"(?P<hidden>-?)(?P<var>\w+)(?P<kind>:|==?)(?P<value>\w+)(?:/(?P<text>\w+))?"
)


def names(text: str) -> list[str]:
    """List the names of all calls, in the table's order, without making any text."""
    found: dict[str, None] = {}
    for line in text.splitlines():
        if line and line[0] not in "#%":
            found[line.partition("|")[0].strip().partition("/")[0]] = None
    return list(found)


def exact(text: str) -> set[str]:
    """Find the names of aliases that wildcards leave out: second spellings of a call."""
    lines = (line for line in text.splitlines() if line.startswith("%exact "))
    return {name for line in lines for name in line.split()[1:]}


def read_rows(text: str, arch: str) -> tuple[dict[str, ArgumentType], dict[str, list[SyscallRow]]]:
    """Read the types, and the rows of each call on one architecture, in SystemTap's spelling.

    Raises `TableError` for a bad table.
    """
    kinds: dict[str, ArgumentType] = {}
    calls: dict[str, list[SyscallRow]] = {}
    older: list[tuple[str, str, list[tuple[str, str]]]] = []
    others: list[tuple[str, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith(("#", "%exact ", "%means ", "%unit ")):
            continue
        try:
            if line.startswith("%type "):
                name, variables, form, shown, means = _cells(line[6:])
                meanings = [text.strip() for text in means.split(";")]
                kinds[name] = ArgumentType(_assignments(variables), form, shown, meanings)
            elif line.startswith("%before "):
                head, variables = _cells(line[8:])
                version, named = head.split(None, 1)
                older.append((version, named, _assignments(variables)))
            elif line.startswith("%except "):
                name, excepted = _cells(line[8:])
                others.append((name, excepted.split()))
            else:
                call = _call(_cells(line), arch)
                rows = calls.setdefault(call.name, [])
                if call.functions:
                    rows.append(call)
        except ValueError as problem:
            raise TableError(f"line {number}: {problem}: {line}") from problem
    for version, named, pairs in older:
        for name in named.split():
            for call in calls[name]:
                call.older += [(version, *pair) for pair in pairs]
    for name, elsewhere in others:
        numbers = [call.number for other in elsewhere for call in calls[other]]
        for call in calls[name]:
            call.others = [known for known in numbers if known is not None]
    return kinds, calls


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?:^|\s)\|(?=\s|$)", line)]


def _call(cells: list[str], arch: str) -> SyscallRow:
    cells += [""] * (8 - len(cells)) if len(cells) >= 6 else []
    name, number, functions, arguments, argstr, result, extra, after = cells
    name, _, made = name.partition("/")
    return SyscallRow(
        name,
        made or name,
        None if number == "-" else int(number),
        _functions(functions.split() or [name], arch),
        arguments.split(),
        argstr,
        int(result),
        _assignments(extra),
        _assignments(after),
    )


def _functions(words: list[str], arch: str) -> list[str]:
    """List an architecture's functions: ``ARCH:NAME`` is there only, ``!ARCH:NAME`` not there."""
    found = []
    for word in words:
        where, colon, name = word.rpartition(":")
        if not colon or (where[1:] != arch if where[0] == "!" else where == arch):
            found.append(name)
    return found


def _assignments(text: str) -> list[tuple[str, str]]:
    pairs = []
    for part in filter(None, re.split(r";\s+", text)):
        variable, equals, value = part.partition(" = ")
        if not equals:
            raise ValueError(f"no assignment in '{part}'")
        pairs.append((variable.strip(), value.strip()))
    return pairs


def kind_of(spec: str, kinds: dict[str, ArgumentType]) -> tuple[ArgumentType, str, bool]:
    """Read an argument: what it is, its variable, whether argstr shows it; raise `TableError`."""
    found = _ARGUMENT.fullmatch(spec)
    if found is None:
        raise TableError(f"cannot read the argument '{spec}'")
    variable = found["var"]
    if found["kind"] == ":":
        if found["value"] not in kinds:
            raise TableError(f"no %type '{found['value']}'")
        kind = kinds[found["value"]]
    else:
        text = found["text"] or f"{variable}_str"
        mask = " & 0xffffffff" if found["kind"] == "=" else ""
        kind = ArgumentType(
            [("@", f"${mask}"), (text, f"{found['value']}(@)")],
            "%s",
            text,
            ["number", f"{variable} as text"],
        )
    return kind, variable, not found["hidden"]


def told_variables(text: str) -> Told:
    """Read what the table says of variables that no type tells of, or not enough."""
    lines = text.splitlines()
    means = (_cells(line[7:]) for line in lines if line.startswith("%means "))
    units = (_cells(line[6:]) for line in lines if line.startswith("%unit "))
    return Told(
        {cells[0]: cells[1] for cells in means},
        {name: cells[0] for cells in units for name in cells[1].split()},
    )


def _with_unit(means: str, unit: str) -> str:
    """Add the unit to what a number is; an address of one has none."""
    return f"{means}, {unit}" if unit and "number" in means else means


def variable_meanings(
    rows: list[SyscallRow], kinds: dict[str, ArgumentType], told: Told
) -> dict[str, str]:
    """Say what the variables of a call are, those of its result among them."""
    found: dict[str, str] = {"name": "name of the call that was made"}
    for row in rows:
        for spec in row.arguments:
            if spec == "-":
                continue
            kind, variable, _ = kind_of(spec, kinds)
            for (form, _), means in zip(kind.variables, kind.meanings, strict=True):
                name = form.replace("@", variable)
                found.setdefault(name, _with_unit(means, told.units.get(name, "")))
        for name, _ in [*row.extra, *row.after]:
            found.setdefault(name, told.means.get(name, ""))
    found.pop("argstr", None)
    return found
