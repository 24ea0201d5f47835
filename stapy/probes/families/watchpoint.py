"""``kernel.data(ADDRESS or "SYMBOL").write``, ``.rw``, ``.execute``: what debug registers watch.

``.execute`` is stapy's own: x86 and ``linux/hw_breakpoint.h`` have three kinds of
watched places, and this is the third, named like the others by what is done there.
The CPU tells of an instruction before it runs, so at the entry of a function its
parameters are where the caller has put them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Label
from stapy.ir.literals import quote_name
from stapy.probes import blocklist
from stapy.probes.family import (
    Form,
    Match,
    PointError,
    Reviewed,
    Row,
    forms,
    number_of,
    print_point,
    text_of,
)
from stapy.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stapy.ir.program import DerivedProbe
    from stapy.ir.scope import TargetScope
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.probes.families.kprobe.site import KprobeSite
    from stapy.services import Services

LENGTHS = (1, 2, 4, 8)
_MASK = 2**64 - 1


class WatchSite(Record):
    """``length`` bytes at a symbol of the kernel, or at an address when that is None.

    ``executes``: hit by an instruction there, before it runs; ``length`` is 1 and
    means nothing.  ``function`` has what is known about the code there.
    """

    symbol: str | None
    address: int
    length: int
    reads: bool
    executes: bool = False
    function: KprobeSite | None = None


class WatchpointFamily:
    """The family of watched data and instructions."""

    name = "watchpoint"
    forms: list[Form] = forms(
        "kernel.data(number).write",
        "kernel.data(number).rw",
        "kernel.data(number).length(number).write",
        "kernel.data(number).length(number).rw",
        "kernel.data(string).write",
        "kernel.data(string).rw",
        "kernel.data(number).execute",
        "kernel.data(string).execute",
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Make the one site, or raise `PointError`; the default length is one byte."""
        found = {c.name: c for c in point.components}
        data = found["data"]
        check_machine(data, services)
        length = length_of(found.get("length"))
        address = number_of(data)
        if "execute" in found:
            from stapy.probes.families.kprobe.site import KprobeSite

            site = WatchSite(None, (address or 0) & _MASK, 1, False, True)
            site.function = KprobeSite(None, None, site.address, 0, False, 0)
            if address is None:
                site.symbol = site.function.symbol = text_of(data)
                self._describe(site.function, data, services)
            return [Match(print_point(point), site)]
        symbol = None
        if address is None:
            symbol = text_of(data)
            self._check_symbol(symbol, data, services)
        else:
            check_alignment(address & _MASK, length, data)
        site = WatchSite(symbol, (address or 0) & _MASK, length, "rw" in found)
        return [Match(print_point(point), site)]

    @staticmethod
    def _check_symbol(symbol: str, component: PointComponent, services: Services) -> None:
        info = services.debuginfo
        kinds = info.symbol_kinds(symbol)
        if kinds is None:
            return  # no table of symbols: the kernel will tell
        if not kinds:
            raise _no_match("symbol", symbol, component, info.similar_symbols)
        if all(kind[:1] in "aA" for kind in kinds) or info.variable(symbol) is not None:
            raise PointError(
                "E0234",
                f"'{symbol}' has no address of its own",
                component.span,
                notes=["each CPU has its own copy of a per-CPU variable"],
                hint="watch the copy of one CPU, by its address",
            )

    @staticmethod
    def _describe(site: KprobeSite, component: PointComponent, services: Services) -> None:
        """Let a site have the type of its function, or say why it is not to be watched."""
        from stapy.probes.families.kprobe import places

        info, symbol = services.debuginfo, site.symbol or ""
        for item in info.functions(symbol):
            if item.module is not None or item.name != symbol:
                continue
            why = places.refusal(item, False, services)
            if why:
                notes = [f"'{symbol}' must not be probed: {why}"]
                hint = blocklist.hint(why)
                raise PointError("E0231", "no match", component.span, notes=notes, hint=hint)
            if item.namesakes > 1:
                raise PointError(
                    "E0234",
                    f"{item.namesakes} functions are called '{symbol}'",
                    component.span,
                    notes=["a debug register watches one address"],
                    hint=f"kernel.function({quote_name(symbol)}) probes all, an address means one",
                )
            site.type, site.source = item.type, item.source
            return
        kinds = info.symbol_kinds(symbol)
        if kinds is None:
            return  # no table of symbols: the kernel will tell
        if kinds:
            raise PointError(
                "E0234",
                f"'{symbol}' is no function",
                component.span,
                notes=["nothing is executed in the kernel's data"],
                hint=f"kernel.data({quote_name(symbol)}).rw tells who uses it",
            )
        raise _no_match("function", symbol, component, info.similar_functions)

    @staticmethod
    def review(probes: Sequence[Reviewed], services: Services) -> None:
        """Warn of more probes than there are registers."""
        number, registers = 0, services.machine.watchpoints  # each watches one place
        for probe in probes:
            number += len(probe.sites)
            if number > registers:
                services.diagnostics.warning(
                    "W0609",
                    f"too many hardware breakpoint probes: {registers} debug registers, "
                    f"{sum(len(one.sites) for one in probes)} probes",
                    probe.span,
                    where="no register is left for this one",
                    labels=[Label(probes[0].span, "the first one")],
                )
                return

    def scope(self, site: WatchSite, services: Services) -> TargetScope | None:
        """Describe the parameters of the function that is about to run.

        Returns None for an access, of which nothing is known.
        """
        if site.function is None:
            return None
        from stapy.probes.families.kprobe import functions

        return functions.FAMILY.scope(site.function, services)

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of ``struct stapy_watchpoint_row``."""
        return [
            {
                "point": point,
                "symbol": site.symbol,
                "address": site.address,
                "length": site.length,
                "reads": site.reads,
                "executes": site.executes,
            }
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


def check_machine(component: PointComponent, services: Services) -> None:
    """Raise `PointError` where no debug register is of use to a probe."""
    if services.machine.watchpoints:
        return
    raise PointError(
        "E0265",
        f"probes of watched places are not made for {services.machine.name}",
        component.span,
        notes=["its kernel steps over an access that was watched for its own handlers only"],
    )


def length_of(component: PointComponent | None) -> int:
    """Read the number of bytes, rounded up to what the hardware can do; 1 by default.

    Raises `PointError` out of range.
    """
    if component is None:
        return 1
    wanted = number_of(component) or 0
    if not 1 <= wanted <= LENGTHS[-1]:
        raise PointError(
            "E0212",
            f"length value out of range (1, {LENGTHS[-1]})",
            component.span,
            notes=[f"{wanted} was written; a debug register watches {LENGTHS[-1]} bytes"],
            hint="watch larger data in parts, with a probe each",
        )
    return next(length for length in LENGTHS if length >= wanted)


def check_alignment(address: int, length: int, component: PointComponent) -> None:
    """Refuse what no debug register can watch."""
    if address & (length - 1):
        raise PointError(
            "E0234",
            f"{length} bytes at {address:#x} cannot be watched",
            component.span,
            notes=[f"the hardware watches {length} bytes at a multiple of {length} only"],
            hint="watch fewer bytes, or parts of them with a probe each",
        )


def _no_match(
    what: str, name: str, component: PointComponent, near: Callable[[str], list[str]]
) -> PointError:
    def similar(error: PointError) -> None:
        names = near(name)
        if names:
            error.message = f"no match (similar {what}s: {', '.join(names)})"
            error.hint = f"did you mean '{names[0]}'?"

    notes = [f"this kernel has no {what} '{name}'"]
    return PointError("E0231", "no match", component.span, notes=notes, explain=similar)


FAMILY = WatchpointFamily()
