"""User stacks without frame pointers: against libgcc's backtrace(), and as they are printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from stapy.run import objects
from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import built, compiled, run
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]


def kept_tables(
    folder: Path, *programs: Path, names: bool = True, source_lines: bool = False
) -> str:
    """Make the tables of programs and their libraries here: in a guest that takes seconds for each.

    A variable for the consumer in the guest, before its command.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        tables = objects.Tables(
            {"names": names, "lines": source_lines}, lambda *_: None, lambda _: None
        )
        tables.first(list(map(str, programs)), "", 0)
    return f"env XDG_CACHE_HOME={folder}"


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


PRINTED = r"""
#include <stdlib.h>
__attribute__((noinline)) int leaf(int n) { volatile int m = n; return m + 1; }
__attribute__((noinline)) int middle(int n) { return leaf(n) * 2; }
static __attribute__((noinline)) int compare(const void *a, const void *b)
{
	return middle(*(int *)a) - middle(*(int *)b);
}
int main(void)
{
	int numbers[2] = { 2, 1 };

	qsort(numbers, 2, sizeof(int), compare);
	return numbers[0] != 1;
}
"""
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


def test_options(guest: Machine, release: str, tmp_path: Path) -> None:
    """-d FILE sends its table before it is met, --ldd those of its libraries."""
    work = "int work(int (*call)(void)) { return call() + 1; }"
    library = compiled(
        tmp_path, work, "-O2", "-fomit-frame-pointer", "-shared", "-fPIC", name="libwork.so"
    )
    source = """
    #include <unistd.h>
    int work(int (*call)(void));
    int main(void) { return work(getppid) == 0; }
    """
    path = compiled(tmp_path, source, "-O2", str(library), f"-Wl,-rpath,{tmp_path}", name="program")
    script = """
    global text
    probe syscall.getppid { if (execname() == "program") text = sprint_ubacktrace() }
    probe end { printf("%s", text) }
    """
    large = ["/usr/bin/python3", "/usr/bin/perl", "/lib/x86_64-linux-gnu/libcrypto.so.3"]
    modules = make(
        release, tmp_path, bare=("-e", script), named=("-d", str(path), "-e", script),
        both=("-d", str(path), "-d", str(library), "-e", script),
        ldd=("-d", str(path), "--ldd", "-e", script),
        small=(
            *("-DSTAPY_OBJECT_MEMORY=1", "-e", script),
            *(word for name in large for word in ("-d", name)),
        ),
    )  # fmt: skip
    known = kept_tables(tmp_path, path, library, *map(Path, large))
    command = f'sh -c "{path}; true"'
    text = "\n".join(f"{known} $run -c '{command}' ${name} 2>&1; echo ==" for name in modules)
    lines, _ = shell(guest, modules, text, 120)
    bare, named, both, ldd, small, _ = "\n".join(lines).split("==")
    for part in (bare, named):
        assert "work+" not in part and "_start+0x" not in part, lines
    for part in (both, ldd):
        assert re.search(r"work\+0x\S+ \[libwork.so\]\nmain\+0x(.*\n)+_start\+0x", part), lines
    assert "no room for the table of" in small, lines


