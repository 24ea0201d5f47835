"""Breakpoints in programs that fork, exec, end and are killed while they come and go."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled, has_mapped
from tests.vm.safety.support import LONG, figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# Timers run when all is armed, and "state" is "running" before that.
ARMED = 'global armed probe timer.ms(20) { if (!armed++) println("armed") }'
ROUNDS = 200 if LONG else 8  # two of each kind
LIBC = 'process("/lib/x86_64-linux-gnu/libc.so.6")'
BASH = 'process("/bin/bash")'

# Calls that last, of which returns are pending at any time; calls that never return; recursion.
HITS = f"""
global calls, returns, kept, wrong
probe {LIBC}.function("*sleep") {{ calls++ }}
probe {LIBC}.function("clock_nanosleep").return {{ @entry(ulong_arg(1)) >= 0 ? kept++ : wrong++ }}
probe {LIBC}.function("fork"), {LIBC}.function("vfork"), {LIBC}.function("execve") {{ calls++ }}
probe {LIBC}.function("fork").return, {LIBC}.function("_exit").return {{ returns++ }}
probe {BASH}.function("execute_command_internal") {{ calls++ }}
probe {BASH}.function("execute_command_internal").return {{ returns++ }}
probe {BASH}.library("libc.so.6").function("malloc").return {{ returns++ }}
global told
probe timer.ms(50) {{ if (calls && returns && kept && !told++) println("seen") }}
probe end {{ printf("calls=%d\\nreturns=%d\\nkept=%d\\nwrong=%d\\n", calls, returns, kept, wrong) }}
"""
# Whether the text of a file, as processes have it, is that of the file.
TEXTS = r"""
import os, sys
bad = seen = 0
for pid in os.listdir("/proc"):
    if not pid.isdigit():
        continue
    try:
        for line in open(f"/proc/{pid}/maps"):
            words = line.split()
            if len(words) < 6 or "x" not in words[1] or words[5] not in sys.argv[1:]:
                continue
            start, end = (int(word, 16) for word in words[0].split("-"))
            with open(f"/proc/{pid}/mem", "rb") as memory, open(words[5], "rb") as file:
                memory.seek(start), file.seek(int(words[2], 16))
                text = file.read(end - start)
                seen += 1
                bad += memory.read(end - start)[:len(text)] != text
    except OSError:
        continue
print(f"texts={seen}\ndamaged={bad}")
"""
STORM = """
cat >calls.sh <<'END'
f() { [ $1 -gt 0 ] && f $(($1 - 1)); }
while :; do f 5; (f 1; exit 0); /bin/true; sleep 0.01; done
END
/bin/bash calls.sh & storms="$storms $!"
/usr/bin/python3 -c '
import os, threading, time
for turn in range(1000000):
    threads = [threading.Thread(target=time.sleep, args=(0.002,)) for i in range(3)]
    [one.start() for one in threads]
    if os.fork() == 0:
        os.execv("/bin/true", ["true"]) if turn % 2 else os._exit(0)
    [one.join() for one in threads]
    os.wait()
' & storms="$storms $!"
behind
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    words = ("-DMAXSKIPPED=1000000", "-DSTP_NO_OVERLOAD", "-e", HITS)
    return make(release, tmp_path_factory.mktemp("modules"), hits=words)


def test_sessions_in_a_storm_of_programs(pair: Machine, modules: dict[str, Path]) -> None:
    """Arming and disarming by all roads, with targets that are killed in calls; nothing stays."""
    text = f"""
    cat >texts.py <<'END'
{TEXTS}
END
    bash=$(readlink -f /bin/bash); libc=$(readlink -f /lib/x86_64-linux-gnu/libc.so.6)
    fails() {{
        failures=$((failures + 1)); echo "round $rounds, status $?" >&2; tail -n 5 out err >&2
    }}
    {STORM}
    rounds=0; failures=0
    while [ $rounds -lt {ROUNDS} ]; do
        /usr/bin/sleep 1000 & killed=$!
        case $((rounds % 4)) in
        0) $run $hits >out 2>err & session=$!
           wait_for 'grep -aq seen out' >&2 || fails; kill -9 $killed
           kill -INT $session; wait $session || fails
           grep -a '=' out >figures ;;
        1) $run $hits >out 2>err & victim=$!
           wait_for '[ "$(state hits)" = running ]' >&2 || fails
           stormed $((rounds % 16)) >&2 || fails; kill -9 $victim; wait $victim 2>/dev/null
           wait_for '[ $(loaded hits) = 0 ]' >&2 || fails ;;
        2) $run -c '/bin/bash -c "(true); /usr/bin/sleep 0.2; exec true"' $hits >out 2>err ||
               fails ;;
        3) insmod $hits
           (exec 4<$bash; echo "file 4 $bash" >&3; exec 4<$libc; echo "file 4 $libc" >&3
            echo "start 0" >&3; stormed 20 >&2; stop_by_hand) 3>/proc/stapy_hits/control
           rmmod hits || fails ;;
        esac
        kill -9 $killed 2>/dev/null; wait $killed 2>/dev/null
        rounds=$((rounds + 1))
    done
    /usr/bin/python3 texts.py $bash $libc
    calm; cat figures; echo rounds=$rounds; echo failures=$failures; echo loaded=$(loaded hits)
    """
    lines, result = shell(pair, modules, text, 60 + 25 * ROUNDS)
    found = figures(lines)
    print(f"\n{found}, {result.seconds:.0f} s")
    assert found["rounds"] == ROUNDS, (found, result.stderr)
    assert found["failures"] == found["loaded"] == found["wrong"] == 0, (lines, result.stderr)
    assert all(found[name] > 0 for name in ("calls", "returns", "kept")), (found, result.stderr)
    assert found["texts"] > 2, found
    assert found["damaged"] == 0, found


