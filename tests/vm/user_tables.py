"""Tables of programs that are made before a guest asks for them, and a program that is printed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stapy.run import objects

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


# What tests start most, with what libraries: names alone, and source lines as well, which take a
# second for libc here and twenty in a guest.
COMMON = ("sleep", "sh", "dd", "cat", "true")


def keep_common_tables() -> None:
    """Make the tables of common programs in the tests' own cache, which guests see as their own.

    Must be done before a guest boots: it does not see what comes later where it has looked.
    """
    programs = [path for path in map(shutil.which, COMMON) if path]
    for wanted in {"names": False}, {"names": True}, {"names": True, "lines": True}:
        objects.Tables(wanted, lambda *_: None, lambda _: None).first(programs, "", 0)


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
