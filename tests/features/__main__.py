"""``python -m tests.features``: lists rows of docs/features.md that nothing shows; see `rows`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests import commandline
from tests.features.cases import ROOT
from tests.features.check import problems
from tests.features.rows import read


def main(words: list[str]) -> int:
    """Print what is wrong; 1 when anything is."""
    words = commandline.read("python -m tests.features", __doc__, words, "FILE", "?")
    document = Path(words[0]) if words else ROOT / "docs" / "features.md"
    found = problems(document)
    for row, what in found:
        print(f"{document.name}:{row.line}: {row.id}: {what}")
    promised = sum(row.promised for row in read(document))
    wrong = len({row.id for row, _ in found})
    print(f"{wrong} of {promised} promises are shown by no case", file=sys.stderr)
    return 1 if found else 0


sys.exit(main(sys.argv[1:]))
