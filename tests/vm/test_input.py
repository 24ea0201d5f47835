"""Probes of standard input: pipes, files and terminals, and how a terminal is left."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import termios
import time
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.program import stapy_command
from tests.vm.harness import ROOT, build
from tests.vm.test_consumer import output, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

LINES = """
probe input.line { printf("1<%s", line) if (line == "stop\\n") exit() }
probe input.line { printf("2<%s", line) }
probe end { println("end") }
"""
KEYS = """
global n, sum
probe input.char {
    n++; if (strlen(char)) sum += stringat(char, 0)
    if (char == "q") exit()
    if (char == "e") error("of the handler")
    if (char != "x") printf("[%s]", char)
}
probe end, error { printf("%d %d\\n", n, sum) }
"""
WAIT = """
dir=/proc/systemtap
wait_for() { n=0; until eval "$1"; do sleep 0.1; n=$((n+1)); [ $n -lt 3000 ] || break; done; }
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("modules")
    found = {}
    for name, script in (("lines", LINES), ("keys", KEYS)):
        made = build(release, ["-D", "MAXERRORS=2", "-m", name, "-e", script], folder)
        assert made.module, made.stderr
        found[name] = made.module
    return found


def test_lines(guest: Machine, modules: dict[str, Path]) -> None:
    """Each probe has each line once; of a long one its beginning; more writers may come."""
    text = f"""{WAIT}
    printf 'a\\n\\nb c\\nstop\\nlost\\n' | $run $lines
    begun() {{ [ -e $dir/lines/__stdin ]; }}
    (wait_for begun; printf 'whole\\n' >$dir/lines/__stdin; sleep 1; echo stop) | $run $lines
    (head -c 600 /dev/zero | tr '\\0' y; printf '\\nstop\\n') | $run $lines | tr -d '\\n' | wc -c
    """
    lines = output(shell(guest, modules, text))
    assert lines[:6] == ["1<a", "2<a", "1<", "2<", "1<b c", "2<b c"]
    assert lines[6:8] == ["1<stop", "end"], lines
    assert lines[8:12] == ["1<whole", "2<whole", "1<stop", "end"], lines
    long = len("1<") + 511
    assert lines[12] == str(2 * long + len("1<stop" + "end"))


def test_every_byte_of_a_file(guest: Machine, modules: dict[str, Path]) -> None:
    """Also NUL; the end of the file ends nothing, and neither does an error of the handler."""
    every = [byte for byte in range(256) if chr(byte) not in "eq"] * 8
    total = sum(byte - 256 if byte > 127 else byte for byte in every)
    printed = sum(0 if byte == ord("x") else 3 if byte else 2 for byte in every)
    text = f"""{WAIT}
    python3 -c 'open("all", "wb").write(bytes({every!r}))'
    $run $keys <all >out 2>err & run_pid=$!
    wait_for '[ $(wc -c <out) -ge {printed} ]'; kill $run_pid; wait $run_pid
    echo $?; tail -n 1 out | sed 's/.*]//'
    printf 'aeb' | $run -T 5 $keys 2>err; echo $?; head -n 1 err
    """
    lines = output(shell(guest, modules, text))
    assert lines[0] == "0"
    assert lines[1] == f"{len(every)} {total}"
    assert lines[2:4] == ["[a][b]3 296", "1"]
    assert lines[4].startswith("ERROR: of the handler"), lines


def test_without_an_input(guest: Machine, modules: dict[str, Path]) -> None:
    """Closed, empty, in the background: the session goes on; its command has none."""
    text = f"""{WAIT}
    $run -T 3 $keys <&-; echo $?
    $run -T 3 $keys </dev/null; echo $?
    printf xq | $run -c 'sh -c "cat; echo the command; sleep 100"' $keys; echo $?
    printf xq | $run -D -o out -T 3 $keys >pid; wait_for '[ -s out ]'; cat out
    printf xq | $run -T 1 -i $ticks 2>&1 >/dev/null
    """
    ticks = build(
        guest.release, ["-m", "ticks", "-e", "probe end { println(1) }"], modules["keys"].parent
    )
    assert ticks.module
    result = shell(guest, {**modules, "ticks": ticks.module}, text)
    lines = output(result)
    assert lines[:4] == ["0 0", "0", "0 0", "0"], (lines, result.stderr)
    assert sorted(lines[4:7]) == ["0", "[q]2 233", "the command"], (lines, result.stderr)
    assert lines[7] == "0 0"
    assert lines[8] == "WARNING: -i has no effect: the script has no input probes"
    assert b"input probes are not hit" in result.stderr


