"""Debug files of binaries that were stripped: by build-id, or by a name with a check sum."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from stapy.debuginfo import view
from stapy.debuginfo.dwarf.files.paths import by_build_id, existing, folders
from stapy.debuginfo.dwarf.numbers import text
from stapy.debuginfo.elf import ElfFile, open_regular
from stapy.debuginfo.errors import DebuginfoError

_PIECE = 1 << 20


class DebugLink(NamedTuple):
    """What ``.gnu_debuglink`` says: a file name, and the CRC-32 of that file."""

    name: str
    check_sum: int


def debug_link(elf: ElfFile) -> DebugLink | None:
    """Read the link of a binary, None without one; `DebuginfoError` for a damaged one."""
    data = elf.read(".gnu_debuglink")
    if not data:
        return None
    try:
        name = text(data, 0)
    except IndexError:
        raise DebuginfoError(f"{elf.name}: damaged debug link") from None
    at = len(name) + 4 & ~3  # behind the NUL, at a multiple of four
    if not name or at + 4 > len(data):
        raise DebuginfoError(f"{elf.name}: damaged debug link")
    return DebugLink(name.decode("utf-8", "replace"), int.from_bytes(data[at : at + 4], "little"))


def separate_files(elf: ElfFile, path: Path) -> list[Path]:
    """Find the debug files of a binary, the surest first; all belong to it.

    Those of its build-id, then those of its link: beside it, in ``.debug`` there,
    and below the folders of debug files where its own path leads to.  A file of
    the link counts when its check sum is right; the build-id is checked by who
    opens it.
    """
    path = path.absolute()
    build_id, debug = elf.build_id(), folders()
    if view.covers(path):
        debug = list(dict.fromkeys([Path(view.real("/usr/lib/debug")), *debug]))
    found = existing(place for folder in debug for place in by_build_id(folder, build_id))
    link = debug_link(elf)
    if link is not None:
        below = view.shown(path.parent).lstrip("/")
        places = [path.parent / link.name, path.parent / ".debug" / link.name]
        places += [folder / below / link.name for folder in debug]
        found += [
            place
            for place in existing(places)
            if place not in found and place != path and _check_sum(place) == link.check_sum
        ]
    return found


def _check_sum(path: Path) -> int:
    total = 0
    try:
        with open_regular(path) as file:
            while piece := file.read(_PIECE):
                total = crc32(piece, total)
    except OSError:
        return -1
    return total
