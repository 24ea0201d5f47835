"""--remote: two guests of two kernels, reached by ssh, traced at once, one of them killed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from stapy.record import Record
from stapy.vm import classify, kernels
from stapy.vm.machine import EXITED, SHARE, Machine, VmResult
from stapy.vm.qemu import Processes
from tests import debugpackage
from tests.ansible.support import play
from tests.program import run_stapy, stapy_command
from tests.vm import network
from tests.vm.conftest import missing
from tests.vm.harness import ROOT, WATCHDOGS, build
from tests.vm.safety.support import LONG

pytestmark = [pytest.mark.build, pytest.mark.vm]

RELEASES = kernels.lines()
SCRIPT = """
global n
probe begin { printf("%d is %s\\n", remote_id(), remote_uri()) }
probe kernel.function("vfs_read") { n++ }
probe timer.s(1) { println(n > 0 ? "reads" : "nothing") }
probe end { println("ended") }
"""
# What a host of Debian has when openssh-server is installed, and a network.
SETUP = f"""
set -e
{network.SETUP}
grep -q ^sshd: /etc/passwd || echo sshd:x:74:65534::/run/sshd:/usr/sbin/nologin >>/etc/passwd
mkdir -p /run/sshd
cp SHARE/ssh/key /run/stapy/key
chmod 600 /run/stapy/key
LD_LIBRARY_PATH=LIBRARIES exec PROGRAM -D -f SHARE/ssh/sshd
"""
SERVER = f"""
HostKey /run/stapy/key
AuthorizedKeysFile {SHARE}/ssh/key.pub
StrictModes no
PermitRootLogin yes
UsePAM no
PidFile /run/stapy/sshd.pid
LoginGraceTime 0
"""
CLIENT = """
Host first second
    HostName 127.0.0.1
    User root
    IdentityFile FOLDER/key
    IdentitiesOnly yes
    StrictHostKeyChecking no
    UserKnownHostsFile FOLDER/known
    ConnectTimeout 300
Host first
    Port FIRST
Host second
    Port SECOND
"""


class Host(Record):
    """A guest with a server, and the port of this machine where that is reached."""

    machine: Machine
    processes: Processes
    port: int
    server: Future[VmResult]  # a guest ends what its command has left behind: it stays in front


def answers(port: int) -> bool:
    """Whether a server of ssh is there; the emulator takes connections before there is one."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 60) as one:
        return one.recv(4) == b"SSH-"
    return False


def boot(release: str, folder: Path, server: Path, pool: ThreadPoolExecutor) -> Host:
    port = network.free_port()
    extra = network.forwarded(port, 22)
    machine = Machine(release, timeout=600, extra=extra, command_line=WATCHDOGS)
    processes = machine.start()
    place = machine.share / "ssh"
    place.mkdir()
    shutil.copy(folder / "key", place)
    shutil.copy(folder / "key.pub", place)
    (place / "sshd").write_text(SERVER)
    text = SETUP.replace("SHARE", SHARE).replace("PROGRAM", str(server / "usr/sbin/sshd"))
    text = text.replace("LIBRARIES", debugpackage.library_path(server))
    running = pool.submit(machine.run, ["sh", "-c", text], timeout=0)
    while not answers(port):
        assert not running.done(), running.result()
        time.sleep(0.2)
    return Host(machine, processes, port, running)


def switch_off(host: Host) -> None:
    """End a guest with its command still running; the thread that waits for it sees it die."""
    host.processes.qemu.kill()
    wait([host.server])
    host.machine.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder for the key and what ssh reads and writes, for all tests."""
    return tmp_path_factory.mktemp("ssh")


@pytest.fixture(scope="module")
def hosts(folder: Path) -> Iterator[list[Host]]:
    """Boot a guest of either kernel, for all tests: the last one kills one of them."""
    reason = missing()
    if reason or len(RELEASES) < 2:
        pytest.skip(reason or "kernels of two lines are needed")
    if not shutil.which("ssh") or not shutil.which("ssh-keygen"):
        pytest.skip("there is no ssh (apt-get install openssh-client)")
    try:
        server = debugpackage.program_root("openssh-server")
    except debugpackage.NoPackage as error:
        pytest.skip(str(error))
    key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")]
    subprocess.run(key, check=True)
    made: list[Host] = []
    with ThreadPoolExecutor(2) as pool:
        try:
            for release in (RELEASES[0], RELEASES[-1]):
                made.append(boot(release, folder, server, pool))
            yield made
        finally:
            for host in made:
                switch_off(host)


@pytest.fixture(scope="module")
def environment(hosts: list[Host], folder: Path) -> dict[str, str]:
    """Variables with which ssh has a configuration of its own, and no user's keys."""
    text = CLIENT.replace("FOLDER", str(folder))
    text = text.replace("FIRST", str(hosts[0].port)).replace("SECOND", str(hosts[1].port))
    (folder / "config").write_text(text)
    programs = folder / "bin"
    programs.mkdir()
    program = programs / "ssh"
    program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
    program.chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "SSH_AUTH_SOCK": ""}


