"""--monitor: the files that show and change a session, and the screen in a terminal."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from stapy.monitor.status import SessionStatus, parse
from stapy.vm.machine import SHARE, Machine, VmResult
from tests.vm.harness import ROOT, build, patience
from tests.vm.test_consumer import output, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = r"""
global ticks, by, name = "a\"b", times, kept = 7
probe begin { println("armed") kept = 8 }
probe timer.ms(20) { ticks++; times <<< ticks; by[name, 1] = ticks }
probe timer.ms(20) if (ticks > 3) { by["later", 2]++ }
probe end { printf("ended %d\n", kept) }
"""

FILES = """
dir=/proc/systemtap/watched
wait_for() { n=0; until eval "$1"; do sleep 0.1; n=$((n+1)); [ $n -lt 3000 ] || break; done; }
hits() { tr '{' '\\n' <$dir/monitor_status | grep '"switch": '$1 | sed 's/.*"hits": //; s/,.*//'; }
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("modules")
    found = {}
    # A lock's holder may not run for long on an emulated processor: no hit is to be lost to that.
    patient = ("-DMAXTRYLOCK=10000", "-m")
    for name, more in (("watched", ["--monitor"]), ("reported", ["--monitor", "-t"]), ("bare", [])):
        made = build(release, [*more, *patient, name, "-e", SCRIPT], folder)
        assert made.module, made.stderr
        found[name] = made.module
    return found


def everything(result: VmResult) -> str:
    """Return all that there is to see, for the message of a test that fails."""
    return f"{result.stdout.decode()}\n--- stderr\n{result.stderr.decode()}"


def looks(lines: list[str]) -> list[SessionStatus]:
    return [parse(line) for line in lines if line.startswith("{")]


def test_files(guest: Machine, modules: dict[str, Path]) -> None:
    """What is off is not hit, a reset takes all back, what makes no sense is told."""
    text = f"""{FILES}
    $run $watched >out 2>err & run_pid=$!
    wait_for '[ -e $dir/monitor_status ]'
    n=0; while [ $n -lt 50 ]; do cat $dir/monitor_status >seen; n=$((n+1)); done
    wait_for '[ "$(hits 1)" -gt 5 ] && [ "$(hits 2)" -gt 1 ]'
    cat $dir/monitor_status
    echo off 1 >$dir/monitor_control; echo off 2 >$dir/monitor_control
    sleep 0.3; echo reset >$dir/monitor_control; sleep 0.3
    cat $dir/monitor_status
    echo on 1 >$dir/monitor_control; wait_for '[ "$(hits 1)" -gt 5 ]'
    cat $dir/monitor_status
    for bad in 'on 3' 'off 0' 'on -1' nonsense 'reset all' 'on'; do
        echo $bad >$dir/monitor_control
    done
    kill -INT $run_pid; wait $run_pid; echo status $?; cat out err
    """
    result = shell(guest, modules, text)
    lines = output(result)
    assert len(looks(lines)) == 3, everything(result)
    first, off, on = looks(lines)
    assert first.module == "watched" and first.uptime > 0 and first.memory > 0, first
    assert first.skipped == 0  # nothing comes while a status is made, so nothing is nested
    assert first.globals["name"] == 'a"b' and first.globals["kept"] == 8, first
    assert first.globals["times"]["count"] >= 6, first
    assert {tuple(row[:2]) for row in first.globals["by"]} == {('a"b', 1), ("later", 2)}
    points = [(one.point, one.switch, one.is_on) for one in first.probes]
    assert points == [
        ("begin", 0, True),
        ("timer.ms(20)", 1, True),
        ("timer.ms(20) if (ticks > 3)", 2, True),
        ("end", 0, True),
    ]
    assert 0 < first.probes[1].min <= first.probes[1].avg <= first.probes[1].max
    assert [one.is_on for one in off.probes[1:3]] == [False, False]
    assert [one.hits for one in off.probes] == [0, 0, 0, 0]
    assert off.globals == {"ticks": 0, "by": [], "name": 'a"b', "times": {"count": 0}, "kept": 7}
    assert on.probes[1].hits > 5 and on.probes[2].hits == 0
    assert on.globals["ticks"] > 5
    rest = lines[lines.index("status 0") :]
    assert "armed" in rest and "ended 7" in rest
    assert not any("probe hit report" in line for line in rest)
    told = [line for line in rest if "monitor_control takes reset, on NUMBER, off NUMBER" in line]
    assert len(told) == 6, rest
    assert result.left_modules == []


# A point has one switch, but a handler for each function, since they have other parameters.
MANY = """
private global kept = 3, given = 1
global large[30000], texts[3000], times[30000]
probe kernel.function("vfs_*").call if (kept == -1) { println($$parms) }
probe kernel.function("tcp_*").call if (kept == -1) { println($$parms) }
probe begin {
    kept = 4 given++ println("armed")
    for (i = 0; i < 30000; i++) large[(i * 7919) % 30000] = i
    for (i = 0; i < 3000; i++) { texts[i, "t"] = sprintf("%d", i); times[sprint(i)] <<< i }
    for (i = 0; i < 25; i++) for (n = 0; n < i + 2; n++) times["often" . sprint(i)] <<< n
}
"""


