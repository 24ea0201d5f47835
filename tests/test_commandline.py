"""Programs that developers start: ``--help`` is answered, words that they do not know are refused.

Neither does anything: no file is written, no guest booted.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Each with words that it does not know.
MODULES = {
    "stapy.manual.markdown": ["all"],
    "stapy.manual.roff": [],
    "stapy.tools.manual": ["stapy.9"],
    "stapy.tools.prompt": ["--releases"],
    "tests.bench": ["hitz"],
    "tests.check": ["all"],
    "tests.debuginfo.fuzz": ["elves", "1", "/dev/null"],
    "tests.dev": ["now"],
    "tests.editor.grammars": ["vim"],
    "tests.elaborate.golden": ["library.txt"],
    "tests.features": ["--all"],
    "tests.manual": ["core"],
    "tests.oracle": ["no/such.stp"],
    "tests.oracle.strace": ["6.1"],
    "tests.site": ["--folder"],
    "tests.torture": ["floods"],
    "tests.wall": ["6.99"],
}
FILES = {
    "docs/screenshots/make.py": ["shells"],
    "docs/site/build.py": ["--folder"],
}
SHELL = {
    ".ci/arm64": ["--no-such"],
    ".ci/debug-kernel": ["6.12"],
    ".ci/docker": ["no/such.py"],
    ".ci/python": ["all"],
    ".ci/pythons": ["--no-such"],
    ".ci/run": ["tests"],
    ".ci/setup": ["tests"],
    "docker/base": ["--no-such"],
    "docker/daemon": ["restart"],
}
# Not for people: other programs start these, with words that they write.
INNER = {
    "docs/screenshots/drive.py",
    "stapy/notebook/child.py",
    "stapy/vm/agent.py",
    "tests/ansible/fake_stapy.py",
    "tests/limited.py",
    "tests/remote/driver.py",
    "tests/runtime/build.sh",
    "tests/tapsets/mib_load.py",
    "tests/tapsets/nfs_load.py",
    "tests/vm/cases/programs/bpf_programs.py",
    "tests/vm/forks.py",
    "tests/vm/safety/inject.py",
    "ansible/plugins/modules/stapy_facts.py",
    "ansible/plugins/modules/stapy_run.py",
    "debian/rules",
}
# stapy itself, whose options have tests of their own; docker/run gives all words to it.
PRODUCT = {
    "docker/run",
    "stapy/__main__.py",
    "stapy/monitor/__main__.py",
    "stapy/run/__main__.py",
    "stapy/tools/dtrace.py",
}
COMMANDS = {
    **{name: ([sys.executable, "-m", name], wrong) for name, wrong in MODULES.items()},
    **{name: ([sys.executable, name], wrong) for name, wrong in FILES.items()},
    **{name: ([name], wrong) for name, wrong in SHELL.items()},
}
NEEDED = {"docs/screenshots/make.py": ("vl_convert", "PIL", "rich")}
_STARTED = re.compile(r"^(if __name__ == |sys\.exit\()", re.MULTILINE)


def started(command: list[str], words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Start a command that may write nothing but into ``folder``, which holds its cache."""
    return subprocess.run(
        [*command, *words],
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_help(name: str, tmp_path: Path) -> None:
    for module in NEEDED.get(name, ()):
        pytest.importorskip(module)
    done = started(COMMANDS[name][0], ["--help"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.strip()) > 60
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_words_that_are_not_known(name: str, tmp_path: Path) -> None:
    for module in NEEDED.get(name, ()):
        pytest.importorskip(module)
    command, wrong = COMMANDS[name]
    done = started(command, wrong, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert not list(tmp_path.iterdir())


def test_each_program_is_tested() -> None:
    """What can be started stands in a table above."""
    found = set()
    for path in ROOT.rglob("*.py"):
        name = str(path.relative_to(ROOT))
        if path.name.startswith("test_") or re.match(r"\.|build/|.*node_modules/", name):
            continue
        if _STARTED.search(path.read_text(encoding="utf-8")):
            found.add(name)
    for top in (".ci", "docker", "debian", "tests"):
        for path in (ROOT / top).rglob("*"):
            if path.is_file() and path.suffix != ".py" and os.access(path, os.X_OK):
                found.add(str(path.relative_to(ROOT)))
    told = {name.replace(".", "/") for name in MODULES}
    told = {f"{name}/__main__.py" if (ROOT / name).is_dir() else f"{name}.py" for name in told}
    told |= {*FILES, *SHELL, *INNER, *PRODUCT}
    # Its code has no condition: it is never imported.
    assert told - {"tests/manual/__main__.py"} == found - {"tests/manual/__main__.py"}