def left(name: str, environment: dict[str, str], more: str = "") -> str:
    """Tell what a host still has of us, and what `more` prints there, "" when it is clean."""
    look = f"grep ^stap_ /proc/modules; ls -d /tmp/stapy-remote-*; {more or 'true'}; true"
    for _ in range(60):  # an interrupted one may still be going
        done = subprocess.run(
            ["ssh", name, look],
            env=environment, capture_output=True, text=True, check=False, timeout=1800,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        if not done.stdout:
            return ""
        time.sleep(1)
    return done.stdout


def complaints(name: str, environment: dict[str, str]) -> list[tuple[str, str]]:
    """Tell what the kernel of a host, which goes on, has complained of."""
    done = subprocess.run(
        ["ssh", name, "dmesg"],
        env=environment, capture_output=True, text=True, check=True, timeout=1800,
    )  # fmt: skip
    assert "Linux version" in done.stdout, done.stdout
    return classify.complaints(done.stdout)


def end(host: Host, name: str, environment: dict[str, str]) -> None:
    """End a host's server, and see whether its kernel was content all the time."""
    subprocess.run(
        ["ssh", name, "kill $(cat /run/stapy/sshd.pid)"],
        env=environment, capture_output=True, check=False, timeout=1800,
    )  # fmt: skip
    result = host.server.result(1800)
    assert result.kind == EXITED, result.dmesg
    assert not [one for one in result.left_modules if one.startswith("stap_")]


def test_options_mean_what_they_mean_there(
    hosts: list[Host], environment: dict[str, str], tmp_path: Path
) -> None:
    """-c runs on the hosts, -o is a file here, all have ended well: status 0."""
    (tmp_path / "hosts").write_text("first\nsecond # of another kernel\n")
    words = ["--remote-file=hosts", "-c", "uname -r", "-o", "out", "-G", "x=7"]
    script = "global x = 1 probe end { println(x, remote_uri()) }"
    done = run_stapy(*words, "-e", script, cwd=tmp_path, env=environment, timeout=1800)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "out").read_text().splitlines()
    assert sorted(lines) == sorted(["7first", "7second", RELEASES[0], RELEASES[-1]])
    records_say_their_host(environment, tmp_path, script)
    for name in ("first", "second"):
        assert left(name, environment) == ""
        assert complaints(name, environment) == []


def records_say_their_host(environment: dict[str, str], tmp_path: Path, script: str) -> None:
    """Run a script with --format=json on both: lines are whole, each with its host."""
    words = ["--remote-file=hosts", "--format=json", "-o", "records", "-T", "1", "-e", script]
    done = run_stapy(*words, cwd=tmp_path, env=environment, timeout=1800)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()]
    for number, uri in enumerate(("first", "second")):
        own = [row for row in rows if row["host"] == number]
        assert [row["type"] for row in own] == ["begin", "print", "end"], rows
        assert own[0]["uri"] == uri and own[0]["release"] in RELEASES, rows
        assert own[1]["fields"] == {"x": 1, "remote_uri": uri}, rows


LOOKS = """
global most = 1, reads
probe begin { println(most) }
probe kernel.function("vfs_read") { reads++ }
probe timer.s(1) { if (reads) exit() }
"""


def ansible_sees(folder: Path, environment: dict[str, str]) -> dict[str, str]:
    """Make the variables with which Ansible reaches the guests, which are slow."""
    return {
        **{name: environment[name] for name in ("PATH", "PYTHONPATH", "SSH_AUTH_SOCK")},
        "ANSIBLE_SSH_ARGS": "-o ControlMaster=auto -o ControlPersist=15s",
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder / "cp"),
        "ANSIBLE_SSH_TRANSFER_METHOD": "piped",  # these servers have no sftp
        "ANSIBLE_TIMEOUT": "600",
    }


