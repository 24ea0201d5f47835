"""The entries of a tapset library, by name or file."""

from __future__ import annotations

import re
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.cache import Cache
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.manual import entries
from stapy.manual.context import Conducts, places
from stapy.manual.usage import Usage
from stapy.parse import nodes as n
from stapy.parse import open_library
from stapy.parse.comments import doc_before
from stapy.parse.doc_comment import parse_comment, shared_variables
from stapy.parse.facts import PreprocessFacts
from stapy.paths import data_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stapy.manual.context import Conduct
    from stapy.manual.entries import DocArgument, DocEntry
    from stapy.options import Options
    from stapy.parse.library import Library

# The kernel that pages are made for: aliases depend on it, what comments say does not.
RELEASE = "6.12.0"
_SUBJECT = re.compile(r"\A(?:/\*[^*]*SPDX[^*]*\*/\s*)?/\*(?![*]|\sSPDX)(.*?)\*/", re.DOTALL)
_FIRST_LINE = re.compile(
    r"^/\*\*\s+(?:\* )?(?P<name>[\w.]+)(?:\([^)]*\))?\s+-\s(?P<what>(?:(?!\*/|\n \*\n|\n \* @).)*)",
    re.MULTILINE | re.DOTALL,
)
_GLOSSARY = "variables.txt"


