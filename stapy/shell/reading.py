"""Where the shell's lines come from: a terminal with an editor of lines, or any other input."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.ending import heard
from stapy.run.ground.packages import way_to_extra
from stapy.shell import text as lines_of
from stapy.shell.commands import read
from stapy.shell.settings import Settings
from stapy.shell.shell import RefusedCommand, Shell
from stapy.shell.state import rescue
from stapy.terminal import writing

if TYPE_CHECKING:
    from types import FrameType

    from stapy.options import Options

PROMPT, GOES_ON = "stapy> ", "  ...> "


def main(words: list[str], options: Options, defaults: int) -> int:
    """Obey ``stapy -i`` and return its exit status.

    The first words, as many as ``defaults``, are those that others take the place of.

    On a terminal that is 0; else 1 when a line was refused or a run has failed, for nobody looks.
    """
    on_terminal = _is_terminal(0) and _is_terminal(1)
    shell = Shell(Settings(words, options.message_format, defaults), on_terminal=on_terminal)
    for number in heard((signal.SIGTERM, signal.SIGHUP)):
        signal.signal(number, _end)
    _begin(shell)
    try:
        _serve(shell)
    except SystemExit:
        if on_terminal:  # else the commands, and the script with them, are somebody's file
            rescue(shell)
        raise
    except Exception:
        rescue(shell)
        raise
    return int(shell.failed and not on_terminal)


def _serve(shell: Shell) -> None:
    if shell.on_terminal and _has_line_editor():
        from stapy.shell.terminal import LineEditor

        LineEditor(shell).serve()
    else:
        _serve_plainly(shell)


def _begin(shell: Shell) -> None:
    """Take the script of the command line."""
    settings = shell.settings
    try:
        if settings.first_text is not None:
            shell.take(lines_of.joined(settings.first_text, ""))
        elif settings.first_file is not None:
            read(shell, Path(settings.first_file))
    except RefusedCommand as error:
        shell.failed = True
        if not shell.on_terminal:
            raise SystemExit(1) from None
        if str(error):
            writing.tell(f"{error}\n")
    except OSError as error:
        writing.tell(f"ERROR: '{settings.first_file}': {error.strerror}\n")
        raise SystemExit(1) from None


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False


def _has_line_editor() -> bool:
    from importlib.util import find_spec

    if find_spec("prompt_toolkit") and os.environ.get("TERM", "dumb") != "dumb":
        return True
    if not find_spec("prompt_toolkit"):
        way = way_to_extra("interactive")
        writing.tell(f"Completion and history need the Python package prompt_toolkit: {way}\n")
    return False


def _serve_plainly(shell: Shell) -> None:
    """Read lines one by one; a prompt is for terminals only."""
    while not shell.has_ended:
        if shell.on_terminal:
            writing.write(GOES_ON if shell.pending else PROMPT)
        try:
            line = sys.stdin.buffer.readline()
            if not line:
                shell.flush()
                break
            text = line.decode("utf-8", "surrogateescape")
            shell.feed(text.removesuffix("\n").removesuffix("\r"))
        except KeyboardInterrupt:
            if not shell.on_terminal:
                raise
            shell.pending = ""
            writing.write("\n")
    if shell.on_terminal and not shell.has_ended:
        writing.write("\n")
