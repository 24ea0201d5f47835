"""Tables of programs that are made before a guest asks for them, and a program that is printed."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stapy.run import objects
from stapy.run.inside import open_path
from stapy.vm.tree import interpreter

if TYPE_CHECKING:
    from stapy.run.ground.manifest import TableDemand

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
# What they start as well: without source lines. A guest forgets its tables when it ends, and
# libpython's alone take it ten seconds.
OTHERS = ("python3", "/usr/bin/python3", "bash", "kmod", "ls", "echo", "mkdir", "rm", "tail")


def keep_common_tables() -> None:
    """Make the tables of common programs in the tests' own cache, which guests see as their own.

    Must be done before a guest boots: it does not see what comes later where it has looked.
    """
    _keep(_found(COMMON), {"names": True, "lines": True})
    files = [*_found(COMMON + OTHERS), interpreter(), *_extensions()]
    for names in False, True:
        _keep(files, {"names": names})


def _found(programs: tuple[str, ...]) -> list[str]:
    return [path for path in map(shutil.which, programs) if path]


def _extensions() -> list[str]:
    """List the modules in C of the guest's Python: its agent has some, and is a ``python3``."""
    return sorted(map(str, Path(sysconfig.get_config_var("DESTSHARED") or "").glob("*.so")))


def _keep(files: list[str], wanted: TableDemand) -> None:
    """Keep the tables of files and their libraries, of nothing that happens to run here."""
    tables = objects.Tables(wanted, lambda *_: None, lambda _: None)
    for name in dict.fromkeys(name for file in files for name in objects.closure(file)):
        place = open_path(name)
        tables.make(place, name)
        os.close(place)


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
