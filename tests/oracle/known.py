"""Differences that are known: known.txt, whose rows lead to docs/differences.md.

A block names a case, the row of the document that explains what differs there, and each line of
the difference as a regular expression behind the side that has it (``-`` SystemTap, ``+`` stapy)::

    ### tests/vm/cases/language/foreach_loops.stp
    # row: `foreach` over a slice with `limit`
    # line: 6.1
    -\\[1, 2\\]
    +\\[1, 2\\] \\[1, 3\\]

The row is the first cell of its table, letter by letter. ``# line:`` limits it to kernels of that
line; ``# sometimes: REASON`` says that a run may also show no difference, and why. A case may have
several blocks. A line of a difference that no expression matches from its first to its last letter
is not explained; an expression that matches nothing is told, too: what it excused is gone.

``### programs`` explains what random programs may differ in. A program shows little of it, so that
nothing is told of expressions there that match nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

from stapy.record import Record, new

FILE = Path(__file__).with_name("known.txt")
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "differences.md"
PROGRAMS = "programs"
_DIRECTIVE = re.compile(r"# (row|line|sometimes): (.*\S)")


class Known(Record):
    """What one row of the document explains of a case, on kernels of a line or on all ("")."""

    case: str
    row: str = ""
    line: str = ""
    sometimes: str = ""
    patterns: list[str] = new(list)

    def concerns(self, release: str) -> bool:
        """Tell whether it is about this kernel."""
        return not self.line or release.startswith(self.line + ".")

    def explains(self, change: str) -> bool:
        """Tell whether a line of the difference, with its sign, is one of those expected."""
        return any(matches(pattern, change) for pattern in self.patterns)

    def unseen(self, changes: list[str]) -> list[str]:
        """List the expressions that should have matched a line of the difference and did not."""
        if self.sometimes or self.case == PROGRAMS:
            return []
        return [one for one in self.patterns if not any(matches(one, line) for line in changes)]


def matches(pattern: str, change: str) -> bool:
    """Compare a line of a difference with an expression of the list: side and whole text."""
    return pattern[0] == change[0] and re.fullmatch(pattern[1:], change[1:]) is not None


def read(text: str) -> list[Known]:
    """Read the list.  Raises ValueError for a block that does not say what it excuses, or why."""
    found = []
    for block in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        name, *lines = block.rstrip().splitlines()
        known = Known(name.strip())
        for line in lines:
            directive = _DIRECTIVE.fullmatch(line)
            if directive:
                setattr(known, directive[1], directive[2])
            elif line.startswith(("+", "-")):
                re.compile(line[1:])
                known.patterns.append(line)
            elif line:
                raise ValueError(f"{known.case}: neither a directive nor a line: {line}")
        if not known.row or not known.patterns:
            raise ValueError(f"{known.case}: a block has a row and lines")
        found.append(known)
    return found


def subjects(document: str) -> set[str]:
    """List the first cells of all rows of the document's tables."""
    rows = [line for line in document.splitlines() if line.startswith("| ")]
    return {re.split(r"(?<!\\)\|", row)[1].strip() for row in rows}


def listed(release: str) -> list[Known]:
    """Read what is known of this kernel."""
    return [one for one in read(FILE.read_text(encoding="utf-8")) if one.concerns(release)]
