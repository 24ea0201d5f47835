"""Guests that run shell scripts around modules, and what must be the same afterwards."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from stapy.vm.machine import COMPLAINED, EXITED, Machine, VmResult
from tests.vm.harness import CONSUMER, build, patience, tools

LONG = os.environ.get("STAPY_LONG") == "1"

# run: the consumer; the functions are for tests that count.
PRELUDE = f"""
export PYTHONPATH=/run/stapy/lib
run='{CONSUMER}' python={sys.executable}
cd $(mktemp -d) # what the host has in /tmp is seen in here
now() {{ cut -d' ' -f1 /proc/uptime | tr -d .; }} # in hundredths of a second
wait_for() {{ # wait for a condition, two minutes at most; longer where all is slow
    # Behind it stands the process that shall bring it about, if one does: it may have ended.
    # Its own variables end in _, for modules are in variables of their names ($lives of one test).
    for try in $(seq $tries); do
        alive_=1; [ -z "$2" ] || kill -0 $2 2>/dev/null || alive_=0
        eval "$1" && return 0
        [ $alive_ = 1 ] || {{ echo "never: $1, for process $2 has ended"; return 1; }}
        sleep 0.2
    done
    echo "never: $1"; return 1
}}
# The table of a run that skipped hits, and its line of help.
accounts='^note: what the probes did\\|^  .*errors  probe$\\|^  *[0-9][0-9 %]*  .* at '
accounts="$accounts\\|^help: a probe was hit"
said() {{ # what the session complained of, but that a timer came while another probe ran
    grep -v "errors: 0, \\|due to reentrancy\\|$accounts" err
}}
loaded() {{ grep -c "^$1" /proc/modules; }}
state() {{
    {{ read -r state_ </sys/module/$1/parameters/stapy_state; }} 2>/dev/null && echo $state_
}}
folders() {{ set -- /proc/stapy_*; [ -e $1 ] && echo $# || echo 0; }}
probes() {{
    mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
    wc -l </sys/kernel/debug/kprobes/list
}}
stop_by_hand() {{ # end the session behind descriptor 3; the shell will remove the module
    echo dismiss >&3; echo stop >&3
}}
storm() {{ # system calls until killed, by as many processes
    for process in $(seq $1); do
        while :; do nice -n 19 dd if=/dev/zero of=/dev/null bs=1 count=2000 2>/dev/null; done &
        storms="$storms $!"
    done
}}
born() {{ # the processes that were ever made
    set -- $(grep '^processes' /proc/stat); echo $2
}}
stormed() {{ # wait until a storm has made so many processes, whatever the time that takes here
    goal=$(($(born) + 4 + $1))
    for try in $(seq $tries); do
        [ $(born) -ge $goal ] && return 0
        goal=$((goal + 4)); sleep 0.05 # those that this loop makes do not count
    done
    echo "never: a storm of $1"; return 1
}}
behind() {{ # sessions go before the storm, which has all that they leave: one of two processors
    renice -n 10 -p $storms >/dev/null
}}
numbered() {{ # start a program that gets this number, as $one
    number_=$1; shift
    echo 4194304 >/proc/sys/kernel/pid_max
    for try in $(seq 20); do
        echo $((number_ - 1)) >/proc/sys/kernel/ns_last_pid
        "$@" & one=$!
        [ $one = $number_ ] && return 0
        kill $one
    done
    echo "no process got the number $number_"; return 1
}}
calm() {{ # end the storm; what dies frees its memory some time later
    kill $storms; wait $storms 2>/dev/null; storms=; sleep 1
}}
"""


def make(release: str, folder: Path, **scripts: str | tuple[str, ...]) -> dict[str, Path]:
    """Modules by name; a script is its text, or the words of a command line."""
    made = {}
    for name, script in scripts.items():
        words = ["-e", script] if isinstance(script, str) else list(script)
        built = build(release, ["-m", name, *words], folder)
        assert built.module, built.stderr
        made[name] = built.module
    return made


def _own(guest: Machine) -> str:
    """Name the programs of a guest that has none of this machine's."""
    words = guest.consumer_command()
    return f"run='{' '.join(words)}' python={words[0]}\n"


def shell(
    guest: Machine,
    modules: dict[str, Path],
    text: str,
    seconds: float = 60,
    asked: frozenset[str] = frozenset(),
) -> tuple[list[str], VmResult]:
    """Run shell commands that know ``$run``, ``$python`` and each module by ``$NAME``.

    Returns the lines that they print.

    ``asked`` are the kinds of complaint (`classify`) that the commands make the kernel utter.
    """
    places = "".join(f"{name}={guest.push(path)}\n" for name, path in modules.items())
    tries = f"tries={150 * patience(guest)}\n"
    start = f"{PRELUDE}{_own(guest)}" if guest.kernel.is_foreign() else tools(guest) + PRELUDE
    words = ["sh", "-c", tries + start + places + text]
    result = guest.run(words, cwd="/tmp", timeout=seconds * patience(guest))
    complained = {kind for kind, _ in result.complaints} - asked
    assert result.kind in (EXITED, COMPLAINED) and not complained, (
        result.kind,
        result.complaints,
        result.dmesg[-12000:],
        result.stderr[-2000:],
    )
    assert b"Traceback" not in result.stderr, result.stderr.decode()
    assert b"Syntax error" not in result.stderr, result.stderr.decode()
    return result.stdout.decode("utf-8", "surrogateescape").splitlines(), result


def figures(lines: list[str]) -> dict[str, int]:
    """Parse the lines of the form ``name=number``."""
    pairs = (line.partition("=") for line in lines)
    return {name: int(number) for name, equals, number in pairs if equals and number.isdigit()}
