"""The shell behind ``stapy -i``: what its lines do, wherever they come from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.cli import complain, told
from stapy.options.option import UsageError
from stapy.record import Record
from stapy.shell import text as lines_of
from stapy.shell.apart import forked
from stapy.shell.checking import NAME, ShellCheck, is_between
from stapy.terminal import progress, writing

if TYPE_CHECKING:
    from collections.abc import Set

    from stapy.options import Options
    from stapy.shell.settings import Settings

# How declarations begin, and comments; all else is a command, or a mistake.
_DECLARES = re.compile(r"\s*(?:(?:probe|global|private|function)\b|[@%#/])")
# How `list` is asked as the command line is.
LISTS = re.compile(r"-[lL](?!\S)\s*")
# What concerns the shell as a whole: nobody reads it, or there is no memory.
_OF_THE_SHELL = (writing.Unwritable, writing.Unheard, MemoryError, SystemError)


class RefusedCommand(Exception):
    """A command that cannot be obeyed; the text says why, "" when that was told already."""


class ShellCommand(Record):
    """A command: what stands behind its name, and what it does in a few words."""

    name: str
    takes: str
    about: str


COMMANDS = [
    ShellCommand(
        "help", "[NAME]", "list the commands, or tell of one; of other names the --doc page"
    ),
    ShellCommand(
        "list",
        "[[-L] PROBE]",
        "print the script; with PROBE, the probe points that it means, -L: and their variables",
    ),
    ShellCommand(
        "run", "[DECLARATION]", "run the script; a DECLARATION takes part in this run only"
    ),
    ShellCommand(
        "delete",
        "LINE[-LINE] | all | draft",
        "take out the declarations in which these lines are; draft: what 'edit' left with mistakes",
    ),
    ShellCommand("edit", "", "change the script in $VISUAL or $EDITOR"),
    ShellCommand("load", "FILE", "read a script in the place of this one"),
    ShellCommand(
        "save", "[-f] [FILE]", "write the script; -f also over a file that it is not from"
    ),
    ShellCommand(
        "set", "[OPTION [VALUE]]", "give an option of the command line to all runs: set -T 5"
    ),
    ShellCommand("unset", "OPTION", "take an option back; 'unset args' takes all arguments back"),
    ShellCommand(
        "add", "path DIR | args WORD...", "add a tapset folder, or arguments of the script"
    ),
    ShellCommand("show", "", "print the options and the arguments of the script"),
    ShellCommand("exit", "", "leave the shell, as Ctrl-D does"),
    ShellCommand("quit", "", "the same"),
]
BY_NAME = {command.name: command for command in COMMANDS}


def usage(command: ShellCommand) -> str:
    """Write what a command is called with."""
    return f"{command.name} {command.takes}".rstrip()


class Shell:
    """A script that is built, its options, and the lines that have not made a declaration yet."""

    def __init__(self, settings: Settings, *, on_terminal: bool) -> None:
        self.settings = settings
        self.on_terminal = on_terminal
        self.script = ""
        self.file = ""  # where the script is from, or was saved
        self.saved = ""  # the script as it is there
        self.draft = ""  # what an editor left with mistakes
        self.draft_saved = ""  # it as it is in a file
        self.pending = ""
        self.doing = ""  # the entry that is being obeyed
        self.failed = False  # something was refused, or a run ended with an error
        self.has_ended = False

    # --- lines --------------------------------------------------------------

    def feed(self, line: str) -> None:
        """Take a line: it is done when it ends a command or a declaration, else it waits."""
        if not self.pending and not line.strip():
            return
        ends = bool(self.pending) and not line.strip() and is_between(_script_of(self.pending))
        self.pending += line + "\n"
        if ends or not self.needs_more(self.pending):
            self.flush()

    def feed_all(self, text: str) -> None:
        """Take lines that came at once, the last of which ends what it stands in."""
        for line in text.split("\n"):
            if not self.has_ended:
                self.feed(line)
        if not self.has_ended:
            self.flush()

    def flush(self) -> None:
        """Do what waits, be it whole or not."""
        entry, self.pending = self.pending.rstrip("\n"), ""
        if not entry.strip():
            return
        self.doing = entry
        try:
            self._do(entry)
        except (RefusedCommand, UsageError) as error:
            self._complain(str(error))
        except OSError as error:
            name = f"'{error.filename}': " if error.filename else ""
            self._complain(f"{name}{error.strerror or error}")
        except KeyboardInterrupt:
            if not self.on_terminal:
                raise
            self._complain("interrupted")
        except Exception as error:
            if not self.on_terminal or isinstance(error, _OF_THE_SHELL):
                raise
            self.report(error)
        self.doing = ""

    def report(self, error: Exception) -> None:
        """Report our mistake; the script is as it was, so the shell goes on."""
        from stapy.diagnostics.bug_report import our_mistake

        self.failed = True
        progress.clear()
        our_mistake(error, self.settings.options)

    def needs_more(self, entry: str) -> bool:
        """Tell whether more lines must follow; commands other than `run` have one line."""
        script = _script_of(entry)
        if not script.strip() or not looks_declared(script):
            return False
        whole = lines_of.joined(self.script, script)
        return self._check(whole).is_open()

    def _complain(self, message: str) -> None:
        self.failed = True
        if message:
            progress.clear()
            complain(message, self.settings.options.message_format)

    def _do(self, entry: str) -> None:
        name = entry.split(maxsplit=1)[0]
        rest = entry.strip()[len(name) :].strip()
        if name in BY_NAME:
            from stapy.shell import commands

            commands.obey(self, name, rest)
        elif looks_declared(entry):
            self.take(lines_of.joined(self.script, entry))
            if self.draft:  # which `edit` goes on with, and which then replaces the script
                self.draft = lines_of.joined(self.draft, entry)
        else:
            self._unknown(name, entry)

    def _unknown(self, name: str, entry: str) -> None:
        from stapy.diagnostics.suggest import nearest

        if "(" in entry or "=" in entry:
            raise RefusedCommand(f"statements stand in probes{in_a_probe(entry)}")
        near = nearest(name, [*BY_NAME, "probe", "global", "function", "private"])
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise RefusedCommand(f"unknown command '{name}'{hint} ('help' lists them)")

    # --- the script ---------------------------------------------------------

    def take(self, text: str) -> None:
        """Make a text the script; refuse it, with its mistakes, when there are any."""
        self.refuse_mistakes(text)
        self.script = text

    def unsaved(self) -> list[str]:
        """List the texts that would be lost: the script with what is being typed, and the draft."""
        typed = self.doing or self.pending
        script = lines_of.joined(self.script, typed if looks_declared(typed) else "")
        found = [script] if script not in ("", self.saved) else []
        return found + ([self.draft] if self.has_unsaved_draft() else [])

    def has_unsaved_draft(self) -> bool:
        """Tell whether `edit` left a text that is in no file."""
        return self.draft not in ("", self.draft_saved)

    def take_out(self, left: str) -> None:
        """Make what is left of the script the script; refuse it when it names what is gone."""
        before, after = (self._check(text).global_names() for text in (self.script, left))
        self.refuse_mistakes(left, lost=before - after)
        self.script = left

    def refuse_mistakes(self, text: str, lost: Set[str] = frozenset(), name: str = NAME) -> None:
        """Show the mistakes of a text and raise `RefusedCommand`, if there are any.

        ``lost`` are globals that it must not name, for they are no longer declared; ``name`` is
        what messages call the text.
        """
        errors = self._check(text, name).errors(lost) if text.strip() else []
        if errors:
            progress.clear()
            for one in errors:
                writing.tell(one if one.endswith("\n") else one + "\n")
            raise RefusedCommand("")

    def _check(self, text: str, name: str = NAME) -> ShellCheck:
        return ShellCheck(self.settings.options, text, name)

    def session(self, options: Options) -> None:
        """Let an ordinary session obey options, in a process of its own."""
        from stapy.session import Session

        words = [f"--rlimit-as={limit}" for limit in [options.rlimits.get("as")] if limit]
        status = forked(lambda: told(Session(options).main, words), has_input=self.on_terminal)
        self.failed = self.failed or status != 0


def in_a_probe(statement: str) -> str:
    """Write how a statement would be run at once, to stand behind a message."""
    return f": run probe begin {{ {statement.strip()} exit() }}"


def _script_of(entry: str) -> str:
    """Return the declarations in what was written: all of it, or what is behind ``run``."""
    found = re.match(r"\s*run\s", entry)
    return entry[found.end() :] if found else entry


def looks_declared(text: str) -> bool:
    """Tell what the parser should read: declarations, and what users of other tools write."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    if _DECLARES.match(text):
        return True
    return first not in BY_NAME and any(char in text for char in ":{")