def test_dlopen(guest: Machine, release: str, tmp_path: Path) -> None:
    """An object that nobody could know of is asked for when it is met, and then known."""
    work = "int work(int (*call)(int), int n) { return call(n) + 1; }"
    library = built(
        tmp_path / "late.so", "-O2", "-fomit-frame-pointer", "-shared", "-fPIC",
        *("-x", "c", str(_written(tmp_path / "late.c", work))),
    )  # fmt: skip
    source = f"""
    #include <dlfcn.h>
    #include <unistd.h>
    __attribute__((noinline)) int reached(int n) {{ return getppid() + n; }}
    int main(void)
    {{
        void *library = dlopen("{library}", RTLD_NOW);
        int (*work)(int (*)(int), int) = dlsym(library, "work");
        for (int i = 0; i < 100; i++, usleep(100000))
            work(reached, i);
        return 0;
    }}
    """
    path = compiled(tmp_path, source, "-O2", "-fomit-frame-pointer", name="program")
    script = f"""
    global hits, early
    probe process("{path}").function("reached") {{
        text = sprint_ubacktrace()
        if (text =~ "^reached.0x0 .program.\\nwork.*main.*_start.*") {{ println(text) exit() }}
        if (hits++ == 0) early = text
    }}
    probe end {{ println("early ", early) }}"""
    modules = make(release, tmp_path, work=script)
    lines, result = shell(
        guest, modules, f"{kept_tables(tmp_path, path)} $run -c {path} $work 2>&1"
    )
    assert "reached+0x0 [program]" in lines, (lines, result.stderr)
    assert any(line.startswith("work+0x") and line.endswith("[late.so]") for line in lines), lines


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_stacks_as_deep_as_asked_for(guest: Machine, release: str, tmp_path: Path) -> None:
    """Memory of each CPU itself ends at 32 KiB, and the kernel complains about more."""
    path = compiled(tmp_path, PRINTED, "-O2", "-fomit-frame-pointer", name="program")
    script = f'probe process("{path}").function("leaf") {{ print_ubacktrace_brief(); exit() }}'
    modules = make(release, tmp_path, work=("-DMAXBACKTRACE=9000", "-e", script))
    lines, result = shell(guest, modules, f"{kept_tables(tmp_path, path)} $run -c {path} $work")
    names = [line.partition("+")[0] for line in lines]
    assert names[:3] == ["leaf", "middle", "compare"] and "_start" in names, (lines, result.stderr)


DEVICE = r"""
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	static const char code[] = "\xb8\x6e\x00\x00\x00\x0f\x05\xc3";	/* getppid() */
	char *at = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE,
			open("/dev/zero", O_RDWR), 0);
	int i;

	if (at == MAP_FAILED)
		return 1;
	memcpy(at, code, sizeof(code));
	for (i = 0; i < 3; i++) {
		((int (*)(void))at)();
		sleep(1);
	}
	return 0;
}
"""


def test_no_device_is_opened_for_its_table(guest: Machine, release: str, tmp_path: Path) -> None:
    """What a process maps may be a device, and to open one can be an order."""
    path = compiled(tmp_path, DEVICE, "-O2", name="program")
    script = """
    global calls, opened
    probe kernel.function("chrdev_open") { if (pid() == stp_pid()) opened++ }
    probe syscall.getppid { if (pid() == target() && strlen(sprint_ubacktrace())) calls++ }
    probe end { printf("calls %d, opened %d\\n", calls, opened) }
    """
    modules = make(release, tmp_path, work=script)
    lines, result = shell(
        guest, modules, f"{kept_tables(tmp_path, path)} $run -c {path} $work; echo $?"
    )
    assert lines == ["calls 3, opened 0", "0"], (lines, result.stderr)


