"""Points in the kernel that only DWARF can place: files, lines, statements, inlined functions.

Addresses are told relative to a symbol, for the kernel moves at each boot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics.habits import old_function
from stapy.ir.literals import quote
from stapy.probes import blocklist, signatures
from stapy.probes.families.kprobe import dwarf_insides, places
from stapy.probes.family import Match, PointError, number_of, print_component, text_of
from stapy.record import replace

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.sites import FunctionSite, Places
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.services import Services

_INSIDES = ("label", "callee", "callees")
_LINES_OF = 2  # how many other lines a message names


def needs_dwarf(point: ProbePoint) -> PointComponent | None:
    """The component that asks for DWARF, None when BTF will do."""
    for component in point.components:
        if component.name in ("inline", "statement", "nearest", *_INSIDES):
            return component
        if component.name == "function" and "@" in text_of(component):
            return component
    return None


def resolve(point: ProbePoint, asking: PointComponent, services: Services) -> list[Match]:
    """The places that a point means; `PointError` when there is none."""
    found = {component.name: component for component in point.components}
    target = found.get("statement") or found["function"]
    what = _what(asking)
    module = places.module_of(found, services)
    if number_of(target) is not None or any(name in found for name in _INSIDES):
        files = places.dwarf_files(module, services)
        if not files:
            raise places.missing(what, asking.span, services)
        return dwarf_insides.resolve(point, found, files, services)
    text = text_of(target)
    nearest = "nearest" in found
    entries = "function" in found
    answer = services.debuginfo.places(text, module, nearest=nearest, entries=entries)
    if not answer.valid:
        message = f"malformed specification '{text}'"
        hint = "write name@file:line, name@file:first-last, name@file:* or name@file+offset"
        raise PointError("E0231", message, target.span, hint=hint)
    if not answer.available:
        raise places.missing(what, asking.span, services)
    return _matches(point, text, answer, found, services)


def by_address(
    point: ProbePoint, found: dict[str, PointComponent], services: Services
) -> list[Match]:
    """The function that a link address lies in, by DWARF or else by a table of symbols."""
    module = places.module_of(found, services)
    component = found["function"]
    files = places.dwarf_files(module, services)
    if files:
        return dwarf_insides.resolve(point, found, files, services)
    address = places.address_of(component)
    entry = services.debuginfo.function_at(address, module)
    if entry is None:
        raise places.no_code(component, module is not None)
    if "exported" in found and not services.debuginfo.exported(entry.site.name):
        raise places.not_exported(component, entry.site.name)
    why = places.refusal(entry.site, "return" in found, services)
    if why:
        notes = [f"'{entry.site.name}' must not be probed: {why}"]
        raise PointError("E0231", "no match", component.span, notes=notes)
    site = places.kprobe_site(entry.site, found)
    made = replace(site, symbol=entry.symbol, offset=entry.offset)
    texts = {"function": f"function({entry.address:#x})"}
    text = ".".join(texts.get(c.name) or print_component(c) for c in point.components)
    return [Match(text, made)]


def others(
    point: ProbePoint,
    text: str,
    types: str | None,
    known: set[tuple[str, str | None]],
    services: Services,
) -> list[Match]:
    """What only DWARF knows of functions that are named without a file; nothing without it.

    Inlined instances, functions whose symbols the compiler named (``f.isra.0``),
    each of several functions of one name.  ``types`` are the parameters that
    were asked for; ``known`` are the symbols, with their modules, that cheaper
    sources of names have given.
    """
    found = {component.name: component for component in point.components}
    module = text_of(found["module"]) if "module" in found else None
    answer = services.debuginfo.places(text, module, download=False, known=known)
    if types is not None:
        answer.sites = [site for site in answer.sites if _fits(site, types, services)]
    if not answer.sites:
        return []
    try:
        return _matches(point, text, answer, found, services)
    except PointError:  # all of them are refused
        return []


def _fits(site: FunctionSite, types: str, services: Services) -> bool:
    info = services.debuginfo
    dwarf = info.dwarf_of(site.module)
    prototype = info.safe(None, dwarf.prototype, site.place) if dwarf is not None else None
    return prototype is not None and signatures.fits(prototype, types)


def _what(component: PointComponent) -> str:
    if component.name == "function":
        return "a pattern with '@file'"
    return "a statement probe" if component.name == "statement" else f".{component.name}"


def _matches(
    point: ProbePoint,
    text: str,
    answer: Places,
    found: dict[str, PointComponent],
    services: Services,
) -> list[Match]:
    matches: list[Match] = []
    refused: list[str] = []
    is_return = "return" in found
    for site in answer.sites:
        if not _wanted(site, found, services):
            continue
        why = places.refusal(site, is_return, services)
        if why:
            refused.append(f"'{site.name}' must not be probed: {why}")
            continue
        if services.options.prologue_search and "function" in found and not is_return:
            site = _behind_prologue(site, services)
        matches.append(Match(_print(point, site), places.kprobe_site(site, found)))
    if not matches:
        raise _no_match(text, answer, found, refused, services)
    return matches


def _behind_prologue(site: FunctionSite, services: Services) -> FunctionSite:
    """Move the site of a function to where its frame is set up (-P)."""
    from stapy.debuginfo.dwarf.query.labels import behind_prologue

    info, place = services.debuginfo, site.place
    if place is None or not place.exact:
        return site
    moved = info.safe(place, behind_prologue, info.dwarf_of(site.module), place)
    # Arguments may have left their registers: only DWARF knows where they are then.
    known = site.type if moved.exact else None
    result: FunctionSite = replace(site, place=moved, type=known)
    return result


def _wanted(site: FunctionSite, found: dict[str, PointComponent], services: Services) -> bool:
    assert site.place is not None
    if "inline" in found:
        return site.place.inlined
    if "return" in found or "call" in found:
        return not site.place.inlined
    if "exported" in found:
        return not site.place.inlined and bool(services.debuginfo.exported(site.name))
    return True


def _print(point: ProbePoint, site: FunctionSite) -> str:
    place = site.place
    assert place is not None
    parts = []
    for component in point.components:
        if component.name in ("function", "statement"):
            parts.append(f"{component.name}({quote(places.place_text(place))})")
        elif component.name == "module":
            parts.append(f"module({quote(site.module or text_of(component))})")
        else:
            parts.append(print_component(component))
    return ".".join(parts)


def _no_match(
    text: str,
    answer: Places,
    found: dict[str, PointComponent],
    refused: list[str],
    services: Services,
) -> PointError:
    target = found.get("statement") or found["function"]
    if refused:
        hint = blocklist.hint(refused[0])
        return PointError("E0231", "no match", target.span, notes=refused[:1], hint=hint)
    if answer.near_lines:
        lines = sorted(answer.near_lines, key=answer.near_lines.index)[:_LINES_OF]
        shown = " or ".join(f"':{line}'" for line in sorted(lines))
        hint = f"try line {shown}, or add .nearest"
        notes = [f"no line records for '{text}'"]
        return PointError("E0231", "no match", target.span, notes=notes, hint=hint)
    if answer.functions:
        notes = [f"'{text}' names functions, but not of the kind that is asked for"]
        if not answer.sites:
            notes = [f"no function that matches has code there: '{text}'"]
        elif "inline" in found:
            notes = [f"no function that matches '{text}' is inlined anywhere"]
        elif "statement" not in found:
            notes = [f"every function that matches '{text}' is inlined; .inline probes those"]
        return PointError("E0231", "no match", target.span, notes=notes)

    def explain(error: PointError) -> None:
        module = text_of(found["module"]) if "module" in found else None
        for dwarf in places.dwarf_files(module, services):
            _name_others(error, text, dwarf)
        call = old_function(text)
        if call:
            error.hint = f"use {call}: functions of system calls have had many names"

    notes = [f"no function with code matches '{text}'"]
    return PointError("E0231", "no match", target.span, notes=notes, explain=explain)


def _name_others(error: PointError, text: str, dwarf: DwarfFile) -> None:
    """What of a pattern is wrong: its file, its function, or that the one is in the other."""
    from stapy.debuginfo.dwarf.query.spec import parse
    from stapy.diagnostics.suggest import listed, nearest

    spec = parse(text)
    if spec is None or error.hint:
        return
    near: list[str] = []
    if spec.file and not dwarf.index.files(spec.file):
        error.notes = [f"no source file matches '{spec.file}'"]
        near = dwarf.index.files_like(spec.file)
    elif spec.file and spec.named:
        rows = list(dwarf.index.functions(spec.function))
        if rows:
            files = list(dict.fromkeys(row.file for row in rows))[:3]
            error.notes = [f"'{spec.function}' is in {listed(files, '')}"]
            near = [f"{spec.function}@{file}" for file in files[:1]]
    if not near and spec.named:
        near = nearest(spec.function, dwarf.index.similar(spec.function), 2)
    error.hint = f"did you mean {listed(near)}?" if near else ""
