"""Processes that fork, exec, stop and die while their probes come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import LONG, figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

ROUNDS = 200 if LONG else 12

LIVES = """
global begun, ended, threads, calls
probe process.begin, process("/bin/true").begin { begun++ }
probe process.end, process("/bin/true").end { ended++ }
probe process.thread.begin, process.thread.end { threads++ }
probe process.syscall, process("/bin/sh").syscall.return { calls++ }
probe end { printf("begun=%d\\nended=%d\\nthreads=%d\\ncalls=%d\\n", begun, ended, threads, calls) }
"""
THREADS = """
import os, threading
for turn in range(1000000):
    t = [threading.Thread(target=lambda: None) for i in range(4)]
    [one.start() for one in t]
    if os.fork() == 0:
        os.execv("/bin/true", ["true"]) if turn % 2 else os._exit(0)
    [one.join() for one in t]
    os.wait()
"""
STORM = f"""
cat >threads.py <<'END'
{THREADS}
END
/usr/bin/python3 threads.py & storms="$storms $!"
while :; do /bin/true; done & storms="$storms $!"
# These never go on: begin probes are waiting in them when the session ends.
for i in 1 2 3; do sleep 1000 & stopped="$stopped $!"; done; kill -STOP $stopped
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    words = ("-DMAXSKIPPED=1000000", "-DSTP_NO_OVERLOAD", "-e", LIVES)
    return make(release, tmp_path_factory.mktemp("modules"), lives=words)


def test_sessions_in_a_storm_of_processes(pair: Machine, modules: dict[str, Path]) -> None:
    """Arming and disarming by all roads; none waits for a process that is stopped."""
    text = f"""
    {STORM}
    rounds=0; failures=0
    while [ $rounds -lt {ROUNDS} ]; do
        case $((rounds % 4)) in
        0) $run -T 6 $lives >out 2>err || {{ failures=$((failures + 1)); cat err; }}
           grep -a '=' out >figures ;;
        1) $run $lives >out 2>err & victim=$!; wait_for '[ "$(state lives)" = running ]' >&2
           kill -9 $victim; wait $victim 2>/dev/null
           wait_for '[ $(loaded lives) = 0 ]' >&2 || failures=$((failures + 1)) ;;
        2) $run -c 'sh -c "true; (true); exec true"' $lives >out 2>err ||
               failures=$((failures + 1)) ;;
        3) insmod $lives
           (exec 4</bin/true; echo "file 4 /usr/bin/true" >&3
            exec 4</bin/sh; echo "file 4 $(readlink -f /bin/sh)" >&3
            echo "start 0" >&3; sleep 0.2; stop_by_hand) 3>/proc/stapy_lives/control
           rmmod lives || failures=$((failures + 1)) ;;
        esac
        rounds=$((rounds + 1))
    done
    calm; kill -CONT $stopped; kill $stopped; wait $stopped 2>/dev/null
    cat figures; echo rounds=$rounds; echo failures=$failures; echo loaded=$(loaded lives)
    """
    lines, result = shell(pair, modules, text, 60 + 20 * ROUNDS)
    found = figures(lines)
    assert found["rounds"] == ROUNDS, (found, result.stderr)
    assert found["failures"] == found["loaded"] == 0, (lines, result.stderr)
    assert all(found[name] > 0 for name in ("begun", "ended", "threads", "calls")), found


def test_files_that_are_handed_over(guest: Machine, modules: dict[str, Path]) -> None:
    """What is no file is refused; what is held is let go when the session never begins."""
    text = """
    mkdir there; mount -t tmpfs none there; cp /bin/true there
    insmod $lives
    (exec 4<there/true; echo "file 4 /usr/bin/true" >&3 && echo held
     echo "file 4 /usr/bin/true" >&3 || echo twice
     exec 4</tmp; echo "file 4 /tmp" >&3 || echo folder
     echo "file 77 /x" >&3 || echo closed; echo "file /x" >&3 || echo words
     exec 4<&-; umount there 2>/dev/null || echo busy; echo dismiss >&3) 3>/proc/stapy_lives/control
    rmmod lives; umount there && echo free
    """
    lines, result = shell(guest, modules, text)
    expected = ["held", "twice", "folder", "closed", "words", "busy", "free"]
    assert lines == expected, (lines, result.stderr)


def test_programs_that_are_missing(guest: Machine, release: str, tmp_path: Path) -> None:
    """Those of optional points are nobody's loss; another one ends the session before it begins."""
    modules = make(
        release,
        tmp_path,
        needed='probe process("/nowhere/tool").begin { println("no") } probe begin { exit() }',
        spared='probe process("/nowhere/tool").begin ? { println("no") } '
        'probe begin { println("yes"); exit() }',
    )
    text = "for m in $needed $spared; do $run $m; echo status $?; done; loaded needed"
    lines, result = shell(guest, modules, text)
    assert lines == ["status 1", "yes", "status 0", "0"], (lines, result.stderr)
    told = result.stderr.decode()
    assert told.startswith(
        "ERROR: Couldn't resolve target program file path '/nowhere/tool': No such file"
    )
