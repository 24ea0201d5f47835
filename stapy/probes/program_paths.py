"""From the words of a process component to what they name: a process, the path of a program."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.debuginfo import view
from stapy.debuginfo.user import processes, search
from stapy.debuginfo.user.packages import install_hint, package_of_name
from stapy.diagnostics.suggest import nearest
from stapy.ir.literals import quote_name
from stapy.kernel import roots
from stapy.paths import exists, is_file
from stapy.patterns import compiled_when_used
from stapy.probes.family import PointError, text_of

if TYPE_CHECKING:
    from stapy.parse.nodes import PointComponent
    from stapy.services import Services

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_LAST_BEFORE_RUN = 4  # the pass that makes a module
_BUILD_ID = compiled_when_used(r"[0-9a-f]{40}")


def living(number: int, component: PointComponent, services: Services) -> int:
    """Read the number of a process that lives; a guest's are not known here.

    Raises `PointError` when there is no such process.
    """
    if number <= 0:
        raise PointError("E0212", f"cannot probe pid {number}: Invalid pid", component.span)
    if not services.options.vm and not exists(f"/proc/{number}"):
        raise PointError("E0231", f"cannot probe pid {number}: No such process", component.span)
    return number


def path_of(component: PointComponent) -> str:
    """Find the path of the program that ``process("NAME")`` names, or raise `PointError`."""
    name = text_of(component)
    if not name:
        raise PointError(
            "E0212", "empty module", component.span, hint="name a program, or leave the ('') out"
        )
    if _BUILD_ID().fullmatch(name):
        return _built_as(name, component)
    path = search.program(name)
    if name.startswith("~"):
        raise PointError(
            "E0231",
            f"cannot find executable '{name}'",
            component.span,
            notes=["in a script, nothing but a shell's command line knows '~'"],
            hint=f"write process({quote_name(_at_home(name))})",
        )
    if path is None:
        is_library = ".so" in name and "/" not in name
        notes = ["no folder of $PATH has a program of this name" + view.place()]
        if is_library:
            notes.append(f"no library of this name is in {search.library_places()}")

        def similar(error: PointError) -> None:
            error.hint = install_hint(name)
            if error.hint:
                return
            if view.is_ours() and is_file(name):
                error.hint = f"process({quote_name('./' + name)}) is the one of this folder"
                return
            meant = [row for row in search.library_names() if row.startswith(name + ".so")]
            if meant:
                error.hint = f"process({quote_name(min(meant, key=len))}) is the library"
                return
            known = search.library_names() if is_library else search.commands()
            near = nearest(name, known, 3)
            package = package_of_name(name)
            if near:
                error.hint = "did you mean " + " or ".join(f"'{word}'" for word in near) + "?"
                error.notes += [f"there is a package: apt-get install {package}"] if package else []
            elif package:
                error.hint = f"apt-get install {package}"

        raise PointError(
            "E0231",
            f"cannot find executable '{name}'",
            component.span,
            notes=notes,
            explain=similar,
            is_of_file=True,
        )
    kind = what_is_at(path)
    if kind:
        text = f"cannot probe '{path}': it is {kind}"
        raise PointError("E0231", text, component.span, is_of_file=True)
    return path


def run_by(component: PointComponent, services: Services, *, optional: bool) -> str:
    """Find the program whose processes ``process("NAME")`` means: a script's first line has it.

    One that is not there may come until the module starts, when that is not now. Else it is a
    `PointError`.
    """
    path = path_of(component)
    why = search.unfit(path)
    if why is None:
        warn_of_stand_in(path, component, services)
        return search.interpreter(path) or path
    if view.exists(path) or optional or services.options.last_pass > _LAST_BEFORE_RUN:
        hint = search.near_path(path)
        text = f"cannot probe: {why}"
        raise PointError("E0231", text, component.span, hint=hint, is_of_file=True)
    text = f"there is no program '{path}' here"
    if services.options.message_format != "systemtap" and services.diagnostics.joins(
        text, component.span, "and here"
    ):
        return path
    services.diagnostics.warning(
        "W0693",
        text,
        component.span,
        where="it must be there when the module starts",
        hint=search.near_path(path),
    )
    return path


def warn_of_stand_in(path: str, component: PointComponent, services: Services) -> None:
    """Warn of a script that has the name of a program behind it in ``$PATH``, such as a shim.

    What it starts is what is meant, most of all where another script is run by it.
    """
    scripts = search.runners(path)[:-1]
    name = scripts[-1].rpartition("/")[2] if scripts else ""
    other = search.program_behind(name) if name else None
    if other is None or services.options.listing is not None:
        return
    services.diagnostics.warning(
        "W0689",
        f"'{view.shown(scripts[-1])}' is a script, run by '{search.interpreter(path)}'",
        component.span,
        where="means all that is run by this one",
        hint=f"process({quote_name(view.shown(other))}) is a program that is called {name}",
    )


def _at_home(name: str) -> str:
    try:
        return str(Path(name).expanduser())
    except RuntimeError:  # nobody is called so
        return name.replace("~", "/home/")


def what_is_at(path: str) -> str:
    """Say what is at a path in place of a file; "" for a file, and for what we cannot see."""
    try:
        mode = roots.status(path).st_mode
    except OSError:
        return ""
    if stat.S_ISREG(mode):
        return ""
    return _KINDS.get(stat.S_IFMT(mode), "no regular file")


def _built_as(build_id: str, component: PointComponent) -> str:
    path = search.with_build_id(build_id)
    if path is None:
        raise PointError(
            "E0231",
            f"cannot find a program with build-id {build_id}",
            component.span,
            notes=["no process runs or has loaded one, and no folder of $PATH has it"],
            hint="name it by its path",
            is_of_file=True,
        )
    return path


_NO_WORD = "-c names no program, or has what only a shell understands"


def of_target(component: PointComponent, services: Services) -> str:
    """Find the path of the program that ``-c`` starts or that runs in ``-x``.

    Raises `PointError` when neither says.
    """
    options = services.options
    if options.command is not None:
        path = search.of_command(options.command)
        word = search.first_word(options.command)
        why = f"-c: there is no program '{word}'" if word else _NO_WORD
    elif options.target:
        path, why = processes.of_process(options.target), f"there is no process {options.target}"
        if path is None and exists(f"/proc/{options.target}"):
            why = f"which program process {options.target} runs cannot be read"
            if os.geteuid():
                why += ": it belongs to another user"
    else:
        path, why = None, "neither -c nor -x says whose program is meant"
    if path is None:
        raise PointError(
            "E0231",
            "process needs a program here",
            component.span,
            notes=[why],
            hint='name it: process("PATH")',
        )
    return path