@pytest.mark.skipif(
    not LONG,
    reason="Ansible's Python takes an emulated processor minutes: STAPY_LONG=1",
)
def test_ansible_traces_both(
    hosts: list[Host], environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    """The role runs on both kernels; a module of one of them fails on the other host only."""
    pytest.importorskip("ansible.release", reason="ansible-core is not installed")
    made = build(RELEASES[0], ["-m", "stap_first", "-e", "probe begin { println(7) }"], tmp_path)
    assert made.module, made.stderr
    stapy = " ".join(stapy_command())
    trace = {"role": "stapy.tracer.trace", "trace_text": LOOKS, "trace_globals": {"most": 9},
             "trace_format": "json", "trace_output": str(tmp_path / "out"), "trace_stapy": stapy,
             "trace_seconds": 600}  # fmt: skip
    foreign = {"module": str(made.module), "command": "uname -r", "timeout": 300, "grace": 600}
    plays = [
        {"hosts": "all", "gather_facts": False, "roles": [trace], "post_tasks": [
            {"stapy.tracer.stapy_run": {**foreign, "stapy": stapy}}
        ]}
    ]  # fmt: skip
    reached = {"ansible_user": "root", "ansible_python_interpreter": "/usr/bin/python3"}
    inventory = {name: dict(reached) for name in ("first", "second")}
    results = play(tmp_path, plays, inventory, variables=ansible_sees(folder, environment))
    for name, release in (("first", RELEASES[0]), ("second", RELEASES[-1])):
        *_, facts, _, traced, last = results[name]
        seen = facts["ansible_facts"]["stapy"]
        assert (seen["release"], seen["can_load"], seen["btf"]) == (release, True, True), facts
        assert traced["rc"] == 0 and not traced["changed"], traced
        kinds = [row["type"] for row in traced["records"]]
        assert (kinds[0], kinds[-1]) == ("begin", "end") and "global" in kinds, traced
        assert traced["records"][0]["release"] == release
        assert traced["records"][1]["fields"] == {"most": 9}
        assert (tmp_path / f"out/{name}.jsonl").read_text() == traced["stdout"]
        if name == "first":
            assert last["how"] == "ok" and last["changed"], last
            assert sorted(last["stdout"].split()) == sorted(["7", release])
        else:
            assert last["how"] == "failed" and last["rc"] == 1 and RELEASES[0] in last["msg"], last
        assert left(name, environment, f"find {tmp_path}/remote -type f") == ""
        assert complaints(name, environment) == []


@contextlib.contextmanager
def session(
    environment: dict[str, str], folder: Path, *words: str
) -> Iterator[subprocess.Popen[str]]:
    """Start a session whose lines name their hosts; what it says of itself is in ``said``."""
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            stapy_command("--remote-prefix", *words),
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.communicate()


def test_one_host_that_is_named_twice(
    hosts: list[Host], environment: dict[str, str], tmp_path: Path
) -> None:
    """It has two sessions at the same time, and each has a module of its own."""
    script = 'probe begin { println("begun ", module_name()) } probe end { println("ended") }'
    with session(
        environment, tmp_path, "--remote=first", "--remote=first", "-e", script
    ) as process:
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(2)]  # neither ends before it is told to
        assert sorted(line[:8] for line in lines) == ["0: begun", "1: begun"], lines
        assert len({line.split()[2] for line in lines}) == 2, lines
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read().splitlines()
        assert sorted(rest) == ["0: ended", "1: ended"]
        process.wait(600)
    assert left("first", environment) == ""
    assert complaints("first", environment) == []
    assert "Traceback" not in (tmp_path / "said").read_text()


def test_two_kernels_one_is_killed(
    hosts: list[Host], environment: dict[str, str], tmp_path: Path
) -> None:
    words = ["--remote=first", "--remote=ssh://second", "--remote=ssh://root@127.0.0.1:1"]
    with session(environment, tmp_path, *words, "-e", SCRIPT) as process:
        assert process.stdout
        seen: list[str] = []
        wanted = {"0: 0 is first", "1: 1 is ssh://second", "0: reads", "1: reads"}
        while not wanted <= set(seen):
            line = process.stdout.readline()
            assert line, (seen, (tmp_path / "said").read_text())
            seen.append(line.rstrip("\n"))
        switch_off(hosts[1])  # its kernel has no time to say goodbye
        said = ""
        while "host 1 (ssh://second): the connection is lost" not in said:
            assert process.poll() is None
            line = process.stdout.readline()
            assert line.startswith(("0: ", "1: ")), (line, said)
            said = (tmp_path / "said").read_text()
        assert "host 2 (ssh://root@127.0.0.1:1): " in said  # it was named before
        # The other one goes on; of this one there may be lines that nobody has read yet.
        while (line := process.stdout.readline()) == "1: reads\n":
            pass
        assert line == "0: reads\n"
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read().splitlines()
        assert rest[-1] == "0: ended"
        assert process.wait(600) == 1
    assert left("first", environment) == ""
    end(hosts[0], "first", environment)
    assert "Traceback" not in (tmp_path / "said").read_text()