class Reference:
    """What there is to be told of a library."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._heads: dict[str, dict[str, str]] = {}
        self._seen: dict[str, list[DocArgument]] = {}
        self._aliases: dict[str, list[str]] = {}
        self._results: dict[str, str] = {}
        self._summaries: dict[str, dict[str, str]] = {}
        self._conducts = Conducts(library)
        self._usage = Usage()
        self._ours = data_dir("tapsets")

    @cached_property
    def glossary(self) -> dict[str, str]:
        """What variables mean everywhere, by name."""
        found: dict[str, str] = {}
        for folder in self.library.dirs:
            path = Path(folder) / _GLOSSARY
            if path.is_file():
                for line in path.read_text(encoding="utf-8").splitlines():
                    name, colon, meaning = line.partition(": ")
                    if colon and not line.startswith("#"):
                        found.setdefault(name, meaning)
        return found

    # --- names ----------------------------------------------------------------

    def files(self) -> list[str]:
        """List the files whose declarations are told of, tables by the texts made from them."""
        paths = {path for _, path in self.library.alias_names()}
        for name in self.library.function_names():
            paths.update(self.library.files_with_function(name))
        for name in self.library.macro_names():
            paths.update(self.library.files_with_macro(name))
        return sorted(paths)

    def names(self) -> list[str]:
        """List the names of all public functions, macros (with ``@``) and aliases."""
        found = {name for name in self.library.function_names() if entries.is_public(name)}
        found |= {name for name in self._alias_files if entries.is_public(name)}
        found |= {f"@{name}" for name in self.library.macro_names() if self._macro(name)}
        return sorted(found)

    @property
    def _alias_files(self) -> dict[str, list[str]]:
        if not self._aliases:
            for components, path in self.library.alias_names():
                self._aliases.setdefault(".".join(components), []).append(path)
        return self._aliases

    def find(self, name: str) -> list[DocEntry]:
        """Find the entries of a name: several when a function or an alias has several bodies."""
        if name.startswith("@"):
            found = self._macro(name[1:])
            return [self.told(found)] if found else []
        paths = list(self.library.files_with_function(name))
        paths += self._alias_files.get(name, [])
        rows = [row for path in dict.fromkeys(paths) for row in self.of_file(path)]
        return [self.told(row) for row in rows if _plain(row.name) == name]

    def summary(self, name: str) -> str:
        """Find the first line of a name's comment, without parsing; "" when it has none."""
        if name.startswith("@"):
            found = self._macro(name[1:])
            return found.doc.summary if found else ""
        for path in self.library.files_with_function(name) + self._alias_files.get(name, []):
            if path not in self._summaries:
                heads = _FIRST_LINE.finditer(self.library.text(path))
                self._summaries[path] = {
                    one["name"]: re.sub(r"\s*\n \*\s*", " ", one["what"]).strip() for one in heads
                }
            if name in self._summaries[path]:
                return self._summaries[path][name]
        return ""

    def of_file(self, path: str) -> list[DocEntry]:
        """List the entries of a file, in its order."""
        if path.endswith(".stpm"):
            text = self.library.text(path)
            names = re.findall(r"^@define\s+(\w+)", text, re.MULTILINE)
            return [row for row in map(self._macro, names) if row is not None]
        script = self.library.load(path)
        found: list[DocEntry] = []
        for decl in script.decls if script is not None else []:
            if isinstance(decl, n.FunctionDecl):
                if not decl.is_private and entries.is_public(decl.name):
                    found.append(entries.of_function(decl, self.short(path)))
                    found[-1].path = path
            elif isinstance(decl, n.AliasDecl):
                row = self._entry(decl, path)
                if entries.is_public(row.name):
                    found.append(row)
        return found

    def told(self, entry: DocEntry) -> DocEntry:
        """Add to an entry what its code says of its context, who uses it, and since when."""
        decl = entry.decl
        if isinstance(decl, n.FunctionDecl):
            entry.derived = self.conduct(entry).sentences()
        elif isinstance(decl, n.AliasDecl):
            kinds = places(self._leaves(decl, set()))
            entry.derived = [kinds] if kinds else []
        entry.tools = self._usage.of(entry)
        if entry.path.startswith(f"{self._ours}/"):
            entry.since = entry.doc.sections.get("Since", entries.FIRST)
        return entry

    def conduct(self, entry: DocEntry) -> Conduct:
        """Find what the code of a function does."""
        assert isinstance(entry.decl, n.FunctionDecl)
        return self._conducts.of(entry.decl, entry.path)

    def _leaves(self, decl: n.AliasDecl, seen: set[str]) -> Iterator[n.ProbePoint]:
        """Follow an alias to the points that are none."""
        for point in decl.points:
            name = ".".join(part.name for part in point.components)
            paths = self._alias_files.get(name, [])
            if not paths:
                yield point
            elif name not in seen:
                seen.add(name)
                for path in paths:
                    for one in self._declared(name, path):
                        yield from self._leaves(one, seen)

    def subject(self, path: str) -> str:
        """Say what a file is about: the comment at its head, without the part about variables."""
        found = _SUBJECT.match(self.library.text(path))
        if found is None:
            return ""
        text = doc_before(f"/*{found[1]}*/\n", len(found[1]) + 5)
        return "\n\n".join(parse_comment("x - x\n\n" + text).paragraphs)

    def short(self, path: str) -> str:
        """Name a file of the library by its path below its folder."""
        path = path.partition(".table#")[0] + (".table" if ".table#" in path else "")
        for folder in self.library.dirs:
            if path.startswith(folder + "/"):
                return path[len(folder) + 1 :]
        return path

    # --- making entries ---------------------------------------------------------

    def _macro(self, name: str) -> DocEntry | None:
        macro = self.library.macro(name)
        source = self.library.sources.source(macro.span) if macro is not None else None
        if macro is None or source is None:
            return None
        start = source.text.rfind("@define", 0, macro.span.start)
        doc = parse_comment(doc_before(source.text, start))
        if doc.names != [f"@{name}"]:
            return None  # of the library's own use
        arguments = [
            entries.DocArgument(one, "", doc.arguments.get(one, ""))
            for one in macro.parameters or ()
        ]
        file = self.short(source.name)
        return entries.DocEntry(entries.MACRO, name, file, doc, "", arguments, path=source.name)

    def _entry(self, decl: n.AliasDecl, path: str) -> DocEntry:
        head = self._head(path)
        entry = entries.of_alias(
            decl,
            self.short(path),
            lambda name: head.get(name) or self.glossary.get(name, ""),
            self._inherited(decl),
            lambda name: self._result_of(name, path) or "long",
        )
        entry.path = path
        return entry

    def _head(self, path: str) -> dict[str, str]:
        if path not in self._heads:
            found = _SUBJECT.match(self.library.text(path))
            text = doc_before(f"/*{found[1]}*/\n", len(found[1]) + 5) if found else ""
            self._heads[path] = shared_variables(text)
        return self._heads[path]

    def _inherited(self, decl: n.AliasDecl) -> list[DocArgument]:
        """List what the aliases set that this one stands for."""
        found: dict[str, DocArgument] = {}
        for point in decl.points:
            for one in self._variables(".".join(part.name for part in point.components)):
                found.setdefault(one.name, one)
        return list(found.values())

    def _variables(self, name: str) -> list[DocArgument]:
        if name not in self._seen:
            self._seen[name] = []  # an alias that stands for itself, as SystemTap's may
            found: dict[str, DocArgument] = {}
            for path in self._alias_files.get(name, []):
                for decl in self._declared(name, path):
                    found |= {one.name: one for one in self._entry(decl, path).arguments}
            self._seen[name] = list(found.values())
        return self._seen[name]

    def _declared(self, name: str, path: str) -> list[n.AliasDecl]:
        """List the declarations of an alias in a file."""
        script = self.library.load(path)
        decls = [one for one in (script.decls if script is not None else [])
                 if isinstance(one, n.AliasDecl)]  # fmt: skip
        return [one for one in decls if _plain(entries.alias_name(one)) == name]

    def _result_of(self, name: str, near: str) -> str:
        """Tell the type of a function's result; ``near`` is the file of who calls it."""
        if name in self._results:
            return self._results[name]
        self._results[name] = ""  # of one that calls itself
        for path in [near, *self.library.files_with_function(name)]:
            script = self.library.load(path)
            for decl in script.decls if script is not None else []:
                if isinstance(decl, n.FunctionDecl) and decl.name == name:
                    found = entries.result_type(decl, partial(self._result_of, near=path))
                    self._results[name] = found
                    return found
        return ""


def _plain(name: str) -> str:
    """Write the name of an alias without what stands in parentheses."""
    return re.sub(r"\([^)]*\)", "", name)


def open_reference(options: Options | None = None) -> Reference:
    """Open our tapsets and those of ``-I``, for no kernel in particular."""
    release = (options.release if options is not None else "") or RELEASE
    facts = PreprocessFacts(kernel_release=release)
    sources = SourceMap()
    cache = Cache.of(options) if options is not None else None
    folders = options.tapset_dirs if options is not None else []
    return Reference(open_library(folders, facts, cache, sources, Diagnostics(sources)))
