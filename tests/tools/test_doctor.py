"""``stapy doctor``: each finding is the one that a run would come to."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stapy.arch import X86_64
from stapy.build import tools
from stapy.cache import Cache
from stapy.cli import texts
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import Kernel
from stapy.kernel.config import Config
from stapy.kernel.exports import Exports
from stapy.kernel.host import HostFiles
from stapy.kernel.modules import Modules
from stapy.kernel.roots import with_headers
from stapy.options.tools import TOOLS
from stapy.record import replace
from stapy.tools import doctor, examination
from stapy.tools.doctor import Diagnosis
from stapy.tools.examination import BAD, LIMITED, OK, Examination, Finding
from stapy.vm import kernels
from tests.kernel.test_host import GOOD
from tests.program import run_stapy

ROOT = Path(__file__).resolve().parents[2]
CONFIG = "CONFIG_MODULES=y\nCONFIG_KPROBES=y\nCONFIG_UPROBES=y\n"
HERE = 'CONFIG_CC_VERSION_TEXT="fake-gcc-12 (Some 12.2.0-14) 12.2.0"\n'


def kernel(
    folder: Path, changes: dict[str, str], config: str = CONFIG + HERE, *, running: bool = True
) -> Kernel:
    for name, text in {**GOOD, **changes}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "config").write_text(config)
    if not (folder / "nothing").exists():
        (folder / "Makefile").write_text("")
    files = Config([folder / "config"])
    return Kernel(
        "6.1-x", (6, 1), "x86_64", running, folder, None, None, None, files, Exports(None),
        Modules(None),
    )  # fmt: skip


def examination_of(folder: Path, about: Kernel) -> Examination:
    return Examination(about, Diagnostics(SourceMap()), folder)


def rows(folder: Path, changes: dict[str, str], **more: object) -> dict[str, Finding]:
    about = kernel(folder, changes, **more)  # type: ignore[arg-type]
    it = examination_of(folder, about)
    return {row.name: row for row in [*it.loading(), *it.probing(), it.headers()]}


def test_nothing_is_bad(tmp_path: Path) -> None:
    assert {row.state for row in rows(tmp_path, {}).values()} == {OK}


@pytest.mark.parametrize(
    ("changes", "name", "remedy"),
    [
        ({"proc/self/status": "CapEff:\t0000000000000000\n"}, "privilege", "CAP_SYS_MODULE"),
        ({"proc/sys/kernel/modules_disabled": "1\n"}, "modules", "stapy --vm"),
        ({"sys/kernel/security/lockdown": "none [integrity]"}, "lockdown", "lockdown="),
        ({"sys/module/module/parameters/sig_enforce": "Y\n"}, "signing", "sig_enforce off"),
    ],
)
def test_what_is_bad_is_what_a_run_says(
    tmp_path: Path, changes: dict[str, str], name: str, remedy: str
) -> None:
    found = rows(tmp_path, changes)
    assert {row.name for row in found.values() if row.state == BAD} == {name}
    assert [found[name].text] == HostFiles(tmp_path).obstacles(kernel(tmp_path, changes))
    assert remedy in found[name].remedy


def test_a_kernel_that_is_built_for_signed_modules(tmp_path: Path) -> None:
    """Its own configuration counts, whatever runs here."""
    config = "CONFIG_MODULES=y\nCONFIG_KPROBES=y\nCONFIG_UPROBES=y\nCONFIG_MODULE_SIG_FORCE=y\n"
    row = rows(tmp_path, {}, config=config)["signing"]
    assert row.state == BAD
    assert "without CONFIG_MODULE_SIG_FORCE" in row.remedy


def test_kprobes_are_needed_and_uprobes_are_not(tmp_path: Path) -> None:
    found = rows(tmp_path, {"proc/kallsyms": "0 T x\n"}, config="CONFIG_MODULES=y\n")
    assert (found["kprobes"].state, found["uprobes"].state) == (BAD, LIMITED)
    assert "CONFIG_UPROBES" in found["uprobes"].text


def test_another_kernel_is_not_judged_by_the_symbols_of_this_one(tmp_path: Path) -> None:
    symbols = {"proc/kallsyms": "0 T register_kprobe\n0 T uprobe_register\n"}
    it = kernel(tmp_path, symbols, "CONFIG_MODULES=y\n", running=False)
    assert HostFiles(tmp_path).verdicts(it)["kprobes"]
    assert HostFiles(tmp_path).without_uprobes(it)


def test_headers_are_a_tree_that_kbuild_can_start_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "way_to", lambda what, of: f"get {what} of {of}")
    (tmp_path / "nothing").write_text("")
    row = rows(tmp_path, {})["headers"]
    assert row.state == BAD and "not installed" in row.text
    assert row.remedy == "get headers of 6.1-x"


def compiler(folder: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> Finding:
    """Return the finding about a compiler that says its version so."""
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    if says:
        program = folder / "fake-gcc-12"
        program.write_text(f"#!/bin/sh\necho '{says}'\n")
        program.chmod(0o755)
    return examination_of(folder, kernel(folder, {})).compiler()


@pytest.mark.parametrize(
    ("says", "state", "words"),
    [
        ("gcc (Some 12.2.0-14) 12.2.0", OK, "with which the kernel was built"),
        ("gcc (Some 12.3.0-1) 12.3.0", OK, "the kernel was built with fake-gcc-12"),
        ("gcc (GCC) 13.1.0", LIMITED, "the kernel was built with fake-gcc-12"),
        ("", BAD, "no fake-gcc-12"),
    ],
)
def test_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, state: str, words: str
) -> None:
    found = compiler(tmp_path, monkeypatch, says)
    assert (found.state, words in found.text) == (state, True), found.text
    assert bool(found.remedy) == (state != OK)


def test_a_kernel_of_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its modules are made by another compiler; its programs are probed as well."""
    monkeypatch.setattr(examination, "host", lambda: X86_64)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    about = replace(kernel(tmp_path, {}), arch="arm64", is_running=False)
    (tmp_path / "fake-gcc-12").write_text("#!/bin/sh\n")
    (tmp_path / "fake-gcc-12").chmod(0o755)
    it = examination_of(tmp_path, about)
    found = it.compiler()
    assert found.state == BAD and found.text.startswith("no aarch64-linux-gnu-fake-gcc-12")
    uprobes = {row.name: row for row in it.probing()}["uprobes"]
    assert uprobes.state == OK


