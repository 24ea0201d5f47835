"""The program ``stapy-run``."""

from __future__ import annotations

import os
import sys
from typing import List, Optional

from .consumer import run
from .elf import ModuleFile, describe
from .errors import RunError
from .messages import Messages, flush_python
from .options import USAGE, UsageError, parse


def main(words: Optional[List[str]] = None) -> int:
    """Obey a command line; the exit status."""
    words = sys.argv[1:] if words is None else words
    hold_standard_streams()
    try:
        if "-h" in words or "--help" in words:
            return show([USAGE.rstrip("\n")])
        if "-V" in words or "--version" in words:
            return show([version()])
        options = parse(words)
        if options.info:
            return show(describe(ModuleFile(options.module)))
        return run(options.module, options)
    except UsageError as error:
        Messages().error(str(error))
        Messages().log("Try 'stapy-run --help'.")
    except RunError as error:
        Messages().error(str(error))
    return 1


def start() -> None:
    """The entry of an archive made by zipapp, which drops what `main` returns."""
    sys.exit(main())


def hold_standard_streams() -> None:
    """Open what the caller has closed, or a pipe of ours would get its number and its text."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open("/dev/null", os.O_RDWR)


def show(lines: List[str]) -> int:
    """Print lines to standard output; a reader who left is no error."""
    try:
        sys.stdout.write("\n".join(lines) + "\n")
        flush_python(sys.stdout)
    except BrokenPipeError:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    return 0


def version() -> str:
    """What ``-V`` prints; a bare copy of this folder does not know its number."""
    try:
        from stapy import __version__
    except ImportError:
        __version__ = "(bare copy)"
    return f"stapy-run {__version__}"
