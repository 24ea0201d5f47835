"""Small programs that gcc compiles at test time, with all that stapy reads of DWARF in them."""

from __future__ import annotations

import random
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from stapy.debuginfo.elf import ElfFile

SOURCE = r"""
#include "inlined.h"
enum colour { RED = 1, GREEN = -2 };
typedef unsigned char byte;
union both { int i; char c[4]; };
struct point {
	int x, y;
	struct point *next;
	unsigned low : 3, high : 5;
	byte name[2][8];
	union both u;
	int (*call)(struct point *p, ...);
};
struct point origin = { 1, 2 };
static volatile int hidden = 7;
volatile int sink;

__attribute__((noinline)) int leaf(int value)
{
	sink = value;
	return value * 3;
}

__attribute__((noipa)) static int looped(struct point *p, int count)
{
	int total = 0;

	for (int i = 0; i < count; i++) {
		int step = leaf(i);

		total += step + twice(p->x);
	}
	return total;
}

__attribute__((noinline)) int framed(int n)
{
	volatile char text[64];

	text[n & 63] = 1;
	sink = leaf(n);
	return text[(n + 1) & 63];
}

__attribute__((noinline)) int jumping(int n)
{
	if (n > 3)
		goto out;
	sink = framed(n);
	sink = twice(n);
out:
	sink = 0;
	return leaf(n) + 1;
}

int first(void)
{
	enum colour c = GREEN;

	return looped(&origin, 5) + twice(hidden) + framed(c) + jumping(c);
}

void _start(void)
{
	first();
}
"""
HEADER = r"""
extern volatile int sink;

static inline int twice(int what)
{
	int doubled = what * 2;

	sink = doubled;
	return doubled + sink;
}
"""
SECOND = r"""
#include "inlined.h"
int other(int a);
int other(int a)
{
	return twice(a) + twice(a + 1);
}
"""
STYLES = ("-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -gz=zlib", "-gdwarf-4 -O0")


# The same by clang 14, whose DWARF 5 has indexed strings, addresses and lists: no compiler
# of this kind is needed to run the tests, so the files are kept (and to be made anew when
# the sources above change).
CLANG = {"clang -gdwarf-4": "gdwarf-4", "clang -gdwarf-5": "gdwarf-5"}
LINKED = ("-static", "-no-pie")
RELOCATABLE = ("-r",)


def make(folder: Path, style: str, link: tuple[str, ...] = LINKED) -> Path:
    """Compile and link the sample; skips without a compiler."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    source = folder / "src"
    source.mkdir(parents=True, exist_ok=True)
    (source / "sample.c").write_text(SOURCE)
    (source / "inlined.h").write_text(HEADER)
    (source / "second.c").write_text(SECOND)
    flags = ["-O2", *style.split(), "-fno-asynchronous-unwind-tables", "-ffreestanding"]
    command = ["gcc", *flags, "-nostdlib", *link, "-Wl,--build-id=sha1",
               "-fno-stack-protector", "-o", "../sample", "sample.c", "second.c"]  # fmt: skip
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return folder / "sample"


def extracted(name: str, folder: Path) -> None:
    """Put the kept files of a name into a folder."""
    with tarfile.open(Path(__file__).parent / "fixtures" / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")


def compiled(folder: Path, name: str, text: str, *flags: str) -> Path:
    """Compile and link one source with ``flags``; C++ by its suffix. Skips without a compiler."""
    compiler = "g++" if name.endswith(".cc") else "gcc"
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    command = [compiler, "-nostdlib", "-fno-stack-protector", "-fno-asynchronous-unwind-tables",
               *flags, "-o", "program", name]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "program"


def line_of(text: str) -> int:
    """Return the number of the first line of the sample that has a text."""
    return next(n for n, line in enumerate(SOURCE.split("\n"), 1) if text in line)


def damaged(good: bytes, chance: random.Random) -> bytes:
    """Change one byte of one of a file's sections of debug information."""
    data = bytearray(good)
    section = chance.choice([s for s in ElfFile(good, "good").sections if ".debug" in s.name])
    data[section.offset + chance.randrange(section.size)] = chance.randrange(256)
    return bytes(data)