# Files of nothing but a system call, of a user's.
MANY = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static const char code[] = "\xb8\x6e\0\0\0\x0f\x05\xc3"; /* getppid(), and return */
int main(void)
{
	int (*calls[100])(void);
	char name[32];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "%d\302\23331m", i);
		int fd = open(name, O_RDWR | O_CREAT, 0700);
		if (write(fd, code, sizeof(code)) < 0 || fchown(fd, 1000, 1000))
			return 1;
		calls[i] = (void *)mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		close(fd);
	}
	for (int i = 0; i < 600; i++, usleep(20000))
		calls[i % 100]();
	return 0;
}
"""


def test_many_files_of_a_user(guest: Machine, release: str, tmp_path: Path) -> None:
    """Each takes a part of its owner's share, however little is known of it.

    And none has a control character for the terminal.
    """
    path = compiled(tmp_path, MANY, "-O2", name="program")
    script = "probe syscall.getppid { if (pid() == target()) print_ubacktrace() }"
    modules = make(release, tmp_path, work=("-DSTAPY_OBJECT_MEMORY=1", "-e", script))
    text = f"{kept_tables(tmp_path, path)} $run -c {path} $work 2>&1"
    lines, result = shell(guest, modules, text, 120)
    (note,) = [line for line in lines if "no room" in line]
    assert "beside those of its owner's other files" in note, (lines, result.stderr)
    names = [line for line in lines if re.search(r"31m\+0x", line)]
    assert len(names) == 600 and not re.search("[\x80-\x9f]", "".join(lines)), lines


SECRET = r"""
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noipa)) int leaf(char *at) { return at[0] + 1; }
int main(void)
{
	int fd = syscall(447, 0);	/* memfd_secret(), which 6.1 only knows when it is told to */
	char *at = "nothing";

	if (fd >= 0 && !ftruncate(fd, 4096)) {
		at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		at[0] = 1;
	}
	return leaf(at) == 0;
}
"""


def test_memory_that_is_secret_has_no_build_id(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """The kernel itself has no way to such pages, though they are those of a file."""
    path = compiled(tmp_path, SECRET, "-O2", "-Wl,--build-id", name="program")
    script = f"""
    probe process("{path}").function("leaf") {{
        try {{ println(umodbuildid(pointer_arg(1))) }} catch {{ println("none") }}
        println(umodbuildid(uaddr()))
    }}"""
    modules = make(release, tmp_path, work=script)
    lines, result = shell(guest, modules, f"{kept_tables(tmp_path, path)} $run -c {path} $work")
    ident = re.findall(r"Build ID: (\w+)", run("readelf", "-n", str(path)))[0]
    assert lines in (["none", ident], [ident, ident]), (lines, result.stderr)


def test_a_detached_session_keeps_no_file_system_busy(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """Nobody is there to fetch what is met, so nothing is held for that."""
    source = "#include <unistd.h>\nint main(void) { return getppid() < 0; }"
    path = compiled(tmp_path, source, "-O2", "-static", name="program")
    script = """
    probe syscall.getppid {
        if (execname() == "program" && strlen(sprint_ubacktrace())) printf("met\\n")
    }"""
    modules = make(release, tmp_path, work=script)
    text = f"""
    mkdir there; mount -t tmpfs none there; cp {path} there
    {kept_tables(tmp_path, path)} $run -L $work
    there/program
    for try in 1 2 3; do umount there && echo gone && break; sleep 0.3; done
    rmmod work
    """
    lines, result = shell(guest, modules, text)
    assert "gone" in lines, (lines, result.stderr)


LINES = """
probe process("{path}").function("leaf").call {{
    if (hits++) next
    printf("%s|%s|%s|%s\\n", usymfile(uaddr()), usymline(uaddr()), usymfileline(uaddr()),
           usymfileline(0x1234))
    print_ubacktrace_fileline()
    where[usymfileline(ustack(1) - 1)]++
}}
probe process("{path}").function("middle").return {{ if (hits == 1) print_ubacktrace_fileline() }}
probe end {{ foreach (line in where) printf("%s %d\\n", line, where[line]) }}
global hits, where
"""


@pytest.mark.parametrize("options", [["-g", "-pie", "-fPIE"], ["-g", "-no-pie"], []])
def test_source_lines(guest: Machine, release: str, tmp_path: Path, options: list[str]) -> None:
    """As the debug information has them, told at the hit; the address where there is none."""
    path = compiled(tmp_path, PRINTED, "-O2", "-fomit-frame-pointer", *options, name="program")
    modules = make(release, tmp_path, work=LINES.format(path=path))
    known = kept_tables(tmp_path, path, source_lines=True)
    lines, result = shell(guest, modules, f"{known} $run -c {path} $work 2>&1")
    text, source = "\n".join(lines), re.escape(f"{path}.c")
    hex_number = "0x[0-9a-f]+"

    def frame(name: str, line: str) -> str:
        at = rf" at {source}:{line}" if options else ""
        return (
            rf" {hex_number} : {name}\+{hex_number}/{hex_number}{at} \[{re.escape(str(path))}\]\n"
        )

    if options:
        first = rf"{source}\|3\|{source}:3\|0x1234\n"
    else:
        first = rf"({hex_number})\|\1\|\1\|0x1234\n"
    stack = frame("leaf", "3") + frame("middle", "4") + frame("compare", "7")
    assert re.search(first + stack, text), (lines, result.stderr)
    assert re.search("Returning from: " + frame("middle", "4"), text), lines
    assert re.search("Returning to  : " + frame("compare", "7"), text), lines
    assert re.search(frame("main", "13"), text), lines
    assert re.search((rf"^{source}:4" if options else rf"^{hex_number}") + " 1$", text, re.M), lines


BUILDS = """
global hits
probe process("{path}").function("leaf") {{
    if (hits++) next
    print("names\\n", sprint_ubacktrace(), "text\\n", sprint_ubacktrace_buildid(), "printed\\n")
    print_ubacktrace_buildid()
}}
probe syscall.exit_group {{
    if (pid() != target()) next
    println("kernel")
    print_ubacktrace_buildid()
}}
probe end {{ println("end") }}
"""


def located(line: str, file: Path) -> list[str]:
    """What a line of builds means in the file, by each of the function's names."""
    offset = int(line.rpartition("+")[2], 16)
    parts = re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", run("readelf", "-lW", str(file)))
    address = next(
        offset - int(start, 16) + int(linked, 16)
        for start, linked, size in parts
        if 0 <= offset - int(start, 16) < int(size, 16)
    )
    rows = [row.split() for row in run("nm", "-n", str(file)).splitlines()]
    before = [(int(row[0], 16), row[2]) for row in rows if row[1] in "tTwWiI" and row[2:]]
    start = max(at for at, _ in before if at <= address)
    return [f"{name}+{address - start:#x}" for at, name in before if at == start]


