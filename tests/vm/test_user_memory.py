"""Memory of programs that is not there when a handler reads it: brought in, and read once more."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled
from tests.vm.needs import need
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# The kernel maps what lies around a page as well, so they are far from each other.
FAR = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>
#include "sys/sdt.h"
#define TEXT(n) { { 'x' }, "text " #n, { n }, { 'x' } }
static const struct row {
	char before[1 << 18], text[56];
	long number[1];
	char after[1 << 18];
} rows[] = {
	TEXT(0), TEXT(1), TEXT(2), TEXT(3), TEXT(4), TEXT(5), TEXT(6), TEXT(7), TEXT(8), TEXT(9),
	TEXT(10),
	{ .text = "w\0\0\0i\0\0\0d\0\0\0e\0\0" },
};
__attribute__((noipa)) int string(const char *text) { return text != 0; }
__attribute__((noipa)) int second(const char *text) { return text != 0; }
__attribute__((noipa)) int number(const long *at) { return at != 0; }
__attribute__((noipa)) int quoted(const char *text) { return text != 0; }
__attribute__((noipa)) int caught(const char *text) { return text != 0; }
__attribute__((noipa)) int member(const struct row *row) { return row != 0; }
__attribute__((noipa)) int pretty(const struct row *row) { return row != 0; }
__attribute__((noipa)) int wide(const unsigned *text) { return text != 0; }
__attribute__((noipa)) int late(const char *text) { return text != 0; }
__attribute__((noipa)) const char *back(const char *text, const char *next) { return next; }
__attribute__((noipa)) int bad(const char *text) { return text != 0; }
__attribute__((noipa)) int mapped(const char *text) { return text != 0; }
int main(int count, char **words)
{
	char *at = mmap(0, 8192, PROT_READ, MAP_PRIVATE, open(words[1], O_RDONLY), 0);

	string(rows[0].text);
	second(rows[1].text);
	number(rows[2].number);
	quoted(rows[3].text);
	caught(rows[4].text);
	member(&rows[5]);
	pretty(&rows[10]);
	wide((const unsigned *)rows[11].text);
	STAP_PROBE1(far, mark, rows[6].text);
	back(rows[7].text, rows[8].text);
	late(rows[9].text);
	bad((char *)8);
	mapped(at + 4096 - 2);	/* the second page is the one that is read last */
	return 0;
}
"""
READS = """
global hits, a, sum, tries, shown
function text(at) {{ return user_string(at) }}
probe process("{path}").function("string") {{ a[text(pointer_arg(1))]++; hits <<< 1 }}
probe process("{path}").function("second") {{ println(user_string(pointer_arg(1), "missing")) }}
probe process("{path}").function("number") {{ sum += user_long(pointer_arg(1)) }}
probe process("{path}").function("quoted") {{
    x = user_string_quoted(pointer_arg(1)); println(x)
}}
probe process("{path}").function("caught") {{
    try {{ println(user_string(pointer_arg(1))) }} catch {{ println("caught") }}
}}
probe process("{path}").function("member") {{ println($row->number[0], " ", $row->text$) }}
probe process("{path}").function("pretty") {{ println($row->text$); shown++ }}
probe process("{path}").function("wide") {{ println(user_string_utf32(pointer_arg(1))) }}
probe process("{path}").mark("mark") {{ println(user_string($arg1)) }}
probe process("{path}").function("back").return {{
    println(@entry(user_string(pointer_arg(1))), " ", user_string(returnval()))
}}
probe process("{path}").function("late") {{ tries++; println(user_string(pointer_arg(1), "late")) }}
probe process("{path}").function("bad") {{
    try {{ println(user_string(pointer_arg(1))) }} catch {{ println("bad pointer") }}
    println(user_string(pointer_arg(1), "bad"))
}}
probe process("{path}").function("mapped") {{ println(user_string(pointer_arg(1))) }}
probe end {{
    foreach (k in a) println(k, " ", a[k], " ", @count(hits), " ", sum, " ", tries, " ", shown)
}}
"""
EXPECTED = [
    "text 1", '"text 3"', "text 4", '5 "text 5"', '"text 10"', "wide", "text 6", "text 7 text 8",
    "late", "bad pointer", "bad", "yzyz", "text 0 1 1 2 1 1",
]  # fmt: skip


def test_pages_that_nobody_has_touched(guest: Machine, release: str, tmp_path: Path) -> None:
    """They are read at the first hit, once; what was changed before is not changed again."""
    path = compiled(tmp_path, FAR, "-O1", "-g", "-I", str(Path("include").absolute()), name="far")
    (tmp_path / "mapped").write_bytes(b"x" * 4094 + b"yzyz\0" + b"x" * 4091)
    modules = make(release, tmp_path, work=READS.format(path=path))
    command = f"{path} {tmp_path}/mapped"
    lines, result = shell(guest, modules, f"$run -c '{command}' $work; echo status $?", 120)
    assert lines == [*EXPECTED, "status 0"], (lines, result.stderr)
    # From a disk that has to be asked, and from the kernel's own memory.
    text = f"""
    mkdir there; mount -t tmpfs none there; cp {path} there/far; mount --bind there/far {path}
    echo 3 >/proc/sys/vm/drop_caches
    $run -c '{command}' $work; umount {path}; umount there
    """
    lines, result = shell(guest, modules, text, 120)
    assert lines == EXPECTED, (lines, result.stderr)


