"""Functions whose breakpoint lies behind their ``endbr64``: what a script sees is what it saw."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled, run
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# It tells by its own text where the breakpoint is: at the beginning, or four bytes behind it. That
# is added as it runs: a breakpoint is not moved to where the program has the address of.
PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
struct pair { int left, right; };
__attribute__((noipa)) static int is_armed(const void *function, int behind)
{
	unsigned char byte;

	memcpy(&byte, (const char *)function + behind, 1);
	return byte == 0xcc;
}
__attribute__((noipa)) int last(int n) { return n + 1; }
__attribute__((noipa)) int work(int n, const char *text, struct pair *pair, double share)
{
	int found = last(n) + (int)strlen(text);

	pair->left = found;
	return last(found) + pair->right + (int)share;
}
__attribute__((noipa)) int deep(int n, struct pair *pair)
{
	if (n)
		return deep(n - 1, pair) + 1;
	return work(40, "text", pair, 2.5) + 1;
}
int main(void)
{
	struct pair pair = { 5, 6 };
	int sum = deep(3, &pair) + work(7, "other", &pair, 1.0);

	fprintf(stderr, "%d: %d %d\n", sum, is_armed(work, 0), is_armed(work, 4));
	return 0;
}
"""
OPTIONS = ("-O2", "-g", "-no-pie", "-fcf-protection=full", "-fno-optimize-sibling-calls")
SCRIPT = r"""
probe process("PATH").function("work") {
	printf("%s %s %x %x %x\n", pp(), ppfunc(), uaddr(), addr(), register("rip"))
	printf("%d %s %d %s ", $n, user_string($text), $pair->right, fp_to_string($share, 2))
	printf("%x %x %s\n", u_register("rip"), register("rdi"), $$parms)
	printf("%x %x ", register("rsp") & 15, user_long(register("rsp")))
	printf("%x\n", register("rbx") + register("rax") + register("r10"))
	printf("%s|%s|%x %x\n", sprint_ubacktrace(), ubacktrace(), ustack(0), ustack(1))
	printf("%s %s %s\n", usymname(uaddr()), usymdata(uaddr()), ucallers(3))
	hits[tid()]++
}
probe process("PATH").function("work").return {
	printf("%s %x %x %d %d ", pp(), uaddr(), addr(), $return, @entry($n))
	printf("%s %x %s\n", @entry(sprint_ubacktrace()), register("rip"), sprint_ubacktrace())
}
probe process("PATH").function("deep").callee("work") {
	printf("callee %x %x\n", uaddr(), ustack(1))
}
probe process("PATH").function("work") if (on) { println("never") }
global hits, on
probe end { foreach (t in hits) println(hits[t]) }
"""


def test_what_is_seen_is_what_was_seen(guest: Machine, release: str, tmp_path: Path) -> None:
    """With the breakpoint there and without: the same lines, and the program's result."""
    program = compiled(tmp_path, PROGRAM, *OPTIONS, name="work")
    words = ("-c", str(program), "-e", SCRIPT.replace("PATH", str(program)))
    modules = make(release, tmp_path, moved=words, stays=("-DSTAPY_NO_SHIFT", *words))
    text = f"""
    {program}
    $run -c {program} $moved >moved; $run -c {program} $stays >stays
    cmp moved stays && cat moved
    """
    lines, result = shell(guest, modules, text)
    said = [line for line in result.stderr.decode().splitlines() if ": " in line]
    counted = said[0].partition(":")[0]
    assert said == [f"{counted}: 0 0", f"{counted}: 0 1", f"{counted}: 1 0"], result.stderr
    assert lines[-1] == "2", lines
    assert sum(line.startswith("callee") for line in lines) == 1, lines
    assert lines[1].startswith("40 text 6 2.50 "), lines
    assert "work+0x0 [work]" in lines and not any("work+0x4" in line for line in lines), lines


# A guru's script sends the program elsewhere: there it goes, from either place, and there all that
# run behind it see it.
ELSEWHERE = """
probe process("PATH").function("work") {
	if (int_arg(1) == 7) %{ /* changes the program */ CONTEXT->user_regs->ip = 0xPLACE; %}
}
"""
SEEN = """
probe process("PATH").function("work") { printf("%x %s\\n", uaddr(), usymdata(register("rip"))) }
probe process("PATH").function("work").return {
	printf("%x %s\\n", addr(), @entry(usymdata(register("rip"))))
}
"""


@pytest.mark.parametrize("seen", ["", SEEN], ids=["alone", "seen"])
def test_a_handler_that_leads_elsewhere(
    guest: Machine, release: str, tmp_path: Path, seen: str
) -> None:
    program = compiled(tmp_path, PROGRAM, *OPTIONS, name="work")
    symbols = run("nm", str(program)).splitlines()
    (place,) = (line.split()[0] for line in symbols if line.endswith(" last"))
    script = (ELSEWHERE + seen).replace("PATH", str(program)).replace("PLACE", place)
    words = ("-g", "-c", str(program), "-e", script)
    modules = make(release, tmp_path, moved=words, stays=("-DSTAPY_NO_SHIFT", *words))
    lines, result = shell(
        guest, modules, f"{program}; $run -c {program} $moved; $run -c {program} $stays"
    )
    sums = [line for line in result.stderr.decode().splitlines() if ": " in line]
    # work(7, "other", pair, 1.0) is 21 and last(7) is 8.
    alone = int(sums[0].partition(":")[0])
    assert sums[1:] == [f"{alone - 13}: 0 1", f"{alone - 13}: 1 0"], (lines, sums)
    if seen:
        half = len(lines) // 2
        assert lines[:half] == lines[half:], lines
        assert any(line.startswith(f"{int(place, 16):x} last+0x0/") for line in lines), lines


# Other sessions, whose handlers come behind the guru's: a place with one row has its own callbacks.
OTHERS = {
    "entry": """probe process("PATH").function("work") {
	printf("%x %s\\n", addr(), usymdata(register("rip")))
}""",
    "back": 'probe process("PATH").function("work").return { printf("%x\\n", addr()) }',
}


@pytest.mark.parametrize("other", OTHERS)
def test_another_session_leads_elsewhere(
    guest: Machine, release: str, tmp_path: Path, other: str
) -> None:
    program = compiled(tmp_path, PROGRAM, *OPTIONS, name="work")
    symbols = run("nm", str(program)).splitlines()
    places = {line.split()[2]: line.split()[0] for line in symbols if len(line.split()) == 3}
    sources = [text.replace("PATH", str(program)) for text in (ELSEWHERE, OTHERS[other])]
    guru = ("-g", "-e", sources[0].replace("PLACE", places["last"]))
    modules = make(
        *(release, tmp_path),
        **{"moved": guru, "stays": ("-DSTAPY_NO_SHIFT", *guru)},
        **{"seenmoved": ("-e", sources[1]), "seenstays": ("-DSTAPY_NO_SHIFT", "-e", sources[1])},
    )
    text = "".join(
        f"""
        $run -L $seen{kind} >out; $run -c {program} ${kind}
        $run -A -T 1 seen{kind} >>out; cat out
        """
        for kind in ("moved", "stays")
    )
    lines, result = shell(guest, modules, text)
    half = len(lines) // 2
    assert half == 2 and lines[:half] == lines[half:], (lines, result.stderr)
    assert [int(line.split()[0], 16) for line in lines[:half]] == [
        *(int(places["work"], 16), int(places["last"], 16))
    ], lines
