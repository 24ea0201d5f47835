"""Programs and libraries by build-id: which there are, and where one is on this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stapy.debuginfo import view
from stapy.debuginfo.dwarf.files.paths import folders
from stapy.debuginfo.elf import ElfFile, open_regular
from stapy.debuginfo.errors import DebuginfoError

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.files.metadata import KnownBuilds

    Paths = Callable[[], Iterator[str]]

_HEAD = 4096  # bytes of a file, in which linkers put its build-id
_NOTE = re.compile(rb"\x04\0\0\0(..)\0\0\x03\0\0\0GNU\0", re.DOTALL)


class Builds(NamedTuple):
    """What servers know of a path: the builds that are ``here``, and how many others there are.

    ``archives`` are some of those that an archive's pattern left out. It is an answer that is
    remembered by its text, so it holds nothing that has an order of its own.
    """

    here: list[str]
    elsewhere: int
    archives: list[str]
    problems: list[str]


def of_path(path: str, archive: str, commands: Paths) -> Builds:
    """Ask servers for the builds of a path, and look for them."""
    from stapy.debuginfo.dwarf.files.metadata import builds, of_archives

    known = builds(path)
    chosen = of_archives(known, archive) if archive else known.builds
    found = here(chosen, commands, [path])
    return Builds(
        sorted(set(found.values())),
        len(chosen) - len(found),
        [] if chosen else _archives(known),
        known.problems,
    )


def _archives(known: KnownBuilds) -> list[str]:
    names = {name.rpartition("/")[2] for rows in known.builds.values() for name in rows}
    return sorted(names - {""})


def here(build_ids: Iterable[str], commands: Paths, likely: Iterable[str] = ()) -> dict[str, str]:
    """Find the programs and libraries with these build-ids: paths without links.

    Among ``likely`` paths, what links in folders of debug files lead to, what processes run and
    have loaded, and ``commands``; each file is looked at once.
    """
    missing = set(build_ids)
    linked = [
        str(folder / f".build-id/{name[:2]}/{name[2:]}")
        for name in sorted(missing)
        for folder in [*folders(), Path("/usr/lib")]
    ]
    found: dict[str, str] = {}
    seen: set[str] = set()
    for path in _chained([*likely, *linked], _mapped_code, commands):
        if not missing:
            break
        real = view.real(path) if view.covers(path) else os.path.realpath(path)
        if real not in seen:
            seen.add(real)
            name = _build_of(real, missing)
            if name:
                found[name] = real
                missing.remove(name)
    return found


def _build_of(path: str, wanted: set[str]) -> str:
    """Read the build-id of a file if it is a wanted one, else ""."""
    try:
        with open_regular(path) as file:
            if not wanted & set(_written(file.read(_HEAD))):
                return ""
        found = ElfFile.open(Path(path)).build_id()
    except (OSError, DebuginfoError):
        return ""
    return found if found in wanted else ""


def _written(head: bytes) -> Iterator[str]:
    """Yield what looks like a build-id in the beginning of a file, as hex."""
    for note in _NOTE.finditer(head):
        size = int.from_bytes(note[1], "little")
        yield head[note.end() : note.end() + size].hex()


def _chained(first: list[str], *others: Paths) -> Iterator[str]:
    yield from first
    for other in others:
        yield from other()


def _mapped_code() -> Iterator[str]:
    """Yield the files whose code processes have, as we see them."""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            lines = maps.read_text(errors="surrogateescape").splitlines()
        except OSError:
            continue
        for line in lines:
            words = line.split(None, 5)
            if len(words) == 6 and "x" in words[1] and words[5].startswith("/"):
                yield words[5]
