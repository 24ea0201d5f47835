"""The lexer for Pygments: every script of ours is known to it, and words have their kinds."""

from __future__ import annotations

import configparser
import importlib
from pathlib import Path

import pytest

pytest.importorskip("pygments", reason="Pygments is not installed")
from pygments.token import Token

from stapy.editor.highlight import StapLexer
from stapy.parse.tokens import KEYWORDS, OPERATORS

ROOT = Path(__file__).resolve().parents[2]


def kinds(script: str) -> list[tuple[str, str]]:
    """List the words of a script with their kinds, blanks left out."""
    found = StapLexer().get_tokens(script)
    return [(text, str(kind)[6:]) for kind, text in found if text.strip()]


@pytest.mark.parametrize(
    ("script", "word", "kind"),
    [
        ("probe begin { }", "probe", "Keyword.Declaration"),
        ("probe begin { next }", "next", "Keyword"),
        # Parts of points and members are no keywords.
        ("probe syscall.return, a.function(1) { }", "return", "Name"),
        ("probe begin { x->next }", "next", "Name"),
        ("function f:long(a:string) { return 1 }", "string", "Keyword.Type"),
        ('probe begin { printf("%5d\\n", 1) }', "printf", "Name.Builtin"),
        ('probe begin { printf("%5d\\n", 1) }', "%5d", "Literal.String.Interpol"),
        ('probe begin { printf("%5d\\n", 1) }', "\\n", "Literal.String.Escape"),
        ("probe begin { println(pid()) }", "pid", "Name.Function"),
        ("probe begin { x <<< 0x1f }", "<<<", "Operator"),
        ("probe begin { x <<< 0x1f }", "0x1f", "Literal.Number.Hex"),
        ("probe begin { @count(x) }", "@count", "Operator.Word"),
        ("probe begin { @mine(x) }", "@mine", "Name.Function.Magic"),
        ("probe begin { $file->f_path$$ }", "$file", "Name.Variable"),
        ("probe begin { println($1, @#) }", "$1", "Name.Variable.Magic"),
        ("probe begin { println($#) } # end", "$#", "Name.Variable.Magic"),
        ("probe begin { println($#) } # end", "# end", "Comment.Single"),
        ('%( kernel_v >= "6" %? %)', "kernel_v", "Name.Constant"),
        ('%( CONFIG_SMP == "y" %? %)', "CONFIG_SMP", "Name.Constant"),
        ('%( CONFIG_SMP == "y" %? %)', "%(", "Comment.Preproc"),
        ("function f() %{ return; %}", "return", "Keyword"),
        ("function f() %{ return; %}", "%{", "Comment.Preproc"),
        ("#! /usr/bin/env stapy\nprobe begin { }", "#! /usr/bin/env stapy", "Comment.Hashbang"),
    ],
)
def test_words_have_their_kinds(script: str, word: str, kind: str) -> None:
    assert (word, kind) in kinds(script)


def test_every_word_of_the_language_is_known() -> None:
    for word in KEYWORDS:
        assert kinds(word)[0][1].startswith("Keyword"), word
    assert [one for one in OPERATORS if not kinds(one)] == []
    wrong = [one for one in OPERATORS if "Error" in dict(kinds(f"a {one} b")).get(one, "Error")]
    assert wrong == []


@pytest.mark.slow
def test_all_scripts_are_coloured_to_their_end() -> None:
    scripts = [
        path
        for folder in ("examples", "tapsets", "tests/golden", "tests/vm/cases")
        for path in (ROOT / folder).rglob("*.stp*")
    ]
    assert len(scripts) > 300
    for path in scripts:
        text = path.read_text(encoding="utf-8")
        found = list(StapLexer(stripnl=False, ensurenl=False).get_tokens(text))
        assert "".join(piece for _, piece in found) == text.replace("\r\n", "\n"), path
        wrong = [piece for kind, piece in found if kind in Token.Error]
        assert wrong == [], f"{path}: {wrong}"


def test_pygments_is_told_of_it() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    name, _, where = config["options.entry_points"]["pygments.lexers"].strip().partition(" = ")
    module, _, attribute = where.partition(":")
    assert name == "stap"
    assert getattr(importlib.import_module(module), attribute) is StapLexer
