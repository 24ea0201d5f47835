"""Places in programs of ours: whose address spaces they are put into, and what guards them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.paths import data_dir
from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled
from tests.vm.needs import need
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# Timers run when all is armed.
ARMED = 'global armed probe timer.ms(20) { if (!armed++) println("armed") }'
OPTIONS = ("-O1", "-no-pie", "-fcf-protection=none")

# Its first instruction is relative to the instruction pointer, which 32 bits have not.
WORK = r"""
#include <stdio.h>
#include <unistd.h>
int number = 42;
__attribute__((noipa)) int work(void) { return number; }
"""
CALLER = (
    WORK
    + r"""
int main(void) { return work() != 42; }
"""
)
# A program of 32 bits, without a library, that maps the file of its name and waits.
MAPPER = r"""
static int call(int number, int a, int b, int c, int d, int e, int f)
{
	int result;

	asm volatile("push %%ebp\n\tmov %[f], %%ebp\n\tint $0x80\n\tpop %%ebp"
		: "=a" (result)
		: "a" (number), "b" (a), "c" (b), "d" (c), "S" (d), "D" (e), [f] "m" (f) : "memory");
	return result;
}
void begin(void)
{
	int file = call(5, (int) "FILE", 0, 0, 0, 0, 0);
	int at = call(192, 0, 1 << 20, 1, 2, file, 0); /* private, to be read */

	call(4, 1, (int) (file < 0 || (at & 4095) ? "failed\n" : "mapped\n"), 7, 0, 0, 0);
	for (;;)
		call(29, 0, 0, 0, 0, 0, 0); /* pause() */
}
asm(".globl _start\n_start: call begin");
"""


def test_a_program_of_32_bits_that_maps_the_file(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """The kernel decodes a place once, for the first that it is armed in: not for this one."""
    need(release, "CONFIG_IA32_EMULATION")
    program = compiled(tmp_path, CALLER, *OPTIONS, name="caller")
    words = ("-m32", "-Os", "-static", "-nostdlib", "-no-pie", "-ffreestanding")
    words += ("-fno-stack-protector", "-fomit-frame-pointer", "-fcf-protection=none")
    mapper = compiled(tmp_path, MAPPER.replace("FILE", str(program)), *words, name="mapper")
    script = f'global hits probe process("{program}").function("work") {{ hits++ }}'
    modules = make(release, tmp_path, work=script + ARMED + ' probe end { println("hits ", hits) }')
    text = f"""
    {mapper} >mapped & mapper=$!; wait_for 'grep -q mapped mapped' $mapper >&2
    $run $work >out & consumer=$!; wait_for 'grep -q armed out' $consumer >&2
    {program}; echo status $?
    kill -INT $consumer; wait $consumer; cat out; kill $mapper
    """
    lines, result = shell(guest, modules, text)
    assert lines == ["status 0", "armed", "hits 1"], (lines, result.stderr)


# Tells by its own text whether it is armed: before its first hit, and after it.
SELF = (
    WORK
    + r"""
int main(void)
{
	int before = *(volatile unsigned char *) work == 0xcc;
	int sum = work() + work();

	printf("%d %s %s\n", sum, before ? "armed" : "clean",
		*(volatile unsigned char *) work == 0xcc ? "armed" : "clean");
	return 0;
}
"""
)


def test_processes_of_others_are_not_armed(guest: Machine, release: str, tmp_path: Path) -> None:
    """An unprivileged session puts its breakpoints into its user's own processes only."""
    program = compiled(tmp_path, SELF, *OPTIONS, name="self")
    script = f'global hits probe process("{program}").function("work") {{ hits++ }}'
    script += f'probe process("{program}").function("work").return {{ hits++ }}'
    script += ARMED + ' probe end { println("hits ", hits) }'
    modules = make(release, tmp_path, own=("--privilege=stapusr", "-e", script))
    text = f"""
    cp {program} /run/self; mount --bind /run/self {program}; chmod 755 /run /run/self
    $run $own >out & consumer=$!; wait_for 'grep -q armed out' >&2
    /run/self; setpriv --reuid=65534 --clear-groups /run/self
    kill -INT $consumer; wait $consumer; cat out; umount {program}
    """
    lines, result = shell(guest, modules, text)
    expected = ["84 armed armed", "84 clean clean", "armed", "hits 4"]
    assert lines == expected, (lines, result.stderr)


