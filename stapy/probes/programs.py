"""What ``process("PATH")``, ``process(PID)``, ``process`` and ``.library("LIB")`` mean: files."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from stapy.debuginfo import view
from stapy.debuginfo.elf import SHT_NOBITS
from stapy.debuginfo.user import processes, search
from stapy.debuginfo.user.file import UserFileError
from stapy.debuginfo.user.packages import install_hint
from stapy.diagnostics.suggest import nearest
from stapy.ir.literals import quote_name
from stapy.probes.family import PointError, Row, number_of, text_of
from stapy.probes.program_paths import (
    living,
    of_target,
    path_of,
    warn_of_stand_in,
    what_is_at,
)
from stapy.record import Record
from stapy.terminal import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stapy.debuginfo.user.file import UserFile
    from stapy.debuginfo.user.programs import Programs
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.services import Services

_TOLD_AFTER = 100  # files, of which one may take 10 milliseconds


class ProgramSite(Record):
    """A place of a program's file; ``program`` and ``pid`` say whose processes (see `Head`)."""

    file: UserFile
    program: str | None
    pid: int
    optional: bool

    @property
    def place_offset(self) -> int:
        """Where the place that is meant is in the file."""
        raise NotImplementedError

    @property
    def processes(self) -> tuple[object, ...]:
        """Whose processes are meant; equal for sites of which the runtime makes no difference."""
        return whose(self.pid, self.program)

    @property
    def user_files(self) -> dict[str, str]:
        """Paths of the files that the consumer must open, with what they are told by.

        The program that processes must run may be of any build.
        """
        own = {view.there(self.file.path): identity(self.file)}
        return {view.there(self.program): "", **own} if self.program else own

    def row(
        self,
        point: str,
        offset: int,
        *,
        counter: int = 0,
        is_return: bool = False,
        callers: list[int] | None = None,
        distance: int = 0,
    ) -> Row:
        """Make the row of ``struct stapy_uprobe_row`` that arms an offset of the file.

        ``distance`` is how far behind the place that is meant the breakpoint lies.
        """
        return {
            "point": point,
            "file": view.there(self.file.path),
            "program": view.there(self.program) if self.program else None,
            "pid": self.pid,
            "offset": offset + distance,
            "distance": distance,
            "counter": counter,
            "is_return": is_return,
            "optional": self.optional,
            "slot_bytes": 0,
            "callers": [*callers] if callers else None,
        }


class Head(Record):
    """A file whose places are meant, and whose processes.

    ``shown`` is how the point begins when it is printed.  ``program`` is the path
    of the file that processes must run (None: all that map the file), ``pid`` the
    number of the only process (0: all).  ``is_one_of_many`` is True for what a pattern of paths
    matched: without a match in it, the file is let go of (`Programs.forget`).  ``script`` is
    what was named, where that is a script and the file the program that runs it.
    """

    shown: str
    file: UserFile
    program: str | None
    pid: int
    is_one_of_many: bool = False
    script: str = ""

    def notes(self) -> list[str]:
        """List what to say of the file when it does not have what is looked for."""
        if not self.script:
            return []
        notes = [f"'{self.script}' is a script, which this program runs"]
        name = self.script.rpartition("/")[2]
        other = search.program_behind(name)
        if other is not None:
            means = f"process({quote_name(view.shown(other))})"
            # A script that was named by its path need not be what $PATH has first.
            where = "behind it in $PATH" if search.program(name) == self.script else "in $PATH"
            notes.append(f"{where} is a program that is called {name}, too: {means}")
        return notes

    def warn(self, point: ProbePoint, services: Services) -> None:
        """Warn of a script that stands for a program of its name, when something was found."""
        if self.script:
            warn_of_stand_in(self.script, point.components[0], services)


def heads(
    point: ProbePoint, services: Services, holds: Callable[[str], bool] | None = None
) -> list[Head]:
    """List the files that a point means, with the arguments of `each_head`."""
    return list(each_head(point, services, holds))


def each_head(
    point: ProbePoint, services: Services, holds: Callable[[str], bool] | None = None
) -> Iterator[Head]:
    """Yield the files that a point means, one by one; `PointError` when there is none.

    ``holds`` tells quickly of a path whether the file has what is looked for: of the files that a
    pattern matches, others are not opened.
    """
    first = point.components[0]
    library = next((row for row in point.components if row.name == "library"), None)
    if library is None:
        yield from _tops(first, services, holds)
        return
    tops = list(_tops(first, services, None))
    # What a process has loaded, and from where, is only known by looking at it.
    pid = tops[0].pid
    options = services.options
    if first.arg is None and options.command is None and not options.vm:
        pid = options.target or 0
    below = [head for top in tops for head in _libraries(top, pid, library, services)]
    if not below:
        raise _no_library(tops, pid, library, services)
    yield from below


def _tops(
    first: PointComponent, services: Services, holds: Callable[[str], bool] | None
) -> Iterator[Head]:
    """Yield the files of a process component, or raise `PointError`."""
    number = number_of(first)
    if number is not None:
        pid = living(number, first, services)
        if services.options.vm:
            notes = ["the processes of a guest are not known here"]
            raise PointError("E0231", f"cannot probe pid {pid}", first.span, notes=notes)
        path = processes.of_process(pid)
        if path is None:
            message = f"cannot probe pid {pid}: its program cannot be read"
            raise PointError("E0231", message, first.span)
        yield Head(f"process({pid})", opened(path, first, services), None, pid)
        return
    script = _script(first)
    for file, is_one_of_many in _files(first, services, holds):
        shown = f"process({quote_name(view.shown(file.path))})"
        yield Head(shown, file, None, 0, is_one_of_many, script)


