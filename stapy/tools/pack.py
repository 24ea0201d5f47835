"""``stapy pack``: stapy-run as one file, to be copied to machines without stapy."""

from __future__ import annotations

from pathlib import Path

from stapy.remote import archive
from stapy.terminal import writing
from stapy.tools.arguments import UNUSABLE, ToolArgumentParser, complain

_END = """\
The file runs a module (stapy -p4) as stapy-run does, and needs Python 3.9 or newer there:
python3 stapy-run.pyz MODULE.ko. The exit status is 0, 2 when the file cannot be written."""


def parser() -> ToolArgumentParser:
    """Build the parser of the options."""
    it = ToolArgumentParser(
        "pack", "Write stapy-run as one file, for machines that have only Python.", _END
    )
    it.add_argument("file", metavar="FILE", nargs="?", default="stapy-run.pyz",
                    help="the file (stapy-run.pyz)")  # fmt: skip
    return it


def main(words: list[str]) -> int:
    """Obey a command line and return the exit status."""
    place = Path(parser().take(words).file)
    try:
        archive.write(place)
    except (OSError, ValueError) as error:  # the latter of a name that no file can have
        reason = getattr(error, "strerror", None) or str(error)
        complain(f"stapy pack: cannot write '{place}': {reason}")
        return UNUSABLE
    writing.write(f"{place}\n")
    return 0