def test_a_file_that_is_armed_is_not_written_to(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """Neither anew nor in part, by any of its names; but replaced; and all again afterwards.

    Nor is one armed that somebody has open for writing.
    """
    program = compiled(tmp_path, CALLER, *OPTIONS, name="caller")
    script = f'global hits probe process("{program}").function("work") {{ hits++ }}'
    modules = make(release, tmp_path, work=script + ARMED + ' probe end { println("hits ", hits) }')
    text = f"""
    cp {program} kept; mount -t tmpfs none {tmp_path}; cp kept {program}
    ln {program} {tmp_path}/second
    (exec 9>>{program}; timeout -s INT 30 $run $work 2>&1; echo status $?)
    $run $work >out & consumer=$!; wait_for 'grep -q armed out' >&2
    (cat kept >{program}) 2>&1 | sed 's/.*: //'
    (: >>{tmp_path}/second) 2>&1 | sed 's/.*: //'
    truncate -s 100 {program} 2>&1 | sed 's/.*: //'
    {program}; echo status $?
    cp kept {tmp_path}/new; mv {tmp_path}/new {program}; {program}; echo status $?
    kill -INT $consumer; wait $consumer; cat out
    cat kept >{tmp_path}/second && echo written; umount {tmp_path} && echo free
    """
    lines, result = shell(guest, modules, text)
    busy = "Text file busy"
    assert lines == [
        f"ERROR: Couldn't probe the program '{program}': somebody has it open for writing",
        "status 1", busy, busy, busy, "status 0", "status 0", "armed", "hits 1", "written", "free",
    ], (lines, result.stderr)  # fmt: skip


def test_a_file_of_an_overlay_is_guarded_below_it(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """Where it is written to through the overlay it is that file, or becomes another one."""
    (tmp_path / "top").mkdir()
    program = compiled(tmp_path / "top", CALLER, *OPTIONS, name="caller")
    script = f'global hits probe process("{program}").function("work") {{ hits++ }}'
    modules = make(release, tmp_path, work=script + ARMED + ' probe end { println("hits ", hits) }')
    text = f"""
    cp {program} kept; mount -t tmpfs none {tmp_path}
    (cd {tmp_path}; mkdir low up work top)
    cp kept {tmp_path}/low/caller; cd {tmp_path}
    mount -t overlay -o lowerdir=low,upperdir=up,workdir=work none top; cd - >&2
    session() {{
        $run $work >out & consumer=$!; wait_for 'grep -q armed out' >&2
        for file; do (: >>{tmp_path}/$file) 2>&1 | sed 's/.*: //'; done
        {program}; [ $1 = up/caller ] || {tmp_path}/low/caller
        kill -INT $consumer; wait $consumer; cat out; rm out
    }}
    session low/caller top/caller; session up/caller top/caller
    umount {program.parent} {tmp_path}; echo free
    """
    lines, result = shell(guest, modules, text)
    busy = "Text file busy"
    expected = [busy, "armed", "hits 1", busy, busy, "armed", "hits 1", "free"]
    assert [line for line in lines if "/" not in line] == expected, (lines, result.stderr)


CALLS = r"""
__attribute__((noipa)) void turn(int n) { asm volatile("" : : "r" (n)); }
__attribute__((noipa)) int work(int n, int inside) { turn(inside); return n; }
int main(void)
{
	static int before[] = { 1, 0, 1 }, inside[] = { 0, 1, 1 };

	for (int i = 0; i < 3; i++) {
		turn(before[i]);
		work(i + 1, inside[i]);
	}
	return 0;
}
"""


def test_values_of_the_entry_are_of_that_call(guest: Machine, release: str, tmp_path: Path) -> None:
    """A call that is met at its beginning only, then one that is at its end only, at one frame."""
    program = compiled(tmp_path, CALLS, *OPTIONS, name="calls")
    script = f"""
    global on
    probe process("{program}").function("turn") {{ on = int_arg(1) }}
    probe process("{program}").function("work").return if (on) {{
        printf("entered with %d, returned %d\\n", @entry(int_arg(1)), returnval())
    }}
    probe process("{program}").function("work").return {{ printf("returned %d\\n", returnval()) }}
    """
    modules = make(release, tmp_path, work=script)
    lines, result = shell(guest, modules, f"$run -c {program} $work; echo status $?")
    expected = ["returned 1", "returned 2", "entered with 3, returned 3", "returned 3", "status 0"]
    assert lines == expected, (lines, result.stderr)


# Forks children from when the module is there until there is a file "stop", or there are so many;
# then each calls work().
SERVER = (
    WORK
    + r"""
#include <stdlib.h>
#include <sys/wait.h>
int main(int count, char **words)
{
	int ends[2], n, most = atoi(words[1]);
	char byte;

	pipe(ends);
	while (count == 2 && access("/proc/stapy_work", F_OK))
		usleep(300);
	for (n = 0; n < most && access("stop", F_OK); n++) {
		if (fork()) {
			usleep(300);
			continue;
		}
		close(ends[1]);
		read(ends[0], &byte, 1);
		if (count == 2)
			work();
		return 0;
	}
	printf("forked %d\n", n), fflush(stdout);
	while (access("stop", F_OK))
		usleep(10000);
	close(ends[1]);
	while (wait(NULL) > 0)
		;
	return 0;
}
"""
)


def test_children_that_come_while_a_session_starts(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """All are of the program, also those of a process that is not looked at yet."""
    library = compiled(tmp_path, WORK, *OPTIONS[:1], "-shared", "-fPIC", name="libwork.so")
    program = compiled(
        tmp_path, SERVER.replace(WORK, "#include <stdio.h>\n#include <unistd.h>\nint work(void);"),
        *OPTIONS, str(library), f"-Wl,-rpath,{tmp_path}", name="server",
    )  # fmt: skip
    script = f"""
    global hits
    probe process("{program}").library("libwork.so").function("work") {{ hits++ }}
    """
    modules = make(release, tmp_path, work=script + ARMED + ' probe end { println("hits ", hits) }')
    text = f"""
    {program} 400 idle >idle & wait_for 'grep -q forked idle' >&2
    {program} 2000 >forked & server=$!
    $run $work >out & consumer=$!; wait_for 'grep -q armed out' >&2
    touch stop; wait $server
    kill -INT $consumer; wait $consumer; sed s/forked/hits/ forked; cat out
    """
    lines, result = shell(guest, modules, text, 120)
    assert lines[1] == "armed", (lines, result.stderr)
    assert lines[0] == lines[2], (lines, result.stderr)


MARKED = r"""
#define _SDT_HAS_SEMAPHORES
#include <sys/sdt.h>
#include <stdio.h>
volatile unsigned short ours_first_semaphore __attribute__((section(".probes")));
__attribute__((noipa)) void work(void) { STAP_PROBE(ours, first); }
int main(void)
{
	work();
	printf("heard %d\n", ours_first_semaphore);
	return 0;
}
"""


def test_a_function_that_begins_with_a_mark(guest: Machine, release: str, tmp_path: Path) -> None:
    """Both are one place, with the counter of the mark, in the order of the script."""
    include = f"-I{data_dir('include')}"
    program = compiled(tmp_path, MARKED, include, *OPTIONS, name="marked")
    modules = make(release, tmp_path, both=f"""
        probe process("{program}").mark("first") {{ println("mark") }}
        probe process("{program}").function("work") {{ println("function") }}
        probe process("{program}").mark("first") {{ println("mark again") }}
    """)  # fmt: skip
    lines, result = shell(guest, modules, f"$run -c {program} $both; echo status $?")
    expected = ["heard 1", "mark", "function", "mark again", "status 0"]
    assert sorted(lines) == sorted(expected), (lines, result.stderr)
    assert [line for line in lines if line in expected[1:4]] == expected[1:4]
