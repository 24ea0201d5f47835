"""``docs/language.md`` against the parser: each word, operator and kind of statement is told."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from stapy.manual import language
from stapy.parse.rules import statements
from stapy.parse.tokens import AT_WORDS, KEYWORDS, MARKS, OPERATORS, PRINTERS

ROOT = Path(__file__).resolve().parents[2]
_PAGE = (ROOT / "docs/language.md").read_text(encoding="utf-8")
_CODE = [one.replace(r"\|", "|") for one in re.findall(r"`([^`\n]+)`", _PAGE)]
_KINDS = {kind: word for word, kind in KEYWORDS.items()}
_OTHERS = ["%{", "%}", "$$", "$#", "@#", "$*", "@*", "@1", "$1"]


def first_words() -> set[str]:
    """List the keywords that statements begin with, by the productions of the grammar."""
    docs = [inspect.getdoc(one) or "" for _, one in inspect.getmembers(statements, callable)]
    rules = [doc for doc in docs if doc.startswith("statement :")]
    begun = {line.strip(" |").split()[0] for doc in rules for line in doc[11:].splitlines()}
    return {_KINDS[kind] for kind in begun if kind in _KINDS}


def cells(title: str) -> list[str]:
    """List the code in the first column of a section's tables."""
    text = _PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line.replace(r"\|", "!bar!") for line in text.splitlines() if line.startswith("| ")]
    rows = [line.strip("| ").split("|")[0].replace("!bar!", "|") for line in lines]
    return [code for row in rows for code in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize("word", [*KEYWORDS, *PRINTERS, *AT_WORDS])
def test_words_are_told(word: str) -> None:
    """In code within the prose: a word that only a script uses is not explained."""
    named = re.compile(rf"(?<![\w@]){word}(?!\w)")
    assert any(named.search(one) for one in _CODE), f"docs/language.md does not tell of {word}"


@pytest.mark.parametrize("sign", [*OPERATORS, *MARKS, *_OTHERS])
def test_signs_are_told(sign: str) -> None:
    """An operator stands in the table of operators, other signs in any code."""
    letters = re.escape(sign)
    alone = re.compile(rf"(?<![-<>=!&|+*/%^~.]){letters}(?![-<>=!&|+*/^~.])")
    where = cells("Expressions") if sign in OPERATORS and sign not in set(";,:{}[]()?") else _CODE
    assert any(alone.search(one) for one in where), f"docs/language.md does not tell of {sign}"


def test_statements_are_told() -> None:
    """Each keyword that begins a statement has a row of its own or shares one."""
    told = cells("Statements")
    words = first_words()
    assert {"if", "foreach", "delete", "try"} <= words, "the grammar's statements are not found"
    missing = [word for word in words if not any(one.split()[0] == word for one in told)]
    assert missing == []


def test_words_that_are_no_names() -> None:
    """The list of keywords in "Text" is the lexer's."""
    listed = re.search(r"These words cannot be names: `([^`]+)`", _PAGE)
    assert listed is not None and set(listed[1].split()) == set(KEYWORDS)


@pytest.mark.parametrize(
    ("sign", "others"),
    [
        ("?", [("Probes", "POINT ?"), ("Expressions", "x ? y : z")]),
        ("!", [("Probes", "POINT !"), ("Expressions", "!x")]),
        ("{", [("Probes", "syscall.{open,close}")]),
        (".", [("Probes", "dots"), ("Expressions", "joins strings")]),
        ("=", [("Aliases", "probe NAME = POINTS")]),
        ("+=", [("Aliases", "probe NAME += POINTS")]),
        ("&", [("Target variables", "&$x->m")]),
        ("-", [("foreach", "(k in a-)")]),
    ],
)
def test_signs_of_two_meanings(sign: str, others: list[tuple[str, str]]) -> None:
    found = {one.title: one.text for one in language.sections_of(sign)}
    for title, words in others:
        assert words in found[title], (sign, title)


@pytest.mark.parametrize("word", [*KEYWORDS, *PRINTERS, *AT_WORDS, *MARKS, "%{", "%}"])
def test_the_section_of_a_word_has_it(word: str) -> None:
    section = language.section_of(word)
    assert section is not None
    assert re.search(rf"(?<![\w@]){re.escape(word)}(?!\w)", section.prose()), section.title
