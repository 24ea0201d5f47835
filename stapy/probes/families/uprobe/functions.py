"""``process….function("PATTERN")`` and its kin: places in user programs, by uprobes.

The kernel arms a place of a file in whatever process maps it. Only places that are known to
begin an instruction are armed: a breakpoint inside of one would change what the program does.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from stapy.debuginfo import view
from stapy.debuginfo.user import mangled, processes
from stapy.debuginfo.user.file import UserFileError
from stapy.debuginfo.user.symbols import UserFunction
from stapy.diagnostics.suggest import nearest
from stapy.ir.literals import quote_name
from stapy.ir.scope import TargetScope
from stapy.probes import armable, programs
from stapy.probes.code import points
from stapy.probes.families.uprobe import chosen, stubs
from stapy.probes.families.uprobe.ground import ProgramGround
from stapy.probes.families.uprobe.site import UprobeSite, lines_of, site_at, text_of_point
from stapy.probes.family import (
    Form,
    Match,
    PointError,
    Row,
    forms,
    number_of,
    only_lines,
    text_of,
)
from stapy.probes.programs import Head
from stapy.record import replace

if TYPE_CHECKING:
    from stapy.debuginfo.user.symbols import FunctionTable
    from stapy.ir.program import DerivedProbe
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.services import Services

WILDCARDS = "*?["
_SCOPES = ("process", "process(string)", "process(number)")
_FUNCTION = (
    *("function(string)", "function(string).call", "function(string).return"),
    *("function(string).exported", "function(string).inline"),
    *("function(string).label(string)", "function(string).callee(string)"),
    *("function(string).callee(string).call", "function(string).callee(string).return"),
    *("function(string).callees", "function(string).callees(number)"),
    *("function(number)", "function(number).call", "function(number).return"),
    *("function(number).exported", "function(number).inline"),
    *("statement(string)", "statement(string).nearest"),
    *("statement(number)", "statement(number).nearest"),
    *("plt", "plt(string)", "plt.return", "plt(string).return"),
)


class UprobeFamily:
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
        """Find every place that the point means in all of its files, or `PointError`."""
        found = {component.name: component for component in point.components}
        matches: list[Match] = []
        failure: PointError | None = None
        for head in programs.each_head(point, services):
            try:
                placed = _places(point, found, head, services)
            except PointError as error:
                # Its traceback would keep the file.
                failure = failure or error.with_traceback(None)
                if head.is_one_of_many:
                    services.debuginfo.programs.forget(head.file)
                continue
            matches += placed
            if "return" in found:
                armable.warn_of_exceptions(found["return"], head.file, services)
            head.warn(point, services)
            armable.warn_of_width(point.components[-1], head, len(placed), services)
        if failure is not None and not matches:
            raise failure
        return matches

    def scope(self, site: UprobeSite, services: Services) -> TargetScope:
        """Describe variables by debug information; tables of symbols have none."""
        from stapy.probes.values import programs as variables
        from stapy.probes.values.operands import moved

        path = str(site.file.path)
        if not site.stub:
            known = variables.scope(site.file, site.address, site.is_return, services, site.place)
            if known is not None:
                return known
        groups: dict[str, list[str]] = {"$$parms": [], "$$vars": [], "$$locals": []}
        if site.is_return:
            groups["$$return"] = []
        missing = f"variables of '{path}' need its debug information; pointer_arg(1), int_arg(2), "
        missing += "returnval() do not"
        if site.stub:
            missing = "a stub has no variables; pointer_arg(1), int_arg(2), returnval() are those "
            missing += "of the function that it calls"
        where = partial(moved, link_address=site.address)
        known_by = services.debuginfo.programs
        return TargetScope(
            path,
            groups=groups,
            texts={"$$name": site.stub} if site.stub else {},
            is_return=site.is_return,
            missing=missing,
            way=None if site.stub else partial(programs.missing_hint, known_by, site.file),
            key=f"{path}:{site.address:#x}:{site.is_return}",
            everywhere=variables.statics(path, where, services),
        )

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of ``struct stapy_uprobe_row``."""
        return [
            site.row(
                point,
                site.offset,
                is_return=site.is_return,
                callers=site.callers,
                distance=site.distance,
            )
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


def _places(
    point: ProbePoint, found: dict[str, PointComponent], head: Head, services: Services
) -> list[Match]:
    if "return" in found:
        armable.check_returns(found["return"], head.file)
    if "plt" in found:
        return stubs.resolve(point, found, head, services)
    target = found.get("statement") or found["function"]
    table = services.debuginfo.programs.functions(head.file)
    if "absolute" in found:
        return [_absolute(point, target, table, head, services)]
    if target.name == "statement" and number_of(target) is not None and "nearest" not in found:
        return [_statement(point, target, _address(target), table, head, services)]
    asking = points.needs_dwarf(point)
    if asking is not None:
        ground = ProgramGround(point, head, services)
        matches = points.resolve(asking, ground)
        ground.warn()
        return matches
    by_dwarf, known, why = _by_dwarf(point, head, services)
    if by_dwarf and not any(char in text_of(target) for char in WILDCARDS):
        return by_dwarf
    try:
        return by_dwarf + _by_symbols(point, found, target, table, head, services, known)
    except PointError as error:
        if not by_dwarf:
            raise why or error from None
        return by_dwarf


def _by_dwarf(
    point: ProbePoint, head: Head, services: Services
) -> tuple[list[Match], set[int], PointError | None]:
    """Find functions by a name or a pattern, also where they are inlined.

    With the addresses of those that are not. Returns none without DWARF, and the error that says
    why none of them is meant, if so.
    """
    ground = ProgramGround(point, head, services, download=False)
    if number_of(ground.target) is not None:
        return [], set(), None
    text = text_of(ground.target)
    answer = ground.places(text)
    if not answer.sites:
        return [], set(), None
    try:
        matches = points.matches(text, answer, ground)
    except PointError as error:  # perhaps tables of symbols have one
        return [], set(), error
    ground.warn()
    return matches, ground.placed, None


def _by_symbols(
    point: ProbePoint,
    found: dict[str, PointComponent],
    target: PointComponent,
    table: FunctionTable,
    head: Head,
    services: Services,
    known: set[int],
) -> list[Match]:
    """Find functions by the tables of symbols, but for those that are ``known`` already.

    Raises `PointError` when there is none.
    """
    if number_of(target) is not None:
        functions = [_at(target, table, head, is_return="return" in found)]
    else:
        functions = _named(text_of(target), table)
    if known:
        functions = [function for function in functions if function.address not in known]
    if known and not functions:
        return []
    if "exported" in found:
        functions = [function for function in functions if function.is_exported]
    if not functions:
        raise _no_match(target, table, head, services)
    is_pattern = number_of(target) is None and any(char in text_of(target) for char in WILDCARDS)
    if "return" in found:
        functions = armable.returnable(functions, table, head.file, found["return"])
    meant: list[UserFunction] = []
    choosers = [] if is_pattern else [row for row in functions if row.is_indirect]
    if choosers:
        functions = chosen.opened(functions, table, head.file)
        meant = functions
        if "return" in found:
            functions = armable.returnable(functions, table, head.file, found["return"])
    places = [(function.name, function.address) for function in functions]
    if choosers:
        places = [(chosen.title(function, choosers), function.address) for function in functions]
    many = is_pattern or bool(choosers)
    taken = armable.accepted(places, head.file, target, services, is_pattern=many)
    functions = [function for function in functions if function.address in taken]
    if choosers:
        chosen.warn(choosers, meant, functions, target, services)
    if only_lines(services) and number_of(target) is None:
        return lines_of(point, head, "function", [function.name for function in functions])
    return [_match(point, target, function, head) for function in functions]


def _named(pattern: str, table: FunctionTable) -> list[UserFunction]:
    """Select functions of a name, or of a pattern: each once, by its best name that matches."""
    found = table.matching(pattern)
    if not found and "::" in pattern:
        every = table.matching("*")
        meant = mangled.matching(pattern, (row.name for row in every))
        found = [row for row in every if row.name in meant]
    if not any(char in pattern for char in WILDCARDS):
        return list({function.address: function for function in reversed(found)}.values())[::-1]
    by_address: dict[int, UserFunction] = {}
    several: dict[int, dict[str, UserFunction]] = {}
    for function in found:
        first = by_address.setdefault(function.address, function)
        if first is not function:
            several.setdefault(function.address, {first.name: first})[function.name] = function
    for address, names in several.items():
        by_address[address] = names[next(name for name in table.aliases(address) if name in names)]
    return list(by_address.values())


def _at(
    target: PointComponent, table: FunctionTable, head: Head, *, is_return: bool
) -> UserFunction:
    """Find the function that an address lies in; raises `PointError` when there is none.

    One whose name was stripped is known where it begins, by what describes its frames. A part of a
    function that the compiler put elsewhere is described as well, and cannot be told from one: it
    has no return address on the stack.
    """
    address = _address(target)
    function = table.at(address)
    if function is None and address in head.file.unwound:
        offset = head.file.code_offset(address)
        if offset is not None and not is_return:
            return UserFunction("", address, offset, 0, 0)
    if function is None:
        notes = [f"{address:#x} lies in no function of '{head.file.path}' that is known"]
        if is_return and address in head.file.unwound:
            notes = [f"whether {address:#x} begins a function or a part of one is not known"]
        if not table.complete and not table.is_damaged:
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
    """Place an instruction by the address the file was linked with, when one begins there.

    Raises `PointError` when none does or it cannot be probed.
    """
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
    name = around.name if around is not None else ""
    texts = {"statement": f"statement({_address(target):#x})"}
    return Match(text_of_point(point, head, texts), site_at(point, head, name, address))


def _absolute(
    point: ProbePoint, target: PointComponent, table: FunctionTable, head: Head, services: Services
) -> Match:
    """Place an address in a process that lives, by the files that it maps, or `PointError`."""
    if not services.options.guru:
        raise PointError(
            "E0214",
            "absolute statement probe in unprivileged script; need stap -g",
            target.span,
            hint="add -g when you are sure about the address",
        )
    where = processes.mapped_at(head.pid, _address(target))
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


def _match(point: ProbePoint, target: PointComponent, function: UserFunction, head: Head) -> Match:
    by_number = number_of(target) is not None
    shown = f"{function.address:#x}" if by_number else quote_name(function.name)
    texts = {"function": f"function({shown})"}
    site = replace(site_at(point, head, function.name, function.address), is_entry=True)
    return Match(text_of_point(point, head, texts), site)


def _no_match(
    target: PointComponent, table: FunctionTable, head: Head, services: Services
) -> PointError:
    pattern = text_of(target)
    notes = [f"no function of '{head.file.path}' matches '{pattern}'", *head.notes()]
    if table.is_damaged:
        notes.append("no name is known: its tables of names cannot be read, as was warned of")
    elif not table.complete:
        notes.append(f"the file is stripped: only exported names are known ({table.source})")

    def similar(error: PointError) -> None:
        from stapy.diagnostics.habits import several_functions

        near = table.nearest(pattern, 3) or _described(pattern, head, services)
        several = several_functions(pattern)
        if several:
            error.hint = several
            return
        if any(stub.name == pattern for stub in services.debuginfo.programs.stubs(head.file)):
            error.notes.append("the program calls it in another file")
            error.hint = (
                f'.plt("{pattern}") probes those calls, '
                f'.library("LIB").function("{pattern}") the function where it is'
            )
        elif other := _linked(pattern, head, services) if head.file.is_library else "":
            error.notes.append(f"'{view.shown(other)}', which it is linked with, has it")
            error.hint = f'process("{other.rpartition("/")[2]}").function("{pattern}") probes it'
        elif near:
            error.message = f"no match (similar functions: {', '.join(near)})"
            error.hint = "did you mean " + " or ".join(f"'{name}'" for name in near[:2]) + "?"
        if table.complete or table.is_damaged:
            return
        way = programs.missing_hint(services.debuginfo.programs, head.file)
        if error.hint:  # the name that was meant may be one of those that are stripped
            error.notes.append("other names are in its debug information, which is not here")
            error.notes += [way] if way else []
        else:
            error.hint = way

    return PointError("E0231", "no match", target.span, notes=notes, explain=similar)


def _linked(name: str, head: Head, services: Services) -> str:
    """Find the library that has a function and that another one is linked with; or "".

    Such as libc.so.6 for what was in libpthread.so.0 before glibc 2.34.
    """
    from stapy.debuginfo.user.libraries import loaded_with

    known = services.debuginfo.programs
    for path in loaded_with(known, head.file):
        try:
            rows = known.functions(known.open(path)).named(name)
        except UserFileError:
            continue
        if any(row.is_exported for row in rows):
            return path
    return ""


def _described(pattern: str, head: Head, services: Services) -> list[str]:
    """Suggest names that DWARF has, of C++ and Rust with what they are in, at most three.

    Of what looks like a call or a member of an object, ``Cart.add(int)``, the name is looked for.
    """
    dwarf = services.debuginfo.programs.dwarf(head.file, download=False)
    if dwarf is None:
        return []
    spelled = re.sub(r"\.|->", "::", pattern.partition("(")[0].rstrip())
    outside, _, last = spelled.rpartition("::")
    found: list[str] = []
    exact = [last] if spelled != pattern and any(dwarf.index.functions(last)) else []
    for name in exact or nearest(last, dwarf.index.similar(last), 3):
        found += [row.qualified for row in dwarf.index.functions(name)]
    inside = [name for name in found if outside and "::" in name]
    return list(dict.fromkeys(inside or found))[:3]


FAMILY = UprobeFamily()
