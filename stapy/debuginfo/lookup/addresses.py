"""Functions by link address, from tables of symbols alone.

Addresses are those of the kernel's image before it was moved, or count from the
start of a module's ``.text``.  The table of a running kernel has neither.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from stapy.debuginfo.elf import STT_FUNC, ElfFile
from stapy.debuginfo.loading import packed_symbols
from stapy.debuginfo.lookup.functions import Functions
from stapy.debuginfo.sites import SYMBOLS, FunctionSite
from stapy.debuginfo.symbols.table import is_function
from stapy.debuginfo.units import KernelUnits
from stapy.record import Record

Row = tuple[int, str, bool]  # address, name, whether it is a function


class FunctionStart(Record):
    """A function that begins at ``address``; ``symbol`` is the only one of its name."""

    site: FunctionSite
    symbol: str
    offset: int
    address: int


def function_at(
    units: KernelUnits, functions: Functions, address: int, module: str | None
) -> FunctionStart | None:
    """Find the function that an address lies in; None where no table tells of code."""
    if module is None:
        rows = sorted(_of_kernel(units))
    else:
        path = units.kernel.modules.path(module)
        rows = sorted(_of_module(path)) if path is not None else []
    number = bisect_right(rows, (address, "\uffff", True)) - 1
    if number < 0:
        return None
    start = rows[number][0]
    names = [name for at, name, code in rows[: number + 1] if at == start and code]
    if not names:
        return None
    sites = [functions.named(name, module) for name in names]
    best = next((site for site in sites if site is not None and site.type is not None), sites[0])
    site = best or FunctionSite(names[0], module, None, SYMBOLS)
    # Another kernel has its code elsewhere, and this one moves as a whole.
    counts = Counter(name for _, name, _ in rows)
    for at, name, code in reversed(rows[: number + 1]):
        if code and counts[name] == 1:
            return FunctionStart(site, name, start - at, start)
    return None


def _of_kernel(units: KernelUnits) -> Iterator[Row]:
    symbols = packed_symbols(units.kernel, units.cache)
    for name, kind, address in symbols.tables.symbols() if symbols is not None else ():
        if address:
            yield address, name, is_function([kind]) and not name.startswith("__pfx_")


def _of_module(path: Path) -> Iterator[Row]:
    elf = ElfFile.open(path)
    text = elf.section(".text")
    for symbol in elf.symbols() if text is not None else ():
        if symbol.name and symbol.section and elf.sections[symbol.section] is text:
            code = symbol.kind == STT_FUNC and not symbol.name.startswith("__pfx_")
            yield symbol.value, symbol.name, code
