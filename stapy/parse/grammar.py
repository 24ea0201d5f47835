"""Tokens to syntax nodes: runs PLY's parser and recovers from syntax errors.

Inside a block a wrong statement is skipped up to its semicolon or the brace
that closes the block; elsewhere the text is skipped up to the next word that
begins a declaration.  So each independent mistake is reported, in one run.
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

_DECLARATIONS = frozenset({"PROBE", "FUNCTION", "GLOBAL", "PRIVATE"})

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

    def problem(self, token: Token | None) -> None:
        """Report, then move the feed to where parsing can go on."""
        feed = self.feed
        table = self.parser.action[self.parser.state]
        place = -1 if token is None else token.start
        stumble = Stumble(feed, table, token, self.actions.diagnostics.sources)
        if place not in self.damaged and (token is None or not self._is_made_up(token)):
            from stapy.parse.expected import Expectation  # needed for what is wrong only

            Expectation(self.actions, stumble).report()
        self.actions.forget_body()
        if token is None:
            return
        ends_block = token.type == "RBRACE" and self._lacks_body()
        if feed.blocks() == 0 and not ends_block:
            self._skip_declaration(token)
        elif token.type in _DECLARATIONS and not self._is_made_up(token):
            self._close_blocks(token)
        else:
            self._skip_statement(token, in_switch=stumble.case() is not None)

    def _is_made_up(self, token: Token) -> bool:
        return token.start == token.end and token.type == "RBRACE"

    def _close_blocks(self, token: Token) -> None:
        """Put the forgotten closing braces in front of a declaration inside a block."""
        feed = self.feed
        place = token.start
        feed.missing = [token] + [
            Token("RBRACE", "}", token.source, place, place) for _ in range(feed.blocks())
        ]
        feed.open = [opening for opening in feed.open if opening.type == "LBRACE"]

    def _skip_declaration(self, token: Token) -> None:
        feed = self.feed
        tokens = feed.tokens
        feed.open.clear()
        if token.type in _DECLARATIONS and feed.at:
            feed.at -= 1  # PLY drops the wrong token; this one begins something good
        depth = 0
        for at in range(feed.at, len(tokens)):
            kind = tokens[at].type
            if kind == "LBRACE":
                depth += 1
            elif kind == "RBRACE":
                depth = max(0, depth - 1)
            elif depth == 0 and kind in _DECLARATIONS:
                feed.at = at
                return
        feed.at = len(tokens)

    def _behind_for_head(self) -> int:
        """Find where the head of a `for` ends in which the feed is, for its ';' end no statement.

        Elsewhere, and when the head is not closed, that is where the feed is.
        """
        feed = self.feed
        tokens, opening = feed.tokens, feed.open[-1] if feed.open else None
        before = tokens.index(opening) - 1 if opening in tokens else -1
        if opening is None or before < 0 or not _is_for(tokens[before]):
            return feed.at
        depth = 1
        for at in range(feed.at, len(tokens)):
            kind = tokens[at].type
            if kind in ("LBRACE", "RBRACE") or kind in _DECLARATIONS:
                break
            depth += (kind == "LPAREN") - (kind == "RPAREN")
            if depth == 0:
                return at + 1
        return feed.at

    def _lacks_body(self) -> bool:
        """Tell whether the engine goes on where the body of an `if` or of a loop is missing.

        A wrong statement ends there with its ';' only, for a '}' would end no block.
        """
        for state in reversed(self.parser.statestack):
            behind = self.parser.action[state].get("error")
            if behind is not None:  # the state that is next, or a rule that is complete
                return behind > 0 and self.parser.action[behind].keys() == {"SEMI"}
        return False

    def _skip_statement(self, token: Token, *, in_switch: bool) -> None:
        """Move to the ';' or '}' that ends a wrong statement, in a switch to the '}'."""
        feed = self.feed
        feed.at = self._behind_for_head()
        while feed.open and feed.open[-1].type != "LBRACE":
            feed.open.pop()
        end = Token("SEMI", ";", token.source, token.end, token.end)
        if token.type == "SEMI":
            return  # PLY looks at the wrong token once more: it ends the statement
        if token.type == "RBRACE":
            if self._lacks_body():
                feed.open.append(feed.closed[0])
                feed.missing += [token, end]  # PLY drops the wrong token: once more, behind a ';'
            return
        depth = 0
        if token.type == "LBRACE":
            depth = 1
            if feed.open:
                feed.open.pop()
        tokens = feed.tokens
        for at in range(feed.at, len(tokens)):
            kind = tokens[at].type
            if kind == "LBRACE":
                depth += 1
            elif kind == "RBRACE":
                if depth == 0:
                    feed.at = at
                    feed.missing = [end]
                    return
                depth -= 1
                if depth == 0:
                    feed.at = at + 1
                    feed.missing = [end]
                    return
            elif depth == 0 and ((kind == "SEMI" and not in_switch) or kind in _DECLARATIONS):
                feed.at = at
                return
        feed.at = len(tokens)


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


def _is_for(word: Token) -> bool:
    return word.type == "FOR" or (word.type == "IDENT" and sorted(word.value) == ["f", "o", "r"])


def _unheard(token: Token | None) -> None:
    """Stand for the handler of errors, which each text has its own of."""
