"""The small interface behind which every kind of probe lives.

A family is one module (or folder) in ``families/``, one header ``runtime/probes/<name>.h`` and one
test ``tests/probes/test_<name>.py``.  The registry in ``families/__init__.py`` lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from stapy.diagnostics import NOWHERE, Span
from stapy.ir.literals import of_files, quote
from stapy.record import Record, new

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stapy.ir.program import DerivedProbe
    from stapy.ir.scope import TargetScope
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.services import Services


# A row of a family's table: members of its struct, and `point` and `priority` for the order.
Row = dict[str, "int | str | list[int | str] | None"]


class Form(Record):
    """One spelling that a family accepts, for matching, `-l` and --dump-probe-types.

    ``components`` are names with the kind of their argument: ``("kernel", "")``,
    ``("function", "string")``, ``("s", "number")``, ``("function", "string|number")``.
    """

    components: list[tuple[str, str]]

    def __str__(self) -> str:
        return ".".join(name + (f"({kind})" if kind else "") for name, kind in self.components)


def forms(*texts: str) -> list[Form]:
    """Parse forms from text such as ``kernel.function(string).return.maxactive(number)``."""
    result = []
    for text in texts:
        components = []
        for part in text.split("."):
            name, _, kind = part.partition("(")
            components.append((name, kind.rstrip(")")))
        result.append(Form(components))
    return result


class Match(Record):
    """What resolving one point gave: one site and the point as it will be printed."""

    point: str
    site: Any


class PointError(Exception):
    """A point that its family refuses; the caller reports it, unless the point is optional.

    Most refusals are never shown (aliases try one place after the other), so
    what costs time, such as similar names, belongs into ``explain``: it is
    called with the error before it is shown and may change its texts.

    ``is_of_file`` is for what is said of a program, whichever of its points are meant: once.
    """

    def __init__(
        self,
        code: str,
        message: str,
        span: Span = NOWHERE,
        *,
        notes: list[str] | None = None,
        hint: str = "",
        explain: Callable[[PointError], None] | None = None,
        is_of_file: bool = False,
    ) -> None:
        super().__init__(message)
        self.is_of_file = is_of_file
        self.explain = explain
        self.code = code
        self.message = message
        self.span = span
        self.notes = notes or []
        self.hint = hint


class Reviewed(Protocol):
    """What a family sees of each of its probes before the program is done."""

    sites: list[Any]
    points: list[str]
    span: Span


class Family(Protocol):
    """What pass 2 and pass 3 ask of a kind of probe."""

    name: str
    forms: list[Form]

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Find all places that a point (without wildcards in its component names) means.

        An empty list means "no match"; the caller reports it.  A point that is
        wrong raises `PointError`.  `services` is the `Services` record of
        ``stapy/services.py`` (kernel facts, debug information,
        diagnostics).
        """

    def scope(self, site: Any, services: Services) -> TargetScope | None:
        """Describe the context variables at a site; None when the family has none."""

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of the family's table for ``templates/rows.c.j2``, one per site.

        The keys are the C names of the row's fields without ``site``; the key
        ``point`` is the text of ``site.point``.
        """


def review(family: Family, probes: Sequence[Reviewed], services: Services) -> None:
    """Let a family look at all of its probes in a program, to warn of what they are together.

    Only families with something to say have a method ``review(probes, services)``.
    """
    look = getattr(family, "review", None)
    if look is not None:
        look(probes, services)


def is_unprivileged(family: Family) -> bool:
    """Tell whether ``--privilege=stapusr`` allows probes of this kind.

    Only families that watch nothing but the session itself have ``unprivileged = True``.
    """
    return bool(getattr(family, "unprivileged", False))


def entry_row(family: Family, symbol: str, module: str | None, offset: int) -> Row | None:
    """Make the row of a function's entry where registers are kept for other handlers.

    None for all families but the one that has such rows, by a method
    ``entry_row(symbol, module, offset)``.
    """
    make = getattr(family, "entry_row", None)
    return None if make is None else make(symbol, module, offset)


def has_few_registers(family: Family) -> bool:
    """Tell whether rows say of a handler that it reads few registers, in ``few_registers``.

    Families whose places cost less then have ``few_registers = True``.
    """
    return bool(getattr(family, "few_registers", False))


def table_of(family: Family) -> str:
    """Name the family whose table has the rows: this one, if it has no ``table`` of another."""
    return str(getattr(family, "table", family.name))


def known_lines(family: Family, point: ProbePoint, services: Services) -> list[Match] | None:
    """List what -l prints of a point: matches without sites; None if it must be resolved.

    Only families that know a faster way have a method ``lines(point, services)``.
    """
    known = getattr(family, "lines", None)
    lines = known(point, services) if known is not None else None
    return None if lines is None else [Match(line, None) for line in lines]


def only_lines(services: Services) -> bool:
    """Tell whether nobody will ask for the sites of matches, as for a list without variables."""
    options = services.options
    return options.listing is not None and not options.listing_variables


def text_of(component: PointComponent) -> str:
    """Read the string argument of a component as a name of files or symbols, "" without one."""
    value = getattr(component.arg, "value", "")
    return of_files(value) if isinstance(value, str) else ""


def number_of(component: PointComponent) -> int | None:
    """Read the number argument of a component, None when there is none."""
    value = getattr(component.arg, "value", None)
    return value if isinstance(value, int) else None


def print_component(component: PointComponent) -> str:
    """Print one component as the script would write it."""
    arg = component.arg
    if arg is None:
        return component.name
    value = arg.value
    if isinstance(value, str):
        return f"{component.name}({quote(value)})"
    written = getattr(arg, "text", "")
    return f"{component.name}({written if written[:2] in ('0x', '0X') else value})"


def print_point(point: ProbePoint) -> str:
    """Print a point's components, dot separated, without its marks and condition."""
    return ".".join(print_component(component) for component in point.components)


__all__ = [
    "Family",
    "Form",
    "Match",
    "PointError",
    "Reviewed",
    "entry_row",
    "forms",
    "has_few_registers",
    "is_unprivileged",
    "known_lines",
    "new",
    "number_of",
    "print_component",
    "print_point",
    "review",
    "table_of",
    "text_of",
]