def test_programs_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools.HERE, "find", lambda name: None if name == "ld" else name)
    row = examination_of(tmp_path, kernel(tmp_path, {})).programs()
    assert (row.state, row.remedy) == (BAD, "apt-get install binutils")


def test_a_cache_that_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = tmp_path / "theirs"
    others.mkdir()
    others.chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(others))
    row = examination.cache()
    assert row.state == LIMITED and f"'{others}/stapy' is not used" in row.text


def test_fetched_kernels_are_no_part_of_what_the_cache_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(examination, "_SECONDS", 3600)
    folder = tmp_path / "stapy"
    folder.mkdir(0o700)
    (folder / "cache_mb_limit").write_text("2")
    for name, size in (("kernels/boot/vmlinuz", 5), ("userland/a", 3), ("lists/b", 0)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(bytes(size << 20))
    Cache(folder).put_bytes("unit", "ab" * 32, bytes(1 << 20))
    beside = ", and 5 MB of fetched kernels ('stapy kernel remove' takes them), and 3 MB of pro"
    text = examination.cache().text
    assert text.startswith(f"{folder}, 1 of 2 MB{beside}"), text
    assert "lists" not in text
    Cache(folder).put_bytes("unit", "cd" * 32, bytes(2 << 20))
    text = examination.cache().text
    assert text.startswith(f"{folder}, 3 of 2 MB, brought below 2 MB when something is made, and 5")
    assert Cache(folder).clean() == 1 and (folder / "kernels/boot/vmlinuz").exists()
    assert ", 2 of 2 MB, and 5 MB" in examination.cache().text
    monkeypatch.setattr(examination, "_SECONDS", -1)  # as if there were too many of them
    assert ", 2 of 2 MB, and more than 5 MB of fetched kernels" in examination.cache().text


def test_lists_of_packages_are_read_when_something_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take half a minute in a guest."""
    monkeypatch.setattr(examination, "way_to", lambda what, of: pytest.fail("was asked"))
    assert rows(tmp_path, {})["headers"].state == OK


def refuse(*words: object, **more: object) -> None:
    raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def test_what_cannot_be_looked_at_hides_no_other_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system fails: that of a guest does when its server has no descriptors left."""
    it = examination_of(tmp_path, kernel(tmp_path, {}))
    for name in ("loading", "probing", "headers", "compiler", "programs", "tracefs"):
        monkeypatch.setattr(Examination, name, refuse)
    for name in ("packages", "machine", "containers", "cache"):
        monkeypatch.setattr(examination, name, refuse)
    found = it.findings()
    assert " ".join(row.name for row in found) == (
        "kernel lockdown kprobes headers compiler programs packages btf debuginfo tracefs qemu "
        "docker cache"
    )
    text = "it cannot be looked at: Bad file descriptor"
    told = [row.state for row in found if row.text == text]
    assert told == [LIMITED] * 10


@pytest.mark.parametrize("name", ["listdir", "scandir"])
def test_a_cache_whose_folders_cannot_be_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "stapy/module/ab").mkdir(parents=True)
    (tmp_path / "stapy").chmod(0o700)
    with monkeypatch.context() as patch:
        patch.setattr(os, name, refuse)
        assert " 0 of 1024 MB" in examination.cache().text
        assert kernels.installed(tmp_path) == []