@pytest.mark.parametrize("how", ["-pie", "-no-pie", "-static", "-Wl,--build-id=none"])
def test_builds(guest: Machine, release: str, tmp_path: Path, how: str) -> None:
    """Names that are looked up elsewhere are those that are known here."""
    options = ["-O2", "-fPIE", "-fomit-frame-pointer", "-Wl,--build-id", how]
    path = compiled(tmp_path, PRINTED, *options, name="program")
    modules = make(release, tmp_path, work=BUILDS.format(path=path))
    lines, result = shell(guest, modules, f"{kept_tables(tmp_path, path)} $run -c {path} $work")
    text = "\n".join(lines)
    parts = re.search(r"names\n(.*)\ntext\n(.*)\nprinted\n(.*)\nkernel\n(.*)\nend", text, re.S)
    assert parts, (lines, result.stderr)
    names, short, printed, kernel = (part.split("\n") for part in parts.groups())
    assert short == printed and len(printed) == len(names)
    libc = Path("/lib/x86_64-linux-gnu/libc.so.6").resolve()
    idents = {
        ident: file
        for file in (path, libc)
        for ident in re.findall(r"Build ID: (\w+)", run("readelf", "-n", str(file)))
    }
    assert all(line.partition("+")[0] in idents for line in kernel if "+" in line), kernel
    if how.endswith("none"):
        assert [line for line in printed if "+" in line] == printed[3:5] + printed[6:8]
        return
    assert len(printed) > 6 and all("+" in line for line in printed + kernel), (printed, kernel)
    own = [line for line in printed if idents[line.partition("+")[0]] == path]
    told = [line.split()[0] for line in names if f"[{path.name}]" in line]
    assert len(own) == len(told) > 3
    for line, name in zip(own, told, strict=True):
        assert name in located(line, path), (line, name)
