"""Rows of the families' tables: what each says of its places, as C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir.literals import CText
from stapy.probes.families import families
from stapy.probes.family import entry_row, has_few_registers, table_of
from stapy.translate.c.text import comment, name_literal, number, string_literal
from stapy.translate.tables.registers import Registers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stapy.ir import program as p
    from stapy.probes.family import Family
    from stapy.translate.state import Unit
    from stapy.translate.templating import Model


# A value in a row of a family.
Cell = int | str | list[int | str] | None


class Sites:
    """Rows of the families' tables, in the order that the registry gives."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._registers = Registers(unit.failures.macros, unit.architecture)

    def families(self) -> list[Model]:
        """Build one entry per family that the program uses."""
        registry = {item.name: item for item in families()}

        by_family: dict[str, list[Model]] = {}
        first: dict[str, int] = {}
        for at, probe in enumerate(self._unit.program.probes):
            family = registry[probe.family]
            made = family.rows(probe, first.get(probe.family, 0))
            first[probe.family] = first.get(probe.family, 0) + len(made)
            rows = by_family.setdefault(table_of(family), [])
            rows += [self._row(at, probe, family, row) for row in made]
        entries = []
        for name, family in registry.items():
            rows = self._entrances(family) + by_family.get(name, [])
            rows.sort(key=lambda row: int(row["sort"]))
            if rows:
                entries.append({"name": name, "rows": rows})
        return entries

    def _entrances(self, family: Family) -> list[Model]:
        """Build rows for entries of functions whose registers other handlers want.

        They come first, so that as few calls as possible are met in their middle.
        """
        rows = []
        for (symbol, module, offset), which in self._unit.entrances.items():
            row = entry_row(family, symbol, module, offset)
            if row is None:
                continue
            point = str(row.pop("point"))
            fields = [("site", f"{{ NULL, {string_literal(point)} }}")]
            fields += [(name, c_value(value)) for name, value in row.items() if value]
            fields.append(("remembers", str(which)))
            rows.append({**row_of(fields), "point": comment(point), "sort": 0})
        return rows

    def _row(
        self, at: int, probe: p.DerivedProbe, family: Family, row: Mapping[str, Cell]
    ) -> Model:
        point = str(row.get("point", ""))
        fields = [("site", f"{{ &probes[{at}], {string_literal(point)} }}")]
        for name, value in row.items():
            if name in ("point", "priority", "site"):
                continue
            if name == "slot_bytes" and probe.slots:
                text = f"sizeof(struct {self._unit.slots(probe.slots)})"
            elif name == "maxactive" and not value and row.get("is_return"):
                text = "KRETACTIVE" if "KRETACTIVE" in self._unit.limits.given else "0"
            elif isinstance(value, list):
                text = self._numbers(value)
                if any(isinstance(item, str) for item in value):
                    fields.append(("symbols", "module_symbols"))
            else:
                text = c_value(value)
            if text not in ("0", "false", "NULL"):
                fields.append((name, text))
        first = probe.entry if row.get("is_return") else probe.handler
        if has_few_registers(family) and self._registers.are_few(first):
            fields.append(("few_registers", "true"))
        return {**row_of(fields), "point": comment(point), "sort": row.get("priority", 0)}

    def _numbers(self, values: list[int | str]) -> str:
        """Write an array of numbers; a symbol ``module:name`` stands for the number of its row."""
        texts = [
            str(self._unit.module_symbol_number(value) if isinstance(value, str) else value)
            for value in values
        ]
        return f"(const int []){{ {', '.join(texts)} }}"


def c_value(value: object) -> str:
    """Write a field of a family's row as C; text is a literal, unless it is C already."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return number(value) if value < 1 << 63 else f"{value:#x}ULL"
    if isinstance(value, CText):
        return value
    return name_literal(str(value))


def row_of(fields: list[tuple[str, str]]) -> Model:
    """Make a designated initialiser for a template: one member per line."""
    return {"fields": [{"name": name, "value": value} for name, value in fields]}
