"""Debug registers and counters of processes under fork, exec and kill, as sessions come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled
from tests.vm.safety.support import LONG, figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

SESSIONS, KILLED = (134, 66) if LONG else (3, 2)  # that end by themselves, and that are killed
STORM = r"""
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
volatile int number, other;
static void *work(void *unused) { number++; return 0; }
int main(int argc, char **argv)
{
	pthread_t threads[3];
	if (argc > 1) { number = 3; return 0; }
	for (;;) {
		for (int i = 0; i < 3; i++)
			if (pthread_create(&threads[i], 0, work, 0)) _exit(1);
		if (!fork()) { number = 2; if (!fork()) { other = 1; _exit(0); }
			execl(argv[0], argv[0], "again", (char *)0); _exit(1); }
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], 0);
		while (waitpid(-1, 0, WNOHANG) > 0);
		usleep(20000);
	}
}
"""


def test_storms(guest: Machine, release: str, tmp_path: Path) -> None:
    """Sessions that end well or are killed; targets that are killed; nobody is harmed by it."""
    path = compiled(tmp_path, STORM, "-O1", "-pthread", name="storm")
    script = f"""
    global hits
    probe process("{path}").data("number").write, process("{path}").data("other").rw {{ hits++ }}
    probe perf.type(1).config(0).process("{path}") {{ hits++ }}
    probe perf.type(1).config(2).process("{path}").counter("faults") {{}}
    probe process("{path}").syscall {{ if (@perf("faults") < 0) println("wrong") }}
    """
    ending = "probe timer.ms(100) { if (hits) exit() } probe end { println(hits > 0) }"
    modules = make(release, tmp_path, ends=script + ending, stays=("-e", script))
    text = f"""
    {path} & first=$!; {path} & second=$!; storms="$first $second"; behind; stormed 20
    stays() {{
        $run $stays >out & session=$!
        wait_for '[ "$(state stays)" = running ]' $session >&2 && stormed 20 >&2
    }}
    for n in $(seq {SESSIONS}); do $run $ends; done >ended; echo ended=$(grep -c '^1$' ended)
    for n in $(seq {KILLED}); do
        stays || break
        kill -9 $session; wait $session; wait_for '[ $(loaded stays) = 0 ]' >&2 || break
        killed=$n
    done; echo killed=$killed
    stays; kill -9 $second; stormed 20 >&2; kill $session; wait $session; echo status $?
    grep -q '^hits=[1-9]' out && echo hits seen
    kill -0 $first && echo alive; kill -9 $first
    """
    lines, result = shell(guest, modules, text, 80 + 20 * (SESSIONS + KILLED))
    found = figures(lines)
    print(f"\n{found}, {result.seconds:.0f} s")
    assert found == {"ended": SESSIONS, "killed": KILLED}, (lines, result.stderr)
    assert [line for line in lines if "=" not in line] == ["status 0", "hits seen", "alive"], (
        lines,
        result.stderr,
    )


AGAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
volatile int v0, v1, v2, v3;
int main(int argc, char **argv)
{
	int left = atoi(argv[1]);
	char next[16];
	v0 = left; v1 = left; v2 = left; v3 = left; /* backwards, the emulator tells of some twice */
	snprintf(next, sizeof(next), "%d", left - 1);
	return left ? execl(argv[0], argv[0], next, (char *)0) : 0;
}
"""


def test_registers_come_back_at_each_exec(guest: Machine, release: str, tmp_path: Path) -> None:
    """A process becomes its program again at once, while other threads keep their registers."""
    path = compiled(tmp_path, AGAIN, "-O1", name="again")
    script = "global hits probe end { println(hits) }" + "".join(
        f'probe process("{path}").data("v{n}").write {{ hits++ }}' for n in range(4)
    )
    modules = make(release, tmp_path, again=script)
    lines, result = shell(guest, modules, f"$run -c '{path} 40' $again; echo status $?")
    assert lines == [str(41 * 4), "status 0"], result.stderr.decode()
    assert b"no debug register" not in result.stderr, result.stderr.decode()


def test_there_are_four_registers(guest: Machine, release: str, tmp_path: Path) -> None:
    """The fifth place is told of, when it is translated and when it is armed; four are watched."""
    source = "".join(f"volatile int v{n};" for n in range(5))
    source += "int main(void) {" + "".join(f"v{n} = {n};" for n in range(5)) + "return 0; }"
    path = compiled(tmp_path, source, "-O1", name="five")
    script = "".join(
        f'probe process("{path}").data("v{n}").write {{ println({n}) }}' for n in range(5)
    )
    modules = make(release, tmp_path, five=script)
    lines, result = shell(guest, modules, f"$run -c {path} $five; echo status $?")
    assert lines == ["0", "1", "2", "3", "status 0"], result.stderr.decode()
    assert b"no debug register is free" in result.stderr
