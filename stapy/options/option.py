"""What an option of the command line is."""

from __future__ import annotations

from collections.abc import Callable

from stapy.options import Options

SAME, ADDS, LAST, REFUSED = "same", "adds", "last", "refused"
Setter = Callable[[Options, str], None]


class UsageError(Exception):
    """A command line that cannot be obeyed; the text says why."""


class MissingScriptError(UsageError):
    """A command line that has options and no script."""


class Option:
    """One row of the table.

    ``value`` is "" (none), the upper-case name of a required value, or the
    same in brackets for an optional one (long options only).  An empty value is refused: for those
    in brackets by whoever parses, else by ``set``, `stapy.combinations` or, of a script, pass 1.

    ``run`` names the fields that the option sets and no module depends on: two commands that differ
    in these only share what was translated.  ``words`` are the values that there are, for
    options whose values can be listed.

    ``again`` says what the option means when it was given before: it `ADDS` to that; with another
    value it is `REFUSED`; the `LAST` one counts, as in SystemTap, and the others are told.  One
    without a value says the same again.  ``alike`` is a name that options share of which each
    takes the place of the others.  A value is NAME=VALUE for ``is_named`` options, which count
    for each name on their own.
    """

    __slots__ = (
        "again", "alike", "help", "is_named", "long", "run", "set", "short", "value", "words"
    )  # fmt: skip

    def __init__(
        self,
        short: str,
        long: str,
        value: str,
        help: str,
        set: Setter,
        run: str = "",
        words: tuple[str, ...] = (),
        again: str = SAME,
        alike: str = "",
        is_named: bool = False,
    ) -> None:
        self.short, self.long, self.value, self.help, self.set = short, long, value, help, set
        self.run, self.words = run, words
        self.again, self.alike, self.is_named = again, alike, is_named

    def names(self) -> str:
        """Join the names of the option and its value: ``-m NAME``, ``--color[=WHEN]``."""
        names = [f"-{self.short}"] if self.short else []
        names += [f"--{self.long}"] if self.long else []
        text = ", ".join(names)
        if self.value.startswith("["):
            return f"{text}[={self.value[1:-1]}]"
        return text + (("=" if self.long else " ") + self.value if self.value else "")

    def written(self, value: str) -> str:
        """Write the option with a value as on a command line."""
        name = f"--{self.long}" if self.long else f"-{self.short}"
        if not value:
            return name
        return f"{name}={value}" if self.long else f"{name} {value}"


def is_number(text: str, low: int, high: int) -> bool:
    """Tell whether a text is a whole number from ``low`` to ``high``, written with 0 to 9.

    Of up to 20 digits, which 64 bits need: Python makes no number of thousands of them.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        return False
    return low <= int(text) <= high
