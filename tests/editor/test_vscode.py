"""The extension for VS Code: it packages, whole, and its client serves scripts by stapy itself.

VS Code cannot be had everywhere; the bundle runs under node, with an editor of ours in place of
its module (``vscode/editor.js``). That it calls VS Code's module as that is, is what tsc checks
while it is packaged.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.editor.grammars import EDITORS
from tests.editor.support import make_tapset, make_tree
from tests.program import ROOT, stapy_command

pytestmark = pytest.mark.slow
FOLDER = EDITORS / "vscode"
HERE = Path(__file__).parent / "vscode"
BAD = 'probe kernel.function("vfs_raed") { exit() }\n'
PATH = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"


def run(*words: object, cwd: Path) -> str:
    """Run a command of node's; return what it prints."""
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env={**os.environ, "PATH": PATH},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def node() -> str:
    """Find node; without it, skip."""
    found = shutil.which("node", path=PATH)
    if found is None:
        pytest.skip("node is not installed: make setup")
    return found


@pytest.fixture(scope="module")
def package(node: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Package the extension, beside the checkout; return the folder of what is in the package.

    Without what ``make setup`` has npm fetch, skip.
    """
    if shutil.which("npm", path=PATH) is None or not (FOLDER / "node_modules").is_dir():
        pytest.skip("npm has not fetched what packages the extension: make setup")
    root = tmp_path_factory.mktemp("vscode")
    copy = root / "editors/vscode"
    made = shutil.ignore_patterns("node_modules", "dist", "LICENSE", "*.vsix")
    shutil.copytree(FOLDER, copy, ignore=made)
    (copy / "node_modules").symlink_to(FOLDER / "node_modules")
    shutil.copy(ROOT / "COPYING", root)
    run("npm", "run", "package", "--", "--out", root / "x.vsix", cwd=copy)
    with zipfile.ZipFile(root / "x.vsix") as file:
        file.extractall(root / "x")
    return root / "x"


def test_the_package_is_whole(package: Path) -> None:
    """It has all that package.json names and nothing more; no module is missing when it is run."""
    inside = package / "extension"
    files = {path.relative_to(inside).as_posix() for path in inside.rglob("*") if path.is_file()}
    assert files == {
        "package.json", "readme.md", "LICENSE.txt", "language-configuration.json",
        "dist/extension.js", "syntaxes/systemtap.tmLanguage.json",
    }  # fmt: skip
    described = json.loads((inside / "package.json").read_text())
    (grammar,) = described["contributes"]["grammars"]
    (language,) = described["contributes"]["languages"]
    named = (described["main"], grammar["path"], language["configuration"])
    assert all((inside / path).is_file() for path in named)
    assert (inside / "LICENSE.txt").read_bytes() == (ROOT / "COPYING").read_bytes()
    assert described["activationEvents"] == [f"onLanguage:{language['id']}"]
    manifest = (package / "extension.vsixmanifest").read_text()
    assert re.search(r'Id="Microsoft.VisualStudio.Code.Engine" Value="\^1\.\d+\.0"', manifest)
    assert 'Id="systemtap-stapy"' in manifest


def test_settings_are_those_that_are_read(package: Path) -> None:
    """What the code asks for is described, and a folder that is not trusted chooses none of it."""
    described = json.loads((package / "extension/package.json").read_text())
    settings = set(described["contributes"]["configuration"]["properties"])
    code = (FOLDER / "src/extension.js").read_text()
    assert {f"stapy.{name}" for name in re.findall(r'have\.get\("(\w+)"', code)} == settings
    untrusted = described["capabilities"]["untrustedWorkspaces"]
    assert set(untrusted["restrictedConfigurations"]) == settings
    commands = {one["command"] for one in described["contributes"]["commands"]}
    assert set(re.findall(r'registerCommand\("([\w.]+)"', code)) == commands


def script(folder: Path, *, path: Path = ROOT) -> Path:
    """Write a ``stapy`` that notes how it was started, and then is the one of this checkout."""
    file = folder / "stapy"
    file.write_text(
        f'#!/bin/sh\necho "$$ $*" >>{shlex.quote(str(folder))}/started\n'
        f'PYTHONPATH={shlex.quote(f"{path}:{ROOT}")} exec {shlex.join(stapy_command())} "$@"\n'
    )
    file.chmod(0o755)
    return file


def activate(node: str, package: Path, folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Activate the packaged extension for a script with a mistake; return what came of it."""
    (folder / "x.stp").write_text(BAD)
    bundle = package / "extension/dist/extension.js"
    told = run(node, HERE / "activate.js", bundle, folder, json.dumps(settings),
               folder / "x.stp", cwd=folder)  # fmt: skip
    answer: dict[str, Any] = json.loads(told)
    # VS Code's own module comes from VS Code, all else is in the bundle.
    assert answer["asked"] == []
    assert answer["commands"] == ["stapy.restart"]
    return answer


def test_client_and_server(node: str, package: Path, tmp_path: Path) -> None:
    """Mistakes and descriptions come from stapy; it starts again when asked to, changed, killed."""
    more = ["-I", str(make_tapset(tmp_path))]
    kernel = f"{make_tree(tmp_path)}/"
    settings = {"command": str(script(tmp_path)), "kernel": f" {kernel} ", "arguments": more}
    answer = activate(node, package, tmp_path, settings)
    (mistake,) = answer["seen"]["diagnostics"]
    assert mistake["code"] == "E0231" and "did you mean 'vfs_read'" in mistake["message"]
    assert mistake["range"]["start"] == {"line": 0, "character": 13}
    assert "exit" in answer["seen"]["hover"]
    started = (tmp_path / "started").read_text().splitlines()
    words = f"--language-server -r {kernel} {' '.join(more)}"
    assert [line.partition(" ")[2] for line in started] == [words, *[f"{words} -g"] * 3]
    # The last change named a command that is not there; nothing else was worth a message.
    ((text, button),) = answer["messages"]
    assert text.startswith("stapy could not be started as '/no/such/stapy': there is no such comm")
    assert button == "Open Settings"
    for line in started:
        assert not Path(f"/proc/{line.split()[0]}").exists(), "a server was left"


STARTED = """
const { start } = require(process.argv[1]);
start({ command: process.argv[2], kernel: "", arguments: [] }).then(
  ({ child }) => child.stdout.pipe(process.stdout),
  (error) => console.log(error.message),
);
"""


@pytest.mark.parametrize("is_home_there", [True, False])
def test_nothing_is_run_of_the_open_folder(
    is_home_there: bool, node: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server runs elsewhere, and is looked up where only absolute paths lead."""
    home, opened, programs = (tmp_path / name for name in ("home", "opened", "programs"))
    for folder in (opened / "bin", programs, *([home] if is_home_there else [])):
        folder.mkdir(parents=True)
    for command in (opened / "theirs", opened / "bin/theirs", programs / "ours"):
        command.write_text('#!/bin/sh\nprintf "%s\\n" "$PWD" "$PATH" "${PYTHONPATH-unset}"\n')
        command.chmod(0o755)
    monkeypatch.setattr(f"{__name__}.PATH", f":bin:{programs}:./bin::/bin:.:")
    monkeypatch.setenv("HOME", str(home))

    def started(command: str) -> list[str]:
        return run(node, "-e", STARTED, FOLDER / "src/server.js", command, cwd=opened).splitlines()

    place = str(home) if is_home_there else "/"
    for given, left in ((f":.:{programs}:lib:", str(programs)), (":", "unset"), ("", "unset")):
        monkeypatch.setenv("PYTHONPATH", given)
        assert started("ours") == [place, f"{programs}:/bin", left]
    for command in ("theirs", "./theirs", "bin/theirs"):
        (told,) = started(command)
        assert told.startswith(f"stapy could not be started as '{command}': there is no such comm")


MISSING = {
    "no command": (
        {"command": "FOLDER/nosuch"},
        "stapy could not be started as 'FOLDER/nosuch': there is no such command. Install stapy",
    ),
    "no program": (
        {"command": "FOLDER/x.stp"},
        "stapy could not be started as 'FOLDER/x.stp': it may not",
    ),
    "no such in the folder": (
        {"command": "./x.stp"},
        "stapy could not be started as './x.stp': there is no such command.",
    ),
    "nothing": ({"command": " "}, "The setting stapy.command is empty"),
    "no kernel": (
        {"command": "FOLDER/stapy", "kernel": "9.9"},
        "stapy's language server has ended: build error: Incorrect version or missing kernel",
    ),
    "no option": (
        {"command": "FOLDER/stapy", "arguments": ["--nope"]},
        "stapy's language server has ended: unknown option '--nope'",
    ),
    "no package": (
        {"command": "FOLDER/stapy"},
        "stapy's language server has ended: --language-server needs the Python package pygls: ",
    ),
    "no server": ({"command": "/bin/false"}, "stapy's language server has ended (status 1)."),
}


@pytest.mark.parametrize("name", MISSING)
def test_what_is_missing(name: str, node: str, package: Path, tmp_path: Path) -> None:
    """Each is told once, with the way to the settings."""
    settings, told = json.loads(json.dumps(MISSING[name]).replace("FOLDER", str(tmp_path)))
    if name == "no package":
        (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError('gone', name='pygls')\n")
    script(tmp_path, path=tmp_path)
    answer = activate(node, package, tmp_path, settings)
    ((text, button),) = answer["messages"]
    assert text.startswith(told) and "\n" not in text
    if name == "no package":
        assert "pip install 'stapy[editor]'" in text
    assert button == "Open Settings"
    assert answer["executed"] == [["workbench.action.openSettings", "stapy."]]
