"""Marks of a program of ours: every kind of operand, and the counters of listeners."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.paths import data_dir
from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

PROGRAM = r"""
#define _SDT_HAS_SEMAPHORES
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define COUNTER(name) \
	volatile unsigned short ours_##name##_semaphore __attribute__((section(".probes")))
COUNTER(numbers); COUNTER(texts); COUNTER(parts); COUNTER(memory); COUNTER(constants);
COUNTER(asked); COUNTER(turn); COUNTER(vectors);
int table[4] = { 10, -20, 30, -40 };
long whole = 0x123456789a;
struct pair { int first, second; struct pair *next; } pair = { 3, 4, &pair };

static __attribute__((noipa)) void tell(
	signed char a, unsigned char b, short c, unsigned short d, int e, unsigned int f, long g,
	unsigned long h, char *text, double real)
{
	STAP_PROBEV(ours, numbers, a, b, c, d, e, f, g, h, text, real, whole, table[1]);
}

int main(int count, char **words)
{
	int turns = count > 1 ? atoi(words[1]) : 0;
	char local[] = "local text";

	tell(-1, 255, -2, 65535, -3, 4294967293u, -4, 1ul << 63, "literal", 2.5);
	STAP_PROBE3(ours, texts, local, "untouched", &pair);
	STAP_PROBEV(ours, constants, 1, -2, 3ul, (char) -4, 'x', 6, 7, 8, 9, 10, 11, 12);
	__asm__ volatile("movl $0x8081, %%eax\n\t"
		STAP_PROBE_ASM(ours, parts, "1@%%ah -1@%%ah -1@%%al 2@%%ax 4@%%eax 8@%%rax")
		: : : "eax");
	__asm__ volatile(STAP_PROBE_ASM(ours, memory,
		"-4@4(%[base]) -4@-4(%[base],%[two],8) -4@(%[base],%[two]) "
		"-4@12+table(%%rip) 8@$table+4 8@whole 8@whole(%%rip)")
		: : [base] "r" (table), [two] "r" (2l));
	__asm__ volatile("movq %0, %%xmm3; movq %0, %%xmm15; movd %1, %%xmm0\n\t"
		STAP_PROBE_ASM(ours, vectors, "8f@%%xmm3 4f@%%xmm0 -8f@%%xmm15 4@%%xmm3")
		: : "r" (0x400921fb54442d18), "r" (0x3fc00000) : "xmm0", "xmm3", "xmm15");
	while (turns-- > 0) {
		STAP_PROBE1(ours, turn, turns);
		usleep(10000);
	}
	if (count > 2) /* until a session comes and goes */
		for (int was = 0; !was || ours_asked_semaphore; usleep(10000)) {
			if (ours_asked_semaphore && !was++)
				printf("heard %d\n", ours_asked_semaphore), fflush(stdout);
			STAP_PROBE(ours, asked);
		}
	if (count > 2)
		printf("alone %d\n", ours_asked_semaphore);
	return 0;
}
"""

SCRIPT = """
probe process("{program}").mark("numbers") {{
	printf("%d %d %d %d %d %d %d %d %s\\n", $arg1, $arg2, $arg3, $arg4, $arg5, $arg6, $arg7,
		$arg8 == (1 << 63), user_string($arg9))
	printf("%x %x %d\\n", $arg10, $arg11, $arg12)
}}
probe process("{program}").provider("ours").mark("texts") {{
	printf("%s %s\\n", user_string($arg1), user_string($arg2, "not in"))
	printf("%d %d\\n", user_int($arg3), user_int($arg3 + 4))
}}
probe process("{program}").mark("con*ts") {{ println($$vars) }}
probe process("{program}").mark("parts") {{ println($$parms) }}
probe process("{program}").mark("memory") {{
	printf("%d %d %d %d %d %x %x\\n", $arg1, $arg2, $arg3, $arg4, user_int($arg5), $arg6, $arg7)
}}
"""
VALUES = [
    "-1 255 -2 65535 -3 4294967293 -4 1 literal",
    "4004000000000000 123456789a -20",
    "local text untouched",
    "3 4",
    "$arg1=0x1 $arg2=0xfffffffffffffffe $arg3=0x3 $arg4=0xfffffffffffffffc $arg5=0x78 $arg6=0x6 "
    "$arg7=0x7 $arg8=0x8 $arg9=0x9 $arg10=0xa $arg11=0xb $arg12=0xc",
    "$arg1=0x80 $arg2=0xffffffffffffff80 $arg3=0xffffffffffffff81 $arg4=0x8081 $arg5=0x8081 "
    "$arg6=0x8081",
    "-20 -40 -1310720 -40 -20 123456789a 123456789a",
]
COUNTERS = """
probe process("{program}").mark("asked") {{ if (++hits == 3) exit() }}
probe process("{program}").mark("never_there") ? {{ hits = 0 }}
global hits
"""

VECTORS = """
%{{
#include <asm/fpu/api.h>
%}}
function taken() %{{ /* the kernel takes the registers, as an interrupt might, and writes to them */
	kernel_fpu_begin();
	asm volatile("pxor %%xmm3, %%xmm3; pxor %%xmm0, %%xmm0" : : : "memory");
	kernel_fpu_end();
%}}
probe process("{program}").mark("vectors") {{
	printf("%x %x %x %x %s\\n", $arg1, $arg2, $arg3, $arg4, fp_to_string($arg1, 4))
	taken()
	printf("%x %x %x %x\\n", $arg1, $arg2, $arg3, $arg4)
}}
"""


def _program(folder: Path, *options: str) -> Path:
    return compiled(folder, PROGRAM, f"-I{data_dir('include')}", *options)


@pytest.mark.parametrize("options", [["-O2"], ["-O0", "-no-pie"]], ids=["pie", "fixed"])
def test_values_of_all_kinds_of_operands(
    guest: Machine, release: str, tmp_path: Path, options: list[str]
) -> None:
    program = _program(tmp_path, *options)
    modules = make(release, tmp_path, values=SCRIPT.format(program=program))
    lines, result = shell(guest, modules, f"$run -c {program} $values; echo status $?")
    assert lines == [*VALUES, "status 0"], result.stderr.decode()


def test_vector_registers_are_the_programs(guest: Machine, release: str, tmp_path: Path) -> None:
    """Also when the kernel has taken them meanwhile for itself."""
    program = _program(tmp_path, "-O2")
    modules = make(release, tmp_path, vectors=("-g", "-e", VECTORS.format(program=program)))
    lines, result = shell(guest, modules, f"$run -c {program} $vectors; echo status $?")
    values = "400921fb54442d18 3fc00000 400921fb54442d18 54442d18"
    assert lines == [f"{values} 3.1416", values, "status 0"], result.stderr.decode()


def test_counters_tell_programs_of_listeners(guest: Machine, release: str, tmp_path: Path) -> None:
    """Of a program that was there before and of one that came later; at the end they are 0 again.

    A consumer that is killed leaves none above 0.
    """
    program = _program(tmp_path, "-O2")
    modules = make(release, tmp_path, asked=COUNTERS.format(program=program), turns=f"""
        global turns
        probe process("{program}").mark("turn") {{ turns++ }}
        probe timer.s(600) {{ exit() }}
    """)  # fmt: skip
    text = f"""
    {program} 0 wait >before & before=$!; sleep 0.5
    $run $asked; echo status $?
    wait $before; echo before $?; cat before
    {program} 0 wait >after & after=$!
    $run $asked; echo status $?
    wait $after; cat after
    {program} 0 wait >third & third=$!
    $run $turns & turning=$!; wait_for '[ "$(state turns)" = running ]' >&2
    $run $asked; wait $third; cat third
    {program} 3 & wait $!
    kill -9 $turning; wait_for '[ $(loaded turns) = 0 ]' >&2; echo loaded $(loaded turns)
    """
    lines, result = shell(guest, modules, text, 120)
    heard = ["heard 1", "alone 0"]
    expected = ["status 0", "before 0", *heard, "status 0", *heard, *heard, "loaded 0"]
    assert lines == expected, result.stderr.decode()
