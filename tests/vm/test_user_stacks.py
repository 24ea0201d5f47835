"""User stacks without frame pointers: against libgcc's backtrace(), and as they are printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled, run
from tests.vm.safety.support import make, shell
from tests.vm.user_tables import PRINTED, kept_tables

pytestmark = [pytest.mark.build, pytest.mark.vm]


# Of each 40th call the stack as libgcc's unwinder sees it, handed to a function that is probed.
TRUTH = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdlib.h>
#include <unistd.h>
static __thread int inside;
static __thread unsigned count;
static int every, second;
__attribute__((noipa)) void stapy_truth(void **frames, int n, int second)
{
	asm volatile("" : : "r" (frames), "r" (n), "r" (second) : "memory");
}
__attribute__((constructor)) static void prepare(void)
{
	void *frame[2];

	backtrace(frame, 2);
	second = getenv("SECOND") != NULL;
	every = 40;
}
#define CHECK() do {						\
	if (every && !inside && count++ % every == 0) {		\
		void *frames[64];				\
								\
		inside = 1;					\
		stapy_truth(frames, backtrace(frames, 64), second);	\
		asm volatile("" : : "r" (frames) : "memory");	\
		inside = 0;					\
	}							\
} while (0)
extern void *__libc_malloc(size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
void *malloc(size_t n) { CHECK(); return __libc_malloc(n); }
void *realloc(void *p, size_t n) { CHECK(); return __libc_realloc(p, n); }
void free(void *p) { CHECK(); __libc_free(p); }
"""


SIGNALS = r"""
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <alloca.h>
static void handle(int number) { free(malloc(10)); }
__attribute__((noinline)) int deep(int k)
{
	char *p = alloca(k * 16 + 16);

	memset(p, k, k * 16);
	raise(SIGUSR1);
	return p[k] + (k ? deep(k - 1) : 0);
}
static int compare(const void *a, const void *b)
{
	static int turn;

	if (!(turn++ % 7))
		raise(SIGUSR2);
	free(malloc(3));
	return *(int *)a - *(int *)b;
}
int main(void)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	int numbers[80], i;

	signal(SIGUSR1, handle);
	sigaltstack(&stack, 0);
	sigaction(SIGUSR2, &action, 0);
	for (i = 0; i < 80; i++)
		numbers[i] = i * 7919 % 401;
	qsort(numbers, 80, 4, compare);
	return deep(12) < 0;
}
"""


THROWS = r"""
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
#include <algorithm>
struct base { virtual std::string text(int n) = 0; virtual ~base() {} };
struct derived : base {
	std::string text(int n) override {
		if (n == 0)
			throw std::runtime_error("thrown " + std::to_string(n));
		return text(n - 1) + "abcdefghijklmnopqrstuvwxyz";
	}
};
int main()
{
	std::map<std::string, std::vector<int>> all;
	std::vector<std::string> names;
	derived one;
	int caught = 0;

	for (int i = 0; i < 60; i++)
		all[std::to_string(i) + " a key that must be allocated"].push_back(i);
	for (int i = 0; i < 12; i++)
		try { one.text(i); } catch (std::exception &e) { caught++; }
	for (auto &each : all)
		names.push_back(each.first);
	std::sort(names.begin(), names.end(), [](const std::string &a, const std::string &b) {
		std::string c = a + b;
		return c < b + a;
	});
	return caught != 12 || names.size() != 60;
}
"""


# The probed function is called by where backtrace() was called, whose frame is the first of both.
COMPARE = """
global hits, equal, shown
probe process("{library}").function("stapy_truth") {{
	found = ubacktrace()
	if (!int_arg(3)) next
	hits[execname()]++
	at = pointer_arg(1)
	truth = ""
	for (i = 1; i < int_arg(2); i++)
		truth .= sprintf("0x%x ", user_long(at + 8 * i))
	rest = substr(found, strpos(found, " ") + 1, strlen(found))
	rest = substr(rest, strpos(rest, " ") + 1, strlen(rest))
	if (rest == truth || (int_arg(2) == 64 && substr(rest, 0, strlen(truth)) == truth))
		equal[execname()]++
	else if (shown[execname()]++ < 2)
		printf("WRONG %s\\n %s\\n %s\\n", execname(), found, truth)
}}
probe end {{
	foreach (name in hits)
		printf("%s %d of %d\\n", name, equal[name], hits[name])
}}
"""


