"""Marks with counters in programs that fork, exec and are killed, also by the handler itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.paths import data_dir
from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled
from tests.vm.safety.support import LONG, figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

ROUNDS = 200 if LONG else 6  # two of each kind

# "storm": children that end in all ways, and some that stay; all that are left tell their
# counter when they are asked to end. "turn": one that stays.
PROGRAM = r"""
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
volatile unsigned short ours_turn_semaphore __attribute__((section(".probes")));
static volatile sig_atomic_t asked;
static void ask(int number) { asked = 1; }

__attribute__((noipa)) int work(int depth, int turn)
{
	STAP_PROBE2(ours, turn, turn, depth);
	if (depth)
		return work(depth - 1, turn) + 1;
	usleep(1000);
	return 0;
}

static int stay(void)
{
	while (!asked)
		work(3, 1);
	usleep(200000); /* until the last breakpoint is gone, should one be */
	printf("left=%d\n", ours_turn_semaphore);
	fflush(stdout);
	return 0;
}

int main(int count, char **words)
{
	int stays[6], there = 0;

	signal(SIGTERM, ask);
	if (!strcmp(words[1], "once"))
		return work(1, 2) != 1;
	if (!strcmp(words[1], "turn"))
		return stay();
	for (int turn = 0; !asked; turn++) {
		int pid = turn % 4 == 3 ? vfork() : fork();

		if (!pid && turn % 4 == 3) {
			execl(words[0], words[0], "once", NULL);
			_exit(1);
		}
		if (!pid && turn % 40 == 20 && there < 6)
			return stay();
		if (!pid) {
			work(turn % 5, turn % 7 ? 3 : 13); /* 13: the handler kills it */
			if (turn % 2)
				execl(words[0], words[0], "once", NULL);
			_exit(0);
		}
		if (turn % 40 == 20 && there < 6) {
			stays[there++] = pid;
			continue;
		}
		if (turn % 3 == 0)
			usleep(500), kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		work(1, 4);
	}
	while (there--)
		kill(stays[there], SIGTERM), waitpid(stays[there], NULL, 0);
	return 0;
}
"""
SCRIPT = """
global hits, killed, returns, wrong
probe process("{program}").mark("turn") {{
	hits++
	if ($arg1 == 13 && $arg2 == 0) {{ killed++; raise(9) }}
}}
probe process("{program}").function("work").return {{
	@entry(int_arg(1)) == returnval() ? returns++ : wrong++
}}
probe timer.ms(20) {{
	if (!armed++) println("armed")
	if (hits > 20 && killed && returns > 20 && !told++) println("seen")
}}
global armed, told
probe end {{
	printf("hits=%d\\nkilled=%d\\nreturns=%d\\nwrong=%d\\n", hits, killed, returns, wrong)
}}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("storm")
    return compiled(folder, PROGRAM, "-O1", f"-I{data_dir('include')}")


@pytest.fixture(scope="module")
def modules(
    release: str, program: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    text = SCRIPT.format(program=program)
    words = ("-g", "-DMAXSKIPPED=1000000", "-DSTP_NO_OVERLOAD", "-e", text)
    return make(release, tmp_path_factory.mktemp("modules"), turns=words)


def test_counters_in_a_storm_of_programs(
    pair: Machine, modules: dict[str, Path], program: Path
) -> None:
    """Whoever ends how, session or program: those that are left have a counter of 0."""
    text = f"""
    {program} turn >told & stays=$!
    {program} storm >>told & storms=$!
    behind
    rounds=0; failures=0
    while [ $rounds -lt {ROUNDS} ]; do
        case $((rounds % 3)) in
        0) $run $turns >out 2>err & session=$!
           wait_for 'grep -aq seen out' >&2 || failures=$((failures + 1))
           kill -INT $session; wait $session || {{ failures=$((failures + 1)); cat err >&2; }}
           grep -a '=' out >>figures ;;
        1) $run $turns >out 2>err & victim=$!; wait_for 'grep -q armed out' >&2
           stormed $((rounds % 16)) >&2 || failures=$((failures + 1))
           kill -9 $victim; wait $victim 2>/dev/null
           wait_for '[ $(loaded turns) = 0 ]' >&2 || failures=$((failures + 1)) ;;
        2) insmod $turns
           (exec 4<{program}; echo "file 4 {program}" >&3; echo "start 0" >&3
            stormed 20 >&2; stop_by_hand) 3>/proc/stapy_turns/control
           rmmod turns || failures=$((failures + 1)) ;;
        esac
        rounds=$((rounds + 1))
    done
    kill $stays $storms; wait $stays; echo stays $?; wait $storms; echo storm $?
    sort told | uniq -c; sed 's/=.*[1-9].*/ seen/;s/=0$/ none/' figures | sort -u
    grep -o 'wrong=[1-9].*' figures
    echo rounds=$rounds; echo failures=$failures; echo loaded=$(loaded turns)
    """
    lines, result = shell(pair, modules, text, 60 + 15 * ROUNDS)
    found = figures(lines)
    print(f"\n{found}, {result.seconds:.0f} s")
    assert (found["rounds"], found["failures"], found["loaded"]) == (ROUNDS, 0, 0), (
        lines,
        result.stderr,
    )
    assert {"stays 0", "storm 0", "hits seen", "killed seen", "returns seen"} <= set(lines), lines
    left = [line.split() for line in lines if "left=" in line]
    assert [word for _, word in left] == ["left=0"], lines
    assert "wrong seen" not in lines, lines


def test_a_namespace_that_ends_while_its_file_is_armed(
    pair: Machine, modules: dict[str, Path], program: Path
) -> None:
    """A file of a mount that nobody sees any more: the session goes on and ends as others do."""
    text = f"""
    folder=$(dirname {program}); mkdir copy; cp {program} copy/program
    cat >inside.sh <<'END'
    mount -t tmpfs inside $1 && cp copy/program $1/program || exit 1
    $1/program turn & echo $! >inside; wait
END
    for turn in 1 2 3; do
        rm -f inside
        unshare -m sh inside.sh $folder >told & outer=$!
        wait_for '[ -s inside ]' >&2; inner=$(cat inside)
        wait_for '[ -e /proc/$inner/exe ]' >&2
        stat -L -c %d /proc/$inner/exe {program} | uniq | wc -l
        insmod $turns
        (
            exec 4</proc/$inner/exe; echo "file 4 {program}" >&3; exec 4<&-
            echo "start 0" >&3; sleep 0.5
            kill -9 $inner $outer; wait_for '! [ -d /proc/$inner ]' >&2; sleep 1
            grep -c . /proc/stapy_turns/control >/dev/null
            [ $turn = 3 ] || stop_by_hand
        ) 3>/proc/stapy_turns/control
        wait $outer
        wait_for 'rmmod turns 2>/dev/null; [ $(loaded turns) = 0 ]' >&2; echo loaded $(loaded turns)
    done
    {program} once; echo once $?
    """
    lines, result = shell(pair, modules, text, 120)
    assert lines == ["2", "loaded 0"] * 3 + ["once 0"], (lines, result.stderr)
