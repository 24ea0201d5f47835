"""Thread-local variables of libraries: those of the thread that was hit, wherever they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# Both libraries have an "own": in C the first one's is meant wherever the name is exported, so here
# each has one that is not.  A block that is large finds no room beside those of what was there from
# the start.
LIBRARY = r"""
static __thread long hidden = 70;
__attribute__((visibility("hidden"))) __thread int own = 7;
static __thread char room[ROOM];
__attribute__((noipa)) int touch(int n)
{
	own += n;
	hidden += own;
	room[n & 1]++;
	return own;
}
__attribute__((noipa)) int look(int n) { return n; }
"""
PROGRAM = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
int touch(int n);
int look(int n);
static int (*late)(int), (*late_look)(int);
static void *thread(void *number)
{
	late_look(1);
	look(2);
	touch(100);
	late(1000);
	look(3);
	late_look(3);
	return NULL;
}
int main(int count, char **words)
{
	pthread_t other;
	void *library = dlopen(words[1], RTLD_NOW);

	late = dlsym(library, "touch"), late_look = dlsym(library, "look");
	touch(1);
	late(10);
	pthread_create(&other, NULL, thread, NULL);
	pthread_join(other, NULL);
	look(4);
	late_look(4);
	return 0;
}
"""
SCRIPT = """
probe process("{program}").library("{first}").function("look") {{
	printf("first %d %d %d\\n", $n, $own, @var("hidden@libfirst.so.c"))
}}
probe process("{program}").library("{late}").function("look") {{
	try {{
		printf("late %d %d %d\\n", $n, $own, @var("hidden@liblate.so.c"))
	}} catch {{
		printf("late %d not there yet\\n", $n)
	}}
}}
"""


@pytest.mark.parametrize("dialect", ["gnu", "gnu2"])
def test_variables_of_threads(guest: Machine, release: str, tmp_path: Path, dialect: str) -> None:
    """Of a library that is there from the start and of one that is loaded, in both dialects."""
    words = ("-g", "-O1", "-shared", "-fPIC", f"-mtls-dialect={dialect}")
    first = compiled(tmp_path, LIBRARY, *words, "-DROOM=16", name="libfirst.so")
    late = compiled(tmp_path, LIBRARY, *words, "-DROOM=100000", name="liblate.so")
    links = (str(first), f"-Wl,-rpath,{tmp_path}", "-pthread", "-ldl")
    program = compiled(tmp_path, PROGRAM, "-O1", *links)
    modules = make(release, tmp_path, own=SCRIPT.format(program=program, first=first, late=late))
    lines, result = shell(guest, modules, f"$run -c '{program} {late}' $own; echo status $?")
    assert lines == [
        "late 1 not there yet", "first 2 7 70", "first 3 107 177", "late 3 1007 1077",
        "first 4 8 78", "late 4 17 87", "status 0",
    ], (lines, result.stderr)  # fmt: skip
