"""``process….function("PATTERN")`` and its kin: places in user programs, by uprobes.

The kernel arms a place of a file in whatever process maps it. Only places that are known to
begin an instruction are armed: a breakpoint inside of one would change what the program does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.debuginfo.user import search
from stapy.ir.literals import quote
from stapy.probes import armable, programs
from stapy.probes.family import (
    Form,
    Match,
    PointError,
    forms,
    number_of,
    print_component,
    text_of,
)
from stapy.probes.programs import Head
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.debuginfo.user.file import UserFile
    from stapy.debuginfo.user.symbols import FunctionTable, UserFunction
    from stapy.ir.program import DerivedProbe
    from stapy.ir.scope import TargetScope
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.services import Services

WILDCARDS = "*?["
_SCOPES = ("process", "process(string)", "process(number)")
_FUNCTION = (
    *("function(string)", "function(string).call", "function(string).return"),
    *("function(string).exported", "function(string).inline"),
    *("function(number)", "function(number).call", "function(number).return"),
    *("function(number).exported", "function(number).inline"),
    *("statement(string)", "statement(string).nearest"),
    *("statement(number)", "statement(number).nearest"),
)
# What only debug information can place.
_DEBUG_ONLY = ("inline", "nearest")


class UprobeSite(Record):
    """One place of a program: ``address`` as it was linked, ``offset`` in the file.

    ``program`` and ``pid`` say whose processes (see `Head`).  ``function`` is the name
    of the function that the place is in.
    """

    file: UserFile
    program: str | None
    pid: int
    function: str
    address: int
    offset: int
    is_return: bool
    optional: bool

    @property
    def user_files(self) -> dict[str, str]:
        """Paths of the files that the consumer must open, with what they are told by."""
        own = {str(self.file.path): programs.identity(self.file)}
        return {self.program: "", **own} if self.program else own


class Uprobe:
    """The family of places in user programs."""

    name = "uprobe"
    unprivileged = True  # the runtime shows unprivileged users their own processes only
    forms: list[Form] = forms(
        *(f"{scope}.{tail}" for scope in _SCOPES for tail in _FUNCTION),
        *(f"{scope}.library(string).{tail}" for scope in _SCOPES for tail in _FUNCTION),
        "process(number).statement(number).absolute",
        "process(number).statement(number).absolute.return",
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Every place that the point means in all of its files."""
        found = {component.name: component for component in point.components}
        heads = programs.heads(point, services)
        matches: list[Match] = []
        failure: PointError | None = None
        for head in heads:
            try:
                matches += _places(point, found, head, services)
            except PointError as error:
                failure = failure or error
        if failure is not None and not matches:
            raise failure
        return matches

    def scope(self, site: UprobeSite, services: Services) -> TargetScope:
        """Variables by debug information; tables of symbols have none."""
        from stapy.ir.scope import TargetScope
        from stapy.probes.values import programs as variables

        known = variables.scope(site.file, site.address, site.is_return, services)
        if known is not None:
            return known
        groups: dict[str, list[str]] = {"$$parms": [], "$$vars": [], "$$locals": []}
        if site.is_return:
            groups["$$return"] = []
        return TargetScope(
            "kernel",
            groups=groups,
            is_return=site.is_return,
            missing=f"variables of '{site.file.path}' need its debug information; "
            "pointer_arg(1), int_arg(2), returnval() do not",
            key=f"{site.file.path}:{site.is_return}",
        )

    def rows(self, probe: DerivedProbe, first_site: int) -> list[dict[str, Any]]:
        """Rows of ``struct stapy_uprobe_row``."""
        return [
            {
                "point": point,
                "file": str(site.file.path),
                "program": site.program,
                "pid": site.pid,
                "offset": site.offset,
                "counter": 0,
                "is_return": site.is_return,
                "optional": site.optional,
                "slot_bytes": 0,
            }
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


def _places(
    point: ProbePoint, found: dict[str, PointComponent], head: Head, services: Services
) -> list[Match]:
    target = found.get("statement") or found["function"]
    if "return" in found:
        armable.check_returns(found["return"], head.file, services)
    table = services.debuginfo.programs.functions(head.file)
    asking = next((found[name] for name in _DEBUG_ONLY if name in found), None)
    if asking is None and (target.name == "statement" or "@" in text_of(target)):
        asking = target if number_of(target) is None else None
    if asking is not None:
        raise _needs_debuginfo(asking, head, services)
    if "absolute" in found:
        return [_absolute(point, target, table, head, services)]
    if target.name == "statement":
        return [_statement(point, target, _address(target), table, head, services)]
    if number_of(target) is not None:
        functions = [_at(target, table, head)]
    else:
        functions = _named(text_of(target), table)
    if "exported" in found:
        functions = [function for function in functions if function.is_exported]
    if not functions:
        raise _no_match(target, table, head, services)
    is_pattern = number_of(target) is None and any(char in text_of(target) for char in WILDCARDS)
    if "return" in found:
        functions = armable.returnable(functions, table, head.file, found["return"])
    places = [(function.name, function.address) for function in functions]
    taken = armable.accepted(places, head.file, target, services, is_pattern=is_pattern)
    functions = [function for function in functions if function.address in taken]
    if not is_pattern:
        _warn_of_choosers(target, functions, services)
    return [_match(point, target, function, head) for function in functions]


def _named(pattern: str, table: FunctionTable) -> list[UserFunction]:
    """Functions of a name, or of a pattern: there each once, by its best name that matches."""
    found = table.matching(pattern)
    if not any(char in pattern for char in WILDCARDS):
        return list({function.address: function for function in reversed(found)}.values())[::-1]
    by_address: dict[int, dict[str, UserFunction]] = {}
    for function in found:
        by_address.setdefault(function.address, {}).setdefault(function.name, function)
    chosen = []
    for address, names in by_address.items():
        best = next(iter(names)) if len(names) == 1 else ""
        best = best or next(name for name in table.aliases(address) if name in names)
        chosen.append(names[best])
    return chosen


def _at(target: PointComponent, table: FunctionTable, head: Head) -> UserFunction:
    """The function that an address lies in."""
    address = _address(target)
    function = table.at(address)
    if function is None:
        notes = [f"{address:#x} lies in no function of '{head.file.path}' that is known"]
        if not table.complete:
            notes.append(f"only names from {table.source} are known")
        hint = "addresses are those that the file was linked with, as nm and objdump print them"
        raise PointError("E0231", "no match", target.span, notes=notes, hint=hint)
    return function


def _address(target: PointComponent) -> int:
    return (number_of(target) or 0) & (2**64 - 1)


def _statement(
    point: ProbePoint,
    target: PointComponent,
    address: int,
    table: FunctionTable,
    head: Head,
    services: Services,
) -> Match:
    """An instruction by the address that the file was linked with, when one begins there."""
    from stapy.debuginfo.user import boundaries

    try:
        boundaries.check(head.file, table, address)
    except boundaries.NoBoundary as error:
        hint = "a breakpoint inside of an instruction would change what the program does"
        raise PointError("E0231", "no match", target.span, notes=[str(error)], hint=hint) from None
    around = table.at(address)
    if any(c.name == "return" for c in point.components):
        if around is None or around.address != address:
            # What is on the stack elsewhere is no return address: the process would jump to it.
            notes = [f"{address:#x} of '{head.file.path}' is not where a function begins"]
            raise PointError("E0231", "no match", target.span, notes=notes)
        armable.returnable([around], table, head.file, target)
    armable.accepted([(f"{address:#x}", address)], head.file, target, services, is_pattern=False)
    offset = head.file.code_offset(address)
    assert offset is not None
    name = around.name if around is not None else ""
    site = _site(point, head, name, address, offset)
    return Match(_print(point, head, f"statement({_address(target):#x})"), site)


def _absolute(
    point: ProbePoint, target: PointComponent, table: FunctionTable, head: Head, services: Services
) -> Match:
    """An address in a process that lives, by the files that it maps."""
    if not services.options.guru:
        raise PointError(
            "E0214",
            "absolute statement probe in unprivileged script; need stap -g",
            target.span,
            hint="add -g when you are sure about the address",
        )
    where = search.mapped_at(head.pid, _address(target))
    if where is None:
        notes = [
            f"process {head.pid} has no code of a file at {_address(target):#x}: the kernel arms "
            "places of files only"
        ]
        raise PointError("E0231", "no match", target.span, notes=notes)
    path, offset = where
    file = programs.opened(path, target, services)
    address = file.address_of(offset)
    if address is None:
        raise PointError("E0231", "no match", target.span, notes=[f"'{path}' has no code there"])
    if file is not head.file:
        head = Head(head.shown, file, None, head.pid)
        table = services.debuginfo.programs.functions(file)
    services.listing_expires = True  # where things are in a process is of this one
    return _statement(point, target, address, table, head, services)


def _site(point: ProbePoint, head: Head, name: str, address: int, offset: int) -> UprobeSite:
    is_return = any(component.name == "return" for component in point.components)
    optional = point.optional or point.sufficient
    return UprobeSite(head.file, head.program, head.pid, name, address, offset, is_return, optional)


def _print(point: ProbePoint, head: Head, target: str) -> str:
    below = [
        target if component.name in ("function", "statement") else print_component(component)
        for component in point.components[1:]
        if component.name != "library"
    ]
    return ".".join([head.shown, *below])


def _match(point: ProbePoint, target: PointComponent, function: UserFunction, head: Head) -> Match:
    site = _site(point, head, function.name, function.address, function.offset)
    by_number = number_of(target) is not None
    shown = f"{function.address:#x}" if by_number else quote(function.name)
    return Match(_print(point, head, f"function({shown})"), site)


def _needs_debuginfo(asking: PointComponent, head: Head, services: Services) -> PointError:
    what = {"function": "a pattern with '@file'", "statement": "a statement probe"}.get(
        asking.name, f".{asking.name}"
    )

    def tell(error: PointError) -> None:
        error.hint = programs.missing_hint(services.debuginfo.programs, head.file)

    notes = [f"{what} needs debug information of '{head.file.path}', which stapy does not read yet"]
    return PointError("E0233", "no match", asking.span, notes=notes, explain=tell)


def _no_match(
    target: PointComponent, table: FunctionTable, head: Head, services: Services
) -> PointError:
    pattern = text_of(target)
    notes = [f"no function of '{head.file.path}' matches '{pattern}'"]
    if not table.complete:
        notes.append(f"the file is stripped: only exported names are known ({table.source})")

    def similar(error: PointError) -> None:
        near = table.nearest(pattern, 3)
        if near:
            error.message = f"no match (similar functions: {', '.join(near)})"
            error.hint = "did you mean " + " or ".join(f"'{name}'" for name in near[:2]) + "?"
        elif not table.complete:
            error.hint = programs.missing_hint(services.debuginfo.programs, head.file)

    return PointError("E0231", "no match", target.span, notes=notes, explain=similar)


def _warn_of_choosers(
    target: PointComponent, functions: list[UserFunction], services: Services
) -> None:
    """Functions that are chosen at load time: what has the name is who chooses."""
    for function in functions:
        if function.is_indirect:
            services.diagnostics.warning(
                "W0690",
                f"'{function.name}' is chosen when a program is loaded",
                target.span,
                where="this is hit when it is chosen, not when it is called",
                notes=["the processor decides which of several functions is used (STT_GNU_IFUNC)"],
            )
            return


FAMILY = Uprobe()
