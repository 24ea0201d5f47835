"""``stapy plot``: pictures of what ``--format=json`` or ``--format=folded`` recorded."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stapy.diagnostics.render import harmless
from stapy.options.option import is_number
from stapy.plot import choice, files, recording
from stapy.plot.charts import KINDS
from stapy.plot.errors import PlotError
from stapy.terminal import writing
from stapy.tools.arguments import UNUSABLE, ToolArgumentParser, complain

_END = """\
FILE is what --format=json or --format=folded wrote. Which chart a global or a print gets follows
from its type: flame graphs of arrays with stacks as keys, bars of other arrays, histograms and heat
maps of statistics, lines and stacked areas of what is printed repeatedly. The exit status is 0, or
2 when nothing was drawn."""


def parser() -> ToolArgumentParser:
    """Build the parser of the options."""
    it = ToolArgumentParser("plot", "Draw what a session recorded.", _END)
    it.add_argument("-o", dest="output", metavar="FILE.svg|html|png",
                    help="the picture; else FILE with the suffix .svg")  # fmt: skip
    it.add_argument("--chart", metavar="KIND", choices=KINDS,
                    help="only charts of this kind: " + ", ".join(KINDS))  # fmt: skip
    it.add_argument("--global", dest="name", metavar="NAME", default="",
                    help="only this global")  # fmt: skip
    it.add_argument("--field", metavar="NAME", default="",
                    help="only this field of prints")  # fmt: skip
    it.add_argument("--before", metavar="FILE",
                    help="an earlier recording: flame graphs show what changed since")  # fmt: skip
    it.add_argument("--top", metavar="N", type=_count, default=choice.TOP,
                    help=f"draw the N greatest elements of an array ({choice.TOP})")  # fmt: skip
    it.add_argument("--unit", metavar="NAME=UNIT", type=_unit, action="append", default=[],
                    help="the unit of a global or field, for axes: --unit wait=us")  # fmt: skip
    it.add_argument("file", metavar="FILE", help="the recording; - is standard input")
    return it


def _count(text: str) -> int:
    if not is_number(text, 1, 1000):
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 1000, not '{text}'")
    return int(text)


def _unit(text: str) -> tuple[str, str]:
    name, _, unit = text.partition("=")
    if not name or not unit.strip():
        raise argparse.ArgumentTypeError(f"expected NAME=UNIT, such as wait=us, not '{text}'")
    return name, unit.strip()


def main(words: list[str]) -> int:
    """Obey a command line and return the exit status."""
    it = parser()
    given = it.take(words)
    if given.file == given.before == recording.STDIN:
        it.error("standard input is one recording, not both")
    if not given.output and not Path(given.file).stem.strip("-"):
        it.error("-o FILE must name the picture: FILE has no name of which one could be made")
    output = given.output or str(Path(given.file).with_suffix(".svg"))
    wish = choice.PlotWish(
        chart=given.chart or "",
        name=given.name,
        field=given.field,
        top=given.top,
        units=dict(given.unit),
    )
    try:
        files.check(output)
        if Path(output).exists() and any(
            Path(output).samefile(name) for name in (given.file, given.before) if name
        ):
            raise PlotError(f"'{output}' is the recording itself")
        found = recording.read(given.file)
        before = recording.read(given.before) if given.before else None
        drawn = choice.choose(found, wish, before)
        files.write(output, drawn, files.title_of(found, given.file))
    except (PlotError, OSError) as error:
        text = str(error) if isinstance(error, PlotError) else f"{error.filename}: {error.strerror}"
        complain(f"stapy plot: {text}")
        return UNUSABLE
    for warning in [*found.warnings, *(before.warnings if before else [])]:
        print(f"WARNING: {harmless(warning)}", file=sys.stderr)
    writing.write(harmless(f"{output}: {files.summary(drawn)}") + "\n")
    return 0
