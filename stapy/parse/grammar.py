"""Tokens to syntax nodes: runs PLY's parser and recovers from syntax errors.

In the head of an `if` or of a loop the text is skipped up to its closing parenthesis; inside a
block a wrong statement up to its semicolon or the brace that closes the block; elsewhere the text
up to the next word that begins a declaration.  So each independent mistake is reported, in one run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Diagnostics
from stapy.parse.actions import GrammarActions
from stapy.parse.facts import PreprocessFacts
from stapy.parse.feed import Feed
from stapy.parse.nodes import Decl
from stapy.parse.stumble import Stumble
from stapy.parse.tables import make_parser
from stapy.parse.tokens import Token

if TYPE_CHECKING:
    from stapy.parse.production import GrammarEngine
    from stapy.parse.recovery import Recovery

_parser: GrammarEngine | None = None


class _Driver:
    """Parses one text; `problem` is what PLY calls at a syntax error."""

    def __init__(
        self, parser: GrammarEngine, feed: Feed, actions: GrammarActions, damaged: set[int]
    ) -> None:
        self.parser = parser
        self.feed = feed
        self.actions = actions
        self.damaged = damaged
        self.recovery: Recovery | None = None
        feed.resume = parser.errok

    def problem(self, token: Token | None) -> None:
        """Report, then move the feed to where parsing can go on."""
        from stapy.parse.expected import Expectation  # needed for what is wrong only
        from stapy.parse.recovery import Recovery, is_made_up

        self.recovery = self.recovery or Recovery(self.parser, self.feed)
        place = -1 if token is None else token.start
        table = self.parser.action[self.parser.state]
        stumble = Stumble(self.feed, table, token, self.actions.diagnostics.sources)
        is_told = self.recovery.is_told(token) and (token is None or not is_made_up(token))
        if is_told and place not in self.damaged:
            Expectation(self.actions, stumble).report()
        self.actions.forget_body()
        if token is not None:
            self.recovery.skip(token, in_switch=stumble.case() is not None)


def parse_tokens(
    tokens: list[Token],
    source: int,
    size: int,
    diagnostics: Diagnostics,
    facts: PreprocessFacts,
    *,
    is_library: bool,
    damaged: set[int] | None = None,
) -> list[Decl]:
    """Parse the declarations that can be read; mistakes are in the collector.

    ``damaged`` holds the starts of tokens before which something is missing by
    a mistake that was reported already (-1: the end): no second message there.
    """
    actions = GrammarActions(diagnostics, facts, source, is_library=is_library)
    feed = Feed(tokens, source, size)
    parser = _make_engine()
    parser.errorfunc = _Driver(parser, feed, actions, damaged or set()).problem
    parser.actions = actions
    return list(parser.parse(lexer=feed) or ())


def _make_engine() -> GrammarEngine:
    """Make an engine for one text from the one that has the tables.

    PLY keeps the state of a parse in the engine; an editor's server has several threads.
    """
    global _parser
    if _parser is None:
        _parser = make_parser(_unheard)
    engine = object.__new__(type(_parser))
    vars(engine).update(vars(_parser))
    return engine


def _unheard(token: Token | None) -> None:
    """Stand for the handler of errors, which each text has its own of."""
