"""Kernel stacks, which the runtime walks by what it has learned: always what the unwinder says."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import LONG, figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

ROUNDS = 40 if LONG else 3
OPTIONS = ("-g", "-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=1000000000")

# Each stack is walked a second time, by the unwinder: on the same stack, so nothing may differ.
# Meanwhile return addresses are taken by probes and given back, and modules come and go.
COMPARED = """
%{
#define FRAMES 20
%}
function differs:string(most:long) %{
	const unsigned long *told;
	unsigned long truth[FRAMES];
	unsigned int n, m, i;

	STAP_RETVALUE[0] = 0;
	if (!c->regs || !(n = stapy_kernel_stack(c, &told, STAP_ARG_most)))
		goto out;
	m = 1 + stapy_unwind(current, c->regs, truth + 1, STAP_ARG_most - 1);
	for (i = 1; i < n && i < m && told[i] == truth[i]; i++)
		;
	if (i < n || i < m)
		snprintf(STAP_RETVALUE, MAXSTRINGLEN, "%u of %u and %u: %pS is %pS", i, n, m,
			(void *)(i < n ? told[i] : 0), (void *)(i < m ? truth[i] : 0));
%}
global stacks, deep, different, hooked, returns
function compare(what:string, most:long) {
    stacks++
    text = differs(most)
    if (strlen(backtrace()) > 100) deep++
    if (text != "" && different++ < 10) printf("%s: %s\\n", what, text)
}
probe kernel.function("security_file_*"), kernel.function("security_inode_*") {
    compare(ppfunc(), 20)
}
probe kernel.function("vfs_read") { compare("vfs_read", 20) }
probe kernel.function("vfs_read").return, kernel.function("ksys_read").return?,
      kernel.function("__x64_sys_read").return if (hooked) { returns++; compare("return", 20) }
probe perf.sw.cpu_clock.sample(1000000) { compare("sample", 20) }
probe timer.ms(10) { hooked = !hooked }
probe kernel.function("int_sqrt") {
    compare("int_sqrt", 6) # and not so far that the unwinder has the last word
    if (modname(stack(1)) != "kernel") called[stack(1), modname(stack(1))] = 1
}
probe end {
    foreach ([address, name] in called) { modules[address]++; printf("%p %s\\n", address, name) }
    foreach (address in modules) if (modules[address] > 1) shared++
    printf("stacks=%d\\ndeep=%d\\ndifferent=%d\\n", stacks, deep, different)
    printf("returns=%d\\nshared=%d\\n", returns, shared)
}
global called, modules, shared
"""

# Two modules whose code has the same calls at the same places, with frames that differ by a word:
# who walks one by the frame of the other passes over a caller.
CALLER = """
%%{
static noinline unsigned long inner(unsigned long x)
{
	volatile char room[%d] __attribute__((uninitialized));

	room[x & 7] = x;
	x = int_sqrt(x);
	room[1] = x;
	return x + room[x & 7];
}
%%}
function call:long(x:long) %%{ STAP_RETVALUE = inner(STAP_ARG_x); %%}
probe begin { call(pid()) exit() }
"""


def test_stacks_are_what_the_unwinder_says(pair: Machine, release: str, tmp_path: Path) -> None:
    modules = make(
        release,
        tmp_path,
        compared=(*OPTIONS, "-e", COMPARED),
        near=("-g", "-e", CALLER % 40),
        wide=("-g", "-e", CALLER % 48),
    )
    text = f"""
    $run $compared >out 2>err & run_pid=$!
    wait_for '[ "$(state compared)" = running ]'
    for round in $(seq {ROUNDS}); do taskset 1 $run $near; taskset 1 $run $wide; done
    kill -INT $run_pid; wait $run_pid; echo status=$?
    cat out; said >&2
    """
    lines, result = shell(pair, modules, text, 300 + 20 * ROUNDS)
    found = figures(lines)
    print(f"\n{found}")
    assert found["status"] == found["different"] == 0, (lines, result.stderr)
    assert found["stacks"] > 1000, (lines, result.stderr)
    assert found["deep"] > 500, (lines, result.stderr)
    assert found["returns"] > 0, (lines, result.stderr)
    assert found["shared"] > 0, ("no module came where the other had been", lines)
