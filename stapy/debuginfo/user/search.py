"""From the name of a program in a probe point to the file that is meant."""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterator
from glob import escape
from pathlib import Path

from stapy.debuginfo import view
from stapy.debuginfo.elf import open_regular
from stapy.debuginfo.user.linker_cache import by_name, cached, library_folders
from stapy.debuginfo.user.patterns import files_of, matches
from stapy.debuginfo.user.questions import BYTES, remembered
from stapy.diagnostics.suggest import listed, nearest
from stapy.kernel import roots
from stapy.patterns import compiled_when_used
from stapy.run.ground.linker_cache import FOLDERS
from stapy.terminal import progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stapy.debuginfo.user.builds import Builds

_WILDCARDS = "*?["
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")  # the innermost
_SHELL = set("|&;<>(){}\n")  # what only a shell can do with a command
_QUOTED = compiled_when_used(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"")
_VERSION_OF = compiled_when_used(r"-[0-9][0-9.]*$")  # in a name such as libc-2.17.so
_FIRST_LINE = 256  # bytes of a script that the kernel looks at for its interpreter
_TOLD_AFTER = 2000  # files, of which one is looked at in some 20 microseconds
_HOPS = 4  # scripts may be run by scripts


def is_pattern(name: str) -> bool:
    """Tell whether a name has wildcards, or words in braces."""
    return any(char in name for char in _WILDCARDS) or bool(_BRACES.search(name))


def _alternatives(pattern: str) -> Iterator[str]:
    """Yield the patterns that braces stand for, as in a shell: ``/bin/{a,b}*``."""
    found = _BRACES.search(pattern)
    if found is None:
        yield pattern
        return
    for word in found[1].split(","):
        yield from _alternatives(pattern[: found.start()] + word + pattern[found.end() :])


@remembered
def programs(pattern: str) -> list[str]:
    """Find the ELF files that a pattern of paths matches, without links, each file once.

    A pattern without a folder that matches nothing here is one of names: of commands in ``$PATH``,
    and of libraries if it says that it means such (``libruby*.so*``).
    """
    found: dict[tuple[int, int], str] = {}

    names = []
    for one in _alternatives(pattern):
        # One that may be relative.
        here = list(matches(one)) if view.is_ours() else view.matching(one)
        if not here and "/" not in one:
            folders = library_folders() if ".so" in one else list(_folders(None))
            for folder in folders:
                here += view.matching(f"{escape(str(view.shown(folder)))}/{one}")
        names += here

    told = False
    for number, path in enumerate(files_of(names, view.real)):
        if number and number % _TOLD_AFTER == 0:  # a pattern with ** may mean all files there are
            progress.tell(f"looking at files that match {pattern}: {number} of {len(names)}")
            told = True
        try:
            status = roots.status(path)
            if (status.st_dev, status.st_ino) in found or not stat.S_ISREG(status.st_mode):
                continue
            with open_regular(Path(path)) as file:
                if file.read(4) == b"\x7fELF":
                    found[status.st_dev, status.st_ino] = path
        except OSError:
            continue
    if told:
        progress.clear()
    return list(found.values())


@remembered
def interpreter(path: str) -> str | None:
    """Find the program that runs a script by its first line, None for what is no script."""
    seen = path
    for _ in range(_HOPS):
        line = _first_line(seen)
        if line is None:
            return None if seen == path else seen
        found = _named_in(line)
        if found is None:
            return None
        seen = found
    return None


def runners(path: str) -> list[str]:
    """List a program, what runs it where it is a script, and what runs that where that is one."""
    found = [path]
    while len(found) <= _HOPS:
        line = _first_line(found[-1])
        runner = None if line is None else _named_in(line)
        if runner is None:
            break
        found.append(runner)
    return found


def _named_in(line: str) -> str | None:
    """Find the program that a script's first line names; None for one that is not there."""
    words = line.split()
    if words and words[0].rpartition("/")[2] == "env":
        names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        found = program(names[0]) if names else None
    else:
        found = program(words[0]) if words else None
    return found if found is not None and view.exists(found) else None


@remembered
def unfit(path: str) -> str | None:
    """Say why nobody runs a file; None for a program, a script, what we may not read."""
    try:
        with open_regular(path) as file:
            if file.read(4) == b"\x7fELF" or interpreter(path):
                return None
    except PermissionError:
        return None
    except OSError as error:
        return f"{path}: {os.strerror(error.errno or 0)}"
    line = _first_line(path)
    if line is not None:
        return f"'{path}' is a script, run by '{line.strip()}', which is not there"
    return f"'{path}' is no ELF file"


def _first_line(path: str) -> str | None:
    try:
        with open_regular(path) as file:
            head = file.read(_FIRST_LINE)
    except OSError:
        return None
    if head[:2] != b"#!":
        return None
    return head[2:].partition(b"\n")[0].decode(*BYTES)


def first_word(command: str) -> str | None:
    """Return the program that a command line names first; None where only a shell knows."""
    if _SHELL & set(_QUOTED().sub("", command)):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if not words or set("$`*?[~=") & set(words[0]):
        return None
    return words[0]


def of_command(command: str) -> str | None:
    """Find the program that a command line begins with; None without one, or by a shell only."""
    word = first_word(command)
    return own_program(word) if word else None


@remembered
def program(name: str) -> str | None:
    """Call `find` for the folders of ``$PATH``; the answer is remembered."""
    return find(name)


