"""Files that are made to cost time, memory or patience: others' stacks and the session go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import run
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# Nothing of any library, so that tables are small but for what a file is given on purpose.
PROGRAM = r"""
static long call(long number, long first)
{
	long result;

	asm volatile("syscall"
		: "=a" (result) : "a" (number), "D" (first), "S" (0) : "rcx", "r11", "memory");
	return result;
}
__attribute__((noinline)) long work(void) { return call(110, 0) + 1; }
void _start(void)
{
	long nap[2] = { 0, 100000000 };

	for (;;)
		work() ? call(35, (long)nap) : 0;
}
asm(".pushsection .text\n .cfi_startproc\n .rept " ROWS "\n nop\n .cfi_adjust_cfa_offset 8\n"
    "nop\n .cfi_adjust_cfa_offset -8\n .endr\n .cfi_endproc\n .popsection");
"""
SCRIPT = """
global whole, ended
probe begin { println("ready") }
probe syscall.getppid {
	text = sprint_ubacktrace()
	if (isinstr(text, "_start")) {
		if (!whole[execname()]++) printf("%s whole\\n", execname())
	} else if (!ended[execname()]++) printf("%s ended early\\n", execname())
}
"""
TEXT = """
chown 65534 hostile one two
begin() {{
    $run -o out $1 2>err & session=$!
    wait_for 'grep -q ready out'
}}
leave() {{ # the session ends, whatever its helper does, and all is unloaded
    before=$(now); kill -INT $session; wait $session; took=$(($(now) - before))
    echo "$1 unloaded=$(loaded work) soon=$((took < 3000))"
    cat err >&2
}}
makers() {{ grep -lx stapy-tables /proc/[0-9]*/comm 2>/dev/null | wc -l; }}
mkdir mount
modprobe fuse 2>/dev/null
python3 {helper} $PWD/mount $PWD/good $PWD/silent & server=$!
wait_for '[ -x mount/hung ]'
mount/hung & victims=$!
wait_for 'grep -qs "^35 " /proc/$victims/syscall' # all of it that it needs is in memory now
touch silent # before any helper can read it
begin $work
wait_for "grep -q 'hung ended early' out"
wait_for '[ $(makers) -ge 1 ]'
./good & victims="$victims $!"
wait_for "grep -q 'good whole' out"
grep -c 'hung whole' out
leave hung
kill -9 $server; kill -9 $victims; wait $victims 2>/dev/null; umount -l mount
wait_for '[ $(makers) = 0 ]'

begin $work
./hostile & victims=$!
wait_for "grep -q 'hostile ended early' out"
wait_for '[ $(makers) -ge 1 ]'
./good & victims="$victims $!"
wait_for "grep -q 'good whole' out"
grep -c 'hostile whole' out
leave hostile
kill -9 $victims; wait $victims 2>/dev/null
wait_for '[ $(makers) = 0 ]'

begin $small
./one & victims=$!
wait_for "grep -q 'one whole' out"
./two & victims="$victims $!"
wait_for "grep -q 'no room for the table of .*/two beside' err"
./three & victims="$victims $!"
wait_for "grep -q 'three whole' out"
grep -c 'two whole' out
leave quota
kill -9 $victims
"""


def test_files_that_are_made_to_harm(guest: Machine, release: str, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    for name, rows in {"good": 1, "hostile": 400_000, "one": 20_000}.items():
        run(
            *("gcc", "-O2", "-fomit-frame-pointer", "-nostdlib", "-static", "-mgeneral-regs-only"),
            *(f'-DROWS="{rows}"', str(source), "-o", str(tmp_path / name)),
        )
    modules = make(
        release, tmp_path, work=SCRIPT, small=("-DSTAPY_OBJECT_MEMORY=1", "-e", SCRIPT)
    )  # fmt: skip
    helper = Path(__file__).with_name("hung_files.py")
    text = f"cp {tmp_path}/good {tmp_path}/hostile {tmp_path}/one .; cp one two; cp one three\n"
    lines, result = shell(guest, modules, text + TEXT.format(helper=helper), 240)
    shown = (lines, result.stderr.decode("utf-8", "replace"))
    assert lines == [
        *("0", "hung unloaded=0 soon=1"),
        *("0", "hostile unloaded=0 soon=1"),
        *("0", "quota unloaded=0 soon=1"),
    ], shown
