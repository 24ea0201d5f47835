"""Debug registers and counters that follow the threads of processes.

``process….data(ADDRESS or "SYMBOL").write``, ``.rw``: memory of a program that is watched;
``perf.type(T).config(C).process("PATH")``: events of processes, also as counters for ``@perf``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import view
from stapy.debuginfo.glob import has_wildcard
from stapy.debuginfo.user import processes, search
from stapy.debuginfo.user.file import UserFileError
from stapy.diagnostics import Label
from stapy.diagnostics.suggest import nearest
from stapy.ir.literals import quote_name
from stapy.probes import program_paths, programs
from stapy.probes.families import perf
from stapy.probes.families.process import of_program
from stapy.probes.families.watchpoint import (
    LENGTHS,
    check_alignment,
    check_machine,
    length_of,
)
from stapy.probes.family import (
    Form,
    Match,
    PointError,
    Reviewed,
    Row,
    forms,
    number_of,
    print_component,
    text_of,
)
from stapy.record import Record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stapy.debuginfo.user.datasymbols import DataSymbol, DataSymbols
    from stapy.debuginfo.user.file import UserFile
    from stapy.ir.program import DerivedProbe, Expr
    from stapy.ir.scope import TargetScope
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.services import Services

_LOWEST_MOVED = 1 << 32  # nothing of a program that is moved (PIE) lies lower
_END = 1 << 47  # of the addresses that programs have
_SCOPES = ("process", "process(string)", "process(number)")
_DATA = tuple(
    f"data({kind}){length}.{access}"
    for kind in ("number", "string")
    for length in ("", ".length(number)")
    for access in ("write", "rw")
)
_EVENT = "perf.type(number).config(number)"


_TOLD = 4  # variables of a pattern that are told of: as many as there are registers


class TaskEventSite(Record):
    """Whose threads (see `ProcessSite`), and what is watched, or counted (``event``).

    ``file`` is the program's, where ``address`` is one that it was linked with; ``size`` is what
    ``variable`` takes there of which ``length`` bytes are watched because no length was asked for.
    """

    user_file: str | None
    pid: int
    optional: bool
    file: UserFile | None = None
    address: int = 0
    length: int = 0
    size: int = 0
    variable: str = ""
    reads: bool = False
    event: perf.PerfSite | None = None

    @property
    def processes(self) -> tuple[object, ...]:
        """Whose processes are meant; equal for sites of which the runtime makes no difference."""
        return programs.whose(self.pid, self.user_file)

    @property
    def user_files(self) -> dict[str, str]:
        """The file that the consumer must open: this build of it, if it has the address."""
        if self.file is not None:
            return {view.there(self.file.path): programs.identity(self.file)}
        return {view.there(self.user_file): ""} if self.user_file else {}

    @property
    def counter(self) -> str:
        """What ``@perf`` asks for; "" for what is hit."""
        return self.event.counter if self.event is not None else ""


class TaskEventFamily:
    """The family of events of threads."""

    name = "taskevent"
    forms: list[Form] = forms(
        *(f"{scope}.{data}" for scope in _SCOPES for data in _DATA),
        *(f"{_EVENT}.{scope}" for scope in _SCOPES[:2]),
        *(f"{_EVENT}.{scope}.counter(string)" for scope in _SCOPES[:2]),
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Make one site, or one for each variable of a pattern, or raise `PointError`.

        What a symbol means is known when a process runs the program.
        """
        found = {component.name: component for component in point.components}
        optional = point.optional or point.sufficient
        if "config" in found:
            return [self._event(point, found, optional, services)]
        first, data = found["process"], found["data"]
        check_machine(data, services)
        length = length_of(found.get("length"))
        number = number_of(data)
        below = [print_component(component) for component in point.components[1:]]
        site = TaskEventSite(None, 0, optional, length=length, reads="rw" in found)
        if number is None:
            return [
                Match(".".join([head.shown, f"data({quote_name(name)})", *below[1:]]), place)
                for head, name, place in self._variables(site, data, point, found, services)
            ]
        if not 0 < number < _END:
            raise PointError(
                "E0234",
                f"{number & (2**64 - 1):#x} is no address of a program",
                data.span,
                hint="kernel.data(ADDRESS) watches memory of the kernel",
            )
        check_alignment(number, length, data)
        site.address = number
        shown = self._whose(site, first, services)
        file = _linked_at(site, number, data, services)
        if file is not None:
            site.file, site.user_file = file, str(file.path)
        return [Match(".".join([shown, *below]), site)]

    @staticmethod
    def _whose(site: TaskEventSite, first: PointComponent, services: Services) -> str:
        """Note in the site whose threads are watched; return how that is printed.

        Raises `PointError` when nothing says whose.
        """
        pid = number_of(first)
        if pid is not None:
            site.pid = program_paths.living(pid, first, services)
            return f"process({pid})"
        if first.arg is not None:
            site.user_file = program_paths.run_by(first, services, optional=site.optional)
            return f"process({quote_name(view.shown(site.user_file))})"
        options = services.options
        if options.command is None and not options.target:
            raise PointError(
                "E0231",
                "process needs a program here",
                first.span,
                notes=["neither -c nor -x says whose memory is meant"],
                hint='name it: process("PATH")',
            )
        return "process"

    @staticmethod
    def _variables(
        site: TaskEventSite,
        data: PointComponent,
        point: ProbePoint,
        found: dict[str, PointComponent],
        services: Services,
    ) -> list[tuple[programs.Head, str, TaskEventSite]]:
        """Find variables of programs, with the names that they are printed by.

        Without a length each is watched as a whole, if it can be. Raises `PointError` when there is
        none.
        """
        pattern = text_of(data)
        places = []
        last = None
        for head in programs.each_head(point, services):
            last = head
            variables = _found(pattern, head.file, data, services)
            if not variables and head.is_one_of_many:
                services.debuginfo.programs.forget(head.file)
            for variable in variables:
                address, size = variable.address, variable.size
                length = site.length
                if "length" not in found:
                    length = [n for n in LENGTHS if n <= max(size, 1) and address % n == 0][-1]
                check_alignment(address, length, data)
                one = replace(
                    site,
                    address=address,
                    length=length,
                    size=0 if "length" in found else size,
                    variable=variable.shown,
                    file=head.file,
                    user_file=str(head.file.path),
                    pid=head.pid,
                )
                shown = variable.shown if has_wildcard(pattern) else pattern
                places.append((head, shown, one))
        if not places and last is not None:
            raise _no_match(pattern, last.file, data, services)
        return places

    def _event(
        self,
        point: ProbePoint,
        found: dict[str, PointComponent],
        optional: bool,
        services: Services,
    ) -> Match:
        site = TaskEventSite(None, 0, optional, event=perf.site_of(found))
        first = found["process"]
        if first.arg is None:
            site.user_file = program_paths.of_target(first, services)
            shown = f"process({quote_name(view.shown(site.user_file))})"
        else:
            shown = self._whose(site, first, services)
        words = [
            shown if component is first else print_component(component)
            for component in point.components
        ]
        return Match(".".join(words), site)

    @staticmethod
    def review(probes: Sequence[Reviewed], services: Services) -> None:
        """Warn of variables watched in part, and of more places than there are registers."""
        for probe in probes:
            cut = [site for site in probe.sites if site.size > site.length]
            for site in cut[:_TOLD]:
                services.diagnostics.warning(
                    "W0694",
                    f"of the {site.size} bytes of '{site.variable}' the first {site.length} are "
                    "watched",
                    probe.span,
                    hint=".data(ADDRESS) with .length(N) watches other ones",
                    notes=[f"{len(cut) - _TOLD} more variables are watched in part"]
                    if len(cut) > _TOLD
                    else [],
                )
        registers = services.machine.watchpoints
        numbers: dict[tuple[str | None, int], int] = {}
        for probe in probes:
            for site in probe.sites:
                whose = (site.user_file, site.pid)
                numbers[whose] = numbers.get(whose, 0) + bool(site.length)
                if site.length and numbers[whose] > registers:
                    services.diagnostics.warning(
                        "W0609",
                        f"too many hardware breakpoint probes: {registers} debug registers for "
                        "each thread",
                        probe.span,
                        where="no register is left for this one",
                        labels=[Label(probes[0].span, "the first one")],
                    )
                    return

    def scope(self, site: TaskEventSite, services: Services) -> TargetScope | None:
        """Describe types and variables of the program, if there is one.

        There are no context variables.
        """
        return of_program(site.user_file, services) if site.user_file else None

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of ``struct stapy_taskevent_row``."""
        return [
            {
                "point": point,
                "file": view.there(site.user_file) if site.user_file else None,
                "pid": site.pid,
                "optional": site.optional,
                "length": site.length,
                "reads": site.reads,
                "linked": site.file is not None,
                "address": site.address,
                "code": site.file.code_start if site.file is not None else 0,
                **(perf.fields(site.event) if site.event is not None else {}),
            }
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


def _linked_at(
    site: TaskEventSite, address: int, data: PointComponent, services: Services
) -> UserFile | None:
    """Find the program that was linked with something at an address, when it runs elsewhere.

    Where such a program is, a process has nothing: the kernel keeps low addresses free. Returns
    None for an address of the process itself; raises `PointError` when the program has nothing
    there.
    """
    path = site.user_file
    if path is None and not site.pid and services.options.command is not None:
        path = search.of_command(services.options.command)
    elif path is None and not services.options.vm:
        path = processes.of_process(site.pid or services.options.target or 0)
    if path is None:
        return None
    try:
        file = services.debuginfo.programs.open(path)
    except UserFileError:
        return None
    if file.is_fixed or address >= _LOWEST_MOVED:
        return None
    if file.has_address(address):
        return file
    raise PointError(
        "E0234",
        f"'{file.path}' has nothing at {address:#x}",
        data.span,
        hint="addresses are those that the program was linked with, as nm prints them, or those "
        "of a living process (/proc/PID/maps)",
    )


def _found(
    pattern: str, file: UserFile, data: PointComponent, services: Services
) -> list[DataSymbol]:
    """Find variables of a file; `PointError` for several of one name without a pattern."""
    known = services.debuginfo.programs.data(file)
    found = known.matching(pattern)
    if not found and "@" in pattern and not has_wildcard(pattern):
        found = _by_debuginfo(pattern, file, known, services)
    if len(found) > 1 and not has_wildcard(pattern):
        names = [quote_name(row.shown) for row in found if row.source]
        raise PointError(
            "E0231",
            f"'{file.path}' has {len(found)} variables '{pattern}'",
            data.span,
            notes=["they are static in files of their own"],
            hint=f"write .data({names[0]})" + (f" or .data({names[1]})" if names[1:] else "")
            if names
            else ".data(ADDRESS) means one of them, as nm prints it",
        )
    return found


def _by_debuginfo(
    name: str, file: UserFile, known: DataSymbols, services: Services
) -> list[DataSymbol]:
    """Find the variable of a source file by DWARF: tables have files of static ones only."""
    from stapy.probes.values import programs as variables
    from stapy.probes.values.numbers import const

    places: list[int] = []

    def where(address: int) -> Expr:
        places.append(address)
        return const(address)

    variables.statics(str(file.path), where, services)(name)
    return [row for row in known.variables if row.address in places][:1]


def _no_match(pattern: str, file: UserFile, data: PointComponent, services: Services) -> PointError:
    known = services.debuginfo.programs.data(file)
    name, _, source = pattern.partition("@")
    hint = ""
    if name in known.thread_local:
        note = f"'{name}' is thread-local: each thread has one of its own"
        hint = "process(PID).data(ADDRESS) watches the one at an address"
    elif name in known.functions:
        note = f"'{name}' is a function of '{file.path}', and no data"
        hint = f".function({quote_name(name)}) is hit by its calls"
    elif source and name in known.names:
        own = [row.shown for row in known.variables if row.name == name and row.source]
        note = f"'{file.path}' has a variable '{name}', but not of '{source}'"
        hint = f".data({quote_name(own[0] if own else name)}) is the one that it has"
    elif name in known.elsewhere:
        note = f"'{name}' is defined in another file, a library; '{file.path}' only uses it"
        hint = "process(PID).data(ADDRESS) watches where it lies in a process"
    elif not known.variables:
        note = f"the tables of symbols of '{file.path}' have no variables"
        hint = programs.missing_hint(services.debuginfo.programs, file)
    else:
        note = f"'{file.path}' has no variable '{pattern}' in its tables of symbols"

    def similar(error: PointError) -> None:
        near = nearest(name, known.names, 3)
        if near and not error.hint:
            error.message = f"no match (similar symbols: {', '.join(near)})"
            error.hint = f"did you mean '{near[0]}'?"

    return PointError("E0231", "no match", data.span, notes=[note], hint=hint, explain=similar)


FAMILY = TaskEventFamily()
