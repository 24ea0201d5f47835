"""Kernel stacks, which the runtime walks by what it has learned: always what the unwinder says."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import LONG, figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

ROUNDS = 40 if LONG else 2
OPTIONS = ("-g", "-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=1000000000")

# Each stack is walked a second time, by the unwinder: on the same stack, so nothing may differ.
# Meanwhile return addresses are taken by probes and given back, and modules come and go.
COMPARED = """
%{
#define FRAMES 20
%}
function differs:string() %{
	const unsigned long *told;
	unsigned long truth[FRAMES];
	unsigned int n, m, i;

	STAP_RETVALUE[0] = 0;
	if (!c->regs || !(n = stapy_kernel_stack(c, &told, FRAMES)))
		goto out;
	m = 1 + stapy_unwind(current, c->regs, truth + 1, FRAMES - 1);
	for (i = 1; i < n && i < m && told[i] == truth[i]; i++)
		;
	if (i < n || i < m)
		snprintf(STAP_RETVALUE, MAXSTRINGLEN, "%u of %u and %u: %pS is %pS", i, n, m,
			(void *)(i < n ? told[i] : 0), (void *)(i < m ? truth[i] : 0));
%}
global stacks, deep, different, hooked, returns
function compare(what:string) {
    stacks++
    if (strlen(backtrace()) > 100) deep++
    text = differs()
    if (text != "" && different++ < 10) printf("%s: %s\\n", what, text)
}
probe kernel.function("security_file_*"), kernel.function("security_inode_*") { compare(ppfunc()) }
probe kernel.function("vfs_read") { compare("vfs_read") }
probe kernel.function("vfs_read").return, kernel.function("ksys_read").return?,
      kernel.function("__x64_sys_read").return if (hooked) { returns++; compare("return") }
probe perf.sw.cpu_clock.sample(1000000) { compare("sample") }
probe timer.ms(10) { hooked = !hooked }
probe end {
    printf("stacks=%d\\ndeep=%d\\ndifferent=%d\\nreturns=%d\\n", stacks, deep, different, returns)
}
"""


def test_stacks_are_what_the_unwinder_says(pair: Machine, release: str, tmp_path: Path) -> None:
    modules = make(release, tmp_path, compared=(*OPTIONS, "-e", COMPARED))
    text = f"""
    $run $compared >out 2>err & run_pid=$!
    wait_for '[ "$(state compared)" = running ]'
    for round in $(seq {ROUNDS}); do ls -lR /etc >/dev/null; modprobe dummy; rmmod dummy; done
    kill -INT $run_pid; wait $run_pid; echo status=$?
    cat out; said >&2
    """
    lines, result = shell(pair, modules, text, 120 + 20 * ROUNDS)
    found = figures(lines)
    print(f"\n{found}")
    assert found["status"] == found["different"] == 0, (lines, result.stderr)
    assert found["stacks"] > 1000, (lines, result.stderr)
    assert found["deep"] > 500, (lines, result.stderr)
    assert found["returns"] > 0, (lines, result.stderr)
