"""Pages of the guide, read: their blocks of code, and their tables of idioms.

A block of a script begins with ``stap`` behind the fence, and with ``stap refused`` when it shows
what stapy does not take. The block ``text`` behind it is what it prints, or the message. A comment
``<!-- args: -g -c 'true' -->`` in the line before a block has words of the command line for it.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from stapy.record import Record, new

DOCS = Path(__file__).resolve().parents[2] / "docs"
_FENCE = re.compile(r"^```(\S*)[ ]?(.*)\n((?:(?!```).*\n)*)```$", re.MULTILINE)
_WORDS = re.compile(r"<!-- args: (.*) -->\n\Z")
_CODE = re.compile(r"`` ?(.*?) ?``(?!`)|`([^`]*)`")


class Block(Record):
    """A block of a page: its language, the words behind that, its text, and what it prints."""

    place: str
    language: str
    marks: list[str]
    text: str
    words: list[str] = new(list)
    shown: str | None = None


class Idiom(Record):
    """A cell of a table: what it is (the title of its column), and the code that stands there."""

    place: str
    kind: str
    code: str


def blocks(page: str) -> list[Block]:
    """List the blocks of a page; ``text`` behind a script belongs to it."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found: list[Block] = []
    end = -1
    for fence in _FENCE.finditer(text):
        language, marks, body = fence.groups()
        between = text[end : fence.start()]
        end = fence.end()
        if language == "text" and found and found[-1].language == "stap":
            assert found[-1].shown is None or between.strip(), f"{page}: {body}"
            found[-1].shown = body
            continue
        line = text.count("\n", 0, fence.start()) + 1
        words = _WORDS.search(text, 0, fence.start())
        found.append(
            Block(
                f"docs/{page}:{line}",
                language,
                marks.split(),
                body,
                shlex.split(words[1]) if words else [],
            )
        )
    return found


def scripts(page: str) -> list[Block]:
    """List the blocks of a page that are scripts, refused ones too."""
    return [block for block in blocks(page) if block.language == "stap"]


def cells(line: str) -> list[str]:
    """Split a row of a table."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def idioms(page: str) -> list[Idiom]:
    """List what the columns titled ``stapy: KIND`` of a page's tables have as code."""
    found = []
    columns: dict[int, str] = {}
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if not line.startswith("|"):
            columns = {}
        elif lines[number - 2].startswith("|"):
            found += [
                Idiom(f"docs/{page}:{number}", kind, one or other)
                for at, cell in enumerate(cells(line))
                for kind in [columns.get(at)]
                for one, other in _CODE.findall(cell)
                if kind
            ]
        else:
            titles = enumerate(cells(line))
            columns = {
                at: title.partition(": ")[2] for at, title in titles if title.startswith("stapy: ")
            }
    return found
