"""Points that only DWARF can place: files, lines, statements, inlined functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.debuginfo.dwarf.query.spec import parse
from stapy.diagnostics.suggest import listed, nearest
from stapy.ir.literals import quote_name
from stapy.probes.decide import Wanted
from stapy.probes.family import Match, PointError, number_of, only_lines, text_of
from stapy.record import replace

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.sites import FunctionSite, FunctionSites
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.probes.code.ground import Ground

_INSIDES = ("label", "callee", "callees")
_LINES_OF = 2  # how many other lines a message names

_A_FILE = r"\.\w+:[\d*]"  # where a function is expected


def needs_dwarf(point: ProbePoint) -> PointComponent | None:
    """Find the component that asks for DWARF; None when BTF will do."""
    for component in point.components:
        if component.name in ("inline", "statement", "nearest", *_INSIDES):
            return component
        if component.name == "function" and "@" in text_of(component):
            return component
    return None


def resolve(asking: PointComponent, ground: Ground) -> list[Match]:
    """Find the places that a point means; raises `PointError` when there is none."""
    found = ground.found
    target = found.get("statement") or found["function"]
    what = _what(asking)
    if number_of(target) is not None or any(name in found for name in _INSIDES):
        files = ground.files
        if not files:
            raise ground.missing(what, asking.span)
        from stapy.probes.code import labels_and_callees

        return labels_and_callees.resolve(ground, files)
    text = text_of(target)
    answer = ground.places(
        text, allow_nearest="nearest" in found, lines_as_functions="function" in found
    )
    if not answer.is_valid:
        message = f"malformed specification '{text}'"
        hint = "write name@file:line, name@file:first-last, name@file:* or name@file+offset"
        raise PointError("E0231", message, target.span, hint=hint)
    if not answer.is_available:
        raise ground.missing(what, asking.span)
    return matches(text, answer, ground)


def _what(component: PointComponent) -> str:
    if component.name == "function":
        return "a pattern with '@file'"
    return "a statement probe" if component.name == "statement" else f".{component.name}"


def matches(text: str, answer: FunctionSites, ground: Ground) -> list[Match]:
    """Select the places that are asked for and may be probed; `PointError` for none."""
    taken: list[Match] = []
    refused: list[str] = []
    found = ground.found
    options = ground.services.options
    moved = options.prologue_search and "function" in found
    # Where a function is inlined is of no interest in a list without variables.
    once = only_lines(ground.services)
    listed: set[str] = set()
    wanted = Wanted(found, options.guru)
    takes = {inlined: wanted.takes(inlined=inlined) for inlined in (False, True)}
    for site in answer.sites:
        assert site.place is not None
        if not takes[site.place.inlined] or (wanted.exported_only and not ground.exports(site)):
            continue
        if moved and "return" not in found:
            site = _behind_prologue(site, ground)
        assert site.place is not None
        written = ground.written(site.place)
        if written in listed and site.place.inlined:
            continue
        why = ground.refusal(site)
        if why:
            refused.append(f"'{site.name}' must not be probed: {why}")
            continue
        if once:
            listed.add(written)
        shown = quote_name(written)
        texts = {"function": f"function({shown})", "statement": f"statement({shown})"}
        taken.append(ground.match(site, texts))
    if not taken:
        raise _no_match(text, answer, ground, refused)
    return taken


def _behind_prologue(site: FunctionSite, ground: Ground) -> FunctionSite:
    """Move the site of a function to where its frame is set up (-P)."""
    place = site.place
    if place is None or not place.is_exact:
        return site
    from stapy.debuginfo.dwarf.query.labels import behind_prologue

    moved = ground.services.debuginfo.safe(place, behind_prologue, ground.file_of(place), place)
    # Arguments may have left their registers: only DWARF knows where they are then.
    known = site.type if moved.is_exact else None
    result = replace(site, place=moved, type=known)
    return result


def _no_match(text: str, answer: FunctionSites, ground: Ground, refused: list[str]) -> PointError:
    found = ground.found
    target = found.get("statement") or found["function"]
    if refused:
        hint = ground.refusal_hint(refused[0])
        return PointError("E0231", "no match", target.span, notes=refused[:1], hint=hint)
    if answer.near_lines:
        shown = " or ".join(f"':{line}'" for line in sorted(_nearest_lines(text, answer)))
        hint = f"try line {shown}" + ("" if "nearest" in found else ", or add .nearest")
        notes = [f"no line records for '{text}'"]
        return PointError("E0231", "no match", target.span, notes=notes, hint=hint)
    if answer.functions:
        notes = [f"'{text}' names functions, but not of the kind that is asked for"]
        if not answer.sites:
            notes = [f"no function that matches has code there: '{text}'"]
        elif "inline" in found:
            notes = [f"no function that matches '{text}' is inlined anywhere"]
        elif "exported" in found and any(s.place and not s.place.inlined for s in answer.sites):
            notes = [f"no function that matches '{text}' is exported to other files"]
        elif "statement" not in found:
            notes = [f"every function that matches '{text}' is inlined; .inline probes those"]
        return PointError("E0231", "no match", target.span, notes=notes)

    def explain(error: PointError) -> None:
        from stapy.diagnostics.habits import old_function

        if re.search(_A_FILE, text) and "@" not in text:
            error.hint = f'write "*@{text}": lines are those of functions of a file'
            return
        for dwarf in ground.files:
            _name_others(error, text, dwarf, ground)
        call = old_function(text) if ground.point.components[0].name != "process" else ""
        if call:
            error.hint = f"use {call}: functions of system calls have had many names"

    notes = [f"no function with code matches '{text}'"]
    return PointError("E0231", "no match", target.span, notes=notes, explain=explain)


def _nearest_lines(text: str, answer: FunctionSites) -> list[int]:
    """List the lines with code nearest to those asked for, of all functions that match."""
    spec = parse(text)
    lines = list(answer.near_lines)
    if spec is not None and spec.lines and not spec.is_relative:
        asked = [first for first, _ in spec.lines]
        lines.sort(key=lambda line: min(abs(line - first) for first in asked))
    return lines[:_LINES_OF]


def _name_others(error: PointError, text: str, dwarf: DwarfFile, ground: Ground) -> None:
    """Add to an error what is wrong: a pattern's file, its function, or the two together."""
    spec = parse(text)
    if spec is None or error.hint:
        return
    near: list[str] = []
    if spec.file and not dwarf.index.files(spec.file):
        error.notes = [f"no source file matches '{spec.file}'"]
        near = dwarf.index.files_like(spec.file)
    elif spec.file and spec.has_plain_name:
        rows = list(dwarf.index.functions(spec.function))
        if rows:
            files = list(dict.fromkeys(row.file for row in rows))[:3]
            error.notes = [f"'{spec.function}' is in {listed(files, '')}"]
            near = [f"{spec.function}@{file}" for file in files[:1]]
    if not near and spec.has_plain_name:
        near = ground.other_names(spec.function)
        if near:
            error.notes.append(f"'{spec.function}' is another name of {listed(near[:1])}")
    if not near and spec.has_plain_name:
        near = nearest(spec.function, dwarf.index.similar(spec.function), 2)
    error.hint = f"did you mean {listed(near)}?" if near else ""
