"""Command lines of stapy's tools: argparse with stapy's way to complain."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from stapy.diagnostics.render import one_line
from stapy.diagnostics.suggest import did_you_mean, listed

UNUSABLE = 2  # the exit status of a tool that could not do what it was asked


class _StoredOnce(argparse._StoreAction):
    """A value that another one does not take the place of in silence."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        if option_string is not None and isinstance(parser, ToolArgumentParser):
            before = parser.values_given.setdefault(self.dest, values)
            if before != values:
                parser.error(f"{option_string} was given twice: '{before}' and '{values}'")
        super().__call__(parser, namespace, values, option_string)


class ToolArgumentParser(argparse.ArgumentParser):
    """The options of ``stapy NAME``."""

    def __init__(self, name: str, description: str, end: str = "") -> None:
        super().__init__(
            f"stapy {name}",
            description=description,
            epilog=end,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.values_given: dict[str, object] = {}
        self.register("action", None, _StoredOnce)
        self.register("action", "store", _StoredOnce)

    def take(self, words: list[str], is_mixed: bool = False) -> argparse.Namespace:
        """Take a command line apart; what is unknown is named before what is missing.

        With ``is_mixed`` options may stand between the words of a list.
        """
        self.values_given.clear()
        known = self.long_names()
        ended = words.index("--") if "--" in words else len(words)
        for word in words[:ended]:
            name = word.partition("=")[0]
            if name.startswith("--") and name[2:] not in known:
                hint = did_you_mean(name, [f"--{one}" for one in known], 1)
                self.error(f"unknown option '{name}'" + (f"; {hint}" if hint else ""))
        parse = self.parse_known_intermixed_args if is_mixed else self.parse_known_args
        given, others = parse(words)
        if others:
            what = "unknown option" if others[0].startswith("-") else "there is no place for"
            self.error(f"{what} '{others[0]}'")
        return given

    def long_names(self) -> list[str]:
        """List the options of more than a letter, without their hyphens."""
        words = (word for action in self._actions for word in action.option_strings)
        return [word[2:] for word in words if word.startswith("--")]

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse what is none of the choices of an argument, and name the nearest."""
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        what = f"'{value}' is not {listed(choices)}"
        hint = did_you_mean(str(value), choices, 2)
        named = action if action.option_strings else None  # else the word tells which it is
        raise argparse.ArgumentError(named, what + (f"; {hint}" if hint else ""))

    def error(self, message: str) -> NoReturn:
        """Say in one line what is wrong with the command line."""
        complain(f"{self.prog}: {message} ('{self.prog} --help' lists the options)")
        sys.exit(UNUSABLE)


def no_script(name: str, error: OSError) -> str:
    """Say why a script cannot be read, and what it is where that is no file's name."""
    from stapy.session.inputs import is_text

    why = f"'{name}': {error.strerror}"
    if not is_text(name):
        return why
    return f"{why}; that is the text of a script, and its file is wanted ('-' is standard input)"


def complain(text: str) -> None:
    """Print an error on standard error, in one line."""
    print(f"ERROR: {one_line(text)}", file=sys.stderr)
