"""What ``--doc`` says of the language's own words: the sections of `docs/language.md`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from stapy.parse.tokens import OPERATORS
from stapy.paths import data_dir, is_file
from stapy.record import Record

_SECTION = re.compile(r"^## (?P<title>.*)\n(?P<text>(?:(?!## ).*\n?)*)", re.MULTILINE)
_FENCE = re.compile(r"^```\w*.*\n(?P<code>(?:(?!```).*\n)*)```$", re.MULTILINE)
_ASIDE = re.compile(r"^<!--.*?-->\n", re.MULTILINE)  # for the tests of the page
_CODE = re.compile(r"`([^`\n]+)`")
_BOLD = re.compile(r"\*\*([^*`\n]+)\*\*")

_SMALL = {"and", "of", "the"}  # words of titles that nobody asks for

# Sections of words that others mention before the one that explains them.  Operators without
# a row here have the section of operators.
_HOMES = {
    "function": "Functions", "string": "Types", "long": "Types", "in": "Arrays",
    "try": "Errors", "catch": "Errors", "limit": "foreach", "regex": "Regular expressions",
    "->": "Target variables", "<<<": "Statistics", ";": "Statements", "[": "Arrays",
    "]": "Arrays", "=~": "Regular expressions", "!~": "Regular expressions",
    "{": "Statements", "}": "Statements",
}  # fmt: skip

# Sections of signs that mean something else in another place.
_ALSO = {
    "?": "Probes", "!": "Probes", ".": "Probes", "{": "Probes", "}": "Probes", "=": "Aliases",
    "+=": "Aliases", "&": "Target variables", "+": "foreach", "-": "foreach",
}  # fmt: skip


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


def sections_of(word: str) -> list[LanguageSection]:
    """Find all sections that tell of a word: its own, and that of a sign's other meaning."""
    found = section_of(word)
    also = [one for one in sections() if one.title == _ALSO.get(word)]
    return [*([found] if found else []), *also]


def section_of(word: str) -> LanguageSection | None:
    """Find the section that a word of the language is explained in, None for other words.

    Its title counts most, in singular or plural, then what is printed bold, a table's first
    column, code within sentences; in each, what begins with the word counts more.  The mark of
    ``@word`` may be left out.
    """
    page = sections()
    home = _HOMES.get(word, "Expressions" if word in OPERATORS else "")
    if home:
        return next((one for one in page if one.title == home), None)
    name = re.escape(word.removeprefix("@"))
    if len(word) > 3 and word.isalpha():
        name += "(?:e?s)?"
    begins, has = re.compile(rf"@?{name}(?!\w)"), re.compile(rf"(?<!\w){name}(?!\w)")
    for spans in (_title, _bold, _first_cells, _all_code):
        for matches in (begins.match, has.search):
            for section in page:
                if any(matches(one) for one in spans(section)):
                    return section
    return None


def _title(section: LanguageSection) -> list[str]:
    return [" ".join(one for one in section.title.lower().split() if one not in _SMALL)]


def _bold(section: LanguageSection) -> list[str]:
    return [one.lower() for one in _BOLD.findall(section.prose())]


def _first_cells(section: LanguageSection) -> list[str]:
    cells = [
        line[2:].split(" | ")[0] for line in section.prose().splitlines() if line.startswith("| ")
    ]
    return [name for cell in cells for name in _CODE.findall(cell) or cell.split(", ")]


def _all_code(section: LanguageSection) -> list[str]:
    return _CODE.findall(section.prose())


def _indented(block: re.Match[str]) -> str:
    return "".join(f"    {line}\n" for line in block["code"].splitlines()).rstrip("\n")


def sections() -> list[LanguageSection]:
    """Read the whole page: beside the sources, or where an installation has documents."""
    for folder in (data_dir("docs"), Path(sys.prefix) / "share/doc/stapy"):
        path = folder / "language.md"
        if is_file(path):
            text = _ASIDE.sub("", path.read_text(encoding="utf-8"))
            return [LanguageSection(one["title"], one["text"]) for one in _SECTION.finditer(text)]
    return []
