"""Kernel functions and addresses, by kprobes and kretprobes.

``kernel.function``, ``module().function`` and ``kprobe.*`` are one family: the
types of parameters come from BTF where it knows the function.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from stapy.debuginfo.ctypes import c_name
from stapy.ir.literals import quote_name
from stapy.ir.scope import TargetScope
from stapy.probes import abi, blocklist, signatures
from stapy.probes.code import points
from stapy.probes.decide import Wanted
from stapy.probes.families.kprobe import dwarf_points, places
from stapy.probes.families.kprobe.ground import KernelGround
from stapy.probes.families.kprobe.site import KprobeSite, maxactive_of
from stapy.probes.family import (
    Form,
    Match,
    PointError,
    Row,
    forms,
    number_of,
    print_component,
    text_of,
)
from stapy.record import replace

if TYPE_CHECKING:
    from stapy.debuginfo.sites import FunctionSite
    from stapy.ir.program import DerivedProbe
    from stapy.parse.nodes import ProbePoint
    from stapy.services import Services

WILDCARDS = "*?["


def _function_forms(prefix: str) -> list[str]:
    tails = ("", ".call", ".exported", ".return", ".return.maxactive(number)")
    return [f"{prefix}.function({kind}){tail}" for kind in ("string", "number") for tail in tails]


def _dwarf_forms(prefix: str) -> list[str]:
    function = f"{prefix}.function(string)"
    return [
        f"{function}.inline",
        f"{function}.label(string)",
        f"{function}.callee(string)",
        f"{function}.callee(string).call",
        f"{function}.callee(string).return",
        f"{function}.callees",
        f"{function}.callees(number)",
        f"{prefix}.statement(string)",
        f"{prefix}.statement(string).nearest",
        f"{prefix}.statement(number)",
        f"{prefix}.statement(number).nearest",
    ]


def _plain_forms(prefix: str) -> list[str]:
    function = f"{prefix}.function(string)"
    return [function + t for t in ("", ".call", ".return", ".return.maxactive(number)")]


class KprobeFamily:
    """The family of kernel code."""

    name = "kprobe"
    few_registers = True  # ftrace saves fewer when no handler looks at more
    forms: list[Form] = forms(
        *_function_forms("kernel"),
        *_function_forms("module(string)"),
        *_dwarf_forms("kernel"),
        *_dwarf_forms("module(string)"),
        "kernel.statement(number).absolute",
        "kprobe.statement(number).absolute",
        *_plain_forms("kprobe"),
        *_plain_forms("kprobe.module(string)"),
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Find every function that the pattern names, or the one address, or `PointError`."""
        found = {c.name: c for c in point.components}
        module = text_of(found["module"]) if "module" in found else None
        if "absolute" in found:
            return [self._absolute(point, services)]
        asking = points.needs_dwarf(point)
        if asking is not None:
            return points.resolve(asking, KernelGround(point, services))
        function = found["function"]
        is_return = "return" in found
        maxactive = maxactive_of(found.get("maxactive"))
        if number_of(function) is not None:
            return dwarf_points.by_address(point, services)
        pattern = text_of(function)
        return self._functions(point, pattern, module, is_return, maxactive, services)

    def lines(self, point: ProbePoint, services: Services) -> list[str] | None:
        """List what -l prints of functions, from the catalogue of the kernel.

        Returns None when the point must be resolved.
        """
        from stapy.probes.listing import scan

        return scan.lines(point, services)

    def _functions(
        self,
        point: ProbePoint,
        pattern: str,
        module: str | None,
        is_return: bool,
        maxactive: int,
        services: Services,
    ) -> list[Match]:
        wanted = Wanted({c.name for c in point.components}, services.options.guru)
        pattern, brace, signature = pattern.partition("(")
        wild = any(char in pattern for char in WILDCARDS)
        # Without DWARF a name that BTF knows is all there is; with it there may be copies.
        complete = not wanted.inlined and not wild
        complete = complete and not self._has_dwarf(point, module, services, download=False)
        by_dwarf = point.components[0].name in ("kernel", "module")
        matches: list[Match] = []
        seen: set[tuple[str, str | None]] = set()
        refused, unlike = "", None
        for item in services.debuginfo.functions(pattern, module):
            if module is None and item.module is not None:
                continue
            if (item.name, item.module) in seen:
                continue
            if self._is_for_dwarf(item, point, pattern, is_return, services):
                complete = False
                continue
            if brace and (item.type is None or not signatures.fits(item.type, signature)):
                unlike = item
                continue
            seen.add((item.name, item.module))
            if wanted.exported_only and not services.debuginfo.exported(item.name):
                continue
            why = places.refusal(item, is_return, services)
            if why:
                refused = f"'{item.name}' must not be probed: {why}"
                continue
            site = KprobeSite(
                item.name, item.module, 0, 0, is_return, maxactive, item.type, item.source
            )
            site.ambiguity = "" if wild else item.ambiguity
            site.unasked_clone = wild and item.type is None and "." in item.name
            shown = item.name
            if by_dwarf:
                shown = places.declared(item.name, item.module, services)
            matches.append(Match(self._print(point, shown, item.module), site))
        # Without .call a function is probed where it is inlined as well, if that can be known.
        if by_dwarf and not (matches and complete) and (matches or not refused):
            types = signature if brace else None
            matches += dwarf_points.others(point, pattern, types, seen, services)
        if not matches:
            if unlike is not None and not refused:
                told = c_name(unlike.type, unlike.name) if unlike.type else "not known"
                refused = f"its parameters are others: {told}"
            raise self._no_match(point, pattern, wild, refused, services)
        return matches

    def _is_for_dwarf(
        self,
        item: FunctionSite,
        point: ProbePoint,
        pattern: str,
        is_return: bool,
        services: Services,
    ) -> bool:
        """Tell whether DWARF knows better than symbols and BTF what is meant by a function.

        It tells functions of one name apart, and where prologues end; copies by the compiler it
        knows by the function's own name, with their variables.
        """
        is_moved = services.options.prologue_search and not is_return
        is_unclear = item.namesakes > 1 or item.ambiguity or is_moved
        if is_unclear and self._has_dwarf(point, item.module, services):
            return True
        is_copy = "." in item.name and "." not in pattern
        return is_copy and self._has_dwarf(point, item.module, services, download=False)

    @staticmethod
    def _has_dwarf(
        point: ProbePoint, module: str | None, services: Services, *, download: bool = True
    ) -> bool:
        with_dwarf = point.components[0].name in ("kernel", "module")
        return with_dwarf and services.debuginfo.dwarf_of(module, download=download) is not None

    @staticmethod
    def _print(point: ProbePoint, name: str, module: str | None) -> str:
        parts = []
        for component in point.components:
            if component.name == "function":
                parts.append(f"function({quote_name(name)})")
            elif component.name == "module":
                parts.append(f"module({quote_name(module or text_of(component))})")
            else:
                parts.append(print_component(component))
        return ".".join(parts)

    @staticmethod
    def _no_match(
        point: ProbePoint, pattern: str, has_wildcard: bool, refused: str, services: Services
    ) -> PointError:
        span = point.components[-1].span
        for component in point.components:
            if component.name == "function":
                span = component.span
        if refused:
            hint = blocklist.hint(refused)
            return PointError("E0231", "no match", span, notes=[refused], hint=hint)
        found = {c.name: c for c in point.components}
        module = text_of(found["module"]) if "module" in found else None
        if module is not None and not services.debuginfo.module_names(module):
            return places.no_module(found["module"], services)
        where = f"module '{module}'" if module else services.kernel_name
        notes = [f"no function of {where} matches '{pattern}'"]
        if has_wildcard:
            return PointError("E0231", "no match", span, notes=notes)

        def similar(error: PointError) -> None:
            if _only_inlined(pattern, module, services):
                error.notes = [f"'{pattern}' is inlined wherever it is called, .inline probes that"]
                return
            near = services.debuginfo.similar_functions(pattern, 5, module)
            if near:
                error.message = f"no match (similar functions: {', '.join(near)})"
                error.hint = "did you mean " + " or ".join(f"'{n}'" for n in near[:2]) + "?"
            from stapy.diagnostics.habits import old_function, several_functions

            error.hint = several_functions(pattern) or error.hint
            call = old_function(pattern)
            if call:
                error.hint = f"use {call}: functions of system calls have had many names"

        return PointError("E0231", "no match", span, notes=notes, explain=similar)

    @staticmethod
    def _absolute(point: ProbePoint, services: Services) -> Match:
        statement = next(c for c in point.components if c.name == "statement")
        if not services.options.guru:
            raise PointError(
                "E0214",
                "absolute statement probe in unprivileged script; need stap -g",
                statement.span,
                hint="add -g when you are sure about the address",
            )
        address = number_of(statement) or 0
        site = KprobeSite(None, None, address & (2**64 - 1), 0, False, 0)
        return Match(".".join(print_component(c) for c in point.components), site)

    def scope(self, site: KprobeSite, services: Services) -> TargetScope | None:
        """Describe parameters, or the result and (by saving at entry) the parameters."""
        where = site.module or "kernel"
        way = partial(services.debuginfo.missing_hint, "locals")  # which asks apt
        type = site.type
        if type is None and site.place is None and site.symbol:
            # BTF does not describe it: perhaps DWARF does.
            place = services.debuginfo.place_of(site.symbol, site.module)
            site = replace(site, place=place) if place is not None else site
        if type is None and site.place is not None:
            from stapy.probes.values import variables

            entry = variables.scope(site, services)
            return variables.return_scope(site, entry, services) if site.is_return else entry
        if type is None:
            what = f"'{site.symbol}'" if site.symbol else "a plain address"
            groups: dict[str, list[str]] = {"$$parms": [], "$$vars": [], "$$locals": []}
            return TargetScope(
                where,
                groups=groups | {"$$return": ["$return"]} if site.unasked_clone else {},
                is_return=site.is_return,
                missing=f"nothing is known about the parameters of {what}",
                way=way if site.symbol else None,
                key="clone" if site.unasked_clone else "untyped",
            )
        params = {v.name: v for v in abi.parameters(type, services.machine)}
        names = list(params)
        missing = "local variables need DWARF debug information"
        entry = TargetScope(
            where,
            params,
            {"$$parms": names, "$$vars": names, "$$locals": []},
            missing=missing,
            way=way,
            key=f"{where}:{site.symbol}",
            deeper=lambda: _by_dwarf(site, services),
            ambiguity=site.ambiguity,
        )
        if not site.is_return:
            return entry
        result = abi.result(type, services.machine)
        own = {"$return": result} if result else {}
        return TargetScope(
            where,
            own,
            {"$$return": list(own), "$$vars": names + list(own), "$$parms": names, "$$locals": []},
            entry=entry,
            is_return=True,
            missing=missing,
            way=way,
            key=f"{where}:{site.symbol}:return",
            ambiguity=site.ambiguity,
            unavailable=abi.unknown_result(type, services.machine),
        )

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of ``struct stapy_kprobe_row``."""
        return [
            {
                "point": point,
                "symbol": site.symbol,
                "module": site.module,
                "address": site.address,
                "offset": site.offset,
                "is_return": site.is_return,
                "maxactive": site.maxactive,
                "slot_bytes": 0,
                "callers": _frames(site),
            }
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]

    def entry_row(self, symbol: str, module: str | None, offset: int) -> Row:
        """Make the row of a function whose registers at entry other handlers want."""
        return {
            "point": f"entry of {symbol}",
            "symbol": symbol,
            "module": module,
            "offset": offset,
            "few_registers": True,
        }


def _only_inlined(name: str, module: str | None, services: Services) -> bool:
    inlined = [
        site.inlined
        for dwarf in places.dwarf_files(module, services)
        for row in dwarf.index.functions(name)
        for site in row.sites
    ]
    return bool(inlined) and all(inlined)


def _by_dwarf(site: KprobeSite, services: Services) -> TargetScope | None:
    """Describe what DWARF adds to the parameters that BTF has told; None without it."""
    place = site.place
    if place is None and site.symbol:
        place = services.debuginfo.place_of(site.symbol, site.module)
    if place is None:
        return None
    from stapy.probes.values import variables

    return variables.scope(replace(site, place=place), services)


def _frames(site: KprobeSite) -> list[int | str] | None:
    """List frames as ``runtime/probes/callers.h`` has them; symbols stand for their numbers.

    Returns None for a site that asks for no callers.
    """
    if not site.callers:
        return None
    at_entry = site.place is None or site.place.is_exact
    numbers: list[int | str] = [len(site.callers), int(at_entry)]
    for frame in site.callers:
        numbers.append(len(frame))
        for symbol, distance in frame:
            numbers += [symbol or -1, distance]
    return numbers


FAMILY = KprobeFamily()
