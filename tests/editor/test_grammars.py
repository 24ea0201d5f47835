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

TOOLS = sorted((EDITORS.parent / "examples").rglob("*.stp"))[::20]


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


def test_vim_colours_a_tool_of_the_gallery(tmp_path: Path) -> None:
    """Each group of the file is met in some tool, and no word of a comment has another's."""
    if shutil.which("vim") is None:
        pytest.skip("vim is not installed")
    found = []
    for number, script in enumerate(TOOLS):
        said = tmp_path / str(number)
        asked = (
            "let out = [] | for l in range(1, line('$')) | for c in range(1, col([l, '$']) - 1) |"
            " call add(out, synIDattr(synID(l, c, 1), 'name') . ' ' . l . ' ' . c) | endfor |"
            f" endfor | call writefile(out, '{said}')"
        )
        command = ["vim", "-Nu", "NONE", "-es", "-c", f"set rtp^={EDITORS}/vim",
                   "-c", "syntax on", "-c", "set ft=systemtap", "-c", asked,
                   "-c", "qa!", str(script)]  # fmt: skip
        subprocess.run(command, check=False, timeout=60, stdin=subprocess.DEVNULL)
        found.append([line.split(" ") for line in said.read_text().splitlines()])
        lines = script.read_text().splitlines()
        comments = {number for number, line in enumerate(lines, 1) if line.startswith("#")}
        assert {name for name, line, _ in found[-1] if int(line) in comments} == {"stapComment"}
    groups = {name for rows in found for name, _, _ in rows}
    assert {"stapDeclares", "stapPrinter", "stapString", "stapTarget"} <= groups, groups


# Words of this script in the order in which Emacs has them, with their faces.
COLOURED = """\
# probe of a comment
global sizes
probe kernel.function("vfs_read") { /* in */
    if ($count > 0) sizes <<< $count // next
    printf("a \\" if %d\n", @count(sizes))
    function_of_mine = @mine + printfoo
}
"""
FACES = [
    ("probe of", "font-lock-comment-face"),
    ("global sizes", "font-lock-keyword-face"),
    ("sizes\nprobe", "nil"),
    ("probe kernel", "font-lock-keyword-face"),
    ("vfs_read", "font-lock-string-face"),
    ("in */", "font-lock-comment-face"),
    ("if ($count", "font-lock-keyword-face"),
    ("$count > 0", "font-lock-variable-name-face"),
    ("next", "font-lock-comment-face"),
    ("printf(", "font-lock-builtin-face"),
    ("if %d", "font-lock-string-face"),
    ("@count(", "font-lock-builtin-face"),
    ("function_of_mine", "nil"),
    ("@mine", "font-lock-preprocessor-face"),
    ("printfoo", "nil"),
]


def test_emacs_colours_a_script(tmp_path: Path) -> None:
    if shutil.which("emacs") is None:
        pytest.skip("emacs is not installed")
    script = tmp_path / "x.stp"
    script.write_text(COLOURED)
    places = [COLOURED.index(word) + 1 for word, _ in FACES]
    text = f"""(progn
        (find-file "{script}")
        (font-lock-ensure)
        (princ major-mode)
        (dolist (place '({" ".join(map(str, places))}))
          (princ (format "\n%s" (let ((face (get-text-property place 'face)))
                                  (if (consp face) (car face) face))))))"""
    done = subprocess.run(
        ["emacs", "-Q", "--batch", "-l", str(EDITORS / "emacs/systemtap-mode.el"), "--eval", text],
        capture_output=True, text=True, check=True, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    mode, *faces = done.stdout.split()
    assert mode == "systemtap-mode"
    assert [
        (word, face.replace("comment-delimiter", "comment"))
        for (word, _), face in zip(FACES, faces, strict=True)
    ] == FACES


def test_emacs_compiles_its_file_and_opens_every_tool(tmp_path: Path) -> None:
    if shutil.which("emacs") is None:
        pytest.skip("emacs is not installed")
    shutil.copy(EDITORS / "emacs/systemtap-mode.el", tmp_path)
    files = " ".join(f'"{path}"' for path in TOOLS)
    text = f"""(progn
        (setq byte-compile-error-on-warn t)
        (or (byte-compile-file "systemtap-mode.el") (kill-emacs 3))
        (load "{tmp_path}/systemtap-mode.elc")
        (dolist (file '({files}))
          (find-file file)
          (font-lock-ensure)
          (princ (format "%s\n" major-mode))))"""
    done = subprocess.run(
        ["emacs", "-Q", "--batch", "--eval", text],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"systemtap-mode"}
