"""Processes that fork, exec, stop and die while their probes come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.harness import build
from tests.vm.safety.support import LONG, figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

ROUNDS = 200 if LONG else 8  # two of each kind

LIVES = """
global begun, ended, threads, calls
probe process.begin, process("/bin/true").begin { begun++ }
probe process.end, process("/bin/true").end { ended++ }
probe process.thread.begin, process.thread.end { threads++ }
probe process.syscall, process("/bin/sh").syscall.return { calls++ }
global told
probe timer.ms(50) {
    if (begun > 20 && ended > 20 && threads > 20 && calls > 200 && !told++) println("seen")
}
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
behind
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
        0) $run $lives >out 2>err & session=$!
           wait_for 'grep -aq seen out' >&2 || failures=$((failures + 1))
           kill -INT $session; wait $session || {{ failures=$((failures + 1)); cat err; }}
           grep -a '=' out >figures ;;
        1) $run $lives >out 2>err & victim=$!; wait_for '[ "$(state lives)" = running ]' >&2
           stormed $((rounds % 16)) >&2 || failures=$((failures + 1))
           kill -9 $victim; wait $victim 2>/dev/null
           wait_for '[ $(loaded lives) = 0 ]' >&2 || failures=$((failures + 1)) ;;
        2) $run -c 'sh -c "true; (true); exec true"' $lives >out 2>err ||
               failures=$((failures + 1)) ;;
        3) insmod $lives
           (exec 4</bin/true; echo "file 4 /usr/bin/true" >&3
            exec 4</bin/sh; echo "file 4 $(readlink -f /bin/sh)" >&3
            echo "start 0" >&3; stormed 20 >&2; stop_by_hand) 3>/proc/stapy_lives/control
           rmmod lives || failures=$((failures + 1)) ;;
        esac
        rounds=$((rounds + 1))
    done
    calm; kill -CONT $stopped; kill $stopped; wait $stopped 2>/dev/null
    cat figures; echo rounds=$rounds; echo failures=$failures; echo loaded=$(loaded lives)
    """
    lines, result = shell(pair, modules, text, 60 + 20 * ROUNDS)
    found = figures(lines)
    print(f"\n{found}, {result.seconds:.0f} s")
    assert found["rounds"] == ROUNDS, (found, result.stderr)
    assert found["failures"] == found["loaded"] == 0, (lines, result.stderr)
    assert all(found[name] > 20 for name in ("begun", "ended", "threads", "calls")), found


def test_files_that_are_handed_over(guest: Machine, modules: dict[str, Path]) -> None:
    """What is no file is refused; what is held is let go when the session never begins."""
    text = """
    mkdir there; mount -t tmpfs none there; cp /bin/true there
    insmod $lives
    (exec 4<there/true; echo "file 4 /usr/bin/true" >&3 && echo held
     echo "file 4 /usr/bin/true" >&3 && echo again # as another family may ask for it
     exec 4</bin/sh; echo "file 4 /usr/bin/true" >&3 || echo other
     exec 4</tmp; echo "file 4 /tmp" >&3 || echo folder
     echo "file 77 /x" >&3 || echo closed; echo "file /x" >&3 || echo words
     exec 4<&-; umount there 2>/dev/null || echo busy; echo dismiss >&3) 3>/proc/stapy_lives/control
    rmmod lives; umount there && echo free
    """
    lines, result = shell(guest, modules, text)
    expected = ["held", "again", "other", "folder", "closed", "words", "busy", "free"]
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


# Timers run when all is armed, and "state" is "running" before that.
ARMED = 'global armed probe timer.ms(20) { if (!armed++) println("armed") }'
# An end follows a begin, each once; of a program's threads, too.
EVERY = """
global phase, bad, seen
probe process.begin {
    if (phase[pid()] == 1) { bad++; log("twice: " . execname()) }
    phase[pid()] = 1
}
probe process.end {
    if (phase[pid()] != 1) { bad++; log("never began: " . execname()) }
    phase[pid()] = 2
    seen[execname()]++
}
probe end { printf("bad=%d\\nhelpers=%d\\nkilled=%d\\n", bad, seen["true"], seen["tail"]) }
"""
PYTHON = """
global phase, alive, bad, begun, ended, threads, thread_ends, late, written
probe process("/usr/bin/python3").begin {
    if (phase[pid()] == 1) bad++
    phase[pid()] = 1
    begun++
}
probe process("/usr/bin/python3").end {
    if (phase[pid()] != 1) bad++
    phase[pid()] = 2
    ended++
}
probe process("/usr/bin/python3").thread.begin { if (alive[tid()]++) bad++; threads++ }
probe process("/usr/bin/python3").thread.end { if (!alive[tid()]--) bad++; thread_ends++ }
probe process("/usr/bin/python3").syscall {
    if ($syscall == 1 && $arg3 == 543) { written++; if (phase[pid()] != 1) late++ }
}
probe end {
    printf("bad=%d\\nbegun=%d\\nended=%d\\nthreads=%d\\nthread_ends=%d\\nlate=%d\\nwritten=%d\\n",
           bad, begun, ended, threads, thread_ends, late, written)
}
"""
# The main thread leaves; the other one works on.
LONELY = """
import ctypes, os, threading, time
null = os.open("/dev/null", os.O_WRONLY)
def work():
    while open("/proc/self/stat").read().split()[2] != "Z" or not os.path.exists("go"):
        time.sleep(0.02)
    for turn in range(10):
        os.write(null, b"x" * 543)
    os._exit(0)