PROGRAMS = {
    "bash": "-c 'f() { local x=$1; [ $x -gt 0 ] && f $((x - 1)); echo a $x | cat >/dev/null; }; "
    "f 12; for i in $(seq 60); do x=$x$i; a[$i]=$x; done'",
    "perl": '-e \'@a = map { {n => $_, t => "x" x $_} } 1 .. 300; '
    '$s = join ",", sort { $a cmp $b } map { $_->{t} } @a; eval $_ for 1 .. 50\'',
    "/usr/bin/python3": "-c 'import json; "
    "[json.loads(json.dumps({str(i): [i] * i for i in range(n)})) for n in range(30)]'",
    "sort": "/etc/services",
}


def test_against_libgcc(guest: Machine, release: str, tmp_path: Path) -> None:
    """All frames of all stacks are those that the program's own unwinder finds."""
    library = compiled(tmp_path, TRUTH, "-O2", "-fPIC", "-shared", name="truth.so")
    # A function of which only the registers know where its frame ends is not found by any table.
    signals = compiled(
        tmp_path, SIGNALS, "-O2", "-fno-builtin", "-fomit-frame-pointer", name="signals"
    )
    (tmp_path / "throws.cc").write_text(THROWS)
    throws = tmp_path / "throws"
    run("g++", "-O2", "-fomit-frame-pointer", str(tmp_path / "throws.cc"), "-o", str(throws))
    commands = [f"{signals}", f"{throws}"]
    commands += [f"{name} {words}" for name, words in PROGRAMS.items() if shutil.which(name)]
    text = "\n".join(
        f"LD_PRELOAD={library} {before} {command} >/dev/null || echo failed: {command}"
        for before in ("", "SECOND=1")  # what is loaded late is known when it is met again
        for command in commands
    )
    (tmp_path / "programs.sh").write_text(text + "\n")
    words = ("-DMAXBACKTRACE=70", "-DMAXSTRINGLEN=4096", "-DMAXACTION=100000", "-DSTP_NO_OVERLOAD")
    paths = [signals, throws, *(Path(found) for found in map(shutil.which, PROGRAMS) if found)]
    words += ("--ldd", *(word for path in paths for word in ("-d", str(path))))
    modules = make(release, tmp_path, work=(*words, "-e", COMPARE.format(library=library)))
    known = kept_tables(tmp_path, *paths, names=False)
    lines, result = shell(guest, modules, f"{known} $run -c 'sh {tmp_path}/programs.sh' $work", 400)
    seen = {}
    for line in lines:
        found = re.fullmatch(r"(\S+) (\d+) of (\d+)", line)
        if found:
            seen[found[1]] = (int(found[2]), int(found[3]))
    print(seen, result.stderr.decode())
    assert len(seen) >= len(commands), (seen, result.stderr)
    assert all(equal == hits and hits > 3 for equal, hits in seen.values()), (lines, result.stderr)


