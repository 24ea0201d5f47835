"""Functions that are chosen when a program is loaded (IFUNC): the name means what may be chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo.user.choosers import choices

if TYPE_CHECKING:
    from stapy.debuginfo.user.file import UserFile
    from stapy.debuginfo.user.symbols import FunctionTable, UserFunction
    from stapy.parse.nodes import PointComponent
    from stapy.services import Services

_FOLLOWED = 64  # choosers of one name
_SHOWN, _SHOWN_LEFT_OUT = 4, 16


def opened(
    functions: list[UserFunction], table: FunctionTable, file: UserFile
) -> list[UserFunction]:
    """Put all that may be chosen in the place of each function that chooses.

    It stays where the code that chooses cannot be followed to its ends, or many come before it.
    """
    found: dict[int, UserFunction] = {}
    followed = 0
    for function in functions:
        rows = [function]
        if function.is_indirect and followed < _FOLLOWED:
            followed += 1
            rows = choices(file, table, function) or rows
        for row in rows:
            found.setdefault(row.address, row)
    return list(found.values())


def title(function: UserFunction, choosers: list[UserFunction]) -> str:
    """Name a function for messages: what has only the name of who chooses it, by address."""
    is_borrowed = not function.is_indirect and any(row.name == function.name for row in choosers)
    return f"{function.name} at {function.address:#x}" if is_borrowed else function.name


def warn(
    choosers: list[UserFunction],
    meant: list[UserFunction],
    probed: list[UserFunction],
    target: PointComponent,
    services: Services,
) -> None:
    """Say which of the functions that are meant are probed instead of those that choose them."""
    count = len(meant)
    notes = ["the processor decides which of several functions is used (STT_GNU_IFUNC)"]
    where = "this is hit when it is chosen, not when it is called"
    if not any(row.is_indirect for row in probed):
        number = str(count) if count == len(probed) else f"{len(probed)} of {count}"
        where = f"probed: {number} that may be chosen, whichever names they are called by"
        notes.append(f"probed: {_listed(probed, choosers, _SHOWN)}")
    known = {row.address for row in probed}
    left_out = [row for row in meant if row.address not in known]
    if left_out:
        notes.append(f"left out: {_listed(left_out, choosers, _SHOWN_LEFT_OUT)}")
        notes.append("a processor for which one of those is chosen does not hit the probe")
    services.diagnostics.warning(
        "W0690",
        f"'{choosers[0].name}' is chosen when a program is loaded",
        target.span,
        where=where,
        notes=notes,
    )


def _listed(rows: list[UserFunction], choosers: list[UserFunction], most: int) -> str:
    names = [title(row, choosers) for row in rows]
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