ROWS = [Finding("kernel", OK, "6.1-x"), Finding("btf", LIMITED, "none"), Finding("qemu", OK, "")]


@pytest.mark.parametrize(
    ("bad", "running", "qemu", "verdict", "status"),
    [
        ("", True, OK, "runs", 0),
        ("", False, OK, "builds", 0),
        ("kprobes", True, OK, "vm", 1),
        ("kprobes", True, LIMITED, "no", 1),
        ("packages", True, OK, "no", 1),
        ("headers", False, OK, "no", 1),
    ],
)
def test_the_verdict(
    tmp_path: Path, bad: str, running: bool, qemu: str, verdict: str, status: int
) -> None:
    found = [Finding("qemu", qemu, ""), *([Finding(bad, BAD, "")] if bad else [])]
    answer = Diagnosis(kernel(tmp_path, {}, running=running), found)
    assert (answer.verdict, answer.status) == (verdict, status)


def test_the_screen(tmp_path: Path) -> None:
    answer = Diagnosis(kernel(tmp_path, {}), [*ROWS, Finding("x", BAD, "two words", "do \x1bthis")])
    plain = answer.as_text(False, 0)
    assert "\n  x          bad      two words\n" + " " * 22 + "-> do \\033this\n" in plain
    assert "\033" not in plain
    assert "\033[01;31mbad     \033[0m two words" in answer.as_text(True, 0)
    assert max(map(len, answer.as_text(False, 60).splitlines())) <= 77


def stapy(*words: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return run_stapy(*words, cwd=folder)


@pytest.mark.build
def test_a_kernel_with_headers_can_be_built_for() -> None:
    release = with_headers()[-1]
    done = stapy("doctor", "-r", release, "--message-format=json")
    found = json.loads(done.stdout)
    assert (found["kernel"], done.returncode) == (release, 0), done.stderr
    assert found["verdict"] == ("runs" if found["running"] else "builds")
    states = {row["name"]: row["state"] for row in found["checks"]}
    assert states["btf"] == states["compiler"] == OK
    assert {"privilege", "lockdown", "tracefs"} & set(states) == set()


def test_what_cannot_be_asked() -> None:
    for words, said in (
        (["-r", "1.2.3-none"], "missing kernel-devel package"),
        (["--nosuch"], "unknown option '--nosuch'"),
        (["--sysroot", "/"], "which kernel"),
    ):
        done = stapy("doctor", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr and "Traceback" not in done.stderr


def test_without_packages_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is to tell that a package is missing must not need it."""
    code = (
        "import sys\n"
        "class None_:\n"
        "    def find_spec(name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('ply', 'jinja2', 'elftools', 'markupsafe'):\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, None_)\n"
        "import importlib.util as u\n"
        "real = u.find_spec\n"
        "def find(name):\n"
        "    try: return real(name)\n"
        "    except ModuleNotFoundError: return None\n"
        "u.find_spec = find\n"
        "from stapy.tools import doctor\n"
        "sys.exit(doctor.main([]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "no ply, jinja2, markupsafe, elftools" in done.stdout
    assert "pip install ply" in done.stdout


def test_tools_are_named_by_the_help() -> None:
    for name in TOOLS:
        assert (ROOT / "stapy/tools" / f"{name}.py").is_file()
        assert f"  {name} " in texts.usage()
    assert doctor.parser().format_help().count("-r RELEASE") == 2