SHOW = """
global hits, stacks, names
probe process("{path}").function("leaf") {{
	stacks[ubacktrace()]++
	names[usymname(ustack(1)), ucaller()]++
	if (hits++) next
	print_ubacktrace()
	print_ubacktrace_brief()
	printf("%s", sprint_ubacktrace())
	printf("%s %s %s %d\\n", usymname(uaddr()), usymdata(uaddr()), umodname(uaddr()),
		uaddr() == ustack(0))
	print_usyms(ucallers(1))
	print_ustack(ucallers(0))
	printf("%d\\n", sprint_usyms(ucallers(1)) == sprint_ustack(ucallers(1)))
	printf("%d %d\\n", ubacktrace() == ucallers(-1) . " ", tokenize(ucallers(2), " ") != "")
	printf("%s %s %x\\n", usymname(0x1234), usymdata(0x1234), umodaddr(uaddr()))
	try {{ println(ustack(50)) }} catch (m) {{ println(m) }}
	try {{ println(ucallers(50)) }} catch (m) {{ println(m) }}
	try {{ println(umodname(0x1234)) }} catch (m) {{ println(m) }}
}}
probe process("{path}").function("middle").return {{ if (hits == 1) print_ubacktrace() }}
probe process("{path}").function("middle") {{ if (hits == 1) print_ubacktrace() }}
probe end {{
	foreach (s in stacks) n++
	printf("stacks %d, names", n)
	foreach ([a, b] in names) printf(" %s %s %d", a, b, names[a, b])
	println("")
}}
"""


FRAMES = (
    ("leaf", "0x0"), ("middle", "0x[0-9a-f]+"), ("compare", "0x[0-9a-f]+"),
    (r"\S+", "0x[0-9a-f]+"), (r"\S+", "0x[0-9a-f]+"), ("main", "0x[0-9a-f]+"),
    (r"\S+", "0x[0-9a-f]+"), (r"\S*libc_start_main\S*", "0x[0-9a-f]+"), ("_start", "0x[0-9a-f]+"),
)  # fmt: skip


@pytest.mark.parametrize("how", ["pie", "fixed", "static"])
def test_as_printed(guest: Machine, release: str, tmp_path: Path, how: str) -> None:
    """The formats are SystemTap's; a pending return probe does not hide the caller."""
    options = {"pie": ("-pie", "-fPIE"), "fixed": ("-no-pie",), "static": ("-static",)}[how]
    path = compiled(tmp_path, PRINTED, "-O2", "-fomit-frame-pointer", *options, name="program")
    modules = make(release, tmp_path, work=SHOW.format(path=path))
    lines, result = shell(guest, modules, f"{kept_tables(tmp_path, path)} $run -c {path} $work")
    text = "\n".join(lines) + "\n"
    full = "".join(
        rf" 0x[0-9a-f]+ : {name}\+{offset}/0x[0-9a-f]+ \[(?P<file{n}>/\S+)\]\n"
        for n, (name, offset) in enumerate(FRAMES)
    )
    brief = "".join(rf"{name}\+{offset}\n" for name, offset in FRAMES)
    simple = "".join(rf"{name}\+{offset} \[[^/ ]+\]\n" for name, offset in FRAMES)
    place = re.escape(str(path))
    hex_number = "0x[0-9a-f]+"
    linked = run("nm", str(path))
    (address,) = re.findall(r"^0*([0-9a-f]+) T leaf$", linked, re.M)
    middle = rf"middle\+{hex_number}/{hex_number} \[{place}\]"
    tail = (
        rf" {hex_number} : compare\+{hex_number}/{hex_number} \[{place}\]\n"
        rf"( {hex_number} : \S+\+{hex_number}/{hex_number} \[/\S+\]\n)+"
        rf" {hex_number} : _start\+{hex_number}/{hex_number} \[{place}\]\n"
    )
    entry = rf" {hex_number} : middle\+0x0/{hex_number} \[{place}\]\n{tail}"
    pattern = (
        # The first hit of middle comes before that of leaf.
        rf"{full}{brief}{simple}"
        rf"leaf leaf\+0x0/{hex_number} \[{place}\] {place} 1\n"
        rf" {hex_number} : leaf\+0x0/{hex_number} \[{place}\]\n {hex_number} : {middle}\n"
        rf" {hex_number} : leaf\+0x0/{hex_number} \[{place}\]\n"
        rf"1\n1 1\n0x1234 0x1234 {address}\n"
        "reached end of stack before unwinding to level 50\n"
        "reached end of stack before unwinding to level 50\n"
        "module cannot be found\n"
        rf"Returning from: {entry.replace(tail, '')}Returning to  : {tail}"
        rf"{entry}"
    )
    found = re.search(pattern, text)
    assert found, (text, result.stderr)
    assert found["file0"] == str(path)
    assert lines[-1] == "stacks 2, names middle middle 2", text


