"""The command that installs what an extra needs: it is for the Python that runs us."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stapy.run import screen
from stapy.run.errors import RunError
from stapy.run.ground import packages

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/opt/a python/bin/python3"
QUOTED = "'/opt/a python/bin/python3'"
TREE = shlex.quote(f"{ROOT}[plot]")

# What pip knows stapy, what has pip, programs in $PATH, a virtual environment, the distribution's
# Python: the command.
WAYS = [
    (True, True, "", True, False, f"{QUOTED} -m pip install 'stapy[plot]'"),
    (False, True, "", True, False, f"{QUOTED} -m pip install -e {TREE}"),
    (True, True, "", True, True, f"{QUOTED} -m pip install 'stapy[plot]'"),
    (True, True, "", False, True,
     f"{QUOTED} -m pip install --break-system-packages 'stapy[plot]'"),
    (True, False, "uv apt-get", True, False,
     f"uv pip install --python {QUOTED} 'stapy[plot]'"),
    (True, False, "apt-get", False, True,
     f"apt-get install python3-pip && {QUOTED} -m pip install --break-system-packages"
     " 'stapy[plot]'"),
    (True, False, "apt-get", True, True,
     f"{QUOTED} -m ensurepip && {QUOTED} -m pip install 'stapy[plot]'"),
]  # fmt: skip


@pytest.mark.parametrize(("known", "pip", "programs", "virtual", "managed", "way"), WAYS)
def test_the_way_to_an_extra(
    known: bool,
    pip: bool,
    programs: str,
    virtual: bool,
    managed: bool,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packages, "_is_known", lambda: known)
    monkeypatch.setattr(packages, "_is_virtual", lambda: virtual)
    monkeypatch.setattr(packages, "_is_managed", lambda: managed)
    monkeypatch.setattr(packages, "find_spec", lambda name: pip or None)
    monkeypatch.setattr(shutil, "which", lambda name: name in programs.split() or None)
    monkeypatch.setattr(sys, "executable", PYTHON)
    assert packages.way_to_extra("plot") == way


def test_a_tree_on_the_path_is_nothing_that_pip_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What setuptools leaves in a source tree is found by Python there, not by pip."""
    left = tmp_path / "stapy.egg-info"
    left.mkdir()
    (left / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: stapy\nVersion: 1\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(packages, "_TREE", tmp_path)
    assert not packages._is_known()
    monkeypatch.setattr(packages, "_TREE", ROOT)
    assert packages._is_known()


def test_the_command_works(tmp_path: Path) -> None:
    """It does here, where pip knows stapy and finds all that the extra needs."""
    if not packages._is_known() or packages.find_spec("pip") is None:
        pytest.skip("stapy is not installed in this Python")
    words = [*shlex.split(packages.way_to_extra("plot")), "--dry-run", "--no-index"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "already satisfied: vl-convert-python" in done.stdout, done.stderr


def test_the_monitor_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *more: None)
    with pytest.raises(RunError) as caught:
        screen.check()
    assert str(caught.value).startswith("the monitor's screen needs the Python package textual: ")
    assert packages.way_to_extra("monitor") in str(caught.value)
