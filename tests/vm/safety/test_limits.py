"""Limits and run-time errors: SystemTap's messages, exit status, end and error probes."""

from __future__ import annotations

import re

import pytest

from stapy.record import Record, new
from stapy.vm.machine import Machine
from tests.vm.harness import run_script

pytestmark = [pytest.mark.build, pytest.mark.vm]

# What every script tells at its end, so that each case also checks which of the two runs.
ENDS = """
probe end { println("end ran") }
probe error { println("error ran") }
"""
DEEP = "function down(n) { return n > 0 ? 1 + down(n - 1) : 0 }\n"
HEAVY = 'probe timer.ms(1) { for (i = 0; i < 4000; i++) s = sprintf("%s%d", "text", i)'


class Limit(Record):
    """A script, how it must end, and what it must say."""

    name: str
    script: str
    args: tuple[str, ...] = ()
    status: int = 1
    stdout: str = ""  # a regular expression for all of it, without what ENDS prints
    stderr: list[str] = new(list)
    never: str = ""


def failing(name: str, script: str, message: str, *args: str, stdout: str = "") -> Limit:
    """One error ends the session."""
    message = f"^ERROR: {message}$"
    return Limit(
        name,
        script,
        args,
        1,
        stdout,
        [message, "^WARNING: Number of errors: 1, skipped probes: 0$"],
    )


AT = r"at \S+:\d+:\d+ in probe (begin|timer\.ms\(5\))"
CALLED = r"( \(called from identifier 'down' at \S+:\d+:\d+\))"
LIMITS = [
    failing("division", "global z probe begin { println(1 / z) }",
            f"division by 0 near operator '/' {AT}"),
    failing("modulo", "global z probe begin { println(1 % z) }",
            f"division by 0 near operator '%' {AT}"),
    failing("division_assignment", "global z, y = 4 probe begin { y /= z println(y) }",
            f"division by 0 near operator '/=' {AT}"),
    failing("array_maxmapentries", "global a probe begin { while (1) a[i++] = 1 println(a[1]) }",
            f"Array overflow, check MAXMAPENTRIES near identifier 'a' {AT}", "-DMAXMAPENTRIES=4"),
    failing("array_size", "global a[4] probe begin { while (1) a[i++] <<< 1 @count(a[1]) }",
            rf"Array overflow, check size limit \(4\) near identifier 'a' {AT}"),
    failing("recursion", DEEP + "probe begin { println(down(3)) println(down(100)) }",
            rf"MAXNESTING exceeded near identifier 'down' at \S+{CALLED}+ in probe begin",
            stdout="3\n"),
    failing("chain_of_calls", DEEP + "probe begin { println(down(100)) }",
            rf"MAXNESTING exceeded near identifier 'down' at \S+{CALLED}+ \.\.\. in probe begin",
            "-DMAXNESTING=60"),
    failing("maxnesting", DEEP + "probe begin { println(down(6)) println(down(7)) }",
            rf"MAXNESTING exceeded near identifier 'down' at \S+{CALLED}{{7}} in probe begin",
            "-DMAXNESTING=7", stdout="6\n"),
    failing("maxaction_interruptible", "probe begin { while (1) i++ }",
            f"MAXACTION exceeded near identifier 'i' {AT}"),
    failing("maxaction", "probe timer.ms(5) { while (1) i++ }",
            f"MAXACTION exceeded near identifier 'i' {AT}", "-DMAXACTION=20"),
    failing("error_function", 'probe begin { println("a") error("my own") println("b") }',
            f"my own near identifier 'error' {AT}", stdout="a\n"),
    failing("histogram_range", "global s probe begin { s <<< 1 delete s println(@avg(s)) }",
            f"empty aggregate near operator '@avg' {AT}"),
    Limit("caught", 'probe begin { try { error("x") } catch (m) { print(m) } exit() }',
          status=0, stdout="x", never="."),
    Limit("strings_are_cut",
          'probe begin { s = "0123456789" s = s . s . s println(strlen(s), " ", s) exit() }',
          ("-DMAXSTRINGLEN=16",), 0, "15 012345678901234\n", never="."),
    Limit("maxerrors", 'probe timer.ms(2) { n++ error(sprintf("number %d", ++count)) }\n'
          "global count, n", ("-DMAXERRORS=3",), 1, "",
          [f"^ERROR: number {n} near" for n in (1, 2, 3, 4)]
          + ["^WARNING: Number of errors: 4, skipped probes: 0$",
             r"^ +0 +0 +0 +4  timer\.ms\(2\) at "], never="number 5"),
    Limit("fewer_than_maxerrors", 'global n probe timer.ms(2) { if (n++ < 3) error("one more")\n'
          " if (n > 9) exit() }", ("-DMAXERRORS=3",), 1, "@end",
          ["^ERROR: one more near", "^WARNING: Number of errors: 3, skipped probes: 0$"]),
    Limit("suppressed", 'global n probe timer.ms(2) { if (n++ < 3) error("one more") exit() }',
          ("--suppress-handler-errors",), 0, "@end",
          ["^WARNING: Number of errors: 3, skipped probes: 0$"], never="one more"),
    Limit("minstackspace", 'probe kernel.function("vfs_read") { println("never") }\n'
          "probe timer.s(4) { exit() }", ("-DMINSTACKSPACE=200000", "-DMAXSKIPPED=0"), 1, "@none",
          ["^ERROR: Skipped too many probes, check MAXSKIPPED or try again with stap -t for more "
           r"details\.$", r"^WARNING: Number of errors: 0, skipped probes: \d+$",
           r"^WARNING: Skipped due to low stack: \d+$",
           r"^note: what the probes did, those first that skipped or failed most \(-t adds hits, ",
           r'^ +0 +[1-9]\d* +0 +0  kernel\.function\("vfs_read"\) at ',
           "^help: -D MINSTACKSPACE=N"]),
    Limit("overload", HEAVY + " }",
          ("-DSTP_OVERLOAD_THRESHOLD=1000LL", "-DSTP_OVERLOAD_INTERVAL=100000LL",
           "-DMAXACTION=100000"), 1, "",
          [r"^ERROR: probe overhead \(\d+ cycles\) exceeded threshold \(1000 cycles\) in last "
           r"\d+ cycles$", "^help: -t counts hits"]),
    Limit("maxmemory", "global a[1000] probe begin { a[1] = 1 println(a[1]) }",
          ("-DSTP_MAXMEMORY=100",), 1, "@none",
          [r"^ERROR: not enough memory: the script needs \d+ MB and 100 KiB are allowed "
           r"\(STP_MAXMEMORY\)\. The largest parts are output 'buffers'"]),
    Limit("overload_is_off", "global n " + HEAVY + " if (n++ > 5) exit() }",
          ("-DSTP_OVERLOAD_THRESHOLD=1000LL", "-DSTP_OVERLOAD_INTERVAL=100000LL",
           "-DSTP_NO_OVERLOAD", "-DMAXACTION=100000"), 0, "@end", never="ERROR"),
]  # fmt: skip


