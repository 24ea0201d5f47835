"""The options of all runs of a shell: those of its command line, and what `set` makes of them."""

from __future__ import annotations

import shlex

from stapy import cli
from stapy.cli import apart
from stapy.options import Options
from stapy.options.option import Option, UsageError
from stapy.record import replace

# What runs no script, or brings one, beside what -i does not go with; fields and their names.
_NOT_HERE = {
    "script_text": "-e",
    "explain": "-h, -V and --explain",
    "doc": "--doc",
    "clean_cache": "--clean-cache",
}


def _own() -> list[Option | None]:
    return [apart.option_of(name) for name in ("-i", "--interactive")]


class Settings:
    """Options, each as the words that it was given by, and the arguments of the script."""

    def __init__(self, words: list[str], form: str, defaults: int = 0) -> None:
        """Take the words of a command line which ``cli.parse`` has accepted, with ``defaults``."""
        self._form = form
        given = cli.parse(words, defaults=defaults)
        self.first_file, self.first_text = given.script_file, given.script_text
        self.arguments = given.arguments
        left_out = [*_own(), apart.option_of("-e")]
        first, own = (
            [group for group in apart.groups(part) if apart.option_of(group[0]) not in left_out]
            for part in (words[:defaults], words[defaults:])
        )
        self._groups = [*apart.not_replaced(first, own), *own]
        self.options = self._parsed(_flat(self._groups), self.arguments)

    def words(self) -> list[str]:
        """List each option as it would be written on a command line."""
        return [shlex.join(group) for group in self._groups]

    def set(self, words: list[str]) -> None:
        """Add options; raise `UsageError` and change nothing when they make no sense."""
        groups = apart.groups([_as_option(words[0]), *words[1:]])
        if not groups:
            raise UsageError(f"'{words[0]}' is no option")
        fresh = [apart.option_of(group[0]) for group in groups]
        if any(option in _own() for option in fresh):
            raise UsageError("-i cannot be given here: this is the shell that it begins")
        kept = apart.not_replaced(self._groups, groups)
        options = self._parsed([*_flat(kept), _as_option(words[0]), *words[1:]], self.arguments)
        self.options, self._groups = options, [*kept, *groups]

    def unset(self, name: str) -> None:
        """Take an option back, however often it was given."""
        option = apart.option_of(_as_option(name))
        if option is None:
            raise UsageError(f"unknown option '{name}'")
        kept = [group for group in self._groups if apart.option_of(group[0]) is not option]
        if len(kept) == len(self._groups):
            raise UsageError(f"{name} is not set")
        self.options, self._groups = self._parsed(_flat(kept), self.arguments), kept

    def take_arguments(self, words: list[str]) -> None:
        """Give the script these arguments."""
        self.options = self._parsed(_flat(self._groups), words)
        self.arguments = words

    def for_script(self, text: str) -> Options:
        """Return the options of a session that runs a script."""
        return replace(self.options, script_text=text)

    def for_question(
        self, *, doc: str | None = None, listing: str | None = None, variables: bool = False
    ) -> Options:
        """Return the options of a command that prints what is asked for, and runs nothing."""
        now = self.options
        return Options(
            doc=doc,
            listing=listing,
            listing_variables=variables,
            message_format=now.message_format,
            color=now.color,
            use_cache=now.use_cache,
            tapset_dirs=now.tapset_dirs,
            release=now.vm_release if now.vm else now.release,
            sysroot=now.sysroot,
        )

    def _parsed(self, words: list[str], arguments: list[str]) -> Options:
        options = cli.parse(["-i", *words])
        if options.script_file is not None:
            raise UsageError(f"'{options.script_file}' is no option, nor the value of one")
        blank = Options()
        for field, name in _NOT_HERE.items():
            if getattr(options, field) != getattr(blank, field):
                raise UsageError(f"{name} cannot be given here: each run is of the shell's script")
        options.interactive, options.arguments = False, arguments
        options.message_format = cli.message_format(words) or self._form
        return options


def _flat(groups: list[list[str]]) -> list[str]:
    return [word for group in groups for word in group]


def _as_option(word: str) -> str:
    """Allow the name of an option without its dashes, as in ``set vm``."""
    if word.startswith("-"):
        return word
    return f"-{word}" if len(word) == 1 else f"--{word}"