def test_large_sessions(release: str, guest: Machine, tmp_path: Path) -> None:
    """There is room for all probes, the largest elements are found; no part of a look takes long.

    The files are there from the first line on that the script prints: who reads early waits.
    """
    words = ["--monitor", "-t", "-D", "MAXACTION=10000000", "-G", "given=9", "-m", "many"]
    made = build(release, [*words, "-e", MANY], tmp_path)
    assert made.module, made.stderr
    text = f"""{FILES}
    dir=/proc/systemtap/many
    $run $many given=9 >out 2>err & run_pid=$!
    wait_for '[ -s out ]'
    cat $dir/monitor_status
    echo reset >$dir/monitor_control
    cat $dir/monitor_status
    kill -INT $run_pid; wait $run_pid; cat out err
    """
    result = shell(guest, {"many": made.module}, text, t=120)
    lines = output(result)
    assert len(looks(lines)) == 2, everything(result)
    first, reset = looks(lines)
    assert len(first.probes) > 200, everything(result)
    large = [[i * 7919 % 30000, i] for i in range(29999, 29979, -1)]
    assert first.globals["large"] == large, everything(result)
    texts = sorted(map(str, range(3000)), reverse=True)[:20]
    assert first.globals["texts"] == [[int(one), "t", one] for one in texts], everything(result)
    times = [[one[0], one[1]["count"], one[1]["max"]] for one in first.globals["times"]]
    assert times == [[f"often{i}", i + 2, i + 1] for i in range(24, 4, -1)], everything(result)
    assert (first.globals["kept"], first.globals["given"]) == (4, 10)
    assert reset.globals == {"kept": 3, "given": 9, "large": [], "texts": [], "times": []}
    assert not any("did not fit" in line for line in lines), everything(result)
    # Each part was a hit of its own: as many as it took with interrupts off for a short time.
    report = [line for line in lines if '"monitor_status"' in line and "hits: " in line]
    assert len(report) == 1, everything(result)
    assert int(report[0].split("hits: ")[1].split(",")[0]) > 20, report


def test_with_a_report(guest: Machine, modules: dict[str, Path]) -> None:
    text = "$run -T 1 $reported 2>err; $run -M 1 -T 1 $watched 2>&1; $run -M 1 $bare 2>&1; cat err"
    lines = output(shell(guest, modules, text))
    assert any("probe hit report" in line for line in lines), lines
    assert (
        "WARNING: there is no terminal for the monitor: /proc/systemtap/watched/monitor_status"
        " has what it would show" in lines
    )
    assert any(line.endswith("bare.ko' was made without --monitor") for line in lines), lines


# Types keys when the screen shows what it is to show, and prints the screens.
DRIVER = r"""
import fcntl, json, os, pty, select, signal, struct, sys, termios, time
import pyte

def main():
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "stapy.run", "-M", "1", sys.argv[1]])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    screen = pyte.Screen(120, 40)
    stream = pyte.ByteStream(screen)
    last = b""  # what came since the screen was left
    steps = json.loads(sys.argv[2])
    end = time.monotonic() + float(sys.argv[3])
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                came = os.read(fd, 65536)
            except OSError:
                break
            stream.feed(came)
            last = (last + came).rpartition(b"\x1b[?1049l")[2]
        text = "\n".join(line.rstrip() for line in screen.display)
        if steps and all(word in text for word in steps[0][0]):
            print(json.dumps(text), flush=True)
            os.write(fd, steps.pop(0)[1].encode())
    else:
        print("never", steps[:1], text, flush=True)
        os.kill(pid, signal.SIGKILL)
    print(json.dumps(last.decode()))
    print("left", len(steps), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

main()
"""


# Each row of it, figures as N, without bars and what fills up a column.
SHOWN = """\
watched up N s N.N MB skipped N sorted by script in cycles
point hits per s min avg max
on begin N N N N N
on timer.ms(N) N N N N N
on timer.ms(N) if (ticks > N) N N N N N
on end N N N N N
global per s value
ticks N N
by["a"b", N] N N
by["later", N] N N
name "a"b"
times N @count=N @sum=N @min=N @avg=N @max=N
kept N N
────
armed
q quit t on/off p all off r all on c reset s sort / filter x hide tables"""


def masked(row: str) -> str:
    """Return a row of the screen without what differs each time."""
    row = re.sub("[▁▂▃▄▅▆▇█]+", " ", row)
    row = re.sub("─+", "────", re.sub("[0-9]+", "N", row))
    return " ".join(row.split())


def test_the_screen(guest: Machine, modules: dict[str, Path]) -> None:
    """The terminal of --monitor: probes, globals, output; keys switch a probe, and leave."""
    steps = [
        [["█", 'by["later"', "armed", "sorted by script", "quit"], "\x1b[Bt"],
        [["off"], "s"],
        [["sorted by hits"], "q"],
    ]
    (guest.share / "driver.py").write_text(DRIVER)
    module = guest.push(modules["watched"])
    environment = f"PYTHONPATH={ROOT} TERM=xterm-256color"
    arguments = f"{module} '{json.dumps(steps)}' {600 * patience(guest)}"
    text = f"{environment} {sys.executable} {SHARE}/driver.py {arguments}"
    result = shell(guest, modules, text, t=640)
    lines = output(result)
    assert lines[-1] == "left 0 0", ("\n".join(lines), result.stderr.decode())
    shown = json.loads(lines[0])
    assert [masked(row) for row in shown.splitlines() if masked(row)] == SHOWN.split("\n"), shown
    # What the script printed is on the terminal when the screen has gone.
    last = json.loads(lines[-2])
    # What the session tells of timers that came while another one ran may stand in between.
    assert 0 <= last.find("armed\r\n") < last.find("\nended 8\r\n"), last
    assert "sorted by" not in last, last
    assert result.left_modules == []
