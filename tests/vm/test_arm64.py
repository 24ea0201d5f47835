"""Modules of the cross compiler in one guest of arm64; `make arm64` fetches all it takes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.arch import ARM64, host
from stapy.vm.errors import VmError
from stapy.vm.machine import Machine
from stapy.vm.qemu import check
from tests.vm.harness import WATCHDOGS, Builds, build, check_case, run_built, told_case
from tests.wall.rows import texts

RELEASE = os.environ.get("STAPY_TEST_ARM64", "")
FAMILIES = ("begin, end", "timer", "function", "function.return", "kprobe", "tracepoint", "syscall",
            "backtrace", "kprocess", "procfs", "embedded C")  # fmt: skip
STATISTICS = """\
# command: sh -c 'for n in 1 10 100; do dd if=/dev/zero of=/dev/null bs=$((n * 77)) count=1; done'
# expect: ^3 calls, 77 to 7700, 8547 bytes$
# expect: ^ +64 \\|@+ +1$
global sizes
probe kernel.function("vfs_read").return {
  if (ppid() == target() && execname() == "dd" && @entry($count) % 77 == 0) sizes <<< $return
}
probe end {
  printf("%d calls, %d to %d, %d bytes\\n", @count(sizes), @min(sizes), @max(sizes), @sum(sizes))
  print(@hist_log(sizes))
}
"""
NAMES = """\
# command: dd if=/dev/zero of=/dev/null bs=777 count=1
# expect: ^read: x2 777, third 777, result 777$
global x2, third, result, name
probe kernel.function("vfs_read") {
  if (pid() == target() && $count == 777) { x2 = register("x2"); third = ulong_arg(3) }
}
probe kernel.function("vfs_read").return {
  if (pid() == target() && @entry($count) == 777) result = returnval()
}
probe syscall.read { if (pid() == target() && count == 777) name = syscall_name(63) }
probe end { printf("%s: x2 %d, third %d, result %d\\n", name, x2, third, result) }
"""
# The stack of a task that sleeps below return probes has the caller, not the kernel's hook.
ASLEEP = """\
# command: sleep 2
# expect: ^callers: .*hrtimer_nanosleep.*__arm64_sys_clock_nanosleep
# expect: ^back$
global told
probe kernel.function("hrtimer_nanosleep").return, kernel.function("hrtimer_nanosleep").return {
  if (pid() == target()) println("back")
}
probe timer.ms(200) {
  stack = sprint_syms(task_backtrace(pid2task(target())))
  if (!told && isinstr(stack, "hrtimer_nanosleep")) {
    told = 1
    println(isinstr(stack, "trampoline") ? "hooks: " : "callers: ", str_replace(stack, "\\n", " "))
  }
}
"""
# Registers of an event that the kernel counts itself are none; those of a sample are.
EVENTS = """\
# command: sh -c 'n=0; while [ $n -lt 20000 ]; do n=$((n + 1)); done; sleep 0.1; sleep 0.1'
# expect: ^switches refused, samples shown$
global made_up, refused, shown
probe perf.type(1).config(3).sample(1) {
  try { if (!user_mode()) made_up += register("x0") } catch { refused++ }
}
probe timer.profile { try { if (register("pc")) shown++ } catch { } }
probe end {
  printf("switches %s, samples %s\\n",
         refused && !made_up ? "refused" : "shown", shown ? "shown" : "refused")
}
"""
# fork() of libc names the place of the child's number, and no storage of threads.
FORKED = """\
# command: sh -c '(true); true'
# expect: ^child 0x[0-9a-f]{6,}, storage 0x0$
global done
probe syscall.clone {
  if (pid() == target() && !done++) printf("child %#x, storage 0x%x\\n", child_tid_uaddr, tls)
}
"""
SCRIPTS = {
    **{name: texts()[name] for name in FAMILIES},
    "statistics": STATISTICS,
    "names": NAMES,
    "asleep": ASLEEP,
    "events": EVENTS,
    "forked": FORKED,
}

pytestmark = pytest.mark.vm


def missing() -> str:
    """Tell why there can be no guest of arm64, "" when there can."""
    if not RELEASE:
        return "STAPY_TEST_ARM64 names no kernel: make arm64 fetches one, a compiler, an emulator"
    try:
        check(ARM64)
        Machine(RELEASE)
    except VmError as error:
        return f"{error} ({error.hint})"
    compiler = f"{ARM64.cross}gcc-12"
    return "" if host() is ARM64 or shutil.which(compiler) else f"there is no {compiler}"


@pytest.fixture(scope="module")
def arm64() -> Iterator[Machine]:
    """Boot once for all."""
    if why := missing():
        pytest.skip(why)
    with Machine(RELEASE, command_line=WATCHDOGS) as machine:
        yield machine
        assert machine.boots == 1


@pytest.mark.parametrize("name", SCRIPTS)
def test_family(arm64: Machine, builds: Builds, tmp_path: Path, name: str) -> None:
    file = tmp_path / "case.stp"
    file.write_text(SCRIPTS[name])
    case = told_case(file, SCRIPTS[name], tmp_path)
    made = build(arm64.release, case.words(), builds.folder())
    check_case(case, run_built(arm64, made, case.words(), case.timeout))


def test_what_the_guest_is(arm64: Machine) -> None:
    """Its programs are of its architecture, and modules lie where modprobe looks for them."""
    ask = "uname -rm; modinfo -F vermagic overlay; pwd; python3 -c 'import ctypes, json, zlib'"
    result = arm64.run(["sh", "-c", ask])
    said = result.stdout.decode()
    assert result.status == 0, result.stderr
    assert said.startswith(f"{RELEASE} aarch64\n{RELEASE} SMP ") and said.endswith("\n/\n")
