"""What a rule of the grammar sees of the words and trees that it was found in: PLY's interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stapy.parse.actions import GrammarActions
    from stapy.parse.nodes import Decl
    from stapy.parse.tokens import Token


class Words(Protocol):
    """The words of the text; `at` is the next one."""

    tokens: list[Token]
    at: int


class ParserEngine(Protocol):
    """The engine while it runs; ``parse`` gives it the actions of the text."""

    actions: GrammarActions


class Rule(Protocol):
    """A rule of the grammar: its left side and the number of symbols on the right."""

    name: str
    len: int


class GrammarEngine(ParserEngine, Protocol):
    """The engine as a whole: what it does at each token in each state, and the state it is in."""

    action: dict[int, dict[str, int]]
    state: int
    statestack: list[int]
    goto: dict[int, dict[str, int]]
    productions: Sequence[Rule]
    defaulted_states: dict[int, int]  # in which there is one thing to do, at whatever token
    errorfunc: Callable[[Token | None], None]

    def errok(self) -> None:
        """Have the next error told, even soon behind the last one."""

    def parse(self, *, lexer: Words) -> Sequence[Decl] | None:
        """Parse a text to its end; None when an error left nothing of it."""


class Production(Protocol):
    """The right side of a rule from 1 on, and its left side at 0.

    A value is a tree, a word's text or a list, as the rule itself says, which is its docstring.
    """

    slice: list[Token]  # of those on the right that are words
    parser: ParserEngine
    lexer: Words

    def __len__(self) -> int:
        """Return one more than there are symbols on the right side."""

    def __getitem__(self, at: int) -> Any:
        """Return the value of a symbol."""

    def __setitem__(self, at: int, value: object) -> None:
        """Give the left side its value."""
