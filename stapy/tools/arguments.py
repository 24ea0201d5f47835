"""Command lines of stapy's tools: argparse with stapy's way to complain."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from stapy.diagnostics.render import harmless

UNUSABLE = 2  # the exit status of a tool that could not do what it was asked


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

    def error(self, message: str) -> NoReturn:
        """Say in one line what is wrong with the command line."""
        complain(f"{self.prog}: {message} ('{self.prog} --help' lists the options)")
        sys.exit(UNUSABLE)


def complain(text: str) -> None:
    """Print an error on standard error."""
    print(f"ERROR: {harmless(text)}", file=sys.stderr)
