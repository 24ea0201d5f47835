"""The tapset library: finds the files that define what a script uses, and parses only those.

An index on disk says which file defines which name.  It is exact for the facts
of one kernel, since conditionals decide what a file declares.  When files
change, only those are parsed again; what was parsed is kept as a frozen tree.

Besides real files the library holds texts generated from tables (see
``syscall_table.py``); the path of such a text is ``TABLE#NAME``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stapy.diagnostics import Diagnostics, SourceMap, Span
from stapy.parse.definitions import Macro
from stapy.parse.disk import Disk, digest
from stapy.parse.facts import PreprocessFacts
from stapy.parse.folders import library_files, library_folders
from stapy.parse.names import Names, guess_names, macro_names, names_of
from stapy.parse.nodes import Script

Generate = Callable[[str, PreprocessFacts], dict[str, str]]

_NOTHING: Names = ([], [], [], [])


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
        self.diagnostics = diagnostics
        self._generate = generate or _generate_syscalls
        self._stamps = list(library_files(dirs, facts))
        self._by_path = {path: (mtime, size) for path, mtime, size in self._stamps}
        macro_stamp = repr([stamp for stamp in self._stamps if stamp[0].endswith(".stpm")])
        self._key = "\n".join(
            [
                _shape(),
                facts.key(),
                *dirs,
                macro_stamp,
                _generator_stamp() if self._tables() else "",
            ]
        )
        self._disk = Disk(cache_dir, read=read_cache)
        self._name = digest(self._key)
        self._texts: dict[str, str] = {}
        self._trees: dict[str, Script | None] = {}
        self._macros: dict[str, Macro | None] = {}
        self._macro_files: dict[str, dict[str, Macro]] = {}
        self._functions: dict[str, list[str]] = {}
        self._globals: dict[str, list[str]] = {}
        self._macro_index: dict[str, list[str]] = {}
        self._aliases: list[tuple[tuple[str, ...], str]] | None = None
        self._load_index()

    def _tables(self) -> list[str]:
        return [path for path, _, _ in self._stamps if path.endswith(".table")]

    # --- names ----------------------------------------------------------

    def files(self) -> list[str]:
        """Paths of all library files."""
        return [path for path, _, _ in self._stamps]

    def files_with_function(self, name: str) -> list[str]:
        """Files that define a function which others may call."""
        return self._functions.get(name, [])

    def files_with_global(self, name: str) -> list[str]:
        """Files that declare a global which is not private."""
        return self._globals.get(name, [])

    def files_with_macro(self, name: str) -> list[str]:
        """Macro files that may define ``@name``."""
        return self._macro_index.get(name, [])

    def function_names(self) -> list[str]:
        """All function names."""
        return list(self._functions)

    def global_names(self) -> list[str]:
        """All global names."""
        return list(self._globals)

    def macro_names(self) -> list[str]:
        """All macro names."""
        return list(self._macro_index)

    def alias_names(self) -> list[tuple[tuple[str, ...], str]]:
        """``(component names, file)`` of each alias; a name may come several times."""
        if self._aliases is None:
            stored = self._disk.get(self._name + ".aliases")
            if stored is not None and stored[0] == self._stamps:
                self._aliases = stored[1]
            else:
                self._build_index()
        assert self._aliases is not None
        return self._aliases

    def exact_alias_names(self) -> set[str]:
        """Last components of the aliases that no wildcard shall match."""
        from stapy.parse import syscall_table

        names: set[str] = set()
        for path in self.files():
            if path.endswith(".table"):
                names |= syscall_table.exact(self.text(path))
        return names

    def files_with_alias_first_component(self, name: str) -> list[str]:
        """Files with an alias whose name begins with this component."""
        files = (path for components, path in self.alias_names() if components[0] == name)
        return list(dict.fromkeys(files))

    # --- trees ----------------------------------------------------------

    def load(self, path: str) -> Script | None:
        """The tree of one file; None when it has errors (reported once) or holds nothing."""
        if path not in self._trees:
            self._trees[path] = self._load(path)
        return self._trees[path]

    def _load(self, path: str) -> Script | None:
        from stapy.parse.store import thaw

        stored = self._disk.get(self._tree_name(path))
        if stored is not None and stored[0] == self._stamp(path):
            return thaw(stored[1], self.sources, self.text) if stored[1] else None
        from stapy.parse import parse_script

        text = self.text(path)
        before = len(self.diagnostics.errors)
        script = parse_script(
            path, text, self.facts, self, self.sources, self.diagnostics, library=True
        )
        if len(self.diagnostics.errors) == before:
            self._keep_tree(path, script, self.sources)
        return script

    def text(self, path: str) -> str:
        """The text of a library file or of a generated one; "" when it cannot be read."""
        found = self._texts.get(path)
        if found is None:
            if "#" in path and path.partition("#")[0].endswith(".table"):
                self._read_table(path.partition("#")[0])
                found = self._texts.setdefault(path, "")
            else:
                data = b""
                with contextlib.suppress(OSError):
                    data = Path(path).read_bytes()
                found = self._texts[path] = data.decode("utf-8", "surrogateescape")
        return found

    def _read_table(self, table: str) -> list[str]:
        """Enter all texts generated from a table; gives their paths."""
        stamp = self._stamp(table)
        name = f"{self._name}-{digest(table)}.texts"
        stored = self._disk.get(name)
        if stored is not None and stored[0] == stamp:
            texts = stored[1]
        else:
            try:
                texts = self._generate(self.text(table), self.facts)
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
        source = self.sources.add(table, self.text(table), library=True)
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
        from stapy.parse.store import freeze

        if "$#" in self.text(path):
            return  # what it holds depends on the script's arguments
        frozen = freeze(script, sources) if script is not None else None
        self._disk.put(self._tree_name(path), (self._stamp(path), frozen))

    # --- macros ---------------------------------------------------------

    def macro(self, name: str) -> Macro | None:
        """The library's definition of ``@name``."""
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
        from stapy.parse.lexer import tokenize
        from stapy.parse.preprocess import Preprocessor

        text = self.text(path)
        source = self.sources.add(path, text, library=True)
        preprocessor = Preprocessor(
            self.facts, self.diagnostics, self.macro, self.macro_names, library=True
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

    def _load_index(self) -> None:
        stored = self._disk.get(self._name + ".names")
        if stored is not None and stored[0] == self._key and stored[1] == self._stamps:
            self._functions, self._globals, self._macro_index = stored[2:5]
            return
        self._build_index()

    def _build_index(self) -> None:
        """Parse what changed since the last time, then write the index anew."""
        old = self._disk.get(self._name + ".files") or {}
        scratch = Library.__new__(Library)
        files: dict[str, tuple[tuple[int, int], Any]] = {}
        macros: dict[str, list[str]] = {}
        for path in self._by_path:
            if path.endswith(".stpm"):
                for name in macro_names(self.text(path)):
                    macros.setdefault(name, []).append(path)
        self._macro_index = macros
        worker = self._worker(scratch)
        for path, mtime, size in self._stamps:
            stamp = (mtime, size)
            known = old.get(path)
            if known is not None and known[0] == stamp:
                files[path] = known
            elif path.endswith(".table"):
                files[path] = (stamp, self._index_table(path))
            elif path.endswith(".stp"):
                files[path] = (stamp, [(path, worker._index_file(path))])
        self._functions, self._globals, aliases = {}, {}, []
        for _, parts in files.values():
            for path, (functions, variables, _, names) in parts:
                for name in functions:
                    self._functions.setdefault(name, []).append(path)
                for name in variables:
                    self._globals.setdefault(name, []).append(path)
                aliases += [(tuple(name), path) for name in names]
        self._aliases = aliases
        self._disk.put(self._name + ".files", files)
        self._disk.put(self._name + ".aliases", (self._stamps, aliases))
        self._disk.put(
            self._name + ".names",
            (self._key, self._stamps, self._functions, self._globals, macros),
        )

    def _worker(self, scratch: Library) -> Library:
        """A copy that parses into sources and messages of its own, which are thrown away."""
        for name, value in vars(self).items():
            setattr(scratch, name, value)
        scratch.sources = SourceMap()
        scratch.diagnostics = Diagnostics(scratch.sources)
        scratch._trees, scratch._macros, scratch._macro_files = {}, {}, {}
        return scratch

    def _index_file(self, path: str) -> Names:
        before = len(self.diagnostics.errors)
        script = self.load(path)
        if len(self.diagnostics.errors) > before:
            return guess_names(self.text(path))
        return names_of(script) if script is not None else _NOTHING

    def _index_table(self, table: str) -> list[tuple[str, Names]]:
        return [(path, guess_names(self.text(path))) for path in self._read_table(table)]


def open_library(
    extra_dirs: list[str],
    facts: PreprocessFacts,
    cache: Any,
    sources: SourceMap,
    diagnostics: Diagnostics,
) -> Library:
    """The library of a session; ``cache`` is its `stapy.cache.Cache` or None."""
    folder = Path(cache.root) / "parse" if cache is not None and cache.enabled else None
    return Library(
        library_folders(extra_dirs),
        facts,
        folder,
        sources,
        diagnostics,
        read_cache=not getattr(cache, "poisoned", False),
    )


def _generate_syscalls(text: str, facts: PreprocessFacts) -> dict[str, str]:
    try:
        from stapy.parse import syscall_table  # type: ignore[attr-defined,unused-ignore]
    except ImportError:
        return {}
    texts: dict[str, str] = syscall_table.generate(text, facts)
    return texts


def _generator_stamp() -> str:
    """Changes when the code that generates texts does."""
    path = Path(__file__).with_name("syscall_table.py")
    try:
        status = path.stat()
    except OSError:
        return ""
    return f"{status.st_mtime_ns} {status.st_size}"


def _shape() -> str:
    """Changes when the language, as this package reads it, does."""
    parts = [_SHAPE_VERSION]
    here = Path(__file__).parent
    for name in _SHAPE_FILES:
        with contextlib.suppress(OSError):
            status = (here / name).stat()
            parts.append(f"{name} {status.st_mtime_ns} {status.st_size}")
    return "\n".join(parts)


_SHAPE_VERSION = "2"
_SHAPE_FILES = (
    "nodes.py",
    "lexer.py",
    "preprocess.py",
    "definitions.py",
    "conditions.py",
    "glue.py",
    "grammar.py",
    "job.py",
    "points.py",
    "comments.py",
    "store.py",
    "names.py",
    "rules/declarations.py",
    "rules/expressions.py",
    "rules/operators.py",
    "rules/statements.py",
)
