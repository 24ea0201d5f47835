"""Functions that their compiler calls in a way of its own, also where it does not say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir.program import ContextValue
from stapy.probes import abi

if TYPE_CHECKING:
    from stapy.arch import Architecture
    from stapy.debuginfo.ctypes import FunctionType
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.dwarf.read.variables import DwarfVariable

_CONSTANT = frozenset(("const", "value", "piece", "bytes"))


def prototype_of(place: CodePlace, dwarf: DwarfFile, machine: Architecture) -> FunctionType:
    """Read the prototype of a place's function, and whether it is called in a way of its own.

    LLVM drops parameters of functions that only their own file calls, so that those behind them
    come in other registers, and says so by DW_CC_nocall; but not of functions that a type
    declares, such as the methods of Rust. These are given away by a parameter that has a place
    as the function is entered which no caller would put it in.
    """
    prototype = dwarf.prototype(place)
    if prototype.hides_convention and place.is_exact and not prototype.own_convention:
        known = {row.name: row.value for row in abi.parameters(prototype, machine)}
        prototype.own_convention = any(
            _is_elsewhere(variable, known.get("$" + variable.name), machine)
            for variable in dwarf.variables(place)
            if variable.is_parameter
        )
    return prototype


def _is_elsewhere(variable: DwarfVariable, passed: object, machine: Architecture) -> bool:
    """Tell whether a parameter is a constant, or in a register that is for another one."""
    ops, numbers = variable.ops or [], machine.argument_numbers
    if ops and all(op.name in _CONSTANT for op in ops):
        return True
    if len(ops) != 1 or ops[0].name != "register" or ops[0].first not in numbers:
        return False
    if not isinstance(passed, ContextValue) or passed.name != "arg":
        return False
    return numbers[passed.index] != ops[0].first
