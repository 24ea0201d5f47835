"""Which words of a command line belong to which option, for lines that are put together."""

from __future__ import annotations

from stapy.cli.option import LONG, SHORT, parse_long, parse_short
from stapy.options import Options
from stapy.options.given import GivenOptions, place_of
from stapy.options.option import Option


def place_of_group(group: list[str]) -> object:
    """Return what only one option can fill of those that `groups` lists; None where all add."""
    option = option_of(group[0])
    if option is None:
        return None
    return place_of(option, group[1] if len(group) > 1 else group[0].partition("=")[2])


def option_of(word: str) -> Option | None:
    """Find the option that a word names: ``-v``, ``--vm``, ``--vm=6.12``, ``--mess``."""
    if not word.startswith("--"):
        return SHORT.get(word[1:2])
    name = word[2:].partition("=")[0]
    close = [long for long in LONG if long.startswith(name)]
    found = name if name in LONG else close[0] if len(close) == 1 else ""
    return LONG.get(found)


def groups(words: list[str]) -> list[list[str]]:
    """List the words of each option up to ``--``, letters one by one; plain words are left out."""
    return _taken_apart(words)[0]


def plain_words(words: list[str]) -> list[str]:
    """List what is neither an option nor the value of one: ``--`` too, and all behind it."""
    return _taken_apart(words)[1]


def _taken_apart(words: list[str]) -> tuple[list[list[str]], list[str]]:
    found: list[list[str]] = []
    plain: list[str] = []
    scratch, queue = Options(), list(words)
    while queue and queue[0] != "--":
        before = list(queue)
        word = queue.pop(0)
        given = GivenOptions()  # each option by itself
        if word.startswith("--"):
            parse_long(scratch, word[2:], queue, given)
            found.append(before[: len(before) - len(queue)])
        elif word.startswith("-") and len(word) > 1:
            parse_short(scratch, word, queue, given, has_script=False)
            found += _letters(word, before[1 : len(before) - len(queue)])
        else:
            plain.append(word)
    return found, plain + queue


def not_replaced(before: list[list[str]], by: list[list[str]]) -> list[list[str]]:
    """List those `groups` in whose place no later one stands, and those that others add to."""
    places = [place_of_group(group) for group in by]
    return [group for group in before if (place := place_of_group(group)) is None
            or place not in places]  # fmt: skip


def layered(*lines: list[str]) -> list[str]:
    """Join the options of command lines, each of which takes the place of what came before."""
    found: list[list[str]] = []
    for line in lines:
        own = groups(line)
        found = [*not_replaced(found, own), *own]
    return [word for group in found for word in group]


def _letters(word: str, value: list[str]) -> list[list[str]]:
    """Split a word of letters that was accepted; ``value`` is the word behind it, if it took it."""
    found: list[list[str]] = []
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        if SHORT[letter].value:
            return [*found, [f"-{letter}", *([letters] if letters else value)]]
        found.append([f"-{letter}"])
    return found
