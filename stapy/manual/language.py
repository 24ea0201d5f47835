"""What ``--doc`` says of the language's own words: the sections of `docs/language.md`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from stapy.paths import data_dir, is_file
from stapy.record import Record

_SECTION = re.compile(r"^## (?P<title>.*)\n(?P<text>(?:(?!## ).*\n?)*)", re.MULTILINE)
_FENCE = re.compile(r"^```\w*.*\n(?P<code>(?:(?!```).*\n)*)```$", re.MULTILINE)
_ASIDE = re.compile(r"^<!--.*?-->\n", re.MULTILINE)  # for the tests of the page
_CODE = re.compile(r"`([^`\n]+)`")


class LanguageSection(Record):
    """A chapter of the language's page."""

    title: str
    text: str

    def prose(self) -> str:
        """Return it without the blocks of code."""
        return _FENCE.sub("", self.text)

    def page(self) -> str:
        """Return it as Markdown whose blocks of code are indented."""
        return f"## {self.title}\n{_FENCE.sub(_indented, self.text)}"


def section_of(word: str) -> LanguageSection | None:
    """Find the section that a word of the language is explained in, None for other words.

    Its title counts most, then a table's first column, then code within sentences; in each,
    what begins with the word counts more.  The mark of ``@word`` may be left out.
    """
    name = re.escape(word.removeprefix("@"))
    begins, has = re.compile(rf"@?{name}(?!\w)"), re.compile(rf"(?<!\w){name}(?!\w)")
    sections = _sections()
    for spans in (_title, _first_cells, _all_code):
        for matches in (begins.match, has.search):
            for section in sections:
                if any(matches(one) for one in spans(section)):
                    return section
    return None


def _title(section: LanguageSection) -> list[str]:
    return [section.title.lower()]


def _first_cells(section: LanguageSection) -> list[str]:
    cells = [
        line[2:].split(" | ")[0] for line in section.prose().splitlines() if line.startswith("| ")
    ]
    return [name for cell in cells for name in _CODE.findall(cell) or cell.split(", ")]


def _all_code(section: LanguageSection) -> list[str]:
    return _CODE.findall(section.prose())


def _indented(block: re.Match[str]) -> str:
    return "".join(f"    {line}\n" for line in block["code"].splitlines()).rstrip("\n")


def _sections() -> list[LanguageSection]:
    """Read the page: beside the sources, or where an installation has documents."""
    for folder in (data_dir("docs"), Path(sys.prefix) / "share/doc/stapy"):
        path = folder / "language.md"
        if is_file(path):
            text = _ASIDE.sub("", path.read_text(encoding="utf-8"))
            return [LanguageSection(one["title"], one["text"]) for one in _SECTION.finditer(text)]
    return []
