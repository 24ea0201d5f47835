"""Answers for shells: each key that is pressed is a command, which opens as little as it can.

What was answered before is in the cache, below the state of the kernel, the library and stapy
itself; only what is not there has a bench opened.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.cache import Cache
from stapy.cache.results import find_list, names_key, store_list
from stapy.cache.store import key_of
from stapy.editor.words import OfferedNames, names_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.editor.bench import Bench
    from stapy.kernel import Kernel
    from stapy.options import Options

_PATTERN = re.compile(r'(.*")([^"*]+)(\*"\))', re.DOTALL)
Rows = list[tuple[str, str]]


class KeptAnswers:
    """What a bench answers, from the cache where it can."""

    def __init__(self, kernel: Kernel, options: Options) -> None:
        self.kernel = kernel
        self.options = options
        self._cache = Cache.of(options)
        self._key = names_key(options, kernel)
        self._opened: Bench | None = None
        self._names: OfferedNames | None = None

    @property
    def _bench(self) -> Bench:
        if self._opened is None:
            from stapy.editor.bench import Bench

            self._opened = Bench(self.kernel, self.options)
        return self._opened

    @property
    def names(self) -> OfferedNames:
        """The names that need no kernel."""
        if self._names is None:  # asked for several times for one word
            self._names = names_in(self._kept("names", "", lambda: self._bench.names.as_text()))
        return self._names

    def points(self, point: str) -> list[str]:
        """List what -l lists for a point, or for one whose pattern is a shorter one."""
        match = _PATTERN.fullmatch(point)
        if match is not None and not set(match[2]) & set("?[\\/"):
            head, word, tail = match.groups()
            for end in range(1, len(word)):
                found = self._find("points", head + word[:end] + tail)
                if found is not None:
                    return found.split("\n")
        return self._kept("points", point, lambda: "\n".join(self._bench.points(point))).split("\n")

    def modules(self, word: str) -> list[str]:
        """List the modules that begin with a word."""
        return self._kept("modules", word, lambda: "\n".join(self._bench.modules(word))).split("\n")

    def targets(self, point: str) -> Rows:
        """List the variables of a point, with their types."""
        return self._rows("targets", point, lambda: self._bench.targets(point))

    def fields(self, point: str, chain: str) -> Rows:
        """List the members of what a chain leads to, with their types."""
        return self._rows("fields", f"{point}\n{chain}", lambda: self._bench.fields(point, chain))

    def locals_of(self, point: str) -> Rows:
        """List what the alias of a point sets, with types."""
        return self._rows("locals", point, lambda: self._bench.locals_of(point))

    # --- the cache ----------------------------------------------------------

    def _rows(self, kind: str, question: str, ask: Callable[[], Rows]) -> Rows:
        text = self._kept(
            kind, question, lambda: "\n".join(f"{name}\t{about}" for name, about in ask())
        )
        rows = (line.partition("\t") for line in text.split("\n") if line)
        return [(name, about) for name, _, about in rows]

    def _find(self, kind: str, question: str) -> str | None:
        return find_list(self._cache, key_of(self._key, "editor", kind, question))

    def _kept(self, kind: str, question: str, ask: Callable[[], str]) -> str:
        found = self._find(kind, question)
        if found is None:
            found = ask()
            services = self._bench.services
            if not services.listing_expires:
                files = services.debuginfo.module_files()
                store_list(self._cache, key_of(self._key, "editor", kind, question), found, files)
        return found
