"""The consumer with real modules: how sessions end, and that nothing stays behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stapy.run.options import RunOptions
from stapy.vm.machine import EXITED, Machine, VmResult, consumer_command
from tests.vm.harness import CONSUMER, ROOT, build, patience, run_script, tools

pytestmark = [pytest.mark.build, pytest.mark.vm]

TICKS = """
probe begin { printf("begin %d\\n", target()) }
probe timer.ms(50) { println("tick") }
probe end { println("end") }
"""
FLOOD = """
probe timer.ms(5) { for (i = 0; i < 100; i++) printf("%s\\n", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") }
probe end { println("end") }
"""
RUN = f"""
export PYTHONPATH=/run/stapy/lib; run='{CONSUMER}'
cd $(mktemp -d) # what another call has left would be taken for this one's
ticking() {{ # until a session has written to this file; a loaded host starts slowly
	n=0; while ! grep -q tick "$1" 2>/dev/null && [ $n -lt 1500 ]; do sleep 0.2; n=$((n+1)); done
}}
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two modules for this kernel, made by the real command line."""
    folder = tmp_path_factory.mktemp("modules")
    found = {}
    for name, script in (("ticks", TICKS), ("flood", FLOOD)):
        made = build(release, ["-m", name, "-e", script], folder)
        assert made.module, made.stderr
        found[name] = made.module
    return found


def shell(guest: Machine, modules: dict[str, Path], text: str, **more: float) -> VmResult:
    """Run shell commands in a guest that know ``$ticks``, ``$flood`` and ``$run``."""
    places = "".join(f"{name}={guest.push(path)};" for name, path in modules.items())
    result = guest.run(
        ["sh", "-c", tools(guest) + RUN + places + text],
        cwd="/tmp",
        timeout=more.get("t", 60) * patience(guest),
    )
    assert result.kind == EXITED, (result.kind, result.dmesg[-3000:], result.stderr)
    return result


def output(result: VmResult) -> list[str]:
    return result.stdout.decode().splitlines()


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_signal_runs_end_probes(guest: Machine, modules: dict[str, Path], name: str) -> None:
    text = f"$run -c 'sh -c \"sleep 1; kill -{name} $PPID; sleep 100\"' $ticks; echo status $?"
    result = shell(guest, modules, text)
    lines = output(result)
    assert lines[0].startswith("begin ")
    assert "tick" in lines
    assert lines[-2:] == ["end", "status 0"], (lines, result.stderr)
    assert result.left_modules == []


def test_killed_consumer_leaves_a_module_that_unloads(
    guest: Machine, modules: dict[str, Path]
) -> None:
    text = """
    $run $ticks >out & ticking out; kill -9 $!; wait $! 2>/dev/null
    for i in $(seq 3000); do grep -q '^ticks ' /proc/modules || break; sleep 0.1; done
    grep -c '^ticks ' /proc/modules; grep -q tick out && echo ticked
    """
    result = shell(guest, modules, text)
    assert output(result) == ["0", "ticked"], result.stderr


def test_stale_module_is_replaced(guest: Machine, modules: dict[str, Path]) -> None:
    text = """
    $run $ticks >out & ticking out; kill -9 $!; wait $! 2>/dev/null
    $run -T 0.5 $ticks; echo status $?
    """
    lines = output(shell(guest, modules, text))
    assert lines[0] == "begin 0"
    assert lines[-2:] == ["end", "status 0"]


def test_detach_and_attach(guest: Machine, modules: dict[str, Path]) -> None:
    text = """
    $run -L $ticks; echo status $?
    sleep 1; grep -c '^ticks ' /proc/modules
    $run -A -T 1 ticks; echo status $?
    """
    result = shell(guest, modules, text)
    lines = output(result)
    assert lines.count("status 0") == 2, (lines, result.stderr)
    assert "1" in lines
    assert lines[-2] == "end"
    assert b"To reconnect" in result.stderr


def test_a_second_session_that_is_left_running_says_its_name(
    guest: Machine, modules: dict[str, Path]
) -> None:
    text = """
    $run -L $ticks 2>/dev/null; $run -L $ticks; echo status $?
    for name in $(sed -n 's/^\\(ticks[^ ]*\\) .*/\\1/p' /proc/modules); do $run -d $name; done
    """
    result = shell(guest, modules, text)
    said = re.search(rb"'ticks' is in the kernel already: this session is '(\w+)'", result.stderr)
    assert said, result.stderr
    assert b"stapy-run -A " + said[1] in result.stderr
    assert "status 0" in output(result)


def test_reader_that_leaves_ends_the_session(guest: Machine, modules: dict[str, Path]) -> None:
    result = shell(guest, modules, "$run $flood | head -n 3 | wc -l; lsmod | grep -c flood")
    assert output(result) == ["3", "0"], result.stderr


@pytest.mark.parametrize("output_to", ["", "-o out"])
@pytest.mark.parametrize("command", ["yes", "sh -c 'yes; exit \\$?'"])
def test_reader_that_leaves_the_command_as_well(
    guest: Machine, modules: dict[str, Path], command: str, output_to: str
) -> None:
    """What the broken pipe did to the command is what the user wanted."""
    text = f"""
    {{ $run {output_to} -c "{command}" $ticks 2>err; echo $? >status; }} | head -n 3 | wc -l
    cat status err; lsmod | grep -c ticks
    """
    result = shell(guest, modules, text)
    assert output(result) == ["3", "0", "0"], result.stderr


def test_slow_reader_loses_nothing_of_the_end(guest: Machine, modules: dict[str, Path]) -> None:
    text = "$run -T 2 $flood | (sleep 5; tail -n 1)"
    assert output(shell(guest, modules, text)) == ["end"]


def test_files_rotate_by_signal_and_by_size(guest: Machine, modules: dict[str, Path]) -> None:
    text = """
    mkdir r
    $run -T 3 -o r/one -c 'sh -c "sleep 1; kill -USR2 $PPID; sleep 9"' $ticks
    $run -T 8 -o r/many -S 1,2 $flood
    ls r; tail -n 1 r/one.1
    """
    lines = output(shell(guest, modules, text, t=90))
    assert lines[-1] == "end"
    assert {"one", "one.1"} <= set(lines)
    assert 1 <= sum(line.startswith("many.") for line in lines) <= 2


def test_info_needs_no_kernel(guest: Machine, modules: dict[str, Path]) -> None:
    lines = output(shell(guest, modules, "$run --info $ticks"))
    assert any(line.startswith("kernel:") and guest.release in line for line in lines)
    assert "probe begin" in "\n".join(lines)


def test_wrong_kernel_is_refused_with_both_names(
    guest: Machine, release: str, modules: dict[str, Path], tmp_path: Path
) -> None:
    other = tmp_path / "ticks.ko"
    other.write_bytes(modules["ticks"].read_bytes().replace(release.encode(), b"9" * len(release)))
    result = guest.run([*consumer_command(), guest.push(other)])
    assert result.status == 1
    assert f"was built for kernel {'9' * len(release)}, this is {release}".encode() in result.stderr


def test_damaged_module_is_refused(
    guest: Machine, modules: dict[str, Path], tmp_path: Path
) -> None:
    cut = tmp_path / "cut.ko"
    data = modules["ticks"].read_bytes()
    cut.write_bytes(data[: len(data) // 2])
    result = guest.run([*consumer_command(), guest.push(cut)])
    assert result.status == 1
    assert result.stderr.startswith(b"ERROR: ")
    assert b"Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("command", "status", "text"),
    [
        ("true", 0, ""),
        ("sh -c 'exit 3'", 1, "WARNING: Child process exited with status 3"),
        ("sh -c 'kill -9 $$'", 1, "WARNING: Child process exited with signal 9 (Killed)"),
        ("/no/such", 1, "/no/such': No such file or directory"),
    ],
)
def test_status_of_the_command(
    guest: Machine, modules: dict[str, Path], command: str, status: int, text: str
) -> None:
    result = guest.run([*consumer_command(), "-c", command, guest.push(modules["ticks"])])
    assert result.status == status
    assert text in result.stderr.decode()
    assert result.left_modules == []


def test_script_helper(guest: Machine) -> None:
    result = run_script(guest, 'probe begin { printf("%s\\n", @1) exit() }', arguments=("word",))
    assert result.stdout == "word\n"
    assert result.status == 0


def test_fresh_machine_writes_the_output_file_on_the_host(
    release: str, modules: dict[str, Path], tmp_path: Path
) -> None:
    """`run_module` as the session calls it, interrupted by the user."""
    file = tmp_path / "output"
    options = RunOptions(output=str(file), target=5)
    code = (
        "import sys; from stapy.run.command_line import parse;"
        "from stapy.vm.session import prepare, run_module;"
        "machine = prepare(sys.argv[2]);"
        "sys.exit(run_module(sys.argv[1], machine, parse(sys.argv[3:] + ['x.ko'])))"
    )
    words = [word for word in options.words() if word]
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(modules["ticks"]), release, *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (file.exists() and "tick" in file.read_text()):
        time.sleep(0.1)
    assert "tick" in file.read_text()  # while it runs, not only at its end
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert file.read_text().splitlines()[0] == "begin 5"
    assert file.read_text().splitlines()[-1] == "end"


def test_what_cannot_work_is_told_first(guest: Machine, modules: dict[str, Path]) -> None:
    """One line each, and nothing was loaded; a process that does not live is only a warning."""
    text = """
    dmesg -C
    $run -c 'nosuch -x' $ticks; echo status $?
    $run -c /etc/passwd $ticks; echo status $?
    $run -o /nosuch/file $ticks; echo status $?
    $run -o /tmp $ticks; echo status $?
    $run -S x -o f $ticks; echo status $?
    dmesg | grep -c ticks
    $run -x 4000000 -T 0.3 $ticks | grep begin
    """
    result = shell(guest, modules, text)
    assert output(result) == ["status 1"] * 5 + ["0", "begin 4000000"]
    assert result.stderr.decode().splitlines() == [
        "ERROR: Couldn't start 'nosuch': No such file or directory",
        "ERROR: Couldn't start '/etc/passwd': Permission denied",
        "ERROR: Couldn't open output file '/nosuch/file': No such file or directory",
        "ERROR: Couldn't open output file '/tmp': Is a directory",
        "ERROR: Invalid value 'x' for -S (should be 1-1073741824). Try 'stapy-run --help'.",
        "WARNING: there is no process 4000000; target() is that number all the same",
    ]
