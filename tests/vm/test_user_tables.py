"""Which tables a session gets of programs and libraries, and what it may do to get them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import built, compiled, run
from tests.vm.safety.support import make, shell
from tests.vm.user_tables import kept_tables

pytestmark = [pytest.mark.build, pytest.mark.vm]


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
    command = f'sh -c "$(echo {path}); true"'  # by none of its words
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
