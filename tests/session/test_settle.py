"""What is settled before pass 1."""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import Kernel
from stapy.kernel.modules import Modules
from stapy.options import Options
from stapy.session import settle
from tests.program import stapy_command

ROOT = Path(__file__).resolve().parents[2]
PEEK = "import resource; print(resource.getrlimit(resource.RLIMIT_{name}))"


def fresh() -> Diagnostics:
    return Diagnostics(SourceMap())


@pytest.mark.parametrize("name", ["as", "cpu", "nproc", "stack", "fsize"])
def test_limits_hold_for_what_is_started(name: str) -> None:
    value = 50_000 if name == "nproc" else 1 << 33
    code = (
        "from stapy.session.settle import set_limits; from stapy.diagnostics import *;"
        "import sys, os;"
        f"set_limits({{'{name}': {value}}}, Diagnostics(SourceMap()));"
        f"os.execv(sys.executable, [sys.executable, '-c', {PEEK.format(name=name.upper())!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    # Somewhat more processor time to tell of the end, and to remove what was made.
    most = value + 5 if name == "cpu" else value
    assert done.stdout == f"({value}, {most})\n", done.stderr


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("nf_tables", "while one of them is loaded the kernel refuses the other, and modprobe"),
        ("tcp_cubic", "the kernel has tcp_cubic built in and refuses another one"),
        ("own", ""),
        ("latency", ""),  # a script's, where members of stapusr may load it from
        (None, ""),
    ],
)
def test_a_name_of_a_module_that_the_kernel_has(
    name: str | None, note: str, tmp_path: Path
) -> None:
    (tmp_path / "modules.dep").write_text(
        "kernel/net/netfilter/nf-tables.ko.xz: a.ko\nsystemtap/latency.ko:\n"
    )
    (tmp_path / "modules.builtin").write_text("kernel/net/ipv4/tcp_cubic.ko\n")
    kernel = SimpleNamespace(release="6.1.0", modules=Modules(tmp_path))
    diagnostics = fresh()
    settle.check_module_name(name, cast("Kernel", kernel), diagnostics)
    assert [item.code for item in diagnostics.items] == ["W0618"] * bool(note)
    assert all(item.notes[0].startswith(note) for item in diagnostics.items)


def test_a_limit_that_cannot_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(which: int, limits: tuple[int, int]) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    diagnostics = fresh()
    settle.set_limits({"cpu": 5}, diagnostics)
    assert [item.message for item in diagnostics.items] == [
        "Unable to set resource limits for rlimit-cpu: not allowed to raise maximum limit"
    ]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("MAXACTON", "MAXACTION"),
        ("MAXACTIONS", "MAXACTION"),
        ("MAX_ACTION", "MAXACTION"),
        ("MAXSTRLEN", "MAXSTRINGLEN"),
        ("MAXSTRINGLENGTH", "MAXSTRINGLEN"),
        ("MAXACTION_INTERUPTIBLE", "MAXACTION_INTERRUPTIBLE"),
        ("maxaction", "MAXACTION"),
        ("STP_MAXACTION", "MAXACTION"),
        ("MAXMAPENTRY", "MAXMAPENTRIES"),
        ("STP_OVERLOAD_TRESHOLD", "STP_OVERLOAD_THRESHOLD"),
        ("STP_NOOVERLOAD", "STP_NO_OVERLOAD"),
        ("INTERUPTIBLE", "INTERRUPTIBLE"),
        ("STP_MAX_BUCKET", "STP_MAX_BUCKETS"),
        ("MAXACTION", ""),
        ("DEBUG", ""),
        ("MY_OWN_MACRO", ""),
        ("MAX", ""),
        ("FOO", ""),
    ],
)
def test_a_limit_that_is_spelled_wrongly(name: str, hint: str) -> None:
    diagnostics = fresh()
    settle.check_defines({name: "3"}, diagnostics)
    assert [item.hint for item in diagnostics.items] == (
        [f"did you mean -D {hint}?"] if hint else []
    )


@pytest.mark.parametrize(
    ("name", "is_error"),
    [
        ("maxaction", True),
        ("Stp_Max_Buckets", True),
        ("true", True),
        ("int", True),
        ("NULL", True),
        ("MAXACTON", False),
        ("TRUE", None),
        ("integer", None),
    ],
)
def test_a_macro_that_cannot_be_meant(name: str, is_error: bool | None) -> None:
    diagnostics = fresh()
    settle.check_defines({name: "0"}, diagnostics)
    assert [item.code for item in diagnostics.errors] == (["E0294"] if is_error else [])
    assert bool(diagnostics.items) == (is_error is not None)


def test_every_macro_of_no_effect_says_why() -> None:
    diagnostics = fresh()
    settle.check_defines(dict.fromkeys(settle.WITHOUT_EFFECT, "1"), diagnostics)
    assert len(diagnostics.items) == len(settle.WITHOUT_EFFECT)
    assert not settle.known_defines() & set(settle.WITHOUT_EFFECT)


def test_each_macro_of_the_table_of_features_is_known() -> None:
    """A limit of SystemTap's does something, or its lack of effect is told."""
    known = settle.known_defines() | set(settle.WITHOUT_EFFECT)
    rows = re.findall(
        r"^\| DM-\d+ \|([^|]*)\|", (ROOT / "docs" / "features.md").read_text(), re.MULTILINE
    )
    names = {name for row in rows for name in re.findall(r"\b[A-Z][A-Z\d_]{4,}\b", row)}
    assert len(names) > 70
    assert names <= known