# A shell that has job control, which runs the command in its foreground and tells what it left.
TERMINAL = r"""
import fcntl, os, pty, signal, sys, termios, time
keys, command = sys.argv[1].split(","), sys.argv[2:]
outer, inner = pty.openpty()
usual = termios.tcgetattr(inner)
usual[3] |= termios.ICANON | termios.ECHO | termios.ISIG
termios.tcsetattr(inner, termios.TCSANOW, usual)

def how():
    flags = termios.tcgetattr(inner)[3]
    return "usual" if flags & termios.ICANON and flags & termios.ECHO else "keys"

def until(what, wanted=True):
    for _ in range(3000):
        if what() == wanted:
            return
        time.sleep(0.1)
    print("never", what(), wanted, flush=True)

def state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]

leader = os.fork()
if leader == 0:
    os.setsid()
    fcntl.ioctl(inner, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    ours = os.getpgrp()
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(inner, os.getpgrp())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.dup2(inner, 0)
        os.execvp(command[0], command)
    for key in keys:
        if key == "wait":
            until(how, "keys")
        elif key == "seen":
            # What is typed passes a queue of the kernel's, so an empty terminal may be one that has
            # nothing yet; and a key that makes a signal throws away what was not read before.
            until(lambda: "[a]" in open("out").read())
        elif key == "ready":
            until(lambda: os.path.exists("/proc/systemtap/lines/__stdin"))
        elif key == "stopped":
            until(lambda: state(job), "T")
            print("stopped", how(), flush=True)
        elif key in ("back", "fore"):
            os.tcsetpgrp(inner, ours if key == "back" else job)
            os.kill(job, signal.SIGCONT)
        elif key == "how":
            time.sleep(1)
            print("stopped" if state(job) == "T" else "runs", how(), flush=True)
        elif key == "kill":
            os.kill(job, signal.SIGKILL)
        else:
            os.write(outer, key.encode().decode("unicode_escape").encode())
    status = os.waitpid(job, 0)[1]
    until(how, "usual")
    print("left", how(), status, flush=True)
    os._exit(0)
os.waitpid(leader, 0)
"""


@pytest.mark.parametrize(
    ("module", "keys", "expected"),
    [
        # Keys come at once; an end by the script, by Ctrl-C, by an error.
        ("keys", "wait,a,b,q", ["3 308", "left usual 0"]),
        ("keys", r"wait,a,seen,\x03", ["1 97", "left usual 0"]),
        ("keys", "wait,e,e,e", ["3 303", "left usual 256"]),
        # Ctrl-Z gives the terminal back; in the background it is not touched, nor are we stopped.
        (
            "keys",
            r"wait,a,seen,\x1a,stopped,back,how,fore,wait,b,q",
            ["stopped usual", "runs usual", "3 308", "left usual 0"],
        ),
        ("keys", "wait,a,kill", ["left usual 9"]),
        # Lines are those of the terminal, which can be edited.
        (
            "lines",
            r"ready,how,ab\x7fc\n,stop\n",
            ["runs usual", "1<ac", "2<ac", "1<stop", "end", "left usual 0"],
        ),
    ],
)  # fmt: skip
def test_terminal(
    guest: Machine, modules: dict[str, Path], module: str, keys: str, expected: list[str]
) -> None:
    text = f"""
    cat >terminal.py <<'END'
{TERMINAL}
END
    : >out; python3 terminal.py '{keys}' $run ${module} 2>err | tee out; cat err >&2
    n=0; while grep -q '^{module} ' /proc/modules && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done
    """
    result = shell(guest, modules, text)
    # What a key printed comes a moment later, before or after the line of the terminal's.
    lines = [re.sub(r"\[.\]", "", line) for line in output(result)]
    assert [line for line in lines if line] == expected, (lines, result.stderr)


def test_attached(guest: Machine, modules: dict[str, Path]) -> None:
    """Whoever attaches to a session gives it its input."""
    text = f"""{WAIT}
    sleep 1000 | $run $keys >first 2>err & run_pid=$!
    wait_for '[ -e $dir/keys/__stdin ]'; sleep 1
    kill -QUIT $run_pid; wait_for 'grep -q Disconnecting err'
    printf 'abq' | $run -A keys; echo $?
    """
    assert output(shell(guest, modules, text)) == ["[a][b][q]3 308", "0"]


def in_machine(release: str, script: str) -> list[str]:
    """Write a command line that runs a script in a machine of its own."""
    return stapy_command(f"--vm={release}", "-e", script)


def test_of_a_virtual_machine(release: str, tmp_path: Path) -> None:
    done = subprocess.run(
        in_machine(release, LINES),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input="a\nstop\nlost\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.stdout.splitlines() == ["1<a", "2<a", "1<stop", "end"], done.stderr
    assert done.returncode == 0


def test_terminal_of_a_virtual_machine(release: str, tmp_path: Path) -> None:
    """Each key goes there at once, and the terminal is as it was afterwards."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        words = in_machine(release, KEYS)
        os.execve(words[0], words, {**os.environ, "PYTHONPATH": str(ROOT)})
    usual = termios.tcgetattr(terminal)[3]
    end = time.monotonic() + 1200
    while termios.tcgetattr(terminal)[3] & termios.ICANON and time.monotonic() < end:
        time.sleep(0.1)
    os.write(terminal, b"abq")
    said = b""
    try:
        while data := os.read(terminal, 4096):
            said += data
    except OSError:
        pass  # which is the end of a terminal
    assert termios.tcgetattr(terminal)[3] == usual
    assert os.waitpid(pid, 0)[1] == 0, said
    assert said.endswith(b"[a][b][q]3 308\r\n"), said
    os.close(terminal)
