"""Functions that are chosen when a program is loaded (IFUNC): the name means what may be chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo.user.choosers import choices

if TYPE_CHECKING:
    from stapy.debuginfo.user.file import UserFile
    from stapy.debuginfo.user.symbols import FunctionTable, UserFunction
    from stapy.parse.nodes import PointComponent
    from stapy.services import Services

_SHOWN = 4


def opened(
    functions: list[UserFunction], table: FunctionTable, file: UserFile
) -> list[UserFunction]:
    """Put all that may be chosen in the place of each function that chooses.

    It stays where the code that chooses cannot be followed to its ends.
    """
    found: dict[int, UserFunction] = {}
    for function in functions:
        for row in (function.is_indirect and choices(file, table, function)) or [function]:
            found.setdefault(row.address, row)
    return list(found.values())


def title(function: UserFunction, choosers: list[UserFunction]) -> str:
    """Name a function for messages: what has only the name of who chooses it, by address."""
    is_borrowed = not function.is_indirect and any(row.name == function.name for row in choosers)
    return f"{function.name} at {function.address:#x}" if is_borrowed else function.name


def warn(
    choosers: list[UserFunction],
    count: int,
    probed: list[UserFunction],
    target: PointComponent,
    services: Services,
) -> None:
    """Say which of ``count`` functions are probed instead of those that choose them."""
    notes = ["the processor decides which of several functions is used (STT_GNU_IFUNC)"]
    where = "this is hit when it is chosen, not when it is called"
    if not any(row.is_indirect for row in probed):
        number = str(count) if count == len(probed) else f"{len(probed)} of {count}"
        where = f"probed: {number} that may be chosen, whichever names they are called by"
        names = [title(row, choosers) for row in probed]
        more = ", …" if len(names) > _SHOWN else ""
        notes.append(f"probed: {', '.join(names[:_SHOWN])}{more}")
    services.diagnostics.warning(
        "W0690",
        f"'{choosers[0].name}' is chosen when a program is loaded",
        target.span,
        where=where,
        notes=notes,
    )