threading.Thread(target=work).start()
ctypes.CDLL(None).syscall(60, 0)
"""
# Processes whose threads all end at the same time.
CROWD = """
import os, threading, time
for turn in range(10):
    if not os.fork():
        for thread in range(4):
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        os._exit(0)
for turn in range(10):
    os.wait()
"""


def test_ends_of_many_threads(pair: Machine, release: str, tmp_path: Path) -> None:
    """Each process ends once, with its last thread, whoever that is; none is lost."""
    modules = make(release, tmp_path, python=PYTHON + ARMED)
    text = f"""
    printf '%s' '{LONELY}' >lonely.py; printf '%s' '{CROWD}' >crowd.py
    /usr/bin/python3 lonely.py & first=$!
    wait_for 'grep -q "^State:.*zombie" /proc/$first/status' >&2
    $run $python >out & consumer=$!
    wait_for 'grep -q armed out' >&2
    touch go; wait $first
    /usr/bin/python3 lonely.py; /usr/bin/python3 crowd.py
    kill -INT $consumer; wait $consumer; cat out
    """
    lines, result = shell(pair, modules, text, 120)
    found = figures(lines)
    expected = {"bad": 0, "begun": 13, "ended": 13, "threads": 42, "thread_ends": 42}
    assert found == expected | {"late": 0, "written": 20}, (lines, result.stderr)


def test_begin_and_end_are_pairs(pair: Machine, release: str, tmp_path: Path) -> None:
    """Of a process that is killed before it could begin, and of a helper of the kernel's."""
    # A processor that the host takes away holds locks for long: no begin is skipped for that.
    words = ("-DMAXTRYLOCK=10000", "-e", EVERY + ARMED)
    modules = make(release, tmp_path, every=words)
    text = """
    tail -f /dev/null & victim=$!
    wait_for '[ $(cat /proc/$victim/comm) = tail ]' >&2; kill -STOP $victim
    wait_for 'grep -q "^State:.*stopped" /proc/$victim/status' >&2
    $run $every >out & consumer=$!
    wait_for 'grep -q armed out' >&2
    kill -9 $victim; wait $victim
    echo "|/bin/true" >/proc/sys/kernel/core_pattern
    for i in 1 2 3; do sh -c 'kill -SEGV $$'; done
    kill -INT $consumer; wait $consumer; cat out
    """
    lines, result = shell(pair, modules, text)
    assert figures(lines) == {"bad": 0, "helpers": 3, "killed": 0}, (lines, result.stderr)


def test_a_killed_process_ends_the_session(guest: Machine, modules: dict[str, Path]) -> None:
    """It has control open, and an errand behind the closing of it: it cannot wait for itself."""
    text = """
    insmod $lives
    (exec 3>/proc/stapy_lives/control
     exec 4</bin/true; echo "file 4 /usr/bin/true" >&3
     exec 4</bin/sh; echo "file 4 $(readlink -f /bin/sh)" >&3; exec 4<&-
     sleep 1000 & echo $! >victim; kill -STOP $!
     wait_for 'grep -q "^State:.*stopped" /proc/$!/status' >&2
     echo "start 0" >&3)
    kill -9 $(cat victim)
    wait_for '[ $(loaded lives) = 0 ]' && echo gone
    """
    lines, result = shell(guest, modules, text)
    assert lines == ["gone"], (lines, result.stderr)


