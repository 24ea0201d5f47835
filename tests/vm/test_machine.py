"""The machine itself, with plain commands."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stapy.vm import clock
from stapy.vm.errors import VmError
from stapy.vm.machine import COMPLAINED, EXITED, PANIC, SHARE, TIMEOUT, Machine
from stapy.vm.qemu import Processes
from stapy.vm.reader import OutputReader
from tests.vm.harness import ROOT, Guests

pytestmark = pytest.mark.vm


def test_streams_and_status(guest: Machine) -> None:
    result = guest.run(["sh", "-c", "uname -r; echo problem >&2; exit 3"])
    assert result.kind == EXITED
    assert result.status == 3
    assert result.stdout.decode() == guest.release + "\n"
    assert result.stderr == b"problem\n"
    assert result.complaints == []


def test_standard_input(guest: Machine) -> None:
    data = os.urandom(300_000)
    assert guest.run(["cat"], stdin=data).stdout == data
    assert guest.run(["cat"]).stdout == b""


def test_streams_by_name(guest: Machine) -> None:
    command = "cat <(echo one); cat /dev/stdin; echo two >/dev/stderr; echo three >/dev/stdout"
    result = guest.run(["bash", "-c", command], stdin=b"given\n")
    assert (result.stdout, result.stderr) == (b"one\ngiven\nthree\n", b"two\n")


def test_environment_and_folder(guest: Machine, tmp_path: Path) -> None:
    result = guest.run(
        ["sh", "-c", "echo $GREETING; pwd"], env={"GREETING": "hello", "PATH": "/bin"}, cwd="/usr"
    )
    assert result.stdout == b"hello\n/usr\n"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("yes", 128 + signal.SIGPIPE),
        # It is told of a reader who leaves before anything was written: the first word is too much.
        ("sleep 1; echo word; sleep 1; echo word", 128 + signal.SIGPIPE),
        ("sleep 1; echo word >&2", 0),
    ],
)
def test_a_reader_who_leaves(guest: Machine, command: str, status: int) -> None:
    """A command in the guest finds what one on the host would: a pipe that nobody reads."""
    ours, theirs = os.pipe()
    os.close(ours)
    reader = OutputReader(theirs)
    result = guest.run(["sh", "-c", command], stdout=reader)
    os.close(theirs)
    assert (result.kind, result.status) == (EXITED, status)
    assert reader.is_gone and not reader.error
    assert result.seconds < 30


def test_a_full_disk_of_the_host(guest: Machine) -> None:
    with Path("/dev/full").open("w") as full:
        reader = OutputReader(full.fileno())
        result = guest.run(["sh", "-c", "yes"], stdout=reader)
    assert result.status == 128 + signal.SIGPIPE
    assert reader.error == "No space left on device"


def test_missing_program(guest: Machine) -> None:
    result = guest.run(["/no/such/program"])
    assert result.status == 127
    assert b"No such file" in result.stderr


def test_signal_number(guest: Machine) -> None:
    assert guest.run(["sh", "-c", "kill -9 $$"]).status == 128 + 9


def test_host_is_not_written(guest: Machine, tmp_path: Path) -> None:
    target = tmp_path / "file"
    assert guest.run(["sh", "-c", f"mkdir -p {tmp_path}; echo x >{target}"]).status == 0
    assert not target.exists()
    assert guest.run(["cat", str(target)]).stdout == b"x\n"


def test_share_is_written(guest: Machine) -> None:
    assert guest.run(["sh", "-c", f"echo x >{SHARE}/file"]).status == 0
    assert (guest.share / "file").read_text() == "x\n"


def test_pushed_file_is_seen_though_it_is_new(guest: Machine, tmp_path: Path) -> None:
    for text in ("one", "two"):
        (tmp_path / "file").write_text(text)
        assert guest.run(["cat", guest.push(tmp_path / "file")]).stdout.decode() == text


def test_kernel_messages_belong_to_their_command(guest: Machine) -> None:
    assert "first" in guest.run(["sh", "-c", "echo first >/dev/kmsg"]).dmesg
    result = guest.run(["sh", "-c", "echo second >/dev/kmsg"])
    assert "second" in result.dmesg
    assert "first" not in result.dmesg


def test_complaint_is_its_own_kind_of_end(guest: Machine) -> None:
    result = guest.run(["sh", "-c", "echo 'WARNING: CPU: 0 PID: 1 at x.c:1' >/dev/kmsg"])
    assert result.kind == COMPLAINED
    assert result.status == 0
    assert result.log_path
    assert "x.c:1" in result.log_path.read_text()


def test_background_processes_do_not_hold_the_end(guest: Machine) -> None:
    started = time.monotonic()
    result = guest.run(["sh", "-c", "sleep 1000 & echo started"])
    assert result.stdout == b"started\n"
    assert time.monotonic() - started < 300
    assert guest.run(["pidof", "sleep"]).status == 1


def test_panic_and_a_new_boot(guest: Machine) -> None:
    boots = guest.boots
    result = guest.run(["sh", "-c", "echo 1 >/proc/sys/kernel/sysrq; echo c >/proc/sysrq-trigger"])
    assert result.kind == PANIC
    assert "sysrq triggered crash" in result.dmesg
    assert guest.run(["true"]).kind == EXITED
    assert guest.boots == boots + 1


@pytest.mark.parametrize("noticed", [False, True])
def test_a_guest_that_dies_before_it_is_up_is_booted_again(release: str, noticed: bool) -> None:
    """Whether it is known to be dead when the next command comes, or only found so later."""
    with Machine(release) as machine:
        (machine.share / "given").write_text("before")
        machine.start().qemu.kill()
        if noticed:
            machine.start().qemu.wait()
            (machine.share / "more").write_text(" and after")
        result = machine.run(["sh", "-c", f"cat {SHARE}/given {SHARE}/more 2>/dev/null; true"])
    assert (result.kind, result.stdout) == (EXITED, b"before and after"[: 16 if noticed else 6])


@pytest.mark.parametrize(
    ("device", "said"),
    [("tag=root", "cannot mount the host's root"), ("name=stapy", "no serial port")],
    ids=["early", "late"],
)
def test_a_guest_that_cannot_start_says_why(
    release: str, device: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when /dev has already been moved to where the host's tree is laid out."""
    command, made = Processes._command, []

    def without(processes: Processes, *args: Any) -> list[str]:
        made.append([word.replace(device, device + "less") for word in command(processes, *args)])
        return made[-1]

    monkeypatch.setattr(Processes, "_command", without)
    with Machine(release) as machine, pytest.raises(VmError, match=f"stapy-vm: {said}$"):
        machine.boot()
    assert len(made) == 1, "another try would end in the same way"


