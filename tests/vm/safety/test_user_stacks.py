"""User stacks while what they are of is forked, mapped, unmapped and killed, and sessions end."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import built, compiled
from tests.vm.safety.support import LONG, figures, make, shell
from tests.vm.test_user_stacks import kept_tables

pytestmark = [pytest.mark.build, pytest.mark.vm]

ROUNDS = 100 if LONG else 4
LIBC = 'process("/lib/x86_64-linux-gnu/libc.so.6")'
# At each system call, where functions begin and return, and in timers' interrupts; the stacks of
# all processes, the consumer's too. Statistics need no lock that all of them wait for.
STACKS = f"""
global calls, deep, functions, returns, timers, named
function take(text:string) {{ return strlen(text) > 120 }}
probe kernel.trace("sys_enter") {{
    calls <<< 1
    if (take(sprint_ubacktrace())) deep <<< 1
}}
probe kernel.trace("sched_switch") {{ timers <<< strlen(ubacktrace()) }}
probe {LIBC}.function("malloc"), {LIBC}.function("dlopen"), {LIBC}.function("munmap"),
      {LIBC}.function("fork"), {LIBC}.function("clone"), {LIBC}.function("_exit") {{
    functions <<< strlen(ubacktrace())
}}
probe {LIBC}.function("munmap").return, {LIBC}.function("nanosleep").return {{
    returns <<< strlen(sprint_ubacktrace())
}}
probe timer.profile {{
    timers <<< strlen(ubacktrace())
    try {{ if (user_mode()) named <<< strlen(usymdata(uaddr()) . umodname(uaddr())) }}
    catch {{ named <<< 0 }}
}}
global told
probe timer.ms(200) {{
    if (@count(calls) > 100 && @count(deep) && @count(functions) > 20 && @count(returns) > 20
        && @count(timers) > 20 && !told++) println("seen")
}}
probe end {{
    printf("calls=%d\\ndeep=%d\\nfunctions=%d\\nreturns=%d\\ntimers=%d\\n", @count(calls),
           @count(deep), @count(functions), @count(returns), @count(timers))
}}
"""
# Threads that change the address space while others of them are walked, and are cut off by exec,
# by a signal, and by the end of the process.
MAPS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static char **libraries;
static __attribute__((noinline)) int call_back(int n) { free(malloc(n + 1)); return getppid(); }
static void *load(void *nothing)
{
	for (unsigned i = 0;; i++) {
		void *library = dlopen(libraries[i % 3], RTLD_NOW | RTLD_LOCAL);
		int (*work)(int (*)(int), int) = dlsym(library, "work");

		work(call_back, i % 64);
		dlclose(library);
	}
}
static void *map(void *nothing)
{
	for (;;) {
		char *at = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memset(at, 1, 4096);
		mprotect(at, 8192, PROT_READ);
		munmap(at, 1 << 16);
	}
}
static void handle(int number) { call_back(number); }
int main(int count, char **words)
{
	libraries = words + 1;
	signal(SIGUSR1, handle);
	for (unsigned turn = 0;; turn++) {
		pid_t child = fork();

		if (!child) {
			pthread_t thread;

			pthread_create(&thread, 0, load, 0);
			pthread_create(&thread, 0, map, 0);
			usleep(20000 + turn % 7 * 10000);
			raise(SIGUSR1);
			if (turn % 3 == 0)
				execl("/bin/true", "true", NULL);
			if (turn % 3 == 1)
				_exit(0);
			pause();
		}
		usleep(60000);
		kill(child, SIGKILL);
		waitpid(child, 0, 0);
	}
}
"""
WORK = "int work(int (*call)(int), int n) { return n ? work(call, n / 2) + 1 : call(n) + 1; }"


def test_sessions_in_a_storm_of_address_spaces(pair: Machine, release: str, tmp_path: Path) -> None:
    """All ways to end a session, also kill -9, while walks are under way; nothing is left."""
    options = ("-O2", "-fno-optimize-sibling-calls", "-fomit-frame-pointer")
    (tmp_path / "work.c").write_text(WORK)
    libraries = [
        built(tmp_path / f"{name}.so", *options, "-shared", "-fPIC", str(tmp_path / "work.c"))
        for name in ("one", "two", "three")
    ]
    program = compiled(tmp_path, MAPS, *options, "-pthread", name="maps")
    words = ["-DMAXSKIPPED=100000000", "-DSTP_NO_OVERLOAD", "-DMAXERRORS=100000", "--ldd"]
    words += [word for path in (program, *libraries) for word in ("-d", str(path))]
    modules = make(release, tmp_path, stacks=(*words, "-e", STACKS))
    known = kept_tables(tmp_path, program, *libraries, Path("/bin/ls"), Path("/usr/bin/python3"))
    files = " ".join(map(str, libraries))
    text = f"""
    run="{known} $run"
    {program} {files} & storms="$!"
    /usr/bin/python3 -c '
import os, time
for turn in range(1000000):
    if os.fork() == 0:
        os.execv("/bin/ls", ["ls", "/dev"]) if turn % 2 else os._exit(0)
    os.wait()
' >/dev/null & storms="$storms $!"
    behind; rounds=0; failures=0
    while [ $rounds -lt {ROUNDS} ]; do
        case $((rounds % 4)) in
        0) $run $stacks >out 2>err & session=$!
           wait_for 'grep -aq seen out' >&2 || failures=$((failures + 1))
           kill -INT $session; wait $session || {{ failures=$((failures + 1)); cat err >&2; }}
           grep -a '=' out >figures ;;
        1) $run $stacks >out 2>err & victim=$!; wait_for '[ "$(state stacks)" = running ]' >&2
           stormed $((rounds % 16)) >&2 || failures=$((failures + 1))
           kill -9 $victim; wait $victim 2>/dev/null
           wait_for '[ $(loaded stacks) = 0 ]' >&2 || failures=$((failures + 1)) ;;
        2) $run -c '{program} {files} & sleep 0.3; kill $!' $stacks >out 2>err ||
               {{ failures=$((failures + 1)); cat err >&2; }} ;;
        3) insmod $stacks
           libc=$(readlink -f /lib/x86_64-linux-gnu/libc.so.6)
           (exec 4<$libc; echo "file 4 $libc" >&3; echo "start 0" >&3
            stormed 10 >&2; stop_by_hand) 3>/proc/stapy_stacks/control
           rmmod stacks || failures=$((failures + 1)) ;;
        esac
        rounds=$((rounds + 1))
    done
    calm; cat figures; echo rounds=$rounds; echo failures=$failures; echo loaded=$(loaded stacks)
    """
    lines, result = shell(pair, modules, text, 120 + 60 * ROUNDS)
    found = figures(lines)
    print(f"\n{found}, {result.seconds:.0f} s")
    assert found["rounds"] == ROUNDS, (found, result.stderr)
    assert found["failures"] == found["loaded"] == 0, (lines, result.stderr)
    counted = ("calls", "deep", "functions", "returns", "timers")
    assert all(found[name] > 0 for name in counted), (found, result.stderr)