def test_runtime_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """$SYSTEMTAP_RUNTIME is -R, which goes before it."""
    (tmp_path / "stapy.h").write_text("")
    monkeypatch.setenv("SYSTEMTAP_RUNTIME", str(tmp_path))
    options, diagnostics = Options(), fresh()
    settle.find_runtime(options, diagnostics)
    assert options.runtime_dir == str(tmp_path)
    assert not diagnostics.items
    options = Options(runtime_dir="/nosuch")
    settle.find_runtime(options, diagnostics)
    assert diagnostics.errors[0].message == "-R /nosuch is not a runtime of stapy"


def test_needing_root_is_said_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from stapy.cli import main

    def made(*args: object) -> None:
        raise AssertionError("something was made")

    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("stapy.build.ahead.prepare", made)
    monkeypatch.setattr("stapy.build.headers.HeaderCompiler.types", made)
    assert main(["--vm", "-e", "probe begin { exit() }"]) == 1
    assert "can only be started by root" in capsys.readouterr().err
    verdicts = {"privilege": "only root may", "lockdown": "", "signing": ""}
    monkeypatch.setattr("stapy.kernel.host.HostFiles.without_modules", lambda host, kernel: "")
    monkeypatch.setattr("stapy.kernel.host.HostFiles.verdicts", lambda host, kernel: verdicts)
    monkeypatch.setattr("stapy.vm.qemu.check", lambda: None)
    script = 'probe begin { println(@cast(5, "sk_buff", "kernel<linux/skbuff.h>")->len) }'
    assert main(["-e", script]) == 1
    assert "this host cannot load modules: only root may" in capsys.readouterr().err


def test_a_line_for_what_takes_seconds(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from stapy.terminal import progress

    progress.tell("booting")
    progress.clear()
    assert capfd.readouterr().err == ""  # no terminal
    monkeypatch.setattr(progress, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    progress.tell("making the build kit for 6.1")
    progress.tell("booting 6.1")
    progress.clear()
    progress.clear()
    lines = capfd.readouterr().err.split("\r\033[K")
    assert [line.strip() for line in lines] == ["", lines[1].strip(), "stapy: booting 6.1 …", ""]
    assert lines[1].startswith("stapy: making the")


@pytest.mark.skipif(os.geteuid() != 0, reason="permissions are to be taken from root")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-I", "{closed}/x", "-p1"], "-I {closed}/x adds no tapsets: "),
        (["-R", "{closed}/x", "-p1"], "-R {closed}/x is not a runtime of stapy"),
        (["-r", "{closed}/x", "-p1"], "is not the build tree of a configured kernel"),
        (["--sysroot={closed}/x", "-p1"], "Invalid --sysroot '{closed}/x'"),
        (["SYSTEMTAP_DIR={closed}/x", "-p1"], "println"),
        (["HOME={closed}", "-p1"], "println"),
        (["TMPDIR={closed}/x", "-p1"], "println"),
        (["XDG_DATA_DIRS={closed}/x:/usr/share", "-p1"], "println"),
        (["SYSTEMTAP_TAPSET={closed}/x", "-p1"], "println"),
    ],
)
def test_folders_that_may_not_be_entered(words: list[str], said: str, closed: str) -> None:
    """Each gets one line, or nothing where the folder is one of many."""
    words = [word.format(closed=closed) for word in words]
    env = dict(word.split("=", 1) for word in words if word[0].isupper())
    words = [word for word in words if not word[0].isupper()]
    done = subprocess.run(
        stapy_command(*words, "-e", "probe begin { println(1) }"),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        preexec_fn=bound_by_permissions,
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout + done.stderr
    assert said.format(closed=closed) in text, text
    assert "Traceback" not in text and "mistake in stapy" not in text, text


def bound_by_permissions() -> None:
    """Drop the two capabilities by which root may enter every folder, for the next program."""
    libc = ctypes.CDLL(None)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.fixture
def closed() -> Iterator[str]:
    """Make a folder that only another user may enter."""
    folder = tempfile.mkdtemp(dir="/tmp")
    os.chown(folder, 65534, 65534)
    yield folder
    Path(folder).rmdir()


def limited(limit: str, *more: str, **environment: str) -> tuple[int, str]:
    """Start stapy with so much memory; return the status and messages."""
    words = ["-m", "stapy", f"--rlimit-as={limit}", "-p2", "-e", "probe begin { exit() }", *more]
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("limit", ["10", "9999"])
def test_a_limit_of_memory_that_is_too_small(limit: str) -> None:
    said = f"ERROR: the limit of --rlimit-as is too small: {limit} bytes\n"
    assert limited(limit) == (1, said)


@pytest.mark.slow
@pytest.mark.parametrize("bytecode", [True, False])
def test_limits_of_memory_from_too_small_to_enough(bytecode: bool, tmp_path: Path) -> None:
    """Wherever memory ends, in an import or a message as well, one line says so."""
    settings = {"XDG_CACHE_HOME": str(tmp_path)}
    if not bytecode:
        settings |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(tmp_path / "none")}
    ends = set()
    for limit in range(16_000_000, 72_000_000, 4_000_000):
        status, said = limited(str(limit), **settings)
        ends.add((status, said.replace(str(limit), "LIMIT")))
    assert ends == {(0, ""), (1, "ERROR: the limit of --rlimit-as is too small: LIMIT bytes\n")}


def test_a_limit_of_memory_that_is_too_small_as_json() -> None:
    _, said = limited("9999", "--message-format=json")
    assert json.loads(said)["message"] == "the limit of --rlimit-as is too small: 9999 bytes"