def _script(component: PointComponent) -> str:
    """Return the path of the script that ``process("NAME")`` names, "" for what is none."""
    name = text_of(component) if component.arg is not None else ""
    path = search.program(name) if name else None
    return path if path is not None and search.interpreter(path) else ""


def opened(path: str, component: PointComponent, services: Services) -> UserFile:
    """Open a program's file; raises `PointError` for what cannot be probed."""
    try:
        file = services.debuginfo.programs.open(path)
    except UserFileError as error:
        raise PointError(
            "E0231",
            f"cannot probe: {error}",
            component.span,
            hint=error.hint or search.near_path(path),
            is_of_file=True,
        ) from None
    code = file.elf.section(".text")
    if code is not None and code.type == SHT_NOBITS:
        raise PointError(
            "E0231",
            f"cannot probe: '{path}' is a debug file, which has no code",
            component.span,
            hint="name the program that it belongs to: its debug file is found by build-id",
            is_of_file=True,
        )
    return file


def no_program_matches(pattern: str, component: PointComponent) -> PointError:
    """Make the error for a pattern that no program has the name of."""
    notes = [f"no program matches '{pattern}'{view.place()}"]
    hint = install_hint(pattern)
    return PointError("E0231", "no match", component.span, notes=notes, hint=hint)


def _files(
    component: PointComponent, services: Services, holds: Callable[[str], bool] | None
) -> Iterator[tuple[UserFile, bool]]:
    """Yield the programs of ``process("NAME")`` and ``process`` alone; True for one of many."""
    if component.arg is None:
        yield opened(of_target(component, services), component, services), False
        return
    name = text_of(component)
    if search.is_pattern(name) and not view.exists(view.real(name)):
        yield from _matching(name, component, services, holds)
        return
    path = search.code_of(name) or path_of(component)
    kind = what_is_at(path)
    if kind:
        raise PointError("E0231", f"cannot probe '{path}': it is {kind}", component.span)
    yield opened(path, component, services), False


def _matching(
    pattern: str,
    component: PointComponent,
    services: Services,
    holds: Callable[[str], bool] | None,
) -> Iterator[tuple[UserFile, bool]]:
    """Yield the programs that a pattern of paths means; `PointError` when there is none.

    They are opened as they are asked for; True is for one of many.
    """
    paths = search.programs(pattern)
    is_one_of_many = len(paths) > 1
    any_found = told = False
    for number, path in enumerate(paths):
        if holds is not None and is_one_of_many and not holds(path):
            continue
        if holds is None and number and number % _TOLD_AFTER == 0:  # each is read as a whole
            progress.tell(f"looking into files that match {pattern}: {number} of {len(paths)}")
            told = True
        try:
            file = opened(path, component, services)
        except PointError:
            if not is_one_of_many:
                raise  # it says what the file is
            continue  # of another machine
        any_found = True
        yield file, is_one_of_many
    if told:
        progress.clear()
    if not any_found and paths and holds is not None:
        notes = [f"none of the {len(paths)} files that match '{pattern}' has any"]
        raise PointError("E0231", "no match", component.span, notes=notes)
    if not any_found:
        raise no_program_matches(pattern, component)


def whose(pid: int, program: str | None) -> tuple[object, ...]:
    """Say whose processes a site means: that one, those that run the program, or all."""
    return ("pid", pid) if pid else ("program", program) if program else ("all",)


def _libraries(top: Head, pid: int, component: PointComponent, services: Services) -> list[Head]:
    """Find libraries of a program; ``pid`` is a process that runs it, 0 when none is known."""
    from stapy.debuginfo.user import libraries

    known, name = services.debuginfo.programs, text_of(component)
    paths: list[str] = []
    if pid:
        services.listing_expires = True  # what is loaded is of this moment
        paths = libraries.matching_in(known, pid, name)
    if not paths and (not pid or processes.sees_our_files(pid)):
        paths = libraries.matching(known, top.file, name)
    return [
        Head(
            f"{top.shown}.library({quote_name(view.shown(path))})",
            opened(path, component, services),
            None if top.pid else str(top.file.path),
            top.pid,
        )
        for path in paths
    ]


def _no_library(
    tops: list[Head], pid: int, component: PointComponent, services: Services
) -> PointError:
    def similar(error: PointError) -> None:
        from stapy.debuginfo.user import libraries

        programs = services.debuginfo.programs
        if pid:
            paths = {name for name, _ in processes.libraries_of(pid)}
        else:
            paths = {path for top in tops for path in libraries.loaded_with(programs, top.file)}
        names = sorted({path.rpartition("/")[2] for path in paths})
        shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        error.notes.append(f"it is loaded with {shown}" if names else "it is loaded with none")
        near = nearest(text_of(component), names, 2)
        if near:
            error.hint = "did you mean " + " or ".join(f"'{name}'" for name in near) + "?"

    path = str(tops[0].file.path)
    notes = [f"no library of '{path}' matches '{text_of(component)}'"]
    return PointError("E0231", "no match", component.span, notes=notes, explain=similar)


@cache
def identity(file: UserFile) -> str:
    """Compute what tells this build from others; it is checked when a program is opened."""
    if file.build_id:
        return f"build-id:{file.build_id}"
    from hashlib import sha256

    return f"sha256:{sha256(file.elf.data).hexdigest()}"


@cache
def missing_hint(programs: Programs, file: UserFile) -> str:
    """Say which package has the debug information of a file; asking takes a while."""
    return programs.missing_hint(file)