def test_stopped_processes_are_in_nobodys_way(guest: Machine, release: str, tmp_path: Path) -> None:
    """However many there are: the session starts, and the begins of others are seen."""
    script = """global begun
    probe process.begin { if (execname() == "bash") begun++ }
    probe end { printf("begun=%d\\n", begun) }"""
    modules = make(release, tmp_path, stopped=script + ARMED)
    text = """
    mkfifo never; exec 5<>never
    for i in $(seq 1100); do (read x <&5) & all="$all $!"; done; kill -STOP $all
    $run $stopped >out & consumer=$!
    wait_for 'grep -q armed out' >&2
    bash -c '(:); (:); (:); :'
    kill -INT $consumer; wait $consumer; kill -9 $all; wait 2>/dev/null; cat out
    """
    lines, result = shell(guest, modules, text, 120)
    assert figures(lines) == {"begun": 4}, (lines, result.stderr)


def test_other_users_are_left_alone(guest: Machine, release: str, tmp_path: Path) -> None:
    """A session for an unprivileged user interrupts nobody's system calls but that user's."""
    script = (
        "probe process.begin { own = pid() == target() } probe timer.ms(500) { exit() } global own"
    )
    modules = make(release, tmp_path, own=("--privilege=stapusr", "-e", script))
    text = """
    cat >waits.py <<'END'
import ctypes, select
epoll = select.epoll(); epoll.register(0, select.EPOLLIN)
events = (ctypes.c_char * 12)()
print("waits", flush=True)
print(ctypes.CDLL(None).epoll_wait(epoll.fileno(), events, 1, -1))
END
    chmod 755 .; mkfifo pipe; exec 5<>pipe; unset PYTHONPATH
    setpriv --reuid=65534 --clear-groups /usr/bin/python3 waits.py <pipe >waited & waiter=$!
    wait_for 'grep -q waits waited' >&2; sleep 0.5
    PYTHONPATH=/run/stapy/lib $run $own >&2
    echo >pipe; wait $waiter; cat waited
    """
    lines, result = shell(guest, modules, text)
    assert lines == ["waits", "1"], (lines, result.stderr)


def test_a_program_that_is_replaced(guest: Machine, release: str, tmp_path: Path) -> None:
    """An upgrade leaves another file at the program's place, which is the program from then on."""
    script = """global begun
    probe process("/run/replaced/tool").begin { begun++ }
    probe end { printf("begun=%d\\n", begun) }"""
    modules = make(release, tmp_path, replaced=script + ARMED)
    text = """
    mkdir /run/replaced; mount -t tmpfs none /run/replaced; home=$PWD; cd /run/replaced
    cp /bin/true tool; cp /bin/true new; cp /bin/true other
    $run $replaced >$home/out & consumer=$!
    wait_for 'grep -q armed $home/out' >&2
    ./tool; ./new; mv new tool; ./tool; rm tool; cp other tool; ./tool; ./other
    kill -INT $consumer; wait $consumer; cat $home/out; cd /
    umount /run/replaced && echo free
    """
    lines, result = shell(guest, modules, text)
    assert lines == ["armed", "begun=3", "free"], (lines, result.stderr)


def test_as_many_programs_as_there_is_room_for(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """Pass 2 refuses one more than the runtime has room for, and no other."""
    files = {path.resolve() for path in Path("/usr/bin").iterdir() if path.is_file()}
    # A script is run by its interpreter, as many others are.
    programs = [path for path in files if path.read_bytes()[:4] == b"\x7fELF"]
    names = sorted(str(path) for path in programs if '"' not in str(path))[:33]
    points = [f'probe process("{name}").begin ? {{ println(1) }}' for name in names]
    points.append("probe timer.ms(1) { exit() }")
    modules = make(release, tmp_path, many=" ".join(points[1:]))
    lines, result = shell(guest, modules, "$run $many >&2; echo status $?")
    assert lines == ["status 0"] and b"error" not in result.stderr, (lines, result.stderr)
    refused = build(release, ["-m", "more", "-e", " ".join(points)], tmp_path)
    assert refused.module is None and "[E0239]" in refused.stderr
