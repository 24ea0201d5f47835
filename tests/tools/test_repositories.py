"""What repositories of scripts use: the action for GitHub and the hooks of pre-commit, really run.

Each step `run:` of the action is executed as GitHub's runners do, the one that installs stapy
included; a hook's entry is called with the files that pre-commit would give it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.build.test_packaging import tracked
from tests.debuginfo.btfwriter import BtfWriter

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / ".github/actions/check/action.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
SCRIPTS = {
    "good.stp": 'probe kernel.function("vfs_read") {\n    println($count)\n}\n',
    "bad.stp": 'probe kernel.function("vfs_raed") {\n    println(1)\n}\n',
    "ugly.stp": "probe begin{println(1)}\n",
    "macros.stpm": "@define one %( 1 %)\n",
    "notes.txt": "no script\n",
}
NEAT = "probe begin { println(1) }\n"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run the action's step that installs stapy, and return the variables of who may use it.

    What it depends on is here already, and its tools of building, so that no network is asked.
    """
    if importlib.util.find_spec("setuptools") is None:
        pytest.skip("setuptools is not installed")
    folder = tmp_path_factory.mktemp("repository")
    checkout, target, bin = folder / "checkout", folder / "site", folder / "bin"
    for name in tracked():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    bin.mkdir()
    (bin / "python").symlink_to(sys.executable)
    given = {
        **os.environ,
        "GITHUB_ACTION_PATH": str(checkout / ACTION.parent.relative_to(ROOT)),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say that there is none
        "PIP_TARGET": str(target),
    }
    (install,) = [step for step in steps() if step["name"] == "Install stapy"]
    done = run(install, {}, folder, given)
    assert done.returncode == 0, done.stderr
    program = target / "bin/stapy"
    assert program.is_file()
    return {**os.environ, "PYTHONPATH": str(target), "PATH": f"{program.parent}:/usr/bin:/bin"}


def steps() -> list[dict[str, Any]]:
    """List the action's steps that a shell runs."""
    action = yaml.safe_load(ACTION.read_text())
    assert action["runs"]["using"] == "composite"
    return [step for step in action["runs"]["steps"] if "run" in step]


def run(
    step: dict[str, Any], inputs: dict[str, str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner does: its variables filled in, the text as a file of bash's."""
    assert step["shell"] == "bash"
    assert "${{" not in step["run"], "an input would be a part of the program"
    variables = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda one: inputs[one[1]], value)
        for name, value in step.get("env", {}).items()
    }
    script = folder / "step.sh"
    script.write_text(step["run"])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=folder,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """Make a repository of scripts with the BTF of a kernel."""
    for name, text in SCRIPTS.items():
        path = tmp_path / "scripts" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    writer = BtfWriter()
    number = writer.int("unsigned long", 8)
    writer.function("vfs_read", number, [("count", number)])
    (tmp_path / "kernel.btf").write_bytes(writer.data())
    return tmp_path


def checked(
    folder: Path, environment: dict[str, str], **given: str
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Run the action's check with inputs, the others as their defaults; with the log's path."""
    wanted = yaml.safe_load(ACTION.read_text())["inputs"]
    assert all("default" in one for one in wanted.values() if not one.get("required"))
    inputs = {name: one.get("default", "") for name, one in wanted.items()} | given
    assert set(inputs) == set(wanted)
    (check,) = [step for step in steps() if step["name"] == "Check"]
    return run(check, inputs, folder, environment), folder / inputs["sarif"]


def results(log: Path) -> list[dict[str, Any]]:
    (part,) = json.loads(log.read_text())["runs"]
    found: list[dict[str, Any]] = part["results"]
    return found


BTF = "--btf 6.1.0-test=kernel.btf"


def test_action_of_good_scripts(scripts: Path, installed: dict[str, str]) -> None:
    named = "scripts/good.stp scripts/ugly.stp"
    done, log = checked(scripts, installed, scripts=named, arguments=BTF)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert log.name == "stapy.sarif" and results(log) == []


def test_action_of_a_bad_script(scripts: Path, installed: dict[str, str]) -> None:
    """A pattern is the shell's; the step fails, and the log is there for the next step."""
    done, log = checked(
        scripts, installed, scripts="scripts/*.stp", arguments=f"-W {BTF}", sarif="log.sarif"
    )
    assert done.returncode == 1 and "vfs_raed" in done.stdout, done.stdout + done.stderr
    (found,) = results(log)
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("scripts/bad.stp")
    assert place["region"]["startLine"] == 1 and found["level"] == "error"


def test_action_runs_no_words_of_its_inputs(scripts: Path, installed: dict[str, str]) -> None:
    done, _ = checked(scripts, installed, scripts="$(touch${IFS}ran); `touch ran` scripts/no.stp")
    assert done.returncode == 2, done.stderr
    assert not (scripts / "ran").exists()


def test_action_as_the_page_uses_it() -> None:
    """`docs/tools.md` names inputs that there are, and those that there must be."""
    page = (ROOT / "docs/tools.md").read_text()
    shown = re.search(r"```yaml\n(- uses: OWNER/stapy/(.*?)@(?:.*\n)*?)```", page)
    assert shown is not None and (ROOT / shown[2] / "action.yml") == ACTION
    given = set(yaml.safe_load(shown[1])[0]["with"])
    inputs = yaml.safe_load(ACTION.read_text())["inputs"]
    assert {name for name, one in inputs.items() if one.get("required")} <= given <= set(inputs)


def hook(
    name: str, folder: Path, environment: dict[str, str], *args: str
) -> subprocess.CompletedProcess[str]:
    """Call a hook with all files of a folder that are its own, as ``pre-commit run -a`` does."""
    (found,) = [one for one in yaml.safe_load(HOOKS.read_text()) if one["id"] == name]
    assert found["language"] == "python"
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    files = [one for one in names if re.search(found["files"], one)]
    assert files and "scripts/notes.txt" not in files
    words = [*found["entry"].split(), *args, *files]
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def test_hook_of_formatting(scripts: Path, installed: dict[str, str]) -> None:
    """Files are changed in place, by which pre-commit knows; a second run changes none."""
    before = {name: (scripts / "scripts" / name).read_bytes() for name in SCRIPTS}
    assert hook("stapy-fmt", scripts, installed).returncode == 0
    after = {name: (scripts / "scripts" / name).read_bytes() for name in SCRIPTS}
    assert after == before | {"ugly.stp": NEAT.encode()}
    assert hook("stapy-fmt", scripts, installed, "--check").returncode == 0


def test_hook_of_checking(scripts: Path, installed: dict[str, str]) -> None:
    done = hook("stapy-check", scripts, installed, *BTF.split())
    assert done.returncode == 1 and "vfs_raed" in done.stdout, done.stdout + done.stderr
    (scripts / "scripts/bad.stp").unlink()
    done = hook("stapy-check", scripts, installed, *BTF.split())
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
