"""``%%stapy OPTIONS``: the cell is the script, the session an ordinary one."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from IPython.core.magic import no_var_expand

from stapy import cli
from stapy.notebook import process
from stapy.notebook.live import CellOutput, LiveRecords
from stapy.notebook.result import StapyResult
from stapy.options.option import UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from stapy.options import Options

_NO_PLACE = {
    "interactive": "-i is for terminals: a cell is edited and run again",
    "language_server": "--language-server is for editors",
    "monitor": "--monitor is for terminals; with --format=json tables and plots are shown",
}


class Magic:
    """The magic of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    @no_var_expand
    def obey(self, line: str, cell: str | None = None) -> StapyResult | None:
        """Run the cell as a script.  ``%%stapy -T 5 --vm --format=json`` has options of stapy.

        Words behind the options are the script's arguments.  ``%stapy WORDS`` is the command
        itself, such as ``%stapy -l 'vfs.*'``.  With --format=json the globals are shown as
        tables and plots, and the result has all that came (docs/notebook.md).
        """
        try:
            words, options = _words(line, cell)
            script = _bytes(cell or "", "the cell")
        except (UsageError, ValueError) as error:
            cli.complain(str(error), "")
            return None
        try:
            return self._run(words, script, options if options and _gives_json(options) else None)
        except OSError as error:
            cli.complain(f"the session cannot be started: {error.strerror}", "")
            return None

    def _run(self, words: list[str], script: bytes, options: Options | None) -> StapyResult:
        """Run a session; ``options`` are those of one that gives records."""
        command = process.session_words(words)
        with process.Interrupts() as interrupts:
            if options is None:
                status = process.run(command, script, _told, _complained, _flush, interrupts)
                return StapyResult(status)
            cell = CellOutput(hasattr(self._shell, "kernel"), _told, _hinted)
            live = LiveRecords(cell)
            take, tick = live.feed, live.tick
            return live.end(process.run(command, script, take, _complained, tick, interrupts))


def _words(line: str, cell: str | None) -> tuple[list[str], Options | None]:
    """Write the words of the session; the options, too, when the cell is the script."""
    words = shlex.split(line)
    if b"\0" in _bytes(line, "the line"):
        raise UsageError("the line has a byte 0, which no command line can have")
    if cell is None:
        return words, None
    options = cli.parse(words, script=cell)
    for field, why in _NO_PLACE.items():
        if getattr(options, field):
            raise UsageError(why)
    color = [] if any(one.startswith("--col") for one in words) else ["--color=always"]
    return [*color, "-", *words], options


def _bytes(text: str, what: str) -> bytes:
    """Encode a text for another process; `UsageError` for one that none can be given."""
    try:
        return os.fsencode(text)
    except UnicodeEncodeError as error:
        half = ascii(text[error.start])
        raise UsageError(f"{what} has half a character, {half}, which no file has") from None


def _gives_json(options: Options) -> bool:
    """Tell whether standard output has records, and not a file or a terminal's text."""
    is_run = options.last_pass == 5 and options.output is None
    return is_run and options.format == "json" and not options.is_for_plot


def _told(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _complained(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _hinted(text: str) -> None:
    _complained(f"WARNING: {text}\n")


def _flush() -> None:
    """Do nothing: text is shown as it comes."""
