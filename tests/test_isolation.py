"""What the host has or says does not reach the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stapy.debuginfo.dwarf.files import paths as files
from stapy.kernel.roots import OWN
from stapy.paths import cache_dir
from tests.isolation import NOWHERE, Scratch, cache_of, home_of, isolated

ROOT = Path(__file__).resolve().parents[1]

# What a host may say, each of which changes what stapy does.
HOST = {
    "CFLAGS": "-O0",
    "DEBUGINFOD_URLS": "https://debuginfod.example.org",
    "LANG": "de_DE.UTF-8",
    "LC_ALL": "de_DE.UTF-8",
    "PYTHONPATH": "/somewhere",
    "PYTHONUNBUFFERED": "1",
    "STAPY_BUILD": "kbuild",
    "STAPY_RUNTIME": "/somewhere",
    "STAPY_TAPSETS": "/somewhere",
    "SYSTEMTAP_COLORS": "error=1",
    "SYSTEMTAP_DEBUGINFO_PATH": "/somewhere",
    "SYSTEMTAP_DIR": "/somewhere",
    "SYSTEMTAP_RELEASE": "1.2.3",
    "SYSTEMTAP_TAPSET": "/somewhere",
    "TERM": "xterm-256color",
    "XDG_CACHE_HOME": "/somewhere",
    "XDG_DATA_DIRS": "/somewhere",
}


def run_inner(
    folder: Path, text: str, settings: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run tests that a text has, in a folder, by a pytest of their own with our conftest."""
    (folder / "test_inner.py").write_text(text)
    options = ["-q", "-p", "no:cacheprovider", "-p", "tests.conftest", "--rootdir", str(folder)]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(folder / "test_inner.py")],
        cwd=ROOT,
        env=settings,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def test_a_hosts_settings_are_left_out() -> None:
    asked = {"PATH": "/bin", "STAPY_TEST_KERNELS": "6.1", "https_proxy": "http://proxy"}
    made = isolated({**HOST, **asked, "HOME": "/root"}, Path("/cache"))
    assert {name: made.get(name) for name in asked} == asked
    own = {"HOME": "/cache/home", "LANG": "C.UTF-8", "TERM": "dumb"}
    own |= {"SYSTEMTAP_DEBUGINFO_PATH": NOWHERE, "STAPY_VERIFY": "1"}
    assert made == {**asked, **own}


def test_scripts_that_look_for_a_python_are_passed_by() -> None:
    path = "/sbin:/root/.pyenv/plugins/x/shims:/usr/local/bin:/root/.pyenv/shims:/usr/bin"
    made = isolated({"PATH": path}, Path("/cache"))["PATH"].split(":")
    own = made.pop(1)
    assert made == path.split(":")
    found = shutil.which("python3", path=own)
    ask = "import sys; print(sys.prefix == sys.base_prefix, sys.version)"
    done = subprocess.run([str(found), "-ISc", ask], capture_output=True, text=True, check=True)
    assert done.stdout == f"True {sys.version}\n"


def test_this_process_is_isolated() -> None:
    """The root's ``conftest.py`` did it; what remains of these names is what the tests set."""
    left = set(HOST) & set(os.environ)
    assert left == {"LANG", "SYSTEMTAP_DEBUGINFO_PATH", "TERM"}
    assert files.folders(OWN) == [Path(NOWHERE)]
    assert "stapy-tests" in str(cache_dir())


def test_the_home_of_another_user_is_not_ours(tmp_path: Path) -> None:
    assert home_of({"HOME": str(tmp_path)}) == tmp_path
    assert home_of({"HOME": "/nowhere"}) == home_of({})
    assert cache_of({"HOME": str(tmp_path)}) == tmp_path / ".cache/stapy-tests"
    if os.geteuid() == 0:
        os.chown(tmp_path, 1, 1)
        assert home_of({"HOME": str(tmp_path)}) == home_of({})


def test_options_of_the_user_are_not_read(tmp_path: Path) -> None:
    """The whole way: a run of pytest on a host whose rc file asks for what no test wants."""
    (tmp_path / ".systemtap").mkdir()
    (tmp_path / ".systemtap" / "rc").write_text("--no-such-option\n")
    inner = (
        "import subprocess, sys\n"
        "from stapy.cli import main\n"
        "def test_it():\n"
        "    assert main(['-p1', '-e', 'probe begin {}']) == 0\n"
        "    words = [sys.executable, '-m', 'stapy', '-p1', '-e', 'probe begin {}']\n"
        f"    assert subprocess.run(words, cwd={str(ROOT)!r}).returncode == 0\n"
    )
    settings = {**os.environ, **HOST, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    settings.pop("LC_ALL")
    done = run_inner(tmp_path, inner, settings)
    assert done.returncode == 0, done.stdout + done.stderr


LEAVES = """
import sys, subprocess
def test_it():
    fails = "from stapy import cli, session\\nsession.Session.run = lambda self: 1 / 0\\n"
    words = [sys.executable, "-c", fails + "cli.main(['-p1', '-e', ''])"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert "this is a mistake in stapy" in done.stderr, done
"""


def test_a_report_of_a_mistake_fails_the_run(tmp_path: Path) -> None:
    """It lies in the folder of the run, which goes with it: /tmp has nothing afterwards."""
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "tmp")}
    del settings[Scratch.NAME], settings["PYTEST_DEBUG_TEMPROOT"]
    (tmp_path / "tmp").mkdir()
    done = run_inner(tmp_path, LEAVES, settings)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "1 passed" in said, said
    assert "was left by a test" in said and "ZeroDivisionError" in said, said
    assert not list((tmp_path / "tmp").glob("stapy-*"))


@pytest.mark.parametrize("value", ["", None])
def test_the_usual_folder_is_searched_when_nothing_else_is_said(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SYSTEMTAP_DEBUGINFO_PATH")
    if value is not None:
        monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", value)
    assert files.folders(OWN) == [Path("/usr/lib/debug")]
