"""Questions whose answers depend on this machine's files and processes, and are remembered.

Who keeps what was made of the answers, such as the cache of whole results, asks again: the same
ones mean that nothing has changed.
"""

from __future__ import annotations

from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")

BYTES = "utf-8", "surrogateescape"  # a script may name anything

# What was asked since `forget`, with the answers.
_asked: dict[tuple[str, tuple[object, ...]], str] = {}
_questions: dict[str, Callable[..., object]] = {}


def asked() -> list[tuple[str, str]]:
    """List the questions asked since `forget`, as text for `answer`, with what was answered."""
    return sorted(
        (" ".join([question, *map(_word, arguments)]), found)
        for (question, arguments), found in _asked.items()
    )


def answer(question: str) -> str:
    """Answer now a question that was asked; the module that has its function must be there."""
    name, *words = question.split(" ")
    return repr(_questions[name](*(map(_argument, words))))


def forget() -> None:
    """Begin a new command: nothing has been asked."""
    _asked.clear()


def _word(argument: object) -> str:
    return argument.encode(*BYTES).hex() + "." if isinstance(argument, str) else str(argument)


def _argument(word: str) -> object:
    return bytes.fromhex(word[:-1]).decode(*BYTES) if word.endswith(".") else int(word)


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """Remember, for `asked`, what a function of texts and numbers is asked and answers."""

    def ask(*arguments: P.args, **named: P.kwargs) -> R:
        found = function(*arguments, **named)
        _asked[function.__name__, arguments] = repr(found)
        return found

    _questions[function.__name__] = function
    ask.__doc__ = function.__doc__
    return ask