STRIPPED = r"""
#include <unistd.h>
static __attribute__((noinline)) int hidden(int n) { return getppid() + n; }
__attribute__((noinline)) int shown(int n) { return hidden(n) + 1; }
int main(void) { return shown(1) < 0; }
"""


def test_stripped(guest: Machine, release: str, tmp_path: Path) -> None:
    """What was stripped has no name: not that of the exported function before it."""
    path = compiled(
        tmp_path, STRIPPED, "-O2", "-fomit-frame-pointer", "-s", "-rdynamic", name="program"
    )
    script = f"""
    probe process("{path}").library("libc.so.6").function("getppid") {{
        print_ubacktrace()
        printf("%s|%s|%s\\n", usymname(ustack(1)), usymdata(ustack(1)), sprint_ubacktrace())
    }}"""
    modules = make(release, tmp_path, work=script)
    lines, result = shell(guest, modules, f"{kept_tables(tmp_path, path)} $run -c {path} $work")
    assert re.fullmatch(rf" 0x[0-9a-f]+ \[{path}\+0x1[0-9a-f]+/0x[0-9a-f]+\]", lines[1]), (
        lines,
        result.stderr,
    )
    assert re.fullmatch(rf" 0x[0-9a-f]+ : shown\+0x[0-9a-f]+/0x[0-9a-f]+ \[{path}\]", lines[2])
    assert any(
        re.match(rf"(0x[0-9a-f]+)\|\1 \[{path}\+0x1[0-9a-f]+/0x[0-9a-f]+\]\|getppid\+0x0 ", line)
        for line in lines
    ), lines


def test_from_the_kernel(guest: Machine, release: str, tmp_path: Path) -> None:
    """A system call, a kernel function and a timer see the process that they come from."""
    source = r"""
    #include <unistd.h>
    volatile int counted;
    __attribute__((noinline)) int inner(void) { return getppid() + 1; }
    __attribute__((noinline)) int outer(void) { return inner() + 1; }
    __attribute__((noinline)) int spin(void)
    {
        for (int i = 0; i < 30000000; i++)
            counted++;
        return counted;
    }
    int main(void) { return outer() + spin() == 0; }
    """
    path = compiled(tmp_path, source, "-O2", "-fomit-frame-pointer", name="program")
    script = """
    global seen, profiled
    probe syscall.getppid { if (pid() == target() && !seen["call"]++) print_ubacktrace_brief() }
    probe kernel.function("__x64_sys_getppid") {
        if (pid() == target() && !seen["function"]++) print_ubacktrace_brief()
    }
    probe syscall.getppid.return {
        if (pid() == target() && !seen["return"]++) print_ubacktrace_brief()
    }
    probe timer.profile {
        if (pid() == target() && user_mode() && usymname(uaddr()) == "spin" && !profiled++)
            print_ubacktrace_brief()
    }
    """
    modules = make(release, tmp_path, work=("-DSTP_NO_OVERLOAD", "-e", script))
    lines, result = shell(guest, modules, f"{kept_tables(tmp_path, path)} $run -c {path} $work")
    names = [re.sub(r"\+0x.*", "", line) for line in lines]
    start = ["main", "__libc_start_call_main", "__libc_start_main", "_start"]
    one = ["inner", "outer", *start]
    starts = [at for at, name in enumerate(names) if name == "_start"]
    assert len(starts) == 4, (lines, result.stderr)
    stacks = [names[a + 1 : b + 1] for a, b in zip([-1, *starts], starts, strict=False)]
    for stack in stacks[:3]:
        assert [name for name in stack if name in one] in (
            one, ["inner", "outer", "main", "__libc_start_main", "_start"],
        ), lines  # fmt: skip
    assert stacks[3][:2] == ["spin", "main"], lines


