"""The grammar for tree-sitter reads what stapy's parser reads, and sees the mistakes it can see."""

from __future__ import annotations

import ctypes
import hashlib
import json
import shutil
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stapy.parse.tokens import AT_WORDS, KEYWORDS, OPERATORS, PRINTERS
from tests.editor.grammars import EDITORS
from tests.parse.accepted import ACCEPTED
from tests.parse.refused import REFUSED
from tests.program import ROOT

tree_sitter: Any = pytest.importorskip("tree_sitter", reason="pip install 'stapy[test]'")

FOLDER = EDITORS / "tree-sitter"

# What the preprocessor makes whole: a side of a conditional, or a macro, that is only a piece.
PIECES = {
    "%( 1 == 1 %? probe begin { } %: garbage ) ] %)",
    "%( 1 == 2 %? garbage $9 @9 @nosuch %: probe begin { } %)",
    'probe begin { %( kernel_vr == "*-cloud-*" && arch == "x86_64" %? a %: b ( %) }',
    "global a %( 1 == 1 %? , b %) , c",
    "probe %( 1 == 1 %? begin %: end %) , end { }",
    "@define m %( probe %) @m begin { }",
}
# Codes of mistakes in the order of words; others are about what words mean.
SYNTAX = ("E0101", "E0102", "E0103", "E0105", "E0110", "E0114", "E0115", "E0116", "E0120", "E0122")
# Mistakes of that kind that it does not see. Where a keyword cannot stand it is a name to it.
UNSEEN = {
    "probe begin { if (1) {} ; else {} }",
    "# a comment\rprobe begin { ) }\r",
    'probe begin { print("a" /* and */ "b") }',
    'probe begin { printf("a" # and\n"b") }',
    "probe begin { x = @* }",
    "probe begin { limit = 3 }",
    "probe begin { string = 3 }",
    "probe begin { else { } }",
    "probe begin { x = %( 1 == 1 %? %) }",
    "probe begin { catch { } }",
    "probe begin { if (a) else b }",
    "function f() { return\n if (1) print(2) }",
    "function f() { return\n delete a } global a",
    "function f() { return\n next }",
    "function f() { if (1) return else print(1) }",
    "function f() { return { } }",
    "probe begin { function f() {} }",
    "probe begin { global x }",
    "probe begin { probe end { } }",
    "global probe",
    "probe begin { limit }",
    "probe begin { in }",
    "probe begin { x = next }",
    "probe begin { long x }",
    'probe begin { string x = "a" }',
}


@pytest.fixture(scope="module")
def language(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Compile the grammar as an editor does."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed: make setup")
    library = tmp_path_factory.mktemp("tree-sitter") / "systemtap.so"
    source = FOLDER / "src"
    command = ["gcc", "-O0", "-shared", "-fPIC", f"-I{source}", "-o", str(library)]
    subprocess.run([*command, str(source / "parser.c")], check=True)
    make = ctypes.CDLL(str(library)).tree_sitter_systemtap
    make.restype = ctypes.c_void_p
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return tree_sitter.Language(new(make(), b"tree_sitter.Language", None))


@pytest.fixture(scope="module")
def is_wrong(language: Any) -> Callable[[str], bool]:
    """Tell whether a text has a mistake."""
    parser = tree_sitter.Parser(language)

    def ask(text: str) -> bool:
        data = text.encode("utf-8", "surrogateescape")
        return bool(parser.parse(data).root_node.has_error)

    return ask


def test_it_is_made_from_its_grammar() -> None:
    """When this fails: npm run generate."""
    made_from = (FOLDER / "src/made-from").read_text().split()[0]
    assert made_from == hashlib.sha256((FOLDER / "grammar.js").read_bytes()).hexdigest()


def test_it_has_the_words_of_the_lexer() -> None:
    kinds = json.loads((FOLDER / "src/node-types.json").read_text())
    words = {kind["type"] for kind in kinds if not kind["named"]}
    grammar = (FOLDER / "src/grammar.json").read_text()
    for word in (*KEYWORDS, *PRINTERS, *AT_WORDS, *OPERATORS):
        assert word in words or f'"value": {json.dumps(word)}' in grammar, word


def test_scripts_of_stapy(is_wrong: Callable[[str], bool]) -> None:
    """Examples, tapsets and their macros have no mistake."""
    files = [path for folder in ("examples", "tapsets") for path in (ROOT / folder).rglob("*.stp*")]
    assert len(files) > 250
    wrong = [path for path in files if is_wrong(path.read_text("utf-8", "surrogateescape"))]
    assert wrong == []


def test_accepted(is_wrong: Callable[[str], bool]) -> None:
    assert {text for _, text in ACCEPTED if is_wrong(text)} == PIECES


def test_refused(is_wrong: Callable[[str], bool]) -> None:
    rows = [text for _, text, code, *_ in REFUSED if code in SYNTAX]
    assert len(rows) > 200
    assert {text for text in rows if not is_wrong(text)} == UNSEEN


def test_colours(language: Any) -> None:
    """The query fits the grammar, and names what stands in a script as it should."""
    text = b'probe timer.s(1) { printf("%d\\n", f($a->b) + @count(x)) # c\n if (1) next }\n'
    query = tree_sitter.Query(language, (FOLDER / "queries/highlights.scm").read_text())
    root = tree_sitter.Parser(language).parse(text).root_node
    found = tree_sitter.QueryCursor(query).captures(root)
    told = {name: sorted({node.text.decode() for node in nodes}) for name, nodes in found.items()}
    assert told["keyword"] == ["next", "probe"]
    assert told["keyword.conditional"] == ["if"]
    assert told["constant"] == ["s", "timer"]
    assert told["function.builtin"] == ["@count", "printf"]
    assert told["function.call"] == ["f"]
    assert told["variable.builtin"] == ["$a"]
    assert told["property"] == ["b"]
    assert told["string.escape"] == ["\\n"]
    assert told["comment"] == ["# c"]
    assert told["number"] == ["1"]


def test_c_is_one_word(language: Any) -> None:
    """Braces and quotes in C are no concern of the script's."""
    text = b"function f() %{ if (a % b) { x = '\"'; } %%}\nprobe begin { }\n"
    tree = tree_sitter.Parser(language).parse(text)
    assert not tree.root_node.has_error
    kinds = [node.type for node in tree.root_node.children]
    assert kinds == ["function", "probe"]


def test_files_of_the_package() -> None:
    described = json.loads((FOLDER / "package.json").read_text())
    for name in (*described["files"], described["tree-sitter"][0]["highlights"]):
        assert (FOLDER / Path(name)).exists()