def test_calls_that_return_after_the_session(guest: Machine, release: str, tmp_path: Path) -> None:
    """A call is under way when its probe goes, or before it comes: it returns as if nothing was."""
    waits = f'{LIBC}.function("clock_nanosleep")'
    script = f"""
    global begun
    probe {waits} {{ begun++ }}
    probe {waits}.return {{ println("returned") }}
    probe timer.ms(100) {{ if (begun) exit() }}
    """
    modules = make(release, tmp_path, waits=script + ARMED)
    text = """
    /usr/bin/sleep 6 & before=$!
    (wait_for 'grep -q armed out' >&2; exec /usr/bin/sleep 8) & during=$!
    $run $waits >out; echo status $?; cat out; loaded waits
    wait $before; echo before $?; wait $during; echo during $?
    """
    lines, result = shell(guest, modules, text, 120)
    assert lines == ["status 0", "armed", "0", "before 0", "during 0"], (lines, result.stderr)


PROGRAM = r"""
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { asm volatile("" ::: "memory"); return n + 1; }
int main(int count, char **words)
{
	int turns = atoi(words[1]);
	while (turns--) { work(turns); if (count > 2) usleep(20000); }
	return 0;
}
"""


def test_files_that_change(guest: Machine, release: str, tmp_path: Path) -> None:
    """What is armed is the file: by all its names, and when it has none any more; no copy of it.

    Its file system is busy as long as the session lives.
    """
    program = compiled(tmp_path, PROGRAM, "-O1", name="prog")
    script = f"""
    global hits
    probe process("{program}").function("work") {{ hits[execname()]++ }}
    probe timer.ms(100) {{ if (hits["old"] > 5 && hits["last"] == 5) exit() }}
    probe end {{ foreach (name+ in hits) if (name != "old") printf("%s %d\\n", name, hits[name]) }}
    """
    modules = make(release, tmp_path, changes=script + ARMED)
    text = f"""
    cp {program} kept; mount -t tmpfs none {tmp_path}; cp kept {program}; cd {tmp_path}
    ln prog link; ln prog old; ln prog last; cp prog copy
    $run $changes >/run/changes.out & consumer=$!; wait_for 'grep -q armed /run/changes.out' >&2
    ./prog 2; ./link 3; ./copy 4; ln -s link soft; ./soft 1
    ./old 1000000 slowly & old=$!; wait_for '[ $(cat /proc/$old/comm) = old ]' >&2; rm old link
    cp copy fresh; mv fresh prog; ./prog 6
    cd /; kill -STOP $old; umount {tmp_path} 2>/dev/null || echo busy
    kill -CONT $old; {tmp_path}/last 5
    wait $consumer; cat /run/changes.out; kill $old; wait 2>/dev/null
    cp /bin/true {program}; $run $changes 2>&1; echo status $?; umount {tmp_path} && echo free
    """
    lines, result = shell(guest, modules, text)
    expected = ["busy", "armed", "last 5", "link 3", "prog 2", "soft 1", "status 1", "free"]
    assert [line for line in lines if not line.startswith("ERROR")] == expected, (
        lines,
        result.stderr,
    )
    assert any("is not the program that the script was translated for" in line for line in lines)


VFORK = r"""
import os, subprocess, sys, time
while not os.path.exists("go"):
    time.sleep(0.05)
for turn in range(5):
    subprocess.call(["/bin/true"])  # by vfork(), and closes what is open before it execs
for turn in range(100):
    os.close(os.dup(0))
if os.fork() == 0:
    for turn in range(100):
        os.close(os.dup(0))
    os._exit(0)
os.wait()
open("gone", "w").close()
time.sleep(60)
"""


def test_children_of_one_process(guest: Machine, release: str, tmp_path: Path) -> None:
    """They are not meant: those that run in its address space leave its breakpoints where they are.

    The process of the guest gets the number that one has here, whose program is the same.
    """
    here = subprocess.Popen(["/usr/bin/python3", "-c", "input()"], stdin=subprocess.PIPE)
    try:
        has_mapped(here.pid, os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6"))
        script = f"""
        global closes, others
        probe process({here.pid}).library("libc.so.6").function("close") {{
            pid() == {here.pid} ? closes++ : others++
        }}
        probe end {{ printf("closes=%d\\nothers=%d\\n", closes, others) }}
        """
        modules = make(release, tmp_path, one=script + ARMED)
    finally:
        here.communicate(b"\n")
    text = f"""
    cat >vfork.py <<'END'
{VFORK}
END
    numbered {here.pid} /usr/bin/python3 vfork.py >&2; echo same=$((one == {here.pid}))
    $run $one_module >out 2>err & consumer=$!; wait_for 'grep -q armed out' >&2
    touch go; wait_for '[ -e gone ]' >&2
    kill -INT $consumer; wait $consumer; cat out; kill $one
    """
    lines, result = shell(guest, {"one_module": modules["one"]}, text, 120)
    found = figures(lines)
    assert found["same"] == 1, (lines, result.stderr)
    assert found["others"] == 0, (lines, result.stderr)
    assert found["closes"] >= 100, (lines, result.stderr)
