"""Programs as a whole: variables outside of functions, memory that is watched, counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.paths import data_dir
from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled
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
probe process("{path}").end {{ try {{ println(@var("counter")) }} catch {{ println("gone") }} }}
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
