"""Programs as a whole: variables outside of functions, memory that is watched, counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.paths import data_dir
from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled, run
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

PROGRAM = r"""
#include <stdio.h>
#include <unistd.h>
#include <sys/sdt.h>
struct node { int value; struct node *next; };
struct only { int first, second; } box = { 3, 4 };
int counter = 5;
static int hidden = 7;
__thread int own = 11;
__attribute__((noipa)) int walk(struct node *n, int depth)
{
	counter++;
	STAP_PROBE1(ours, hit, n);
	hidden += depth;
	puts("program");
	return depth;
}
int main(void)
{
	struct node a = { 30, 0 };
	walk(&a, 2);
	own++;
	getppid();
	return hidden + counter + own + box.first == 0;
}
"""
SCRIPT = """
probe process("{path}").mark("hit") {{
	printf("mark %d %d %d\\n", @var("counter"), @cast($arg1, "node")->value, @var("hidden"))
}}
probe process("{path}").plt("puts") {{
	printf("%s %d %d\\n", $$name, @var("hidden"), @cast(&@var("box"), "struct only")->second)
}}
probe process("{path}").begin {{
	printf("begin %d %d\\n", @var("counter"), @cast(&@var("box"), "only")->second)
}}
probe process("{path}").syscall {{
	if ($syscall == 110) printf("getppid %d %d %d\\n", @var("counter"), @var("own"),
		@var("hidden@program.c"))
}}
probe process("{path}").end {{ println("gone") }}
"""


@pytest.mark.parametrize("options", [["-pie", "-fPIE"], ["-no-pie"]], ids=lambda o: o[0])
def test_variables_of_the_program(
    guest: Machine, release: str, tmp_path: Path, options: list[str]
) -> None:
    """Of the probed program without its path, wherever the process is: marks, stubs, events."""
    words = ("-g", "-O1", "-fno-builtin", f"-I{data_dir('include')}", *options)
    path = compiled(tmp_path, PROGRAM, *words)
    modules = make(release, tmp_path, variables=SCRIPT.format(path=path))
    lines, result = shell(guest, modules, f"$run -c {path} $variables; echo status $?")
    told = [line for line in lines if line != "program"]
    expected = ["begin 5 4", "mark 6 30 7", "puts 9 4", "getppid 6 12 9", "gone", "status 0"]
    assert told == expected, result.stderr.decode()


def test_processes_of_a_script(guest: Machine, release: str, tmp_path: Path) -> None:
    """A script is run by the program that its first line names: those processes are meant."""
    script = tmp_path / "tool"
    script.write_text("#!/bin/sh\nexec /bin/true\n")
    script.chmod(0o755)
    point = f'process("{script}")'
    text = f"probe {point}.begin, {point}.syscall {{ println(pp()) exit() }}"
    modules = make(release, tmp_path, script=text)
    lines, result = shell(guest, modules, f"$run -c {script} $script; echo status $?")
    assert lines[0].startswith('process("/'), result.stderr.decode()
    assert lines[0].endswith('sh").begin')


WATCHED = r"""
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
volatile int number;
volatile long many[4];
char text[8];
static void *work(void *unused) { number = 20; return (void *)(long)number; }
int main(int argc, char **argv)
{
	pthread_t thread;
	if (argc > 1 && !strcmp(argv[1], "again")) { number = 50; return 0; }
	number = 10;
	pthread_create(&thread, 0, work, 0);
	pthread_join(thread, 0);
	if (!fork()) { number = 30; _exit(0); }
	wait(0);
	many[1] = 3;
	if (many[1] != 3) return 1;
	if (!fork()) { execl(argv[0], argv[0], "again", (char *)0); _exit(1); }
	wait(0);
	if (!fork()) { execl("/bin/true", "true", (char *)0); _exit(1); }
	wait(0);
	number = 40;
	return 0;
}
"""
WATCHES = """
probe process("{path}").data("number").write {{ printf("write %d\\n", @var("number")) }}
probe process("{path}").data("many").length(8).rw {{ println("first") }}
probe process("{path}").data(0x{second:x}).length(8).rw {{ printf("rw %d\\n", @var("many")[1]) }}
"""


def address_of(path: Path, name: str) -> int:
    """Where a program was linked with a variable, as nm prints it."""
    lines = [line.split() for line in run("nm", str(path)).splitlines()]
    return int(next(words[0] for words in lines if words[-1] == name), 16)


@pytest.mark.parametrize("option", ["-pie", "-no-pie"])
def test_watched_memory(guest: Machine, release: str, tmp_path: Path, option: str) -> None:
    """Of the process, of threads and children that it makes, and again after an exec."""
    path = compiled(tmp_path, WATCHED, "-g", "-O1", "-fPIE", option, "-pthread")
    second = address_of(path, "many") + 8
    modules = make(release, tmp_path, watches=WATCHES.format(path=path, second=second))
    lines, result = shell(guest, modules, f"$run -c {path} $watches; echo status $?")
    expected = ["write 10", "write 20", "write 30", "rw 3", "rw 3", "write 50", "write 40"]
    assert lines == [*expected, "status 0"], result.stderr.decode()


READING = """
global reads
probe process("{path}").data("many").length(8).rw {{ println("first") }}
probe process("{path}").data("number").rw {{ hits++ }} global hits
probe process("{path}").syscall {{ reads += !@var("many")[0]; n = @var("number") m = n }}
probe timer.profile {{ try {{ n = @var("number", "{path}") m = n }} catch {{ }} }}
probe end {{ println(reads > 3, " ", hits > 3) }}
"""


def test_own_reads_are_no_hits(guest: Machine, release: str, tmp_path: Path) -> None:
    """What handlers of the same script read of watched memory, in a process and an interrupt."""
    path = compiled(tmp_path, WATCHED, "-g", "-O1", "-pthread")
    modules = make(release, tmp_path, reading=READING.format(path=path))
    lines, result = shell(guest, modules, f"$run -c {path} $reading; echo status $?")
    assert lines == ["1 1", "status 0"], result.stderr.decode()
    assert "skipped" not in result.stderr.decode()


SPINNING = r"""
#include <unistd.h>
volatile int number;
int main(void) { for (;;) { number++; usleep(1000); } }
"""


def test_watched_memory_of_a_process_that_is_there(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """It is watched from the start, and left alone when the session ends or is killed."""
    path = compiled(tmp_path, SPINNING, "-O1")
    script = f"""
    global n
    probe process("{path}").data("number").write {{ if (++n == 20) {{ println("twenty") exit() }} }}
    """
    forever = f'probe process("{path}").data("number").write {{ n++ }} global n'
    modules = make(release, tmp_path, twenty=script, forever=("-e", forever))
    text = f"{path} & spinning=$!; $run $twenty; $run $forever & sleep 3; kill -9 $!; sleep 1; "
    text += "$run $twenty; kill -0 $spinning && echo alive; kill -9 $spinning"
    lines, result = shell(guest, modules, text)
    assert lines == ["twenty", "twenty", "alive"], result.stderr.decode()


FAULTING = r"""
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) void touch(int pages)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	volatile char *at = mmap(0, pages * 4096L, PROT_READ | PROT_WRITE, flags, -1, 0);
	madvise((void *)at, pages * 4096L, MADV_NOHUGEPAGE);
	for (int i = 0; i < pages; i++)
		at[i * 4096L] = 1;
}
__attribute__((noipa)) void done(int what) { }
int main(void)
{
	done(0);
	touch(300);
	done(300);
	if (!fork()) { done(1); touch(200); done(200); _exit(0); }
	wait(0);
	return 0;
}
"""
FAULTS, SOFTWARE = 2, 1  # PERF_COUNT_SW_PAGE_FAULTS, PERF_TYPE_SOFTWARE
COUNTS = """
global before, pages
probe perf.type({type}).config({config}).process("{path}").counter("faults") {{}}
probe perf.type({type}).config({config}).counter("all") {{}}
probe process("{path}").function("done") {{
	what = int_arg(1)
	if (what < 2) {{ before = @perf("faults"); pages = @perf("all"); next }}
	own = @perf("faults") - before
	printf("%d %d %d\\n", what, own >= what && own < what + 50, @perf("all") - pages >= what)
}}
"""


def test_counters_of_processes(guest: Machine, release: str, tmp_path: Path) -> None:
    """Faults of pages of a thread and of the processor, by name; children count for themselves."""
    path = compiled(tmp_path, FAULTING, "-O1", name="faulting")
    words = {"type": SOFTWARE, "config": FAULTS, "path": path}
    modules = make(release, tmp_path, counts=COUNTS.format(**words))
    lines, result = shell(guest, modules, f"$run -c {path} $counts; echo status $?")
    assert lines == ["300 1 1", "200 1 1", "status 0"], result.stderr.decode()


BUSY = r"""
#include <time.h>
int main(void) { clock_t end = clock() + CLOCKS_PER_SEC / 5; while (clock() < end); return 0; }
"""


def test_samples_of_processes(guest: Machine, release: str, tmp_path: Path) -> None:
    """Hits of a program and its children only, while others run."""
    path = compiled(tmp_path, BUSY, "-O1", name="busy")
    script = f"""
    global own, others
    probe perf.type(1).config(0).process("{path}") {{
        if (execname() == "busy") own++
        else others++
    }}
    probe end {{ println(own > 20, " ", others) }}
    """
    modules = make(release, tmp_path, samples=script)
    text = f"while :; do :; done & other=$!; $run -c {path} $samples; kill $other; echo done"
    lines, result = shell(guest, modules, text)
    assert lines == ["1 0", "done"], result.stderr.decode()


SMALL = r"""
static int call(int number, int a, const void *b, int c)
{
	int result;

	asm volatile("int $0x80" : "=a" (result) : "a" (number), "b" (a), "c" (b), "d" (c) : "memory");
	return result;
}
static volatile char text[] = "Small\n";
void _start(void)
{
	text[0] = 's'; /* now it is in memory: probes of the kernel do not bring it in */
	call(4, 1, (void *)text, 6); /* write() */
	call(1, 3, 0, 0); /* exit() */
}
"""


def test_a_program_of_32_bits(guest: Machine, release: str, tmp_path: Path) -> None:
    """Its life and its calls, by the numbers that such programs have for them."""
    words = ("-m32", "-Os", "-static", "-nostdlib", "-no-pie", "-fno-stack-protector")
    path = compiled(tmp_path, SMALL, *words, "-fcf-protection=none", name="small")
    script = f"""
    probe process("{path}").begin {{ printf("begin %s\\n", execname()) }}
    probe process("{path}").syscall {{ printf("call %d %d %d\\n", $syscall, $arg1, $arg3) }}
    probe process("{path}").syscall.return {{ printf("gives %d\\n", $return) }}
    probe process("{path}").end {{ println("end") }}
    probe syscall.write {{ if (pid() == target()) println(argstr) }}
    """
    modules = make(release, tmp_path, lives=script)
    lines, result = shell(guest, modules, f"$run -c {path} $lives 2>err; echo status $?; cat err")
    told = ["call 4 1 6", '1, "small\\n", 6', "gives 6", "call 1 3 0", "end"]
    assert [line for line in lines if line in told] == told, (lines, result.stderr)
    assert {"small", "begin small"} <= set(lines), (lines, result.stderr)
    assert any("exited with" in line and "3" in line for line in lines), lines
