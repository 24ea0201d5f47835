"""The index of the library: which file defines which name, kept on disk for one set of facts.

It is exact for the facts of one kernel, since conditionals decide what a file
declares.  When files change, only those are parsed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stapy.parse.library.cache_file import CacheFiles
from stapy.parse.library.declared import Declared, macro_names

Stamp = tuple[str, int, int]  # a file's path, time of change and size
Alias = tuple[tuple[str, ...], str]  # component names, file
# The time of change and the size; each source that the file brings in, with what that declares.
_KnownFile = tuple[tuple[int, int], list[tuple[str, Declared]]]


class LibraryIndex:
    """Names of functions, globals and macros with the files that define them."""

    def __init__(self, disk: CacheFiles, name: str, key: str, stamps: list[Stamp]) -> None:
        self._disk, self._name = disk, name
        self._key, self._stamps = key, stamps
        self.functions: dict[str, list[str]] = {}
        self.globals: dict[str, list[str]] = {}
        self.macros: dict[str, list[str]] = {}
        self._aliases: list[Alias] | None = None

    def load(self) -> bool:
        """Read the index from disk; False when there is none for these files."""
        stored = self._disk.get(self._name + ".names")
        if stored is None or stored[0] != self._key or stored[1] != self._stamps:
            return False
        self.functions, self.globals, self.macros = stored[2:5]
        return True

    def aliases(self) -> list[Alias] | None:
        """Return all aliases; None when nothing on disk tells them and `build` has to."""
        if self._aliases is None:
            stored = self._disk.get(self._name + ".aliases")
            if stored is not None and stored[0] == self._stamps:
                self._aliases = stored[1]
        return self._aliases

    def build(
        self,
        text: Callable[[str], str],
        declared_by_file: Callable[[str], Declared],
        declared_by_table: Callable[[str], list[tuple[str, Declared]]],
    ) -> None:
        """Ask what changed since the last time for its names, then write the index anew.

        Macros come first: the files that are parsed for their names use them.
        """
        self.macros = {}
        for path, _, _ in self._stamps:
            if path.endswith(".stpm"):
                for name in macro_names(text(path)):
                    self.macros.setdefault(name, []).append(path)
        old: dict[str, _KnownFile] = self._disk.get(self._name + ".files") or {}
        files: dict[str, _KnownFile] = {}
        for path, mtime, size in self._stamps:
            stamp = (mtime, size)
            known = old.get(path)
            if known is not None and known[0] == stamp:
                files[path] = known
            elif path.endswith(".table"):
                files[path] = (stamp, declared_by_table(path))
            elif path.endswith(".stp"):
                files[path] = (stamp, [(path, declared_by_file(path))])
        self._enter(parts for _, parts in files.values())
        self._disk.put(self._name + ".files", files)
        self._disk.put(self._name + ".aliases", (self._stamps, self._aliases))
        self._disk.put(
            self._name + ".names",
            (self._key, self._stamps, self.functions, self.globals, self.macros),
        )

    def _enter(self, files: Iterable[list[tuple[str, Declared]]]) -> None:
        self.functions, self.globals, aliases = {}, {}, []
        for parts in files:
            for path, (functions, variables, _, names) in parts:
                for name in functions:
                    self.functions.setdefault(name, []).append(path)
                for name in variables:
                    self.globals.setdefault(name, []).append(path)
                aliases += [(tuple(name), path) for name in names]
        self._aliases = aliases
