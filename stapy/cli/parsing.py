"""Words of a command line become options; nothing is done with them.

``argparse`` is not used: it costs 20 ms at every start, and it cannot do what
SystemTap's command line does (options after the script's name, ``-wvp4`` in one
word, unique prefixes of long options, ``--color`` with and without a value).
"""

from __future__ import annotations

from stapy.cli.option import SHORT, parse_long, parse_short
from stapy.combinations import check
from stapy.options import Options
from stapy.options.given import GivenOptions
from stapy.options.option import MissingScriptError, UsageError


def parse(words: list[str], script: str | None = None, defaults: int = 0) -> Options:
    """Parse the words of a command line; raise `UsageError` when they make no sense.

    ``script`` is a text that is known already: words name none then.  The first words, as many
    as ``defaults``, are those of a file, which the others take the place of.
    """
    options = Options()
    plain: list[str] = []
    queue = list(words)
    given, in_defaults = GivenOptions(), defaults > 0
    while queue:
        if in_defaults and len(queue) <= len(words) - defaults:
            given, in_defaults = GivenOptions(), False
        word = queue.pop(0)
        if word == "--":
            plain += queue
            break
        if word.startswith("--"):
            parse_long(options, word[2:], queue, given)
        elif word.startswith("-") and len(word) > 1:
            has_script = bool(plain) or options.script_text is not None
            parse_short(options, word, queue, given, has_script=has_script)
        else:
            plain.append(word)
    if script is not None:
        SHORT["e"].set(options, script)
    _place(options, plain)
    try:
        check(options)
    except MissingScriptError as error:
        raise UsageError(f"{error}{_taken_as_value(words)}") from None
    return options


def _taken_as_value(words: list[str]) -> str:
    """Name the script that an option has taken as its value, "" when none has."""
    from stapy.cli.apart import groups, option_of

    for group in groups(words):
        option = option_of(group[0])
        if option and len(group) > 1 and group[1].endswith(".stp"):
            return f" '{group[1]}' was taken as the {option.value} of {option.written('')}."
    return ""


def _place(options: Options, plain: list[str]) -> None:
    """Tell the script's file from its arguments."""
    needs_file = options.script_text is None and options.listing is None
    if needs_file and plain:
        options.script_file = plain.pop(0)
    options.arguments = plain
