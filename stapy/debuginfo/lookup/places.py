"""The DWARF rung of the ladder: which file, and what it knows of a pattern."""

from __future__ import annotations

import os
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.cache import Cache
from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf.query.dwarf_file import Answer, DwarfFile, Place
from stapy.debuginfo.dwarf.query.opener import open_first
from stapy.debuginfo.dwarf.query.spec import Spec, parse
from stapy.debuginfo.sites import DWARF, FunctionSite, Places
from stapy.debuginfo.symbols.table import section_of

if TYPE_CHECKING:
    from stapy.debuginfo.facade import Debuginfo


def open_dwarf(
    info: Debuginfo, module: str | None, paths: list[Path], cache: Cache
) -> tuple[DwarfFile | None, list[str]]:
    """The first of some files that is of the kernel or module, None without; and what is wrong."""
    loaded = info.loaded if module is None else info.module(module)
    build_id = loaded.build_id if loaded is not None else ""
    return open_first(paths, build_id, module, cache, notice, _code(info, module))


def _code(info: Debuginfo, module: str | None) -> Path | None:
    return info.kernel.modules.path(module) if module is not None else None


def fetch_dwarf(
    info: Debuginfo, module: str | None, cache: Cache
) -> tuple[DwarfFile | None, list[str]]:
    """The same from a server, when the environment names any."""
    loaded = info.loaded if module is None else info.module(module)
    if loaded is None or not loaded.build_id or not os.environ.get("DEBUGINFOD_URLS"):
        return None, []
    from stapy.debuginfo.dwarf.files.debuginfod import fetch

    what = f"module {module}" if module is not None else "the kernel"
    path, problems = fetch(loaded.build_id, what, notice)
    if path is None:
        return None, problems
    code = _code(info, module)
    found, more = open_first([path], loaded.build_id, module, cache, notice, code)
    return found, problems + more


def notice(text: str) -> None:
    """Something that takes a while begins: tell it now, not with the other messages."""
    from stapy.terminal import progress

    progress.tell(text)


def open_object(path: Path, cache: Cache) -> DwarfFile | None:
    """An object file that was compiled for its types."""
    return open_first([path], "", None, cache, lambda _: None)[0]


def places(
    info: Debuginfo,
    text: str,
    module: str | None,
    *,
    nearest: bool,
    entries: bool,
    here: bool,
    known: Container[tuple[str, str | None]],
) -> Places:
    """See `Debuginfo.places`."""
    spec = parse(text)
    result = Places([], False, spec is not None)
    if spec is None:
        result.available = module is not None or info.dwarf_of(None, here=here) is not None
        return result
    for name, _ in info.units(module):
        dwarf = info.dwarf_of(name, here=here)
        if dwarf is not None:
            result.available = True
            found: Answer = info.safe(Answer(), _find, dwarf, spec, nearest, entries)
            _add(result, info, found, known, spec.lines is None)
    return result


def _find(dwarf: DwarfFile, spec: Spec, nearest: bool, entries: bool) -> Answer:
    return dwarf.find(spec, nearest=nearest, entries=entries)


def _add(
    result: Places,
    info: Debuginfo,
    found: Answer,
    known: Container[tuple[str, str | None]],
    functions: bool,
) -> None:
    """Take an answer, each place once.

    An instance of an inlined function is a place of its own even where the
    function around it, or another instance, begins at the same instruction;
    so is a statement for each of its lines and each function that holds it.
    """
    result.near_lines += [line for line in found.near_lines if line not in result.near_lines]
    result.functions += found.functions
    seen: set[tuple[int, str, int]] = set()
    sections: dict[str, str] = {}  # the places of one answer share many symbols
    for place in found.places:
        apart = place.inlined or not functions
        key = (place.address, place.function, place.line) if apart else (place.address, "", 0)
        if key in seen or (place.exact and (place.symbol, place.module) in known):
            continue
        seen.add(key)
        if place.symbol not in sections:
            sections[place.symbol] = _section(info, place)
        result.sites.append(_site(info, place, sections[place.symbol]))


def site_at(info: Debuginfo, place: Place) -> FunctionSite:
    """See `Debuginfo.site_at`."""
    return _site(info, place, _section(info, place))


def _section(info: Debuginfo, place: Place) -> str:
    loaded = info.module(place.module) if place.module is not None else info.loaded
    if loaded is None or loaded.symbols is None:
        return ""
    return section_of(loaded.symbols.kinds(place.symbol))


def _site(info: Debuginfo, place: Place, section: str) -> FunctionSite:
    type: c.Function | None = None
    loaded = info.module(place.module) if place.module is not None else info.loaded
    if (
        place.exact
        and loaded is not None
        and loaded.btf is not None
        and loaded.btf.has_function(place.function)
    ):
        known = info.safe(None, info.exact, place.function, place.module, loaded)
        # Of two functions of one name BTF does not say which one it describes.
        if known is not None and known.copies == 1 and not known.doubt:
            type = known.type
    return FunctionSite(place.function, place.module, type, DWARF, section, 1, place)
