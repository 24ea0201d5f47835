"""``process.begin``, ``.end``, ``.thread.begin``, ``.thread.end``, ``.syscall[.return]``.

Below ``process`` alone (all user processes; with ``-c`` and ``-x`` those of the target),
``process("PATH")`` (those that run a file) or ``process(PID)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.ir.literals import quote_name
from stapy.probes import programs
from stapy.probes.family import Form, Match, Row, forms, number_of
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.ir.scope import TargetScope
    from stapy.parse.nodes import ProbePoint
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


class ProcessSite(Record):
    """One event of all processes, of those that run ``user_file`` or of the process ``pid``."""

    event: str
    user_file: str | None
    pid: int
    optional: bool

    @property
    def user_files(self) -> dict[str, str]:
        """The file that the consumer must open; whatever build it is."""
        return {self.user_file: ""} if self.user_file else {}


class Process:
    """The family of what happens to processes."""

    name = "process"
    unprivileged = True  # the runtime shows unprivileged users their own processes only
    forms: list[Form] = forms(
        *(f"process{which}.{event}" for which in ("", "(string)", "(number)") for event in EVENTS)
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """One site; the point is printed with the program's path without links."""
        first = point.components[0]
        event = ".".join(component.name for component in point.components[1:])
        file, pid = None, 0
        if first.arg is None:
            head = "process"
        elif (number := number_of(first)) is not None:
            pid = programs.living(number, first, services)
            head = f"process({pid})"
        else:
            file = programs.path_of(first)
            head = f"process({quote_name(file)})"
        optional = point.optional or point.sufficient
        return [Match(f"{head}.{event}", ProcessSite(event, file, pid, optional))]

    def scope(self, site: ProcessSite, services: Services) -> TargetScope | None:
        """``$syscall`` with ``$arg1`` … ``$arg6`` and ``$$parms``, or with ``$return``."""
        if not site.event.startswith("syscall"):
            return None
        from stapy.debuginfo import ctypes
        from stapy.diagnostics import NOWHERE
        from stapy.ir.program import LONG, ContextValue
        from stapy.ir.scope import TargetScope, TargetVariable

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
            "kernel",
            variables,
            groups,
            missing="of a system call there are $syscall, $arg1 to $arg6 and $$parms, and "
            "$syscall and $return when it returns",
            key=site.event,
        )

    def rows(self, probe: Any, first_site: int) -> list[Row]:
        """Rows of ``struct stapy_process_row``."""
        return [
            {
                "point": point,
                "event": EVENTS[site.event],
                "file": site.user_file,
                "pid": site.pid,
                "optional": site.optional,
            }
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


FAMILY = Process()
