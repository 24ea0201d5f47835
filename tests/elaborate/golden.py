"""Cases in text files: ``### script``, messages (``! …``) and the dumped program.

``python -m tests.elaborate.golden`` writes the files anew after a change that
was looked at.
"""

from __future__ import annotations

import sys
from pathlib import Path

from stapy.ir.dump import dump_program
from tests import commandline
from tests.elaborate.support import run

FOLDER = Path(__file__).parent / "cases"
MARK = "### "
LIBRARY = {"library.stp": (FOLDER / "library.stp").read_text()}


def load(name: str) -> list[tuple[str, str]]:
    """Read the ``(script, expected)`` pairs of one file."""
    pairs = []
    for block in (FOLDER / name).read_text().split("\n" + MARK):
        script, _, expected = block.removeprefix(MARK).partition("\n")
        pairs.append((script, expected.rstrip("\n")))
    return pairs


def shown(script: str) -> str:
    """Print the messages and the program of one script."""
    options = {}
    if script.startswith("-g "):
        options["guru"] = True
        script = script.removeprefix("-g ")
    if script.startswith("-u "):
        options["unoptimized"] = True
        script = script.removeprefix("-u ")
    if script.startswith("--compatible="):
        option, _, script = script.partition(" ")
        options["compatible"] = option.partition("=")[2]
    result = run(script, LIBRARY, **options)
    lines = ["! " + text for text in result.shown()]
    if result.program is not None:
        lines.append(dump_program(result.program, True).rstrip("\n"))
    return "\n".join(lines)


def main() -> None:
    """Write all files anew."""
    for path in sorted(FOLDER.glob("*.txt")):
        blocks = [f"{MARK}{script}\n{shown(script)}" for script, _ in load(path.name)]
        path.write_text("\n".join(blocks) + "\n")


if __name__ == "__main__":
    commandline.read("python -m tests.elaborate.golden", __doc__, sys.argv[1:])
    main()