@pytest.mark.parametrize("limit", LIMITS, ids=[limit.name for limit in LIMITS])
def test_limit(limit: Limit, guest: Machine) -> None:
    result = run_script(guest, limit.script + ENDS, *limit.args, timeout=30)
    shown = f"status {result.status}\n{result.stdout[-2000:]}\n---\n{result.stderr[-2000:]}"
    failed = limit.status and limit.stdout != "@end"
    end = "error ran\n" if failed else "end ran\n"
    if limit.stdout == "@none":  # even the last probes have not stack, or memory, enough
        end = ""
    assert result.status == limit.status, shown
    assert re.fullmatch(re.sub("@.*", "", limit.stdout) + end, result.stdout), shown
    for pattern in limit.stderr:
        assert re.search(pattern, result.stderr, re.MULTILINE), f"no /{pattern}/\n{shown}"
    if limit.never:
        assert not re.search(limit.never, result.stderr), shown


LOCKS = """
global fought
probe timer.ms(1) { for (i = 0; i < 800; i++) fought[i % 50, sprintf("%d", i)] = i }
probe kernel.trace("sys_enter") { fought[1, "x"]++ }
probe timer.s(4) { exit() }
"""


def test_two_processors_fight_for_a_global(pair: Machine) -> None:
    # The emulator changes processors ten times a second: often while the lock is taken. One that
    # waits gives its turn back, and seldom finds the lock taken again: here nobody waits.
    args = ("-DMAXTRYLOCK=0", "-DMAXACTION=10000", "-DSTP_NO_OVERLOAD")
    load = "dd if=/dev/zero of=/dev/null bs=1 count=500000"
    command = "-c", f"sh -c '{load} & {load}; wait'"
    # Where a handler takes ten times as long there are as many fewer in four seconds.
    script = LOCKS.replace("timer.s(4)", f"timer.s({4 * pair.kernel.patience()})") + ENDS
    result = run_script(pair, script, *args, "-DMAXSKIPPED=100000000", *command)
    assert result.status == 0, result.stderr
    found = re.search(
        r"^WARNING: Skipped due to global 'fought' lock timeout: (\d+)$", result.stderr, re.M
    )
    assert found and int(found[1]) > 0, result.stderr
    assert "end ran" in result.stdout
    args = ("-DMAXTRYLOCK=1", "-DTRYLOCKDELAY=1", *args[1:])
    result = run_script(pair, script, *args, "-DMAXSKIPPED=0", *command)
    assert result.status == 1
    assert "ERROR: Skipped too many probes, check MAXSKIPPED" in result.stderr
    assert "error ran" in result.stdout


LATE = """
global sum, both
probe kernel.function("vfs_read") {
	if (execname() != "dd" || $count != 1) next
	for (i = 0; i < 100; i++) x = (x * 7 + i) % 1001
	if (tid() % 2) { sum += x; both++ } else both += 1
}
probe end { printf("%d\\n", sum >= 0 ? both : 0) }
"""


def test_no_update_is_lost_where_locks_are_taken_late(pair: Machine) -> None:
    """Each branch takes its own locks, after what the handler works out by itself."""
    load = "dd if=/dev/zero of=/dev/null bs=1 count=5000"
    args = ("-DMAXTRYLOCK=1", "-DTRYLOCKDELAY=1", "-DMAXSKIPPED=1000000", "-DSTP_NO_OVERLOAD")
    result = run_script(pair, LATE, *args, "-c", f"sh -c '{load} & {load}; wait'")
    assert result.status == 0, result.stderr
    skipped = re.search(r"lock timeout: (\d+)$", result.stderr, re.M)
    assert int(result.stdout) + (int(skipped[1]) if skipped else 0) == 10000, result.stderr
