"""Files of procfs probes that come and go while everybody reads and writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import LONG, figures, make, shell
from tests.vm.safety.test_load import MEMORY, check_memory

pytestmark = [pytest.mark.build, pytest.mark.vm]

ROUNDS = 200 if LONG else 6

BUSY = """
global n, text, by[500]
probe procfs("deep/er/answer").read.maxsize(100000) {
    n++
    for (i = 0; i < 50; i++) $value .= "0123456789abcdef0123456789abcdef"
    $value .= text
}
probe procfs("deep/er/answer").write { text = $value; by[pid()]++ }
probe procfs("deep/other").read { foreach (p in by) $value .= sprintf("%d %d\\n", p, by[p]) }
probe kernel.function("vfs_read") { n++ }
probe timer.ms(3) { n++ }
probe end { printf("n=%d\\n", n) }
"""
# Many threads on one descriptor and on their own, at any position, over the end of the file.
CROWD = """
import os, threading, time
name = "/proc/systemtap/busy/deep/er/answer"
shared = []
def one(seed):
    while True:
        try: shared.append(os.open(name, os.O_RDWR))
        except OSError: time.sleep(0.01); continue
        for number in range(20):
            for what in (lambda: os.pread(shared[-1], 4096, number * 100 * (seed % 3)),
                         lambda: os.read(shared[-1], 10 << seed),
                         lambda: os.write(shared[-1], b"x" * (200 * seed)),
                         lambda: os.lseek(shared[-1], 0, 0)):
                try: what()
                except OSError: pass
        if len(shared) > 40:
            try: os.close(shared.pop(0))
            except OSError: pass
for seed in range(6): threading.Thread(target=one, args=(seed,)).start()
"""


def test_sessions_in_a_crowd_of_readers(pair: Machine, release: str, tmp_path: Path) -> None:
    modules = make(
        release,
        tmp_path,
        busy=("-DMAXSKIPPED=1000000", "-DSTP_NO_OVERLOAD", "-DMAXERRORS=1000", "-e", BUSY),
    )
    text = f"""
    {MEMORY}
    cat >crowd.py <<'END'
{CROWD}
END
    $run -T 0.2 $busy >/dev/null 2>&1; cat /proc/self/mounts >/dev/null; sleep 1; before
    for i in 1 2; do nice -n 5 python3 crowd.py & storms="$storms $!"; done
    dir=/proc/systemtap/busy/deep
    rounds=0; failures=0
    while [ $rounds -lt {ROUNDS} ]; do
        case $((rounds % 3)) in
        0) $run -T 2 $busy >out 2>err || {{ failures=$((failures + 1)); cat err; }}
           grep -q '^n=[1-9]' out || failures=$((failures + 1)) ;;
        1) $run $busy >out & victim=$!
           wait_for 'cat $dir/er/answer >/dev/null 2>&1' || failures=$((failures + 1))
           kill -9 $victim; wait $victim 2>/dev/null
           wait_for '[ $(loaded busy) = 0 ]' || failures=$((failures + 1)) ;;
        2) insmod $busy || failures=$((failures + 1))
           (echo "start 0" >&3; cat $dir/er/answer >answer; stop_by_hand) \\
               3>/proc/stapy_busy/control || failures=$((failures + 1))
           [ -s answer ] || failures=$((failures + 1))
           rmmod busy || failures=$((failures + 1)) ;;
        esac
        rounds=$((rounds + 1))
    done
    calm; after; ls /proc/systemtap; echo rounds=$rounds; echo failures=$failures
    echo loaded=$(loaded busy); echo folders=$(folders)
    """
    lines, result = shell(pair, modules, text, 60 + 30 * ROUNDS)
    found = figures(lines)
    assert found["rounds"] == ROUNDS, (lines, result.stderr)
    assert found["failures"] == found["loaded"] == found["folders"] == 0, (lines, result.stderr)
    assert b"cannot access '/proc/systemtap'" in result.stderr, (lines, result.stderr)
    check_memory(found)
