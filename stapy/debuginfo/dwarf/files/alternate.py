"""The alternate file of a debug file: what dwz found in several of them and moved to one."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from stapy.debuginfo.dwarf.files.paths import by_build_id, existing, folders
from stapy.debuginfo.dwarf.numbers import text, uleb
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.errors import DebuginfoError


class Link(NamedTuple):
    """Name of the file, and the build-id or other mark by which it is known, as hex."""

    name: str
    mark: str


def link_of(elf: ElfFile) -> Link | None:
    """Read what a file says about its alternate file; None when it has none.

    Raises `DebuginfoError` for a damaged link.
    """
    try:
        data = elf.read(".gnu_debugaltlink")
        if data:
            name = text(data, 0)
            return Link(name.decode("utf-8", "replace"), data[len(name) + 1 :].hex())
        data = elf.read(".debug_sup")  # DWARF 5, 7.3.6
        if data is None or data[2]:
            return None
        return _supplement(data)
    except IndexError:
        raise DebuginfoError(f"{elf.name}: damaged link to an alternate file") from None


def _supplement(data: bytes) -> Link:
    name = text(data, 3)
    size, at = uleb(data, 3 + len(name) + 1)
    return Link(name.decode("utf-8", "replace"), data[at : at + size].hex())


def _mark_of(elf: ElfFile) -> str:
    data = elf.read(".debug_sup")
    return elf.build_id() if data is None else _supplement(data).mark


def open_alternate(elf: ElfFile) -> ElfFile:
    """Open the alternate file that a debug file names, wherever it lies.

    Raises `DebuginfoError` when no file has the mark that the link tells.
    """
    link = link_of(elf)
    if link is None:
        raise DebuginfoError(f"{elf.name}: it names no alternate file")
    places = [Path(elf.name).parent / link.name]
    for folder in folders():
        places += by_build_id(folder, link.mark)
        places.append(folder / ".dwz" / Path(link.name).name)
    for path in existing(places):
        found = ElfFile.open(path)
        try:
            if _mark_of(found) == link.mark:
                return found
        except IndexError:
            continue
    raise DebuginfoError(
        f"{elf.name}: its alternate file {link.name} (build-id {link.mark}) is not there"
    )
