"""Parameters at the entry of functions, of a sample of a kernel's units, as pyelftools has them."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from stapy.arch import X86_64
from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.read.expressions import Op, location
from stapy.debuginfo.dwarf.read.ranges import entry_address
from stapy.debuginfo.facade import Debuginfo
from stapy.ir.program import ContextValue
from stapy.probes import abi

from .oracle import opened, text

pytestmark = pytest.mark.build

UNITS = 30  # of 2172; all of them take a minute
# DWARF numbers of the registers that arguments come in.
ARGUMENTS = (5, 4, 1, 2, 8, 9)


def parsed(parser: Any, data: bytes) -> tuple[str, int]:
    """pyelftools' reading of a location that is one register or a place in the frame."""
    ops = parser.parse_expr(list(data))
    name = ops[0].op_name
    if len(ops) == 1 and name.startswith("DW_OP_reg"):
        number = ops[0].args[0] if name == "DW_OP_regx" else int(name.removeprefix("DW_OP_reg"))
        return "register", number
    if len(ops) == 1 and name == "DW_OP_fbreg":
        return "frame", ops[0].args[0]
    return "other", len(ops)


def at_entry(lists: Any, parameter: Any, pc: int, base: int) -> bytes | None:
    """Find the expression that holds at an address, None without one."""
    found = parameter.attributes.get("DW_AT_location")
    if found is None:
        return None
    if found.form == "DW_FORM_exprloc":
        return bytes(found.value)
    for row in lists.get_location_list_at_offset(found.value, parameter):
        if not hasattr(row, "loc_expr"):
            base = getattr(row, "base_address", base)
            continue
        start = 0 if row.is_absolute else base
        if start + row.begin_offset <= pc < start + row.end_offset:
            return bytes(row.loc_expr)
    return None


def shown(ops: list[Op]) -> tuple[str, int]:
    plain = len(ops) == 1 and ops[0].name in ("register", "frame")
    return (ops[0].name, ops[0].first) if plain else ("other", len(ops))


def test_parameters(kernel_info: Debuginfo) -> None:
    from elftools.dwarf.dwarf_expr import DWARFExprParser

    info, dwarf = kernel_info, kernel_info.dwarf
    assert dwarf is not None
    units = random.Random(8).sample(dwarf.info.headers, UNITS)
    seen: Counter[str] = Counter()
    with opened(dwarf.path) as oracle:
        lists = oracle.location_lists()
        for header in units:
            unit = oracle.get_CU_at(header.offset)
            parser = DWARFExprParser(unit.structs)
            low = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
            base = low.value if low is not None else 0
            for function in unit.get_top_DIE().iter_children():
                if function.tag != "DW_TAG_subprogram" or "DW_AT_low_pc" not in function.attributes:
                    continue
                pc = function.attributes["DW_AT_low_pc"].value
                mine = dwarf.info.entry(function.offset)
                assert entry_address(mine) == pc
                registers = by_convention(info, mine.name())
                for parameter in function.iter_children():
                    if parameter.tag != "DW_TAG_formal_parameter":
                        continue
                    expected = at_entry(lists, parameter, pc, base)
                    ops, _ = location(dwarf.info.entry(parameter.offset), k.AT_LOCATION, pc)
                    if not expected:
                        assert ops is None
                        continue
                    assert ops is not None
                    place = parsed(parser, expected)
                    assert shown(ops)[0] == place[0]
                    if place[0] != "other":
                        assert shown(ops) == place
                    seen[place[0]] += 1
                    name = dwarf.info.entry(parameter.offset).name()
                    if place[0] == "register" and name in registers:
                        seen["by BTF"] += 1
                        assert registers[name] == place[1], (mine.name(), name)
                if "DW_AT_name" in function.attributes:
                    assert mine.name() == text(function.attributes["DW_AT_name"].value)
    assert seen["register"] > 800 and seen["by BTF"] > 700, seen


def by_convention(info: Debuginfo, name: str) -> dict[str, int]:
    """Find registers of scalar parameters by BTF and the calling convention, without DWARF."""
    site = info.function(name)
    if site is None or site.type is None or site.namesakes != 1 or site.source != "BTF":
        return {}
    found: dict[str, int] = {}
    for variable in abi.parameters(site.type, X86_64):
        value = variable.value
        scalar = not isinstance(c.strip(variable.type), c.Struct)
        if scalar and isinstance(value, ContextValue) and value.name == "arg":
            found[variable.name[1:]] = ARGUMENTS[value.index]
    return found
