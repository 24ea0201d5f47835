"""--remote up to pass 4: who is asked, what is made, who is refused and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stapy.cli import main
from stapy.vm import kernels
from tests.remote import stub

SCRIPT = ["-e", 'probe begin { println("hello") }']
RELEASES = kernels.lines()
ARM64 = os.environ.get("STAPY_TEST_ARM64", "")


@pytest.fixture(autouse=True)
def stubbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in stub.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("dead1", "ssh: connect to host dead1 port 22: Connection refused"),
        ("me@shut", "shut: Permission denied (publickey)."),
        ("arm1", "there is no module for its kernel 1.2.3-arm1 (arm64)"),
        ("odd1", "it is a riscv64; modules are made for x86_64 and arm64"),
        ("old1", "its python3 is 3.8; stapy-run needs 3.9 or newer"),
        ("user1", "loading modules needs root there"),
    ],
)
def test_a_host_that_cannot_be_used_is_named(
    uri: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"--remote={uri}", *SCRIPT]) == 1
    said = capsys.readouterr().err
    assert f"run error: host 0 ({uri}): {why}" in said
    assert "Pass 5: run failed." in said
    assert "Traceback" not in said


def test_hosts_of_another_architecture_than_that_of_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["-a", "x86_64", "--remote=arm1", *SCRIPT]) == 1
    assert "host 0 (arm1): it is a aarch64, -a says x86_64" in capsys.readouterr().err


def test_without_ssh(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["--remote=web1", *SCRIPT]) == 1
    assert "host 0 (web1): cannot start ssh: No such file" in capsys.readouterr().err


def test_a_kernel_that_nothing_can_be_made_for(
    stubbed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (stubbed / "releases" / "far").write_text("1.2.3-far\n")
    assert main(["--remote=dead1", "--remote=far", *SCRIPT]) == 1
    said = capsys.readouterr().err
    assert "host 0 (dead1): " in said
    assert "host 1 (far): there is no module for its kernel 1.2.3-far" in said
    assert not list(Path("/tmp").glob(f"stapy-ssh-{os.getpid()}-*"))
    assert "-O exit" not in (stubbed / "log").read_text()  # the stub keeps no connection


@pytest.mark.build
@pytest.mark.skipif(len(RELEASES) < 2, reason="two kernels with headers are needed")
def test_one_module_for_each_kernel(stubbed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three hosts with two kernels: the passes are taken twice."""
    for name, release in zip(("a", "b", "c"), (RELEASES[0], RELEASES[1], RELEASES[0])):
        (stubbed / "releases" / name).write_text(f"{release}\n")
    words = [f"--remote={name}" for name in "abc"]
    assert main([*words, "-p2", "-v", *SCRIPT]) == 0
    told = capsys.readouterr()
    assert told.out.count("hello") == 2
    assert told.err.count("Pass 2: analyzed script") == 2


@pytest.mark.build
@pytest.mark.skipif(not RELEASES or not ARM64, reason="kernels of both architectures are needed")
def test_one_module_for_each_architecture(
    stubbed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hosts of two architectures: each has the C of its own registers, made once."""
    for name, release in (("a", RELEASES[0]), ("arm1", ARM64), ("arm2", ARM64)):
        (stubbed / "releases" / name).write_text(f"{release}\n")
    script = ["-e", 'probe kernel.function("vfs_read") { println($file) }']
    assert main(["--remote=a", "--remote=arm1", "--remote=arm2", "-p3", *script]) == 0
    told = capsys.readouterr().out
    assert (told.count("regs->di"), told.count("regs->regs[0]")) == (1, 1)


@pytest.mark.build
@pytest.mark.skipif(len(RELEASES) < 2, reason="two kernels with headers are needed")
@pytest.mark.parametrize("word", ["throttle", "disarm"])
def test_overload_on_other_hosts(
    stubbed: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    """What follows an overload stands in each host's module, which needs nobody here for it."""
    for name, release in zip(("a", "b"), RELEASES):
        (stubbed / "releases" / name).write_text(f"{release}\n")
    assert main(["--remote=a", "--remote=b", f"--on-overload={word}", "-p3", *SCRIPT]) == 0
    assert capsys.readouterr().out.count(f".on_overload = STAPY_OVERLOAD_{word.upper()},") == 2