def program_behind(name: str) -> str | None:
    """Find the first command of a name in ``$PATH`` that is no script, such as behind a shim."""
    for folder in _folders(None):
        path = _real(f"{folder}/{name}")
        if view.is_command(path) and _first_line(path) is None and unfit(path) is None:
            return path
    return None


@remembered
def own_program(name: str) -> str | None:
    """Find what we ourselves would start by a name, whoever's files are probed; or None.

    Where a guest of another architecture starts it, it is one of that guest's.
    """
    if view.is_tree():
        return find(name)
    if "/" in name:
        return _real_here(name)
    for folder in _words_of_path(None):
        candidate = Path(folder, name)
        if view.is_command(str(candidate)):
            return _real_here(str(candidate))
    return None


@remembered
def library(name: str) -> str | None:
    """Find the library that a name like ``libc.so.6`` means for all programs, or None."""
    return by_name(name)


def code_of(name: str) -> str | None:
    """Find the file whose code a name of a program means; None for none.

    A library may stand for a program, and a script for what runs it.
    """
    path = program(name) or library(name)
    return None if path is None else interpreter(path) or path


def library_names() -> list[str]:
    """List the file names of the libraries that the linker's cache knows."""
    return list(cached())


def library_places() -> str:
    """Say where `library` looks, as words for a message."""
    return f"$LD_LIBRARY_PATH, the linker's cache and the usual folders ({', '.join(FOLDERS)})"


@remembered
def with_build_id(build_id: str) -> str | None:
    """Find the program or library with a build-id: its path without links, or None."""
    from stapy.debuginfo.user.builds import here

    return here([build_id], _command_paths).get(build_id)


@remembered
def builds_of(path: str, archive: str) -> Builds:
    """Ask servers which builds of a path there are, and look for those on this machine.

    ``path`` may be a pattern; ``archive`` is one of archives, "" for all and for none.
    """
    from stapy.debuginfo.user.builds import of_path

    return of_path(path, archive, _command_paths)


def _command_paths() -> Iterator[str]:
    """Yield the files in the folders of ``$PATH``."""
    for folder in _folders(None):
        try:
            paths = [f"{folder}/{name}" for name in view.names_in(folder)]
            yield from (path for path in paths if view.is_file(path))
        except OSError:
            continue


def find(name: str, path: str | None = None) -> str | None:
    """Find the file that a name means, as a path without links; None when there is none.

    A name with a slash is a path; another one is looked for like a command, in the
    folders of ``path`` (default: ``$PATH``).  The file of a path need not be there,
    since a module may run on another machine.
    """
    if not name or "\0" in name:
        return None
    if "/" in name:
        return _real(name)
    for folder in _folders(path):
        candidate = _real(f"{folder}/{name}")
        if view.is_command(candidate):
            return candidate
    return None


def near_path(path: str) -> str:
    """Advise on a path that is not there: files of such a path, as a hint; "" for none."""
    folder, _, name = path.rpartition("/")
    if view.exists(path):
        return ""
    while folder and not view.exists(folder):  # a folder of the path is written wrongly
        folder, _, name = folder.rpartition("/")
    rest = path[len(folder) + 1 + len(name) :]
    try:
        beside = nearest(name, view.names_in(folder or "/"), 6)
    except OSError:
        return ""
    found = [f"{folder}/{word}{rest}" for word in beside]
    near = [view.shown(one) for one in found if view.exists(one)][:2]
    if near:
        return f"did you mean {listed(near)}?"
    library = _library_like(path.rpartition("/")[2]) if view.is_ours() else ""
    return f"did you mean '{library}'? A library is found by its name alone" if library else ""


def _library_like(name: str) -> str:
    """Find the library that a file's name means, as other systems and versions write it; or ""."""
    if ".so" not in name:
        return ""
    known = library_names()
    if name in known:
        return name
    bare = _VERSION_OF().sub("", name.partition(".so")[0])
    return min((row for row in known if row.startswith(f"{bare}.so")), key=len, default="")


def _real(path: str) -> str:
    """Resolve the links of a path, as those see it whose files are meant."""
    return _real_here(path) if view.is_ours() else view.real(path)


def _real_here(path: str) -> str:
    """Resolve the links of a path, unless that leads elsewhere: links in /proc are no names."""
    real = os.path.realpath(path)
    try:
        meant = os.stat(path)  # noqa: PTH116 - a Path would lose what "..", behind a link, means
    except OSError:
        return real  # a module may run on another machine
    try:
        same = os.path.samestat(meant, os.stat(real))  # noqa: PTH116
    except OSError:
        same = False
    return real if same else os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118


def commands(path: str | None = None) -> list[str]:
    """List the commands in the folders of ``path`` (default: ``$PATH``), for suggestions."""
    found: set[str] = set()
    for folder in _folders(path):
        try:
            found.update(view.names_in(folder))
        except OSError:
            continue
    return sorted(found)


def _folders(path: str | None) -> Iterator[str]:
    """Yield the folders of commands, as we see them."""
    folders = _words_of_path(path)
    return folders if view.is_ours() else (view.real(folder) for folder in folders)


def _words_of_path(path: str | None) -> Iterator[str]:
    text = os.environ.get("PATH", os.defpath) if path is None else path
    return (folder or "." for folder in text.split(os.pathsep))
