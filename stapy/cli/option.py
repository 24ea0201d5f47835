"""One option of a command line: found by its name or letter, given its value."""

from __future__ import annotations

from importlib import import_module

from stapy.options import Options, foreign
from stapy.options.given import GivenOptions
from stapy.options.option import UsageError
from stapy.options.table import TABLE
from stapy.options.tools import TOOLS

_ALL = [*TABLE, *foreign.TABLE]
SHORT = {option.short: option for option in _ALL if option.short}
LONG = {option.long: option for option in _ALL if option.long}


def parse_long(options: Options, text: str, queue: list[str], given: GivenOptions) -> None:
    """Take a word that begins with two dashes, which are cut, and its value from ``queue``."""
    name, equals, value = text.partition("=")
    option = LONG.get(name)
    if option is None:
        close = [long for long in LONG if long.startswith(name)]
        if len(close) != 1:
            raise UsageError(_unknown_option("--" + name, close))
        option = LONG[close[0]]
    if equals and not option.value:
        raise UsageError(f"option '--{option.long}' takes no value")
    if option.value and not equals and not option.value.startswith("["):
        if not queue:
            raise UsageError(f"option '--{option.long}' needs a value: {option.value}")
        value = queue.pop(0)
    given.enter(options, option, value)
    if equals and not value and option.value.startswith("["):
        # Of a variable that is not set: what it means without a value was not asked for.
        wanted = option.value[1:-1]
        raise UsageError(
            f"option '--{option.long}=' has an empty value: give {wanted}, or leave the '=' out"
        )
    if option.value.startswith("[") and not equals and queue and not queue[0].startswith("-"):
        options.apart[queue[0]] = f"--{option.long}={queue[0]}"


def parse_short(
    options: Options, word: str, queue: list[str], given: GivenOptions, *, has_script: bool
) -> None:
    """Parse one word of letters; ``has_script`` says that a script was named before it."""
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        option = SHORT.get(letter)
        if option is None:
            if letter.isdigit() or has_script:
                raise UsageError(
                    f"unknown option '{word}' (an argument of the script that begins with"
                    f" '-' stands behind '--': stapy SCRIPT -- {word})"
                )
            raise UsageError(_unknown_option("-" + letter, []) + _two_dashes(word))
        if not option.value:
            given.enter(options, option, "")
            continue
        if not letters and not queue:
            raise UsageError(f"option '-{letter}' needs a value: {option.value}")
        meant = _two_dashes(word)
        if meant and letters:
            options.notices.append(f"'{word}' is '-{letter} {letters}'{meant}")
        try:
            given.enter(options, option, letters or queue.pop(0))
        except UsageError as error:
            raise UsageError(str(error).rstrip(".") + meant if meant else str(error)) from None
        return


def _two_dashes(word: str) -> str:
    """Ask whether a word of letters is meant for the long option whose name it is."""
    name = word[1:].partition("=")[0]
    return f"; did you mean '-{word}'?" if len(name) > 1 and name in LONG else ""


def _unknown_option(name: str, close: list[str]) -> str:
    if len(close) > 1:
        return f"option '{name}' could be any of: " + ", ".join("--" + long for long in close)
    hint = _meant_option(name[2:]) if name.startswith("--") else ""
    return f"unknown option '{name}'{hint} ('stapy --help' lists them)"


def _meant_option(name: str) -> str:
    """Suggest the option whose name this may be: one of ours, else one of a tool's."""
    from stapy.diagnostics.suggest import nearest

    for long in sorted(LONG, key=len, reverse=True):  # a value that stands right behind the name
        if LONG[long].value and name.startswith(long) and name[len(long)] in "0123456789":
            return f"; did you mean '--{long}={name[len(long) :]}'?"
    begun = sorted((long for long in LONG if len(long) > 3 and name.startswith(long)), key=len)
    if near := nearest(name, LONG) or begun[-1:]:
        return f"; did you mean '--{near[0]}'?"
    others = {}
    for tool in TOOLS:
        made = getattr(import_module(f"stapy.tools.{tool}"), "parser", None)
        others.update(dict.fromkeys(made().long_names(), tool) if made else {})
    if near := [name] if name in others else nearest(name, others):
        return f"; did you mean '--{near[0]}' of 'stapy {others[near[0]]}'?"
    return ""
