"""Where parsing goes on behind a syntax error.

PLY drops what it has of the wrong statement, then tokens up to one that may follow.  Where the
text lacks that one, or has it too late, it is made up: a ')' behind the head of an `if` or of a
loop, a ';' behind a statement, a '}' before a declaration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.parse.feed import RESUMED, Feed
from stapy.parse.landmarks import DECLARATIONS
from stapy.parse.tokens import Token

if TYPE_CHECKING:
    from stapy.parse.production import GrammarEngine

_HEAD = frozenset({"RPAREN"})  # what ends an error in the head of an `if` or of a loop
_BODY = frozenset({"SEMI"})  # and where its body is missing, for a '}' would end no block
_TOLD = 2  # tokens that must be read behind an error until the next one is told


class Recovery:
    """Moves the feed of one text; `at` is the first token at which a mistake is told again."""

    def __init__(self, parser: GrammarEngine, feed: Feed) -> None:
        self.parser = parser
        self.feed = feed
        self.at = 0
        self._closed = 0  # blocks that were taken for unclosed before a declaration

    def is_told(self, token: Token | None) -> bool:
        """Tell whether a mistake is one of its own, not the end of what was wrong before it."""
        if token is None:
            return len(self.feed.tokens) >= self.at
        if self._closed and token.type == "RBRACE" and not self.feed.closed:
            self._closed -= 1  # the declaration stood inside a block
            return False
        return self.feed.at > self.at or token.type in DECLARATIONS

    def skip(self, token: Token, *, in_switch: bool) -> None:
        """Move to where parsing can go on behind a wrong token."""
        feed = self.feed
        ends = self._ends()
        in_block = feed.is_in_block() or (token.type == "RBRACE" and ends in (_HEAD, _BODY))
        reused = token.type in ends
        if not in_block:
            self._to_declaration(token)
            reused = True
        elif token.type in DECLARATIONS and not is_made_up(token):
            self._close_blocks(token, ends)
        elif ends == _HEAD:
            self._to_body(token)
        else:
            self._to_end(token, ends, in_switch)
        self.at = feed.at + _TOLD - reused
        feed.missing.append(RESUMED)

    def _ends(self) -> frozenset[str]:
        """Find what the engine will take behind the error, by what it does in its state."""
        parser = self.parser
        stack = list(parser.statestack)
        while stack:
            state = stack[-1]
            action = parser.defaulted_states.get(state, parser.action[state].get("error"))
            if action is None:
                stack.pop()
            elif action > 0:
                return frozenset(parser.action[action])
            else:
                rule = parser.productions[-action]
                del stack[len(stack) - rule.len :]
                stack.append(parser.goto[stack[-1]][rule.name])
        return frozenset()

    def _made_up(self, token: Token, *kinds: str) -> list[Token]:
        """Make tokens up in front of another one, as the feed takes them: the last comes first."""
        signs = {"SEMI": ";", "RPAREN": ")", "RBRACE": "}"}
        place = token.start
        return [Token(kind, signs[kind], token.source, place, place) for kind in reversed(kinds)]

    def _close_blocks(self, token: Token, ends: frozenset[str]) -> None:
        """Put the forgotten closing braces in front of a declaration inside a block."""
        feed = self.feed
        self._closed = feed.blocks()
        kinds = ["RBRACE"] * self._closed
        if ends in (_HEAD, _BODY):
            kinds.insert(0, "SEMI")
        if ends == _HEAD:
            kinds.insert(0, "RPAREN")
        feed.missing = [token, *self._made_up(token, *kinds)]
        feed.open = [opening for opening in feed.open if opening.type == "LBRACE"]

    def _to_declaration(self, token: Token) -> None:
        feed = self.feed
        tokens = feed.tokens
        feed.open.clear()
        if token.type in DECLARATIONS:
            return  # PLY looks at the wrong token once more: it begins something good
        depth = 0
        for at in range(feed.at, len(tokens)):
            kind = tokens[at].type
            if kind == "LBRACE":
                depth += 1
            elif kind == "RBRACE":
                depth = max(0, depth - 1)
            elif depth == 0 and kind in DECLARATIONS:
                feed.at = at
                return
        feed.at = len(tokens)

    def _again(self, token: Token, *kinds: str) -> None:
        """Have the wrong token come again, which PLY drops, behind what is made up."""
        feed = self.feed
        if token.type == "RBRACE":
            feed.open += feed.closed[:1]
        self._leave_brackets()
        feed.missing += [token, *self._made_up(token, *kinds)]

    def _leave_brackets(self) -> None:
        """Forget what is open within the innermost block."""
        while self.feed.open and self.feed.open[-1].type != "LBRACE":
            self.feed.open.pop()

    def _to_body(self, token: Token) -> None:
        """Move to the ')' that ends the head of an `if` or of a loop, or to its body."""
        feed, tokens = self.feed, self.feed.tokens
        if token.type == "LBRACE":
            feed.open.pop()
            self._again(token, "RPAREN")
            return
        if token.type == "RBRACE":
            self._again(token, "RPAREN", "SEMI")
            return
        within: list[Token] = []
        for opening in reversed(feed.open):
            if opening.type == "LBRACE":
                break
            within.append(opening)
        depth = sum(opening.type == "LPAREN" for opening in within)
        if depth == 0:
            return  # PLY looks at the wrong token once more: it ends the head
        head = tokens[feed.landmarks().place(within[-1], feed.at) - 1]
        is_for = head.type == "FOR" and self._closing(depth) > 0
        if token.type == "SEMI" and not is_for:
            self._again(token, "RPAREN")
            return
        self._leave_brackets()
        for at in range(feed.at, len(tokens)):
            kind = tokens[at].type
            depth += (kind == "LPAREN") - (kind == "RPAREN")
            feed.at = at
            if depth == 0:
                return
            if kind == "LBRACE" or (kind == "SEMI" and not is_for):
                feed.missing = self._made_up(tokens[at], "RPAREN")
                return
            if kind == "RBRACE" or self._begins_declaration(at):
                feed.missing = self._made_up(tokens[at], "RPAREN", "SEMI")
                return
        feed.at = len(tokens)

    def _begins_declaration(self, at: int) -> bool:
        return self.feed.landmarks().begins_declaration(at)

    def _to_end(self, token: Token, ends: frozenset[str], in_switch: bool) -> None:
        """Move to the ';' or '}' that ends a wrong statement, in a switch to the '}'."""
        feed, tokens = self.feed, self.feed.tokens
        behind = self._behind_mistyped_for()
        self._leave_brackets()
        if token.type == "ELSE" or behind:
            feed.at = behind or feed.at
            feed.missing = self._made_up(token, "SEMI")  # a statement follows
            return
        if token.type == "SEMI":
            return  # PLY looks at the wrong token once more: it ends the statement
        if token.type == "RBRACE":
            if ends == _BODY:
                self._again(token, "SEMI")
            return
        depth = 0
        if token.type == "LBRACE":
            depth = 1
            if feed.open:
                feed.open.pop()
        for at in range(feed.at, len(tokens)):
            kind = tokens[at].type
            feed.at = at
            depth += (kind == "LBRACE") - (kind == "RBRACE")
            if kind == "RBRACE" and depth <= 0:
                feed.at = at + (depth == 0)
                feed.missing = self._made_up(tokens[at], "SEMI")
                return
            if depth == 0 and kind == "SEMI" and not in_switch:
                return
            if depth == 0 and self._begins_declaration(at):
                feed.missing = self._made_up(tokens[at], "SEMI")
                return
        feed.at = len(tokens)

    def _closing(self, depth: int) -> int:
        """Find the ')' that closes so many parentheses, 0 where a block begins or ends first."""
        return self.feed.landmarks().closing(self.feed.at, depth)

    def _behind_mistyped_for(self) -> int:
        """Find what follows the head of a `fro`, for its ';' end no statement; 0 elsewhere."""
        feed, tokens = self.feed, self.feed.tokens
        before = feed.landmarks().place(feed.open[-1], feed.at) - 1 if feed.open else -1
        if before < 0 or sorted(tokens[before].value) != ["f", "o", "r"]:
            return 0
        end = self._closing(1)
        return end + 1 if end else 0


def is_made_up(token: Token) -> bool:
    """Tell whether a token is one that recovery has put in."""
    return token.start == token.end
