"""Modules of the cross compiler in one guest of arm64; `make arm64` fetches all it takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stapy.arch import ARM64
from stapy.vm.errors import VmError
from stapy.vm.machine import Machine
from stapy.vm.qemu import check
from tests.vm import arm64_programs
from tests.vm.harness import WATCHDOGS, Builds, build, check_case, run_built, told_case
from tests.vm.safety import test_bpf
from tests.wall.rows import texts

BpfTest = Callable[[Machine, str, Path], None]
RELEASE = os.environ.get("STAPY_TEST_ARM64", "")
FAMILIES = ("begin, end", "timer", "function", "function.return", "kprobe", "tracepoint", "syscall",
            "backtrace", "kprocess", "process", "procfs", "embedded C")  # fmt: skip
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
# Of a program of one system call: its end is another.
CALLS = """\
# command: {functions}
# expect: ^hello$
# expect: ^begin functions$
# expect: ^write 1 6$
# expect: ^returns 6, x0 6$
# expect: ^exit 0$
# expect: ^end$
probe process("{functions}").begin { printf("begin %s\\n", execname()) }
probe process("{functions}").syscall { printf("%s %d", syscall_name($syscall), $arg1)
  println($syscall == 64 ? sprintf(" %d", $arg3) : "") }
probe process("{functions}").syscall.return {
  if ($syscall == 64) printf("returns %d, x0 %d\\n", $return, register("x0"))
}
probe process("{functions}").end { println("end") }
"""
# By the table of symbols, without a word of debug information.
ENTRIES = """\
# command: {bare}
# expect: ^add 1 2 hello, returns to code 1$
# expect: ^add = -10$
# expect: ^many 9 10$
# expect: ^5 4 3 2 1 ; 1 2 6 24 120 $
# expect: ^calls 5, returns 5$
global calls, returns, down, up
probe process("{bare}").function("add") {
  text = user_string_n(pointer_arg(3), 5)
  printf("add %d %d %s, returns to code %d\\n", int_arg(1), ulong_arg(2), text,
         register("lr") > 0x400000 && register("lr") < 0x410000)
}
probe process("{bare}").function("add").return { printf("add = %d\\n", returnval()) }
probe process("{bare}").function("many") {
  ninth = long_arg(9)
  printf("many %d %d\\n", ninth, int_arg(10) & 0xffff)
}
probe process("{bare}").function("factorial") { calls++; down .= sprintf("%d ", int_arg(1)) }
probe process("{bare}").function("factorial").return {
  returns++
  up .= sprintf("%d ", returnval())
}
probe end { printf("%s; %s\\ncalls %d, returns %d\\n", down, up, calls, returns) }
"""
# By debug information: registers, the stack, what a call kept, and what is in no register of ours.
VARIABLES = """\
# command: {functions}
# expect: ^add a=0x1 b=0x2 {\\.a=3, \\.b=4}$
# expect: ^counter 5, local 10$
# expect: ^add = -10, a was 1$
# expect: ^mixed 333 7 120 2$
# expect: ^mixed = 449$
# expect: ^many a=0x1 b=0x2 c=0x3 d=0x4 e=0x5 f=0x6 g=0x7 h=0x8 i=0x9 j=0xa$
# expect: ^1 2 6 24 120 $
global up
probe process("{functions}").function("add") {
  pair = $p$
  printf("add a=%#x b=%#x %s\\n", $a, $b, pair)
}
probe process("{functions}").statement("add@functions.c:{line}") {
  of_file = $counter
  printf("counter %d, local %d\\n", of_file, $local)
}
probe process("{functions}").function("add").return {
  printf("add = %d, a was %d\\n", $return, @entry($a))
}
probe process("{functions}").function("mixed") {
  third = $b->c
  printf("mixed %d %d %d %d\\n", third, $last, $c, @defined($d) + 2 * @defined($b->c))
}
probe process("{functions}").function("mixed").return { printf("mixed = %d\\n", $return) }
probe process("{functions}").function("many") { all = $$parms; printf("many %s\\n", all) }
probe process("{functions}").function("factorial").return {
  up .= sprintf("%d ", $return)
  if (@entry($n) == 5) println(up)
}
"""
# All kinds of operands that the compiler chose, and a counter of listeners, which is one here.
MARKS = """\
# command: {marks}
# expect: ^plain 1 one of marked$
# expect: ^operands 3 -7 1099511627776 -3 200$
# expect: ^counted 1$
probe process("{marks}").mark("plain") {
  text = user_string($arg2)
  printf("%s %d %s of %s\\n", $$name, $arg1, text, $$provider)
}
probe process("{marks}").provider("marked").mark("operands") {
  local = $arg1
  large = $arg3
  printf("operands %d %d %d %d %d\\n", local, $arg2, large, $arg4, $arg5)
}
probe process("{marks}").mark("counted") { printf("counted %d\\n", $arg1) }
"""
# Frames by the tables of the program and of the vdso, where frame pointers tell nothing; a return
# probe has put its hook in place of a return address.
STACKS = """\
# command: {stacks}
# expect: ^leaf wide middle middle middle run _start$
# expect: ^leaf on_signal __kernel_rt_sigreturn interrupted run _start$
# expect: ^returned 3 times$
# expect: ^2 stacks$
# never: hooks
global returned, stacks
function names:string() {
  address = tokenize(ubacktrace(), " ")
  while (address != "") {
    found .= (found == "" ? "" : " ") . usymname(strtol(address, 16))
    address = tokenize("", " ")
  }
  return found
}
probe process("{stacks}").function("leaf") { println(names()); stacks[ubacktrace()]++ }
probe process("{stacks}").function("middle").return { returned++ }
probe process("{stacks}").function("interrupted").return {
  if (isinstr(sprint_ubacktrace(), "uprobe")) println("hooks")
}
probe end {
  printf("returned %d times\\n", returned)
  foreach (stack in stacks) found++
  printf("%d stacks\\n", found)
}
"""
# Which call it was, by return addresses: in the link register, on the stack, signed, or put aside
# by return probes of the callers.
CALLEES = """\
# command: {PROGRAM}
# expect: ^deep leaf 100: 1$
# expect: ^deep leaf = 101: 1$
# expect: ^middle leaf 1: 1$
# expect: ^middle leaf 1 = 2: 1$
# expect: ^middle leaf 4: 1$
# expect: ^middle leaf 4 = 5: 1$
# expect: ^run middle leaf 1: 1$
# expect: ^run other leaf 2: 1$
# expect: ^run other leaf 3: 1$
# expect: ^through deep leaf 100: 1$
# expect: ^wide middle leaf 4: 1$
# expect: ^11 kinds, middles 2$
global told, kinds, middles
probe process("{PROGRAM}").function("middle").callee("leaf") {
  told[sprintf("middle leaf %d", $n)]++
}
probe process("{PROGRAM}").function("run").callees(2) {
  if (!isinstr(pp(), "callee(\\"leaf")) next
  told[sprintf("run %s leaf %d", isinstr(pp(), "middle@") ? "middle" : "other", $n)]++
}
probe process("{PROGRAM}").function("middle").callee("leaf").return {
  told[sprintf("middle leaf %d = %d", @entry($n), $return)]++
}
probe process("{PROGRAM}").function("wide").callees(2) {
  if (isinstr(pp(), "callee(\\"leaf")) told[sprintf("wide middle leaf %d", $n)]++
}
probe process("{PROGRAM}").function("through").callees(2) {
  if (isinstr(pp(), "callee(\\"leaf")) told[sprintf("through deep leaf %d", $n)]++
}
probe process("{PROGRAM}").function("deep").callee("leaf") {
  told[sprintf("deep leaf %d", $n)]++
}
probe process("{PROGRAM}").function("deep").callee("leaf").return {
  told[sprintf("deep leaf = %d", $return)]++
}
probe process("{PROGRAM}").function("middle").return { middles++ }
probe end {
  foreach ([what+] in told) { printf("%s: %d\\n", what, told[what]); kinds++ }
  printf("%d kinds, middles %d\\n", kinds, middles)
}
"""
_NAMES = STACKS[STACKS.index("function names") : STACKS.index("probe")]
# The kernel keeps returns that were jumped over: a frame that ends where theirs did has its caller.
UNUSUAL = f"""\
# command: {{unusual}}
# expect: ^leaf large calls_large run _start$
# expect: ^leaf innocent true_caller jumps run _start$
# expect: ^leaf on_signal \\S+ asks interrupted run _start$
{_NAMES}
probe process("{{unusual}}").function("leaf") {{ println(names()) }}
probe process("{{unusual}}").function("thrower").return {{ println("returned") }}
"""
# Without descriptions: what has stored no pair hides its caller, and a hook hides nobody.
POINTERS = f"""\
# command: {{pointers}}
# expect: ^leaf hooked outer _start$
# expect: ^returned$
{_NAMES}
probe process("{{pointers}}").function("leaf") {{ println(names()) }}
probe process("{{pointers}}").function("hooked").return {{ println("returned") }}
"""
# The innermost frame is a stub of the linker, whose caller is in the link register.
STUBS = """\
# args: --vm={release}
# command: /bin/bash -c 'f() { :; }; for n in 1 2 3; do f; done; (true)'
# expect: ^each has its caller$
global hits, right, shown
probe process("/bin/bash").plt("malloc") {
  hits++
  stack = ubacktrace()
  tokenize(stack, " ")
  if (strtol(tokenize("", " "), 16) == register("x30")) right++
  else if (!shown++) printf("%x: %s\\n", register("x30"), stack)
}
probe end { if (hits > 3 && right == hits) println("each has its caller") }
"""
# Programs and libraries of the guest's own file tree: bash, its libc, Python with its marks.
OWN = """\
# args: --vm={release}
# command: /bin/bash -c 'f() { :; }; f; f; python3.11 -sS -c "import gc; gc.collect()"'
# expect: ^entries 1, returns 1, allocations 1, calls 1, collections 1$
global entries, returns, allocations, calls, collections
probe process("/bin/bash").function("execute_command") { entries++ }
probe process("/bin/bash").function("execute_command").return { returns++ }
probe process("bash").library("libc.so.6").function("malloc") {
  if (ulong_arg(1)) allocations++
}
probe process("bash").plt("malloc") { calls++ }
probe process("/usr/bin/python3.11").mark("gc__start") { collections++ }
probe end {
  printf("entries %d, returns %d, allocations %d, calls %d, collections %d\\n", entries > 0,
         returns > 0, allocations > 0, calls > 0, collections > 0)
}
"""
# Stacks of bash down to where it began, each of them: its libraries have tables, and names.
OWN_STACKS = """\
# args: --vm={release} -D MAXSTRINGLEN=4096 -D MAXBACKTRACE=64
# command: /bin/bash -c 'f() { :; }; for n in 1 2 3; do f; done; (true)'
# expect: ^all of them$
global whole, part, shown
probe process("bash").library("libc.so.6").function("malloc") {
  stack = sprint_ubacktrace()
  if (isinstr(stack, "__libc_start_main")) whole++
  else if (!part++) shown = stack
}
probe end {
  if (whole > 20 && !part) println("all of them")
  else printf("%d %d %s\\n", whole, part, shown)
}
"""
SCRIPTS = {
    **{name: texts()[name] for name in FAMILIES},
    "statistics": STATISTICS,
    "names": NAMES,
    "asleep": ASLEEP,
    "events": EVENTS,
    "forked": FORKED,
    "calls": CALLS,
    "entries": ENTRIES,
    "variables": VARIABLES,
    "marks": MARKS,
    "stacks": STACKS,
    "callees": CALLEES.replace("{PROGRAM}", "{callers}"),
    "callees, signed": CALLEES.replace("{PROGRAM}", "{signed}"),
    "unusual stacks": UNUSUAL,
    "frame pointers": POINTERS,
    "stubs": STUBS,
    "own programs": OWN,
    "own stacks": OWN_STACKS,
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
    return "" if arm64_programs.compiler() else f"there is no {ARM64.cross}gcc-12"


@pytest.fixture(scope="module")
def arm64() -> Iterator[Machine]:
    """Boot once for all."""
    if why := missing():
        pytest.skip(why)
    with Machine(RELEASE, command_line=WATCHDOGS) as machine:
        yield machine
        assert machine.boots == 1


@pytest.fixture(scope="module")
def programs(arm64: Machine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Make the programs, which the guest has at their places here."""
    found = arm64_programs.made(tmp_path_factory.mktemp("programs"))
    arm64_programs.install(arm64, found)
    return found


def named(text: str, programs: dict[str, Path]) -> str:
    """Write the paths of programs, and the line of one, into a script."""
    line = arm64_programs.FUNCTIONS.splitlines().index("\tcounter += a;") + 1
    for name, path in programs.items():
        text = text.replace(f"{{{name}}}", str(path))
    return text.replace("{line}", str(line)).replace("{release}", RELEASE)


@pytest.mark.parametrize("name", SCRIPTS)
def test_family(
    arm64: Machine, builds: Builds, programs: dict[str, Path], tmp_path: Path, name: str
) -> None:
    file, script = tmp_path / "case.stp", named(SCRIPTS[name], programs)
    file.write_text(script)
    case = told_case(file, script, tmp_path)
    made = build(arm64.release, case.words(), builds.folder())
    check_case(case, run_built(arm64, made, case.words(), case.timeout))


@pytest.mark.parametrize(
    "test",
    [
        test_bpf.test_values,
        test_bpf.test_what_cannot_be_probed,
        test_bpf.test_storm,
        test_bpf.test_a_call_that_sleeps,
        test_bpf.test_programs_that_come_and_go,
    ],
)
def test_bpf_programs(arm64: Machine, tmp_path: Path, test: BpfTest) -> None:
    """What is so on the other machine: the kernel's trampolines are written for each."""
    test(arm64, RELEASE, tmp_path)


def test_what_the_guest_is(arm64: Machine) -> None:
    """Its programs are of its architecture, and modules lie where modprobe looks for them."""
    ask = "uname -rm; modinfo -F vermagic overlay; pwd; python3 -c 'import ctypes, json, zlib'"
    result = arm64.run(["sh", "-c", ask])
    said = result.stdout.decode()
    assert result.status == 0, result.stderr
    assert said.startswith(f"{RELEASE} aarch64\n{RELEASE} SMP ") and said.endswith("\n/\n")
