"""``process.begin``, ``.end``, ``.thread.begin``, ``.thread.end``, ``.syscall[.return]``.

Below ``process`` alone (all user processes; with ``-c`` and ``-x`` those of the target),
``process("PATH")`` (those that run a file) or ``process(PID)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes, view
from stapy.debuginfo.user import processes, search
from stapy.diagnostics import NOWHERE
from stapy.ir.literals import CText, quote_name
from stapy.ir.program import LONG, CallOp, ContextValue, EmbeddedC, EmbeddedValue
from stapy.ir.scope import TargetScope, TargetVariable
from stapy.ir.walk import walk
from stapy.probes import program_paths, programs
from stapy.probes.family import Form, Match, PointError, Row, forms, number_of, text_of
from stapy.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.debuginfo.ctypes import CType
    from stapy.ir.program import DerivedProbe, Expr, Stmt
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.services import Services

# The words behind "process", with the runtime's name of the event.
EVENTS = {
    "begin": "STAPY_PROCESS_BEGIN",
    "end": "STAPY_PROCESS_END",
    "thread.begin": "STAPY_THREAD_BEGIN",
    "thread.end": "STAPY_THREAD_END",
    "syscall": "STAPY_PROCESS_SYSCALL",
    "syscall.return": "STAPY_PROCESS_SYSCALL_RETURN",
}
SYSCALL_ARGUMENTS = 6
# Words of the runtime's arguments: the number of the call, then its arguments or its result.
_NUMBER, _FIRST = 0, 1
_MOST_PROGRAMS = 65535  # of a pattern: the runtime numbers them by two bytes


class ProcessSite(Record):
    """One event of all processes, of those that run ``user_file`` or of the process ``pid``.

    ``pattern`` has matched the file as its ``number``-th of ``count``; None without.
    """

    event: str
    user_file: str | None
    pid: int
    optional: bool
    pattern: str | None = None
    number: int = 0
    count: int = 0

    @property
    def processes(self) -> tuple[object, ...]:
        """Whose processes are meant; equal for sites of which the runtime makes no difference."""
        if self.pattern is not None:
            return "pattern", self.pattern, self.count
        return programs.whose(self.pid, self.user_file)

    @property
    def user_files(self) -> dict[str, str]:
        """The file that the consumer must open; whatever build it is."""
        return {view.there(self.user_file): ""} if self.user_file else {}


class ProcessFamily:
    """The family of what happens to processes."""

    name = "process"
    unprivileged = True  # the runtime shows unprivileged users their own processes only
    forms: list[Form] = forms(
        *(f"process{which}.{event}" for which in ("", "(string)", "(number)") for event in EVENTS)
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Make one site, or one for each program of a pattern, or raise `PointError`.

        The point is printed with the program's path without links.
        """
        first = point.components[0]
        event = ".".join(component.name for component in point.components[1:])
        optional = point.optional or point.sufficient
        file, pid = None, 0
        if first.arg is None:
            head = "process"
        elif (number := number_of(first)) is not None:
            pid = program_paths.living(number, first, services)
            head = f"process({pid})"
        elif search.is_pattern(name := text_of(first)) and not view.exists(view.real(name)):
            return self._matched(name, event, first)
        else:
            file = program_paths.run_by(first, services, optional=optional)
            head = f"process({quote_name(view.shown(file))})"
        return [Match(f"{head}.{event}", ProcessSite(event, file, pid, optional))]

    def _matched(self, pattern: str, event: str, component: PointComponent) -> list[Match]:
        """Make a site for each program that a pattern matches; `PointError` for none.

        One that goes meanwhile is no fault.
        """
        paths = search.programs(pattern)
        if not paths:
            raise programs.no_program_matches(pattern, component)
        if len(paths) > _MOST_PROGRAMS:
            notes = [f"it matches {len(paths)} programs, and {_MOST_PROGRAMS} is the most"]
            raise PointError("E0231", "too many programs", component.span, notes=notes)
        return [
            Match(
                f"process({quote_name(view.shown(path))}).{event}",
                ProcessSite(event, path, 0, True, pattern, number, len(paths)),
            )
            for number, path in enumerate(paths, 1)
        ]

    def scope(self, site: ProcessSite, services: Services) -> TargetScope | None:
        """Describe ``$syscall`` with ``$arg1`` … ``$arg6`` and ``$$parms``, or ``$return``.

        Where it is known which program the process runs, its types and variables are at hand.
        """
        # The handler is one for all programs of a pattern, whose types are not the same.
        path = site.user_file if site.pattern is None else None
        if site.pid and not services.options.vm:
            path = processes.of_process(site.pid)
        if site.event.endswith("end"):
            return _of_ended(path) if path else None
        if not site.event.startswith("syscall"):
            return of_program(path, services) if path else None

        word: ctypes.CType = ctypes.Int("long", 8, True, "signed")

        def variable(name: str, index: int) -> TargetVariable:
            value = ContextValue(NOWHERE, LONG, "trace_arg", index, 8, False)
            return TargetVariable(name, word, value)

        variables = {"$syscall": variable("$syscall", _NUMBER)}
        groups: dict[str, list[str]] = {}
        if site.event == "syscall.return":
            variables["$return"] = variable("$return", _FIRST)
        else:
            names = [f"$arg{at + 1}" for at in range(SYSCALL_ARGUMENTS)]
            for at, name in enumerate(names):
                variables[name] = variable(name, _FIRST + at)
                # $$parms keeps the dollar, as SystemTap prints it.
                variables["$" + name] = variables[name]
            groups["$$parms"] = ["$" + name for name in names]
        return TargetScope(
            path or "kernel",
            variables,
            groups,
            missing="of a system call there are $syscall, $arg1 to $arg6 and $$parms, and "
            "$syscall and $return when it returns",
            key=f"{path}:{site.event}",
            everywhere=_statics(path, services) if path else None,
        )

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of ``struct stapy_process_row``."""
        reads_args = _may_read_arguments(probe.handler.body)
        return [
            {
                "point": point,
                "event": CText(EVENTS[site.event]),
                "file": view.there(site.user_file) if site.user_file else None,
                "pid": site.pid,
                "optional": site.optional,
                "reads_args": reads_args and site.event == "syscall",
                "pattern": site.pattern,
                "program": site.number,
                "programs": site.count,
            }
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


def _may_read_arguments(body: Stmt) -> bool:
    """Tell whether a handler looks at arguments; what is called, and C, may do so unseen."""
    for node in walk(body):
        if isinstance(node, ContextValue) and node.name == "trace_arg":
            return True
        if isinstance(node, (CallOp, EmbeddedC, EmbeddedValue)):
            return True
    return False


def of_program(path: str, services: Services) -> TargetScope:
    """Describe what a process has where nothing is known but the program that it runs."""
    return TargetScope(
        path,
        missing="there are only variables of the whole program here, by @var",
        key=path,
        everywhere=_statics(path, services),
    )


def _of_ended(path: str) -> TargetScope:
    """Describe the program's types: its memory is given back before the end is told."""
    return TargetScope(
        path,
        missing="a process that ends has no memory any more: ask in .begin or in .syscall "
        "(exit_group), and keep the value in a global",
        key=f"{path}:ended",
    )


def _statics(path: str, services: Services) -> Callable[[str], tuple[CType, Expr] | None]:
    """Make what finds variables of a process's program, by where its code begins."""
    from stapy.probes.values import programs as variables
    from stapy.probes.values.numbers import add, const

    def where(address: int) -> Expr:
        start = services.debuginfo.programs.open(path).code_start
        if not start:
            return const(address)
        here = ContextValue(NOWHERE, LONG, "image", 0, 8, False)
        return add(here, address - start)

    return variables.statics(path, where, services)


FAMILY = ProcessFamily()