def test_stacks_as_deep_as_asked_for(guest: Machine, release: str, tmp_path: Path) -> None:
    """Memory of each CPU itself ends at 32 KiB, and the kernel complains about more."""
    path = compiled(tmp_path, PRINTED, "-O2", "-fomit-frame-pointer", name="program")
    script = f'probe process("{path}").function("leaf") {{ print_ubacktrace_brief(); exit() }}'
    modules = make(release, tmp_path, work=("-DMAXBACKTRACE=9000", "-e", script))
    lines, result = shell(guest, modules, f"{kept_tables(tmp_path, path)} $run -c {path} $work")
    names = [line.partition("+")[0] for line in lines]
    assert names[:3] == ["leaf", "middle", "compare"] and "_start" in names, (lines, result.stderr)


JUMPS = r"""
#include <setjmp.h>
#define APART __attribute__((noipa))
static volatile int sum;
static jmp_buf place;
APART int innocent(int n) { sum += n; return sum; }
APART int thrower(int n) { sum += n; if (n) longjmp(place, 1); return innocent(n) + 1; }
APART int hooked_caller(int n) { sum++; return thrower(n) + 1; }
APART int true_caller(int n) { sum++; return innocent(n) + 1; }
APART int jumps(int n)
{
	if (!setjmp(place))
		return hooked_caller(n);
	return true_caller(n) + hooked_caller(0);
}
int main(void) { return jumps(2) < 0; }
"""
AFTER_JUMPS = """
probe process("{path}").function("innocent") {{ print_ubacktrace_brief() }}
probe process("{path}").function("thrower").return {{ println("back") }}
"""


# Two callers of one function, of whom longjmp() leaves the first.
LEFT = r"""
#include <setjmp.h>
#define APART __attribute__((noipa))
static volatile int sum;
static jmp_buf place;
APART int called(int n) { sum += n; if (n == 2) longjmp(place, 1); return sum; }
APART int first(int n) { sum++; return called(n) + 1; }
APART int second(int n) { sum++; return called(n + 1) + 1; }
APART int jumps(int n) { return setjmp(place) ? second(n) : first(n); }
int main(void) { return jumps(2) < 0; }
"""
CALLERS = """
probe process("{path}").function("first").callee("called") {{ printf("first %d\\n", $n) }}
probe process("{path}").function("second").callee("called") {{ printf("second %d\\n", $n) }}
probe process("{path}").function("called").return {{ println("returned") }}
"""


def test_callers_that_were_jumped_over(guest: Machine, release: str, tmp_path: Path) -> None:
    """What the kernel has kept of them is no caller of what is called later."""
    path = compiled(tmp_path, LEFT, "-O2", "-g", "-fomit-frame-pointer", name="program")
    modules = make(release, tmp_path, work=CALLERS.format(path=path))
    lines, result = shell(guest, modules, f"$run -c {path} $work")
    assert lines == ["first 2", "second 3", "returned"], (lines, result.stderr)


def test_returns_that_were_jumped_over(guest: Machine, release: str, tmp_path: Path) -> None:
    """The kernel keeps what longjmp() left; a frame that ends where that did has its own caller."""
    path = compiled(tmp_path, JUMPS, "-O2", "-fomit-frame-pointer", name="program")
    modules = make(release, tmp_path, work=AFTER_JUMPS.format(path=path))
    lines, result = shell(guest, modules, f"{kept_tables(tmp_path, path)} $run -c {path} $work")
    names = [line.partition("+")[0] for line in lines]
    jumped = names.index("true_caller")
    assert names[jumped - 1 : jumped + 3] == ["innocent", "true_caller", "jumps", "main"], lines
    hooked = names.index("thrower")
    found = names[hooked - 1 : hooked + 4]
    assert found == ["innocent", "thrower", "hooked_caller", "jumps", "main"], lines
    assert names[-1] == "back", (lines, result.stderr)
