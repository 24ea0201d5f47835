"""The program that -c starts, or that runs in -x, beside the programs that a script probes.

Where a machine has several of a name (Python of the distribution and one of pyenv), points may be
of one and the command of another: nothing is hit then, and nothing else would say why.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from stapy import arch
from stapy.cache import Cache
from stapy.debuginfo import view
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.user import libraries, processes, sdt, search
from stapy.debuginfo.user.programs import Programs
from stapy.record import Record
from stapy.run.elf import ModuleFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stapy.options import Options
    from stapy.session.messages import PassMessages

# Languages whose programs and libraries have numbers in their names: one may be meant by another.
_LANGUAGES = {"python": "python", "ruby": "ruby", "php": "php", "jvm": "java", "java": "java"}
_KNOWN = frozenset(_LANGUAGES.values())
_NUMBERED = re.compile(r"(?:lib)?([a-z]+)[-.\d]*")
_SHARED = {"/", "/usr", "/usr/local"}  # folders whose programs have nothing else in common
_DELETED = " (deleted)"
_LONGEST = 40  # letters of a command's arguments that a hint has
_SCRIPT = 1 << 16  # letters of a script that are looked through
_TOLD = 2  # files that a message names


class _Started(Record):
    """What the command runs: ``files`` are the program and, where it is a script, what runs it.

    The last of them is the process's program.  ``loaded`` are libraries; ``how`` is the option.
    """

    how: str
    files: list[str]
    loaded: list[str]
    name: str  # as the command, or the process itself, has it


def warn_of_other(session: PassMessages, module: Path) -> None:
    """Warn when the command's program has the name of probed ones, and is none of them."""
    options = session.options
    if options.elsewhere or not view.is_ours() or (options.command is None and not options.target):
        return
    probed = list(ModuleFile(str(module)).manifest().get("files") or {})
    started = _started(options) if probed else None
    if started is None:
        return
    names = {_meant(name) for name in (*started.files, started.name)}
    others = [path for path in probed if _meant(path) in names]
    if not others or _runs_one_of(started, others) or _names_one_of(started, others):
        return
    more = ", …" if len(others) > _TOLD else ""
    shown = ", ".join(f"'{path}'" for path in others[:_TOLD])
    points = f"the script's points are of {shown}{more}"
    session.warn_here(
        "W0699",
        f"{started.how} '{started.files[0]}', which is not the program that is probed",
        notes=[points, *_more(started)],
        hint=_way_out(options, started, others),
    )


def _started(options: Options) -> _Started | None:
    """Find what -c or -x means; None where only a shell, or a guest, knows."""
    if options.command is not None:
        path = search.of_command(options.command)
        if path is None:
            return None
        files, word = search.runners(path), search.first_word(options.command) or path
        return _Started("-c starts", files, _linked(files[-1]), word)
    pid = options.target or 0
    path = None if options.vm else processes.of_process(pid)
    if path is None:
        return None
    loaded = [own for _, own in processes.libraries_of(pid)]
    return _Started(f"process {pid} runs", [path], loaded, _name_of_process(pid))


def _name_of_process(pid: int) -> str:
    """Read how a process names its program, whose file may be another one by now."""
    try:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(_DELETED)  # noqa: PTH115
    except OSError:
        return ""


def _linked(path: str) -> list[str]:
    """List the libraries that a program is loaded with, none for what cannot be read."""
    programs = Programs(Cache(Path(), is_enabled=False), lambda _: None, arch.host() or arch.X86_64)
    try:
        return libraries.loaded_with(programs, programs.open(path))
    except DebuginfoError:
        return []


def _meant(path: str) -> str:
    """Tell what a file's name says that it is: ``libpython3.11.so.1.0`` and ``python3`` alike."""
    name = path.rpartition("/")[2]
    found = _NUMBERED.fullmatch(name.partition(".so")[0])
    return _LANGUAGES.get(found[1], name) if found else name


def _runs_one_of(started: _Started, probed: list[str]) -> bool:
    """Tell whether one of the probed files is the program, or a library that it loads."""
    program = Path(started.files[-1])
    own = str(program.parent.parent) if program.parent.name == "bin" else "/"
    known = {_identity(path) for path in (*started.files, *started.loaded)}
    return any(
        _identity(path) in known
        # What a program loads when it runs lies beside it, as Java's libjvm.so does.
        or (".so" in path and own not in _SHARED and path.startswith(own + "/"))
        for path in probed
    )


def _names_one_of(started: _Started, probed: list[str]) -> bool:
    """Tell whether the command is a script that names one of the probed files, as wrappers do."""
    if len(started.files) < 2:
        return False
    try:
        with Path(started.files[0]).open(encoding="utf-8", errors="replace") as script:
            text = script.read(_SCRIPT)
    except OSError:
        return False
    return any("/".join(path.split("/")[-2:]) in text for path in probed)


def _identity(path: str) -> object:
    try:
        status = Path(path).stat()
    except OSError:
        return path
    return status.st_dev, status.st_ino


def _more(started: _Started) -> list[str]:
    """Say what else explains it: who runs a script, a file that is no more."""
    if len(started.files) > 1:
        runner = started.files[-1]
        return [f"it is a script of {runner}: what that starts is not known before it runs"]
    if started.files[0].startswith("/proc/"):
        return [f"its file, {started.name}, was replaced or deleted, or is of another root"]
    # The C library has marks as well: those of the language are meant.
    own = [path for path in (*started.files, *started.loaded) if _meant(path) in _KNOWN]
    if own and not any(map(sdt.may_have_marks, own)):
        return ["it has no marks, which points of python, ruby, php and hotspot are"]
    return []


def _way_out(options: Options, started: _Started, probed: Iterable[str]) -> str:
    """Advise which program to start, or to probe."""
    programs = [path for path in probed if ".so" not in path]
    if options.command is None:
        return f"process({options.target}) in the script means the file that it runs"
    if not programs:
        return "start the program that these libraries are of, by its path"
    rest = options.command.lstrip().removeprefix(started.name)
    command = programs[0] + (rest if len(rest) <= _LONGEST else " …")
    return f"-c {shlex.quote(command)} starts one that is probed"
