"""The catalogues of a kernel or of its modules: each in its own file, or those of many in one.

A list of all modules asks a thousand of them.  To open each with its debug file takes a
millisecond or two, so what their catalogues say is stored together as well.
"""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING

from stapy.cache import file_identity, key_of
from stapy.debuginfo import looked, pack
from stapy.debuginfo.dwarf.files.paths import fingerprint, folders_of_modules
from stapy.debuginfo.errors import DebuginfoError
from stapy.probes.listing import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from stapy.debuginfo.elf import Buffer
    from stapy.probes.listing.catalogue import FunctionLines, FunctionNames
    from stapy.services import DebuginfoLike

_MANY = 32  # modules whose catalogues are worth a file of their own


class Opened:
    """The kernel (None) or the modules of a pattern, one by one."""

    def __init__(self, info: DebuginfoLike, module: str | None) -> None:
        self._info = info
        self._loaded = dict(info.units(module))

    def names(self) -> Iterable[str | None]:
        """List the modules, None for the kernel."""
        return self._loaded

    def functions(self, unit: str | None) -> FunctionNames | None:
        """Open what BTF and symbols tell of one; None when that cannot be had."""
        return catalogue.names(self._info, self._loaded[unit])

    def has_dwarf(self, unit: str | None, download: bool) -> bool:
        """Tell whether there is DWARF of one; ``download`` is as in `Debuginfo.dwarf_of`."""
        return self._info.dwarf_of(unit, download=download) is not None

    def lines(self, unit: str | None, download: bool) -> FunctionLines | None:
        """Open what DWARF, which it has, tells of one; None when that cannot be had."""
        dwarf = self._info.dwarf_of(unit, download=download)
        return None if dwarf is None else catalogue.lines(self._info, self._loaded[unit], dwarf)


class Stored:
    """Modules whose catalogues were stored together: answers what `Opened` does, and opens none."""

    def __init__(self, data: Buffer) -> None:
        parts = pack.decode(data)
        whole = memoryview(data)

        def part(name: str) -> memoryview:
            start, end = parts.get(name, (0, 0))
            return whole[start:end]

        self._contents = part("contents")
        try:
            starts = part("starts").cast("Q").tolist()
        except TypeError:
            raise DebuginfoError("damaged catalogue of modules") from None
        names = str(part("names"), "utf-8").split("\n")
        if len(starts) != 2 * len(names) + 1 or starts[-1] != len(self._contents):
            raise DebuginfoError("damaged catalogue of modules")
        self._places = {name: 2 * number for number, name in enumerate(names)}
        self._starts = starts

    def names(self) -> Iterable[str | None]:
        """List the modules."""
        return self._places

    def _content(self, number: int) -> memoryview:
        return self._contents[self._starts[number] : self._starts[number + 1]]

    def functions(self, unit: str | None) -> FunctionNames | None:
        """Give what BTF and symbols told of a module."""
        return catalogue.FunctionNames(self._content(self._places[unit or ""]))

    def has_dwarf(self, unit: str | None, download: bool) -> bool:
        """Tell whether there was DWARF of a module."""
        return len(self._content(self._places[unit or ""] + 1)) > 0

    def lines(self, unit: str | None, download: bool) -> FunctionLines | None:
        """Give what DWARF told of a module."""
        return catalogue.FunctionLines(self._content(self._places[unit or ""] + 1))


def units(info: DebuginfoLike, module: str | None) -> Opened | Stored:
    """Choose where to ask about the kernel (None) or the modules of a pattern."""
    # What a server may have is not known before it is asked.
    if module is not None and "DEBUGINFOD_URLS" not in os.environ:
        names = info.module_names(module)
        if len(names) >= _MANY:
            try:
                stored = Stored(info.kept(_key(info, names), lambda: _content(info, module)))
            except (DebuginfoError, ValueError):
                return Opened(info, module)
            info.note(names)
            return stored
    return Opened(info, module)


def _key(info: DebuginfoLike, names: list[str]) -> str:
    """Compute the key of the modules, their debug files and all that their catalogues depend on.

    Raises `DebuginfoError` for modules without files.
    """
    kernel = info.kernel
    files = [path for path in map(kernel.modules.path, names) if path is not None]
    if len(files) < len(names):  # modules that were loaded from elsewhere
        raise DebuginfoError("modules without files")
    identities = [file_identity(path) for path in files]
    shown_by = folders_of_modules(kernel, files)
    looked.note(shown_by)  # by whoever keeps what the catalogues say
    return key_of("catalogues", catalogue.rules(), info.loaded.key, *fingerprint(kernel),
                  *names, *identities, *map(_changed, shown_by))  # fmt: skip


def _changed(folder: Path) -> str:
    """Tell when something came into a folder, or went; "" when it is not there."""
    try:
        return f"{folder} {folder.stat().st_mtime_ns}"
    except OSError:
        return ""


def _content(info: DebuginfoLike, module: str) -> bytes:
    """Pack all catalogues in one; `DebuginfoError` if a module has a problem to tell."""
    before = info.warnings
    opened = Opened(info, module)
    starts, contents = array("Q", [0]), bytearray()
    for unit in opened.names():
        functions = opened.functions(unit)
        lines = opened.lines(unit, False) if opened.has_dwarf(unit, False) else None
        if functions is None or (lines is None and opened.has_dwarf(unit, False)):
            raise DebuginfoError(f"no catalogue of {unit}")
        for table in (functions, lines):
            contents += table.content() if table is not None else b""
            contents += bytes(-len(contents) % 8)
            starts.append(len(contents))
    if info.warnings != before:
        raise DebuginfoError("there is something to be said each time")
    names = "\n".join(str(unit) for unit in opened.names())
    return pack.encode(
        {"names": names.encode(), "starts": starts.tobytes(), "contents": bytes(contents)}
    )