UNWAITED = {
    "changed": ("late", "hits++ println(user_string(pointer_arg(1)))"),
    "printed": ("late", "print(1) println(user_string(pointer_arg(1)))"),
    "none": ("bad", "hits++ println(user_string(pointer_arg(1)), hits)"),
    "other": ("late", 'hits++ println(user_string(pointer_arg(1), "late"), 1 / (hits - hits))'),
}


def test_errors_say_why_a_page_was_not_waited_for(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """Not so one of an address that is none, nor another error after a page that was missing."""
    path = compiled(tmp_path, FAR, "-O1", "-g", "-I", str(Path("include").absolute()), name="far")
    (tmp_path / "mapped").write_bytes(b"x" * 8192)
    scripts = {
        name: f'global hits probe process("{path}").function("{function}") {{ {body} }}'
        for name, (function, body) in UNWAITED.items()
    }
    modules = make(release, tmp_path, **scripts)
    command = f"{path} {tmp_path}/mapped"
    text = "".join(f"$run -c '{command}' ${name}; " for name in modules)
    _, result = shell(guest, modules, text + "true", 120)
    errors = [line for line in result.stderr.decode().splitlines() if line.startswith("ERROR")]
    told = [line.partition("waited for, since the handler had ")[2] for line in errors]
    assert told == [
        "changed something before: read first",
        "printed something before: read first",
        "",
        "",
    ], result.stderr


# What a program shows: of the pages below, or that they cannot be had.
SHOWN = """
probe process("{path}").function("show") {{
    printf("<%s>\\n", user_string(pointer_arg(1), "missing"))
}}"""
# A page that the program promises to serve, and never does.
SERVED = r"""
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noipa)) int show(const char *text) { return text != 0; }
int main(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *plain = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = syscall(SYS_userfaultfd, 0);

	range.range.start = (long)at;
	range.range.len = 4096;
	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return 1;
	show(at);
	show(plain);
	puts("over");
	return 0;
}
"""


def test_pages_that_somebody_else_has_to_bring(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """Nobody makes a session wait: such a page is missing, and the module goes as ever."""
    need(release, "CONFIG_USERFAULTFD")
    path = compiled(tmp_path, SERVED, "-O1", name="served")
    modules = make(release, tmp_path, work=SHOWN.format(path=path))
    lines, result = shell(guest, modules, f"$run -c {path} $work | sort; loaded work")
    assert lines == ["<>", "<missing>", "over", "0"], (lines, result.stderr)


# Of a file whose server answers when the first page is wanted, and not when the second one is.
MAPPED = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noipa)) int show(const char *text) { return text != 0; }
int main(int count, char **words)
{
	int fd = open(words[1], O_RDONLY);
	char *at = mmap(0, 8192, PROT_READ, MAP_PRIVATE, fd, 0);

	if (close(fd) || at == MAP_FAILED)
		return 1;
	show(at);
	close(creat(words[2], 0600));
	show(at + 4096);
	puts("over");
	return 0;
}
"""


def test_pages_of_a_file_system_in_a_program(guest: Machine, release: str, tmp_path: Path) -> None:
    """Its server is not asked: it may take as long as it likes, and here never answers again."""
    path = compiled(tmp_path, MAPPED, "-O1", name="mapped")
    (tmp_path / "data").write_bytes(b"x" * 8192)
    helper = Path(__file__).parent / "safety" / "hung_files.py"
    modules = make(release, tmp_path, work=SHOWN.format(path=path))
    text = f"""
    mkdir mount
    modprobe fuse 2>/dev/null
    python3 {helper} $PWD/mount {tmp_path}/data $PWD/silent & server=$!
    wait_for '[ -x mount/hung ]'
    $run -c "{path} $PWD/mount/hung $PWD/silent" $work | sort
    loaded work
    rm silent; kill -9 $server; umount -l mount
    """
    lines, result = shell(guest, modules, text)
    assert lines == ["<missing>", "<missing>", "over", "0"], (lines, result.stderr)


# What a disk has to bring, in files that nobody has read yet.
FROM_DISK = r"""
#include <fcntl.h>
#include <sys/mman.h>
__attribute__((noipa)) int show(const char *text) { return text != 0; }
int main(int count, char **words)
{
	char *at = mmap(0, 4096, PROT_READ, MAP_PRIVATE, open(words[1], O_RDONLY), 0);

	if (at == MAP_FAILED || (words[2] && madvise(at, 4096, MADV_RANDOM)))
		return 1;
	return !show(at);
}
"""


def test_pages_of_a_disk(guest: Machine, release: str, tmp_path: Path) -> None:
    """It is asked and not waited for, which the kernel does only for what it reads ahead."""
    need(release, "CONFIG_BLK_DEV_LOOP", "CONFIG_EXT4_FS")
    path = compiled(tmp_path, FROM_DISK, "-O1", name="disk")
    modules = make(release, tmp_path, work=SHOWN.format(path=path))
    text = f"""
    modprobe loop; modprobe ext4
    truncate -s 16M image; mkfs.ext4 -q image; mkdir disk; mount -o loop image disk
    echo plain > disk/plain; echo random > disk/random; umount disk; mount -o loop image disk
    $run -c "{path} $PWD/disk/plain" $work | tr -d '\\n'; echo
    $run -c "{path} $PWD/disk/random random" $work
    loaded work; umount disk; wait_for 'modprobe -r loop 2>/dev/null'
    """
    lines, result = shell(guest, modules, text)
    assert lines == ["<plain>", "<missing>", "0"], (lines, result.stderr)
