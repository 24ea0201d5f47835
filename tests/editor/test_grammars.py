"""Grammars for editors are what the lexer's tables make of them, and colour what they should."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from stapy.parse.tokens import AT_WORDS, KEYWORDS, PRINTERS
from tests.editor.grammars import EDITORS, FILES


@pytest.mark.parametrize("file", FILES)
def test_files_are_those_of_the_tables(file: str) -> None:
    """When this fails: python -m tests.editor.grammars."""
    text = (EDITORS / file).read_text()
    assert text == FILES[file]()
    for word in (*KEYWORDS, *PRINTERS, *AT_WORDS):
        assert re.search(rf"\b{word.lstrip('@')}\b", text), word


def test_every_word_has_one_colour() -> None:
    grammar = json.loads((EDITORS / "vscode/syntaxes/systemtap.tmLanguage.json").read_text())
    rules = [rule for rule in grammar["patterns"] if "match" in rule]

    def colour(text: str) -> str:
        found = (rule["name"] for rule in rules if re.match(rule["match"], text))
        return str(next(found, ""))

    assert {colour(word) for word in PRINTERS} == {"support.function.systemtap"}
    assert {colour(word) for word in AT_WORDS} == {"keyword.operator.word.systemtap"}
    assert {colour(word) for word in KEYWORDS} == {"storage.type.systemtap",
                                                   "keyword.control.systemtap"}  # fmt: skip
    assert colour("@mine") == "entity.name.function.preprocessor.systemtap"
    assert colour("$file") == "variable.language.target.systemtap"
    assert colour("printfoo") == colour("iffy") == ""


def test_the_extension_names_its_files() -> None:
    folder = EDITORS / "vscode"
    package = json.loads((folder / "package.json").read_text())
    (grammar,) = package["contributes"]["grammars"]
    (language,) = package["contributes"]["languages"]
    assert grammar["language"] == language["id"]
    made = {"dist", "LICENSE"}  # by build.js, see test_vscode.py
    for path in (grammar["path"], language["configuration"], *set(package["files"]) - made):
        assert (folder / path).exists()
    json.loads((folder / language["configuration"]).read_text())


def test_vim_reads_its_file(tmp_path: Path) -> None:
    if shutil.which("vim") is None:
        pytest.skip("vim is not installed")
    script = tmp_path / "x.stp"
    script.write_text('probe begin { printf("%d\\n", @count(x)) }\n')
    asked = "echo join(map([1, 15, 31], 'synIDattr(synID(1, v:val, 1), \"name\")'))"
    command = ["vim", "-Nu", "NONE", "-es", "-c", f"set rtp^={EDITORS}/vim",
               "-c", "syntax on", "-c", "set ft=systemtap",
               "-c", f"redir! >{tmp_path}/said | {asked} | redir END",
               "-c", "qa!", str(script)]  # fmt: skip
    subprocess.run(command, check=False, timeout=60, stdin=subprocess.DEVNULL)
    assert (tmp_path / "said").read_text().split() == [
        "stapDeclares", "stapPrinter", "stapOperator"]  # fmt: skip
