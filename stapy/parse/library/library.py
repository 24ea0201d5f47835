"""The tapset library: finds the files that define what a script uses, and parses only those.

An index on disk (`index.py`) says which file defines which name; what was
parsed is kept as a frozen tree (`tree_codec.py`).

Besides real files the library holds texts generated from tables (see
``syscalls.py``); the path of such a text is ``TABLE#NAME``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from stapy.cache import Cache, own_state
from stapy.diagnostics import Diagnostics, SourceMap, Span
from stapy.parse import parse_script
from stapy.parse.definitions import Macro
from stapy.parse.encoding import plain
from stapy.parse.facts import PreprocessFacts
from stapy.parse.lexer import tokenize
from stapy.parse.library.cache_file import CacheFiles, digest
from stapy.parse.library.declared import Declared, guess_names, names_of
from stapy.parse.library.folders import library_files, library_folders
from stapy.parse.library.index import LibraryIndex
from stapy.parse.library.programpaths import fill_in, folder_of
from stapy.parse.nodes import Script
from stapy.parse.preprocess import Preprocessor

Generate = Callable[[str, PreprocessFacts], dict[str, str]]

_NOTHING: Declared = ([], [], [], [])
# The state of this package, which says how the language is read: a part of the key.
_SHAPE = own_state(Path(__file__).parent.parent)


class Library:
    """All library files for one kernel and one set of options."""

    def __init__(
        self,
        dirs: list[str],
        facts: PreprocessFacts,
        cache_dir: Path | None,
        sources: SourceMap,
        diagnostics: Diagnostics,
        *,
        read_cache: bool = True,
        generate: Generate | None = None,
    ) -> None:
        self.dirs = dirs
        self.facts = facts
        self.sources = sources
        sources.folders = dirs
        self.diagnostics = diagnostics.about_files()
        self._generate = generate
        self._stamps = list(library_files(dirs, facts))
        self._by_path = {path: (mtime, size) for path, mtime, size in self._stamps}
        macro_stamp = repr([stamp for stamp in self._stamps if stamp[0].endswith(".stpm")])
        self._key = "\n".join([_SHAPE, facts.key(), *dirs, macro_stamp])
        self._disk = CacheFiles(cache_dir, may_read=read_cache)
        self._name = digest(self._key)
        self._texts: dict[str, str] = {}
        self._trees: dict[str, Script | None] = {}
        self._macros: dict[str, Macro | None] = {}
        self._macro_files: dict[str, dict[str, Macro]] = {}
        self._index = LibraryIndex(self._disk, self._name, self._key, self._stamps)
        if not self._index.load():
            self._build_index()

    # --- names ----------------------------------------------------------

    def files(self) -> list[str]:
        """List the paths of all library files."""
        return [path for path, _, _ in self._stamps]

    def files_with_function(self, name: str) -> list[str]:
        """List the files that define a function which others may call."""
        return self._index.functions.get(name, [])

    def files_with_global(self, name: str) -> list[str]:
        """List the files that declare a global which is not private."""
        return self._index.globals.get(name, [])

    def files_with_macro(self, name: str) -> list[str]:
        """List the macro files that may define ``@name``."""
        return self._index.macros.get(name, [])

    def function_names(self) -> list[str]:
        """List all function names."""
        return list(self._index.functions)

    def global_names(self) -> list[str]:
        """List all global names."""
        return list(self._index.globals)

    def macro_names(self) -> list[str]:
        """List all macro names."""
        return list(self._index.macros)

    def alias_names(self) -> list[tuple[tuple[str, ...], str]]:
        """List ``(component names, file)`` of each alias; a name may come several times."""
        aliases = self._index.aliases()
        if aliases is None:
            self._build_index()
            aliases = self._index.aliases()
        assert aliases is not None
        return aliases

    def exact_alias_names(self) -> set[str]:
        """Find the last components of the aliases that no wildcard shall match."""
        from stapy.parse.library.syscalls import exact

        names: set[str] = set()
        for path in self.files():
            if path.endswith(".table"):
                names |= exact(self.text(path))
        return names

    # --- trees ----------------------------------------------------------

    def load(self, path: str) -> Script | None:
        """Parse one file; None when it has errors (reported once) or holds nothing."""
        if path not in self._trees:
            self._trees[path] = self._load(path)
        return self._trees[path]

    def _load(self, path: str) -> Script | None:
        from stapy.parse.library.tree_codec import thaw

        stored = self._disk.get(self._tree_name(path))
        if stored is not None and stored[0] == self._stamp(path):
            return thaw(stored[1], self.sources, self.text) if stored[1] else None

        text = self.text(path)
        before = len(self.diagnostics.errors)
        script = parse_script(
            path, text, self.facts, self, self.sources, self.diagnostics, is_library=True
        )
        folder = folder_of(path, self.dirs)
        if folder and script is not None:
            fill_in(script, folder)
        if len(self.diagnostics.errors) == before:
            self._keep_tree(path, script, self.sources)
        return script

    def text(self, path: str) -> str:
        """Read the text of a library file or of a generated one; "" when it cannot be read."""
        found = self._texts.get(path)
        if found is None:
            if "#" in path and path.partition("#")[0].endswith(".table"):
                self._read_table(path.partition("#")[0])
                found = self._texts.setdefault(path, "")
            else:
                data = b""
                with contextlib.suppress(OSError):
                    data = Path(path).read_bytes()
                found = self._texts[path] = plain(data.decode("utf-8", "surrogateescape"))
        return found

    def _read_table(self, table: str) -> list[str]:
        """Enter all texts generated from a table; gives their paths."""
        stamp = self._stamp(table)
        name = f"{self._name}-{digest(table)}.texts"
        stored = self._disk.get(name)
        if stored is not None and stored[0] == stamp:
            texts = stored[1]
        else:
            # Hundreds of lines that a script needs only after a table has changed.
            from stapy.parse.library.syscalls import generate

            try:
                texts = (self._generate or generate)(self.text(table), self.facts)
            except ValueError as error:
                self._bad_table(table, str(error))
                return []
            self._disk.put(name, (stamp, texts))
        paths = []
        for part, text in texts.items():
            paths.append(f"{table}#{part}")
            self._texts[paths[-1]] = text
        return paths

    def _bad_table(self, table: str, reason: str) -> None:
        source = self.sources.add(table, self.text(table), is_library=True)
        self.diagnostics.error(
            "parse error",
            "E0171",
            f"cannot make aliases from this table: {reason}",
            Span(source, 0, 0),
        )

    def _stamp(self, path: str) -> tuple[str | int, ...]:
        real = path.partition("#")[0] if ".table#" in path else path
        return self._key, path, *self._by_path.get(real, (0, 0))

    def _tree_name(self, path: str) -> str:
        return f"{self._name}-{digest(path)}.tree"

    def _keep_tree(self, path: str, script: Script | None, sources: SourceMap) -> None:
        from stapy.parse.library.tree_codec import freeze

        if "$#" in self.text(path):
            return  # what it holds depends on the script's arguments
        frozen = freeze(script, sources) if script is not None else None
        self._disk.put(self._tree_name(path), (self._stamp(path), frozen))

    # --- macros ---------------------------------------------------------

    def macro(self, name: str) -> Macro | None:
        """Find the library's definition of ``@name``, None when it has none."""
        if name not in self._macros:
            self._macros[name] = None  # a file that uses the macro it defines finds nothing
            for path in self.files_with_macro(name):
                found = self._macros_in(path).get(name)
                if found is not None:
                    self._macros[name] = found
                    break
        return self._macros[name]

    def _macros_in(self, path: str) -> dict[str, Macro]:
        known = self._macro_files.get(path)
        if known is not None:
            return known
        text = self.text(path)
        source = self.sources.add(path, text, is_library=True)
        preprocessor = Preprocessor(
            self.facts, self.diagnostics, self.macro, self.macro_names, is_library=True
        )
        self._macro_files[path] = preprocessor.macros
        rest = preprocessor.run(tokenize(text, source, self.diagnostics))
        if rest:
            self.diagnostics.error(
                "parse error",
                "E0170",
                f"unexpected {rest[0].describe()} in a file of macros",
                rest[0].span,
                where="only '@define' may stand in an .stpm file",
            )
        return preprocessor.macros

    # --- the index ------------------------------------------------------

    def _build_index(self) -> None:
        worker = self._worker()
        self._index.build(self.text, worker._declared_by_file, self._declared_by_table)

    def _worker(self) -> Library:
        """Make a copy that parses into sources and messages of its own, which are thrown away."""
        worker = Library.__new__(Library)
        for name, value in vars(self).items():
            setattr(worker, name, value)
        worker.sources = SourceMap()
        worker.diagnostics = Diagnostics(worker.sources)
        worker._trees, worker._macros, worker._macro_files = {}, {}, {}
        return worker

    def _declared_by_file(self, path: str) -> Declared:
        before = len(self.diagnostics.errors)
        script = self.load(path)
        if len(self.diagnostics.errors) > before:
            return guess_names(self.text(path))
        return names_of(script) if script is not None else _NOTHING

    def _declared_by_table(self, table: str) -> list[tuple[str, Declared]]:
        return [(path, guess_names(self.text(path))) for path in self._read_table(table)]


def open_library(
    extra_dirs: list[str],
    facts: PreprocessFacts,
    cache: Cache | None,
    sources: SourceMap,
    diagnostics: Diagnostics,
) -> Library:
    """Open the library of a session; ``cache`` is its `stapy.cache.Cache` or None."""
    folder = cache.root / "parse" if cache is not None and cache.is_enabled else None
    return Library(
        library_folders(extra_dirs),
        facts,
        folder,
        sources,
        diagnostics,
        read_cache=cache is None or not cache.poisoned,
    )
