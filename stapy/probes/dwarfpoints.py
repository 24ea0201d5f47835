"""Points in the kernel that only DWARF can place: files, lines, statements, inlined functions.

Addresses are told relative to a symbol, for the kernel moves at each boot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.probes import blacklist
from stapy.probes.family import Match, PointError, number_of, print_component, quote, text_of

if TYPE_CHECKING:
    from stapy.debuginfo.find import FunctionSite, Places
    from stapy.diagnostics import Span
    from stapy.parse.nodes import PointComponent, ProbePoint

_UNKNOWN_YET = ("label", "callee", "callees")
_LINES_OF = 2  # how many other lines a message names


def needs_dwarf(point: ProbePoint) -> PointComponent | None:
    """The component that asks for DWARF, None when BTF will do."""
    for component in point.components:
        if component.name in ("inline", "statement", "nearest", *_UNKNOWN_YET):
            return component
        if component.name == "function" and "@" in text_of(component):
            return component
    return None


def resolve(point: ProbePoint, asking: PointComponent, services: Any) -> list[Match]:
    """The places that a point means; `PointError` when there is none."""
    found = {component.name: component for component in point.components}
    for name in _UNKNOWN_YET:
        if name in found:
            raise _without(f".{name}", found[name].span, services)
    target = found.get("statement") or found["function"]
    what = _what(asking)
    if "module" in found:
        raise _without(f"{what} in a module", asking.span, services)
    if number_of(target) is not None:
        raise _without("a statement probe at a plain address", target.span, services)
    text = text_of(target)
    nearest = "nearest" in found
    answer = services.debuginfo.places(text, None, nearest=nearest)
    if not answer.valid:
        message = f"malformed specification '{text}'"
        hint = "write name@file:line, name@file:first-last, name@file:* or name@file+offset"
        raise PointError("E0231", message, target.span, hint=hint)
    if not answer.available:
        raise _missing(what, asking.span, services)
    return _matches(point, text, answer, found, services)


def inlined(point: ProbePoint, services: Any) -> list[Match]:
    """The inlined instances of functions that are named without a file; none without DWARF.

    Functions out of line come from the cheaper sources of names.
    """
    found = {component.name: component for component in point.components}
    only_outside = {"call", "return", "exported", "module"} & set(found)
    if point.components[0].name != "kernel" or only_outside:
        return []
    text = text_of(found["function"])
    answer = services.debuginfo.places(text)
    answer.sites = [site for site in answer.sites if site.place and site.place.inlined]
    if not answer.sites:
        return []
    try:
        return _matches(point, text, answer, found, services)
    except PointError:  # all of them are refused
        return []


def _what(component: PointComponent) -> str:
    if component.name == "function":
        return "a pattern with '@file'"
    return "a statement probe" if component.name == "statement" else f".{component.name}"


def _missing(what: str, span: Span, services: Any) -> PointError:
    notes = [f"{what} needs DWARF debug information, which BTF does not replace"]
    hint = services.debuginfo.missing_hint("lines")
    return PointError("E0233", "no match", span, notes=notes, hint=hint)


def _without(what: str, span: Span, services: Any) -> PointError:
    """What is known to need DWARF, and what stapy cannot do with it yet."""
    if services.debuginfo.dwarf is None:
        return _missing(what, span, services)
    return PointError("E0233", "no match", span, notes=[f"{what} is not supported yet"])


def _matches(
    point: ProbePoint,
    text: str,
    answer: Places,
    found: dict[str, PointComponent],
    services: Any,
) -> list[Match]:
    matches: list[Match] = []
    refused: list[str] = []
    is_return = "return" in found
    for site in answer.sites:
        if not _wanted(site, found, services):
            continue
        why = _refusal(site, is_return, services)
        if why:
            refused.append(f"'{site.name}' must not be probed: {why}")
            continue
        matches.append(Match(_print(point, site), _kprobe_site(point, text, site, found)))
    if not matches:
        raise _no_match(text, answer, found, refused)
    return matches


def _wanted(site: FunctionSite, found: dict[str, PointComponent], services: Any) -> bool:
    assert site.place is not None
    if "inline" in found:
        return site.place.inlined
    if "return" in found or "call" in found:
        return not site.place.inlined
    if "exported" in found:
        return not site.place.inlined and bool(services.debuginfo.exported(site.name))
    return True


def _refusal(site: FunctionSite, is_return: bool, services: Any) -> str:
    assert site.place is not None
    if site.section == ".init.text":
        return "its code is gone once the kernel has booted"
    if site.section:
        return f"the kernel refuses it ({site.section})"
    if services.options.guru:
        return ""
    # What holds an inlined function must not be probed counts as well.
    return blacklist.reason(site.name, is_return) or blacklist.reason(site.place.symbol, is_return)


def _kprobe_site(
    point: ProbePoint, text: str, site: FunctionSite, found: dict[str, PointComponent]
) -> Any:
    from stapy.probes.kprobe import WILDCARDS, Kprobe, KprobeSite

    assert site.place is not None
    many = any(char in text for char in WILDCARDS) or "-" in text.rpartition(":")[2]
    return KprobeSite(
        site.place.symbol,
        None,
        0,
        site.place.offset,
        many or point.optional or point.sufficient,
        "return" in found,
        Kprobe.maxactive(found.get("maxactive")),
        site.type,
        site.rung,
        site.place,
    )


def _print(point: ProbePoint, site: FunctionSite) -> str:
    place = site.place
    assert place is not None
    parts = []
    for component in point.components:
        if component.name in ("function", "statement"):
            text = f"{place.function}@{place.file}:{place.line}" if place.file else place.function
            parts.append(f"{component.name}({quote(text)})")
        else:
            parts.append(print_component(component))
    return ".".join(parts)


def _no_match(
    text: str, answer: Places, found: dict[str, PointComponent], refused: list[str]
) -> PointError:
    target = found.get("statement") or found["function"]
    if refused:
        hint = "-g lifts the list of functions that must not be probed"
        return PointError("E0231", "no match", target.span, notes=refused[:1], hint=hint)
    if answer.near_lines:
        lines = sorted(answer.near_lines, key=answer.near_lines.index)[:_LINES_OF]
        shown = " or ".join(f"':{line}'" for line in sorted(lines))
        hint = f"try line {shown}, or add .nearest"
        notes = [f"no line records for '{text}'"]
        return PointError("E0231", "no match", target.span, notes=notes, hint=hint)
    if answer.functions:
        notes = [f"'{text}' names functions, but not of the kind that is asked for"]
        if "inline" in found:
            notes = [f"no function that matches '{text}' is inlined anywhere"]
        elif "statement" not in found:
            notes = [f"every function that matches '{text}' is inlined; .inline probes those"]
        return PointError("E0231", "no match", target.span, notes=notes)
    notes = [f"no function with code matches '{text}'"]
    return PointError("E0231", "no match", target.span, notes=notes)
