"""Places by address, line and build-id; all bytes of a function; calls that never return."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled, has_mapped, run
from tests.vm.safety.support import figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# Timers run when all is armed.
ARMED = 'global armed probe timer.ms(20) { if (!armed++) println("armed") }'


def address_of(path: Path, name: str) -> int:
    """Where a program was linked with a symbol, as nm prints it."""
    lines = [line.split() for line in run("nm", str(path)).splitlines()]
    return int(next(words[0] for words in lines if words[-1] == name), 16)


WAITING = r"""
#include <unistd.h>
int total;
__attribute__((noipa)) int work(int n)
{
	total += n;

	/* Nothing is made of this line. */

	total *= 2;
	return total;
}
int main(void)
{
	while (access("go", F_OK))
		usleep(10000);
	return work(3) != 6;
}
"""
BETWEEN = 1 + next(n for n, row in enumerate(WAITING.splitlines()) if "Nothing" in row)


def test_by_address_line_and_build_id(guest: Machine, release: str, tmp_path: Path) -> None:
    """All mean a place of the file, wherever a process has it: this program is moved (PIE).

    The process of the guest gets the number that one has here, by which it is found.
    """
    program = compiled(tmp_path, WAITING, "-g", "-O1", "-fPIE", "-pie", "-Wl,--build-id")
    notes = run("readelf", "-n", str(program))
    (ident,) = re.findall(r"Build ID: (\w+)", notes)
    at = address_of(program, "work")
    with subprocess.Popen([str(program)], cwd=tmp_path) as here:
        try:
            absolute = has_mapped(here.pid, program) + at
            script = f"""
            probe process("{program}").function({at:#x}) {{
                printf("function %d\\n", $n)
            }}
            probe process("{program}").function({at + 1:#x}).return {{
                printf("returns %d\\n", $return)
            }}
            probe process("{program}").statement({at:#x}) {{ printf("statement %d\\n", $n) }}
            probe process("{program}").statement("work@program.c:{BETWEEN}").nearest {{
                printf("nearest %s\\n", pp())
            }}
            probe process("{ident}").function("work") {{ printf("build-id %d\\n", $n) }}
            probe process({here.pid}).statement({absolute:#x}).absolute {{
                printf("absolute %d\\n", pid() == {here.pid} && user_mode())
            }}
            probe process({here.pid}).statement({absolute:#x}).absolute.return {{
                printf("absolute return %d\\n", returnval())
            }}
            probe process({here.pid}).function({at:#x}) {{ printf("of the process %d\\n", $n) }}
            """
            modules = make(release, tmp_path, places=("-g", "-e", script + ARMED))
        finally:
            here.kill()
    text = f"""
    numbered {here.pid} {program} >&2
    $run $places >out & consumer=$!; wait_for 'grep -q armed out' $consumer >&2
    touch go; wait $one; echo status $?; kill -INT $consumer; wait $consumer; cat out
    """
    lines, result = shell(guest, modules, text, 120)
    assert lines[:2] == ["status 0", "armed"], (lines, result.stderr)
    nearest = [line for line in lines if line.startswith("nearest ")]
    assert len(nearest) == 1, (lines, result.stderr)
    where = re.search(r"program\.c:(\d+)", nearest[0])
    assert where, nearest
    assert abs(int(where[1]) - BETWEEN) == 2, nearest
    assert sorted(set(lines[2:]) - {*nearest}) == [
        "absolute 1", "absolute return 6", "build-id 3", "function 3", "of the process 3",
        "returns 6", "statement 3",
    ], (lines, result.stderr)  # fmt: skip


def test_functions_whose_names_were_stripped(guest: Machine, release: str, tmp_path: Path) -> None:
    """What describes their frames tells where they begin."""
    whole = compiled(tmp_path, WAITING, "-O1", "-fPIE", "-pie", name="whole")
    program = tmp_path / "program"
    run("strip", "-s", "-o", str(program), str(whole))
    at = address_of(whole, "work")
    modules = make(release, tmp_path, places=f"""
    probe process("{program}").function({at:#x}) {{ printf("function %d\\n", int_arg(1)) }}
    probe process("{program}").statement({at:#x}) {{ printf("statement %s\\n", pp()) }}
    """)  # fmt: skip
    lines, result = shell(guest, modules, f"touch go; $run -c {program} $places; echo status $?")
    assert sorted(lines) == [
        "function 3", f'statement process("{program}").statement({at:#x})', "status 0"
    ], (lines, result.stderr)  # fmt: skip


# Instructions of many lengths, one after the other; with constants that look like instructions.
STRAIGHT = r"""
#include <stdio.h>
long word = 0x0102030405060708;
__attribute__((noipa)) long mix(long n, long m)
{
	asm volatile("" : : : "memory");
	n = n * 0x55535657 + word;
	m ^= 0x5090c3c3e8e9ebebL;
	word = n - (m >> 7);
	return (word & 0x7fffffff) + (n << 3);
}
int main(void) { printf("%ld\n", mix(3, 4)); return 0; }
"""


def test_every_byte_of_a_function(guest: Machine, release: str, tmp_path: Path) -> None:
    """Where an instruction begins the program is probed and goes on; elsewhere it is not touched.

    Nor is what lies in its data, or behind its end.
    """
    program = compiled(tmp_path, STRAIGHT, "-O1", "-no-pie", "-fcf-protection=none")
    start = address_of(program, "mix")
    rows = run("objdump", "-d", "--no-show-raw-insn", str(program)).split("<mix>:\n")[1]
    begins = [int(row.split(":")[0], 16) for row in rows.split("\n\n")[0].splitlines()]
    last = max(n for n, row in enumerate(rows.split("\n\n")[0].splitlines()) if "ret" in row)
    begins = begins[: last + 1]
    others = [address_of(program, "word"), program.stat().st_size + 0x400000, 0]
    places = [*range(start, begins[-1] + 1), *others]
    points = ", ".join(f'process("{program}").statement({place:#x})?' for place in places)
    script = f"""
    global hits
    probe {points} {{ hits[uaddr()]++ }}
    probe end {{ foreach (at+ in hits) printf("%x %d\\n", at, hits[at]) }}
    """
    modules = make(release, tmp_path, bytes=script)
    text = f"{program}; $run -c {program} $bytes; echo status $?"
    lines, result = shell(guest, modules, text, 120)
    assert lines.pop() == "status 0", (lines, result.stderr)
    plain = lines.pop(0)
    assert plain in lines, (lines, result.stderr)
    lines.remove(plain)
    assert lines == [f"{at:x} 1" for at in begins], (lines, result.stderr)


JUMPS = r"""
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static jmp_buf back;
static sigjmp_buf left;
static char other[65536];
__attribute__((noipa)) int inner(int n)
{
	if (n % 3 == 0)
		longjmp(back, 1);
	return n + 100;
}
__attribute__((noipa)) int middle(int n) { return inner(n) + 1000; }
__attribute__((noipa)) int outer(int n) { return middle(n) + 10000; }
__attribute__((noipa)) int deep(int n, int jumps)
{
	if (!n && jumps)
		longjmp(back, 1);
	return n ? deep(n - 1, jumps) + 1 : 0;
}
__attribute__((noipa)) int leave(int n) { siglongjmp(left, n); return 0; }
static void handler(int number) { leave(middle(1)); }
__attribute__((noipa)) int stay(int n) { raise(SIGUSR1); return n; }
int main(void)
{
	stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction action = { .sa_handler = handler };
	volatile int jumped = 0, signals = 0;
	volatile long sum = 0;

	for (volatile int n = 1; n <= 300; n++) {
		if (setjmp(back))
			jumped++;
		else
			sum += outer(n);
		if (n > 40)
			continue;
		if (setjmp(back))
			jumped++;
		else
			sum += deep(n, n & 1);
	}
	sigaltstack(&stack, NULL);
	for (volatile int n = 0; n < 40; n++) {
		action.sa_flags = n & 1 ? SA_ONSTACK : 0;
		sigaction(SIGUSR1, &action, NULL);
		if (sigsetjmp(left, 1))
			signals++;
		else
			stay(n);
		sum += outer(1);
	}
	printf("sum %ld jumped %d signals %d\n", sum, jumped, signals);
	return 0;
}
"""


def test_calls_that_are_jumped_out_of(guest: Machine, release: str, tmp_path: Path) -> None:
    """Of calls that end by longjmp(), in a handler of signals too, no return is hit.

    Those of other calls are, with the values of their own beginning, and the program goes on.
    """
    program = compiled(tmp_path, JUMPS, "-O1", "-fcf-protection=none")
    at = f'process("{program}").function'
    script = f"""
    global begun, ended, wrong
    probe {at}("inner"), {at}("middle"), {at}("outer"), {at}("deep"), {at}("stay"), {at}("leave") {{
        begun[ppfunc()]++
    }}
    probe {at}("inner").return {{
        ended["inner"]++
        if (returnval() != @entry(int_arg(1)) + 100) wrong++
    }}
    probe {at}("middle").return {{
        ended["middle"]++
        if (returnval() != @entry(int_arg(1)) + 1100) wrong++
    }}
    probe {at}("outer").return {{
        ended["outer"]++
        if (returnval() != @entry(int_arg(1)) + 11100) wrong++
    }}
    probe {at}("deep").return {{
        ended["deep"]++
        if (returnval() != @entry(int_arg(1))) wrong++
    }}
    probe {at}("stay").return, {at}("leave").return {{ ended["never"]++ }}
    probe end {{
        foreach (name in begun) printf("%s=%d\\n", name, begun[name])
        foreach (name in ended) printf("%s_ended=%d\\n", name, ended[name])
        printf("wrong=%d\\n", wrong)
    }}
    """
    modules = make(release, tmp_path, jumps=script)
    text = f"{program}; $run -c {program} $jumps; echo status=$?"
    lines, result = shell(guest, modules, text, 120)
    sums = [line for line in lines if line.startswith("sum ")]
    assert len(sums) == 2, (lines, result.stderr)
    assert sums[0] == sums[1], lines
    assert sums[0].endswith("jumped 120 signals 40"), lines
    assert figures(lines) == {
        "outer": 340, "outer_ended": 240, "middle": 380, "middle_ended": 280,
        "inner": 380, "inner_ended": 280, "stay": 40, "leave": 40,
        "deep": 820 + 40, "deep_ended": 420 + 20, "wrong": 0, "status": 0,
    }, (lines, result.stderr)  # fmt: skip


SANDBOX = r"""
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noipa)) int work(int n) { return n + 1; }
int main(void)
{
	int n = 0;

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 2;
	for (int turn = 0; turn < 3; turn++)
		n = work(n); /* by the kernel's way back, which may be a system call */
	write(1, "lives\n", 6);
	syscall(SYS_exit, n != 3);
}
"""


def test_returns_in_a_sandbox(guest: Machine, release: str, tmp_path: Path) -> None:
    """A program that may make no system call but a few is not killed by a return that is probed."""
    program = compiled(tmp_path, SANDBOX, "-O1", "-fcf-protection=none")
    script = f'probe process("{program}").function("work").return {{ println(returnval()) }}'
    modules = make(release, tmp_path, sandbox=script)
    lines, result = shell(guest, modules, f"$run -c {program} $sandbox; echo status $?")
    assert sorted(lines) == ["1", "2", "3", "lives", "status 0"], (lines, result.stderr)