def test_timeout_keeps_a_log(guest: Machine) -> None:
    result = guest.run(["sleep", "100"], timeout=1)
    assert result.kind == TIMEOUT
    assert result.log_path
    assert "NMI" in result.log_path.read_text()


BURN = "while True: pass"


def test_the_clock_is_right_on_a_busy_host(release: str) -> None:
    """A kernel that measures its clock while the host is busy gets it wrong by any factor."""
    # One more than processors: the guest never has one to itself, and boots soon all the same.
    count = (os.cpu_count() or 1) + 1
    burners = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(count)]
    try:
        with Machine(release, cpus=2) as machine:
            uptime = ["cut", "-d ", "-f1", "/proc/uptime"]
            detected = machine.run(["sh", "-c", "dmesg | grep 'tsc: Detected'"]).stdout.decode()
            begun = time.monotonic()
            first = float(machine.run(uptime).stdout)
            after_first = time.monotonic()
            time.sleep(4)
            before_second = time.monotonic()
            second = float(machine.run(uptime).stdout)
            ended = time.monotonic()
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    least, most = before_second - after_first, ended - begun
    assert least * 0.98 - 0.02 <= second - first <= most * 1.02 + 0.02, (least, most, detected)
    found = re.search(r"Detected ([\d.]+) MHz", detected)
    assert found and abs(float(found[1]) * 1000 / clock.counter_khz() - 1) < 0.01, detected


def test_two_processors(guests: Guests, release: str) -> None:
    assert guests.get(release, 2).run(["nproc"]).stdout == b"2\n"


RUN = """
import sys
from stapy.vm.machine import Machine
with Machine({release!r}) as machine:
    print("up", machine.boot().folder, flush=True)
    script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done"
    result = machine.run(["sh", "-c", script],
        stdout=lambda data: print(data.decode(), end="", flush=True), forward_signals=True)
    print(result.status, flush=True)
"""


def _processes_about(folder: Path) -> list[str]:
    """Command lines that name a folder; the last one removes it and ends."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # a process that ended meanwhile
            words = entry.read_bytes()
            if str(folder).encode() in words:
                found.append(words.replace(b"\0", b" ").decode())
    return found


@pytest.mark.parametrize(("number", "ends"), [(signal.SIGTERM, "9"), (signal.SIGKILL, "")])
def test_signals_and_nothing_is_left(release: str, number: int, ends: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", RUN.format(release=release)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout
    folder = Path(process.stdout.readline().split()[1])
    assert folder.is_dir()
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.stdout.read().strip() == ends
    process.wait(120)
    deadline = time.monotonic() + 120
    while (folder.exists() or _processes_about(folder)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not folder.exists()
    assert _processes_about(folder) == []
