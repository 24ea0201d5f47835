"""Pass 1: text to `Script`.

Entry points:

`open_library(dirs, facts, cache, sources, diagnostics)`
    the tapset library, which finds and parses the files that define what is used;
`parse_script(name, text, facts, library, sources, diagnostics)`
    one user script;
`warn_unused_arguments(facts, used, diagnostics)`
    SystemTap's warning about script arguments that nobody asked for;
`dump(scripts)` (``stapy.parse.printer``)
    canonical source text of trees (-p1);
`PreprocessFacts` (``stapy.parse.facts``)
    what conditionals may ask.

A session makes one `SourceMap`, one `Diagnostics`, one `PreprocessFacts` and
one `Library`, then calls `parse_script` for each script in turn.  It goes on
when ``diagnostics.errors`` is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from stapy.diagnostics import Diagnostics, SourceMap, Span
from stapy.parse.depth import DEPTH, allow_recursion, check
from stapy.parse.encoding import plain, refuse_wide
from stapy.parse.grammar import parse_tokens
from stapy.parse.lexer import readable, tokenize
from stapy.parse.nodes import Script
from stapy.parse.postlex import postlex
from stapy.parse.preprocess import Preprocessor

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.cache import Cache
    from stapy.parse.definitions import Macro
    from stapy.parse.facts import PreprocessFacts
    from stapy.parse.library import Library
    from stapy.parse.tokens import Token

__all__ = ["MacroSource", "open_library", "parse_script", "warn_unused_arguments"]

_OURS = (
    "probe ",
    "global ",
    "function ",
)  # other tracers' scripts so begin with ":" or "/" to come


class MacroSource(Protocol):
    """The part of the library that a parse needs."""

    def macro(self, name: str) -> Macro | None:
        """Find the library's definition of ``@name``, None when it has none."""

    def macro_names(self) -> list[str]:
        """List the names of all macros, for suggestions."""


def parse_script(
    name: str,
    text: str,
    facts: PreprocessFacts,
    macros: MacroSource | None,
    sources: SourceMap,
    diagnostics: Diagnostics,
    *,
    is_library: bool = False,
    used_arguments: set[int] | None = None,
) -> Script | None:
    """Parse one text; None when it has errors (they are in ``diagnostics``).

    ``name`` is what messages show ("<input>" for -e); ``macros`` is the
    `Library` (None: no library macros); ``is_library`` marks tapset files, which
    may hold C code without -g.  The numbers of the script arguments that were
    used are added to ``used_arguments``.
    """
    allow_recursion()
    before = len(diagnostics.errors)
    first = len(diagnostics.items)
    if refuse_wide(name, text, diagnostics):
        return None
    text = plain(readable(text))
    source = sources.add(name, text, is_library=is_library)
    whole = Span(source, 0, len(text))
    if not is_library and _other_language(text, source, diagnostics):
        return None
    tokens = tokenize(text, source, diagnostics)
    unclosed = len(diagnostics.errors) > before
    preprocessor = Preprocessor(
        facts,
        diagnostics,
        macros.macro if macros else None,
        macros.macro_names if macros else None,
        is_library=is_library,
    )
    words = preprocessor.run(tokens)
    ready = postlex(words) if facts.at_least("2.0") else postlex(words, _commented(sources))
    if used_arguments is not None:
        used_arguments |= preprocessor.used_arguments
    if not ready:
        if not is_library and len(diagnostics.errors) == before:
            _refuse_empty(name, source, bool(tokens), diagnostics)
        return None
    if unclosed:
        preprocessor.damaged.add(-1)
    decls = parse_tokens(
        ready,
        source,
        len(text),
        diagnostics,
        facts,
        is_library=is_library,
        damaged=preprocessor.damaged,
    )
    if len(ready) > DEPTH and not is_library:
        check(decls, diagnostics)
    if len(diagnostics.errors) > before:
        _sort(diagnostics, first, source)
        return None
    return Script(whole, name, decls, is_library)


def _refuse_empty(name: str, source: int, had_words: bool, diagnostics: Diagnostics) -> None:
    state = "empty after preprocessing" if had_words else "empty"
    diagnostics.error(
        "parse error",
        "E0100",
        f"Input file '{name}' is {state}.",
        Span(source, 0, 0),
        where="nothing to run",
        hint='write at least one probe: probe begin { println("hello") exit() }',
    )


def _other_language(text: str, source: int, diagnostics: Diagnostics) -> bool:
    """Report a script for another tracer: one message, in place of one for each word."""
    start = text.split("{", 1)[0]
    outside = "".join(start.split('"')[::2])  # of strings, which have the paths of programs
    if start.lstrip().startswith(_OURS) and not {":", "/"} & {*outside}:
        return False  # not worth loading what is known of other languages
    from stapy.diagnostics.habits import foreign_language

    found = foreign_language(text)
    if found is None:
        return False
    diagnostics.error(
        "parse error",
        "E0192",
        f"this is a script for {found.language}",
        Span(source, found.start, found.end),
        where="no probe point of SystemTap's language",
        hint=f"write here: probe {found.here} {{ … }}" if ": " not in found.here else "",
        notes=[found.here.partition(": ")[2]] if ": " in found.here else [],
    )
    return True


def _commented(sources: SourceMap) -> Callable[[Token, Token], bool]:
    """Make a test whether there is more than blanks between two tokens of one text."""

    def test(left: Token, right: Token) -> bool:
        if left.source != right.source:
            return False
        return bool(sources.sources[left.source].text[left.end : right.start].strip())

    return test


def _sort(diagnostics: Diagnostics, first: int, source: int) -> None:
    """Bring the messages about one text into the order of their places in it."""

    def place(span: Span) -> int:
        while span.source != source:
            found = diagnostics.sources.source(span)
            if found is None or found.parent is None:
                return -1
            span = found.parent
        return span.start

    diagnostics.items[first:] = sorted(diagnostics.items[first:], key=lambda item: place(item.span))


def warn_unused_arguments(
    facts: PreprocessFacts, used: set[int], diagnostics: Diagnostics, apart: dict[str, str]
) -> None:
    """Warn of each script argument that no script used (after all were parsed).

    ``apart`` has words that may be meant for an option, and how they are written then.
    """
    for number, word in enumerate(facts.arguments, 1):
        if number not in used:
            hint = f"did you mean {apart[word]}?" if word in apart else ""
            if not hint and word.endswith(".stp"):
                hint = f"one script is run: '{word}' behind it, or beside -e, is its argument"
            text = f"unused command line option ${number}/@{number}"
            diagnostics.warning("W0652", text, hint=hint)


def open_library(
    extra_dirs: list[str],
    facts: PreprocessFacts,
    cache: Cache | None,
    sources: SourceMap,
    diagnostics: Diagnostics,
) -> Library:
    """Open the tapset library: stapy's own folder, $XDG_DATA_DIRS and the folders of -I."""
    from stapy.parse import library

    return library.open_library(extra_dirs, facts, cache, sources, diagnostics)
