"""The names that completion offers, as a text that is kept from one command to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.record import Record

if TYPE_CHECKING:
    from stapy.parse.library.library import Library

Steps = list[tuple[str, str]]  # the components of a form, each with the kind of its argument


class OfferedNames(Record):
    """What probe points and statements can be made of, as far as no kernel has to be asked.

    ``forms`` are those of the families; ``aliases`` have dots.
    """

    forms: list[Steps]
    aliases: list[str]
    functions: list[str]
    macros: list[str]

    def as_text(self) -> str:
        """Write all names, a line for each kind."""
        forms = [".".join(f"{name}:{kind}" for name, kind in form) for form in self.forms]
        return "\n".join(map(" ".join, (forms, self.aliases, self.functions, self.macros)))


def names_in(text: str) -> OfferedNames:
    """Read what `OfferedNames.as_text` wrote."""
    forms, *others = (line.split(" ") if line else [] for line in text.split("\n"))
    return OfferedNames([[_step(step) for step in form.split(".")] for form in forms], *others)


def _step(text: str) -> tuple[str, str]:
    name, _, kind = text.partition(":")
    return name, kind


def names_of(library: Library) -> OfferedNames:
    """Collect the names of the families and of a library."""
    from stapy.probes.families import families

    return OfferedNames(
        [form.components for family in families() for form in family.forms],
        sorted({".".join(names) for names, _ in library.alias_names()}),
        library.function_names(),
        library.macro_names(),
    )
