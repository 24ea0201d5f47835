"""--remote up to pass 4: who is asked, what is made, who is refused and why."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from stapy.build.sign import SigningKey
from stapy.cli import main
from stapy.options import Options
from stapy.remote.ssh import Connection
from stapy.session import Session, remote
from stapy.vm import kernels
from tests.program import stapy_command
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
        ("none1", "it did not say what it is (status 1): This account is currently not available."),
        ("monolith", "its kernel is built without loadable modules (CONFIG_MODULES)"),
        ("once", "/proc/sys/kernel/modules_disabled is 1, until the next boot"),
        ("strict", "the kernel takes only signed modules (module.sig_enforce)"),
        ("locked", "the kernel is locked down (integrity): it takes only signed modules"),
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


@pytest.mark.parametrize(
    ("uri", "hint"),
    [
        ("strict", "--sign-module signs it with a key of yours, which mokutil enrols on the host"),
        ("me@shut", "'ssh me@shut' has to get in by a key"),
        ("ssh://shut:2222", "'ssh -p 2222 shut' has to get in by a key"),
        ("new1", "'ssh new1' shows the host's key and asks whether it is the right one; so does"),
        ("monolith", ""),
        ("dead1", ""),
    ],
)
def test_what_to_do_about_a_host(
    uri: str, hint: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.isatty", lambda fd: False)
    assert main([f"--remote={uri}", *SCRIPT]) == 1
    said = capsys.readouterr().err
    assert hint in said
    assert ("hint:" in said) == bool(hint)
    assert "--vm" not in said and "-r " not in said


def test_hosts_whose_kernels_want_signed_modules(
    stubbed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key is asked for by all hosts; one that does not know it is told how it would."""
    key = SigningKey(Path("/key"), Path("/key.x509"), "mine", "00ff")
    monkeypatch.setattr("stapy.build.sign.given", lambda place: key)
    monkeypatch.setattr("stapy.build.sign.SigningKey.is_open", lambda key: False)
    (stubbed / "releases" / "keys").write_text("1 I------ 1 perm asymmetri its: ab12: X509.rsa\n")
    (stubbed / "releases" / "strict").write_text("1.2.3-far\n")
    assert main(["--remote=strict", "--sign-module=/key", *SCRIPT]) == 1
    said = capsys.readouterr().err
    assert "host 0 (strict): the kernel takes only signed modules" in said
    assert "does not know your key 'mine': copy /key.x509 to the host" in said
    (stubbed / "releases" / "keys").write_text("1 I------ 1 perm asymmetri my: 00ff: X509.rsa\n")
    assert main(["--remote=strict", "--sign-module=/key", *SCRIPT]) == 1
    assert "there is no module for its kernel 1.2.3-far" in capsys.readouterr().err


def test_a_module_is_signed_for_each_kernel(
    stubbed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is done with a module of this machine before it is loaded is done for others as well."""
    module = tmp_path / "plain.ko"
    (tmp_path / "signed.ko").write_bytes(b"signed")
    key = SigningKey(Path("/key"), Path("/key.x509"), "mine", "00ff")
    build = remote.OneKernel(Options(elsewhere=True), "host 0 (a)", key)
    taken: list[Path] = []

    def sign(session: Session, path: Path, by: SigningKey, kernel: object) -> Path:
        assert (path, by) == (module, key)
        return tmp_path / "signed.ko"

    monkeypatch.setattr("stapy.session.signing.sign", sign)
    monkeypatch.setattr(
        remote.OneKernel, "load", lambda self, path, kernel: taken.append(path) or 0
    )
    assert build.finish(module, None, from_cache=False) == 0
    assert taken == [tmp_path / "signed.ko"]


def wait_for(file: Path) -> int:
    """Wait until a slow host is being waited for; return the number of its process."""
    while not (file.exists() and file.read_text().strip()):
        time.sleep(0.05)
    return int(file.read_text())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_wait_for_a_host(stubbed: Path, number: signal.Signals) -> None:
    """One that takes the connection and answers nothing."""
    process = subprocess.Popen(
        stapy_command("--remote=slow", *SCRIPT), stderr=subprocess.PIPE, text=True
    )
    pid = wait_for(stubbed / "log.slow")
    process.send_signal(number)
    said = process.communicate(timeout=300)[1]
    assert process.returncode in (1, 128 + number), said
    assert "Traceback" not in said
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not list(Path("/tmp").glob(f"stapy-ssh-{process.pid}-*"))


def test_a_connection_that_does_not_end_is_left(
    stubbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends by itself; nobody waits for it, for signals are not heard any more."""
    fleet = remote.Fleet(Session(Options(remotes=["a", "b"])))
    monkeypatch.setattr(Connection, "closing", lambda self: ["sleep", "3600"])
    monkeypatch.setattr(remote, "_CLOSING_SECONDS", 0.1)
    fleet.folder = stubbed / "folder"
    fleet.folder.mkdir()
    for host in fleet.hosts:
        fleet.connections[host.number] = Connection(host, [], True)
        (fleet.folder / str(host.number)).touch()
    fleet._close()
    assert not fleet.folder.exists()


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
    assert "note: this is for host 1 (far)\n" in said
    assert "; -r " not in said  # no other kernel will do
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
@pytest.mark.skipif(not RELEASES, reason="a kernel with headers is needed")
def test_what_is_sent_is_signed(
    stubbed: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The host runs another kernel in truth, so stapy-run ends there; NAME.ko is what was sent."""
    monkeypatch.setenv("HOME", str(stubbed / "home"))
    monkeypatch.chdir(stubbed)
    (stubbed / "releases" / "strict").write_text(f"{RELEASES[0]}\n")
    assert main(["--remote=strict", "-m", "mine", "--sign-module", *SCRIPT]) == 1
    said = capfd.readouterr().err
    assert "made a key" in said and "stapy-run ended there with status 1" in said
    assert "no module" not in said and "takes only signed modules" not in said
    assert (stubbed / "mine.ko").read_bytes().endswith(b"~Module signature appended~\n")


@pytest.mark.build
@pytest.mark.skipif(len(RELEASES) < 2, reason="two kernels with headers are needed")
def test_each_kernel_has_a_folder_below_the_one_that_is_named(
    stubbed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, release in zip(("a", "b"), RELEASES):
        (stubbed / "releases" / name).write_text(f"{release}\n")
    words = [f"--tmpdir={stubbed}/kept", "-p4", "--sign-module", *SCRIPT]
    assert main(["--remote=a", *words]) == 0
    assert not [path for path in (stubbed / "kept").iterdir() if path.name in RELEASES]
    assert main(["--remote=a", "--remote=b", *words]) == 0
    for release in RELEASES[:2]:
        assert list((stubbed / "kept" / release).rglob("*.c"))
    named = capsys.readouterr().out.split()
    signed = [Path(name).read_bytes().endswith(b"signature appended~\n") for name in named]
    assert signed == [True, True, True]  # both options, in all kernels


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
