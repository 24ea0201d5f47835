"""What -D and --modinfo change of a session."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.harness import build, run_script
from tests.vm.needs import need
from tests.vm.test_build_ids import msr
from tests.vm.test_consumer import output, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

ALIBI = """
global reads
probe begin { println("never") }
probe kernel.function("vfs_read") { reads++; println("never"); exit() }
probe kernel.function("vfs_read").return { println("never", @entry($count)) }
probe kernel.function("vfs_statfs") ? { println("never") }
probe end { println("never", reads) }
"""
SCRIPT = """
probe module("msr").function("msr_open") { println("opened") }
probe begin { println("began") }
"""


def test_handlers_that_do_not_run(guest: Machine) -> None:
    """-D STP_ALIBI: hits are counted, and the report has nothing on what was not hit."""
    load = "sh -c 'dd if=/dev/zero of=/dev/null bs=16 count=50 2>/dev/null'"
    result = run_script(guest, ALIBI, "-DSTP_ALIBI", "-c", load)
    assert result.status == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "----- probe hit report: "
    assert "never" not in result.stdout and "cycles" not in result.stdout
    hits = {line.split(", (")[0]: int(line.split("hits: ")[1].split(",")[0]) for line in lines[1:]}
    assert hits.keys() == {
        "begin", "end", 'kernel.function("vfs_read")', 'kernel.function("vfs_read").return',
    }  # fmt: skip
    assert hits["begin"] == hits["end"] == 1
    assert hits['kernel.function("vfs_read")'] >= 50
    assert hits['kernel.function("vfs_read").return'] >= 50


def test_builds_that_are_not_compared(guest: Machine, release: str, tmp_path: Path) -> None:
    """-D STP_NO_BUILDID_CHECK takes a module of another build, loaded before or later."""
    need(release, "CONFIG_X86_MSR")
    words = ["-m", "probing", "-DSTP_NO_BUILDID_CHECK", "-e", SCRIPT]
    made = build(release, words, tmp_path)
    assert made.module, made.stderr
    path, _ = msr(release, tmp_path, True)
    use = "dd if=/dev/cpu/0/msr bs=8 count=0 2>/dev/null"
    text = f"""
    export msr; $run -c 'sh -c "insmod $msr; {use}"' $probing
    $run -c '{use}' $probing; rmmod msr
    $run --info $probing | grep -c '^build-id'
    """
    result = shell(guest, {"probing": made.module, "msr": path}, text)
    assert output(result) == ["began", "opened", "began", "opened", "0"], result.stderr
    assert b"build-id" not in result.stderr


def test_the_whole_identity(guest: Machine, release: str, tmp_path: Path) -> None:
    """-D STP_FULL_VERREL_CHECK names the kernel's build though the script asks nothing of it."""
    script = "probe begin { println(1); exit() }"
    for name, words, count in (("plain", [], "0"), ("full", ["-DSTP_FULL_VERREL_CHECK"], "1")):
        made = build(release, ["-m", name, "-e", script, *words], tmp_path)
        assert made.module, made.stderr
        text = "$run $it; $run --info $it | grep -c '^build-id.*kernel'"
        assert output(shell(guest, {"it": made.module}, text)) == ["1", count]


def test_lines_for_modinfo(guest: Machine, release: str, tmp_path: Path) -> None:
    words = ["-m", "named", "--modinfo", 'note=a "b" \\c', "--modinfo=intree=Y"]
    made = build(release, [*words, "-e", "probe begin { println(1); exit() }"], tmp_path)
    assert made.module, made.stderr
    text = "$run $named; modinfo -F note $named; modinfo -F intree $named"
    result = shell(guest, {"named": made.module}, text)
    assert output(result) == ["1", 'a "b" \\c', "Y"], result.stderr


def test_disks_are_written_first(guest: Machine, release: str, tmp_path: Path) -> None:
    """$SYSTEMTAP_SYNC, as a script sees it that is loaded already."""
    watch = 'probe kernel.function("ksys_sync") { println("sync ", execname()) }'
    modules = {}
    for name, script in (("watch", watch), ("other", "probe begin { exit() }")):
        made = build(release, ["-m", name, "-e", script], tmp_path)
        assert made.module, made.stderr
        modules[name] = made.module
    text = """
    export run other
    for set in "" SYSTEMTAP_SYNC=1; do
        $run -c "sh -c 'env $set $run $other'" $watch | sort -u; echo done
    done
    """
    lines = output(shell(guest, modules, text, t=150))
    assert len(lines) == 3 and lines[0] == lines[2] == "done", lines
    assert lines[1] == "sync stapy-run", lines


NESTED = """
probe kernel.function("vfs_read") { if (pid() == target()) mdelay(4) }
probe timer.us(300) { ticks++ }
global ticks
probe end { println(ticks > 5) }
"""
LOAD = "dd if=/dev/zero of=/dev/null bs=1 count=60"


def test_interrupts_are_masked(guest: Machine) -> None:
    """-D INTERRUPTIBLE=0: no timer comes into a handler; by default that ends nothing."""
    result = run_script(guest, NESTED, "-g", "-DMAXSKIPPED=3", "-DSTP_NO_OVERLOAD", "-c", LOAD)
    assert result.stdout == "1\n" and result.status == 0, result.stderr
    skipped = result.stderr.partition("Skipped due to reentrancy: ")[2].split()
    assert skipped and int(skipped[0]) > 3, result.stderr
    words = ("-g", "-DMAXSKIPPED=3", "-DSTP_NO_OVERLOAD", "-DINTERRUPTIBLE=0", "-c", LOAD)
    result = run_script(guest, NESTED, *words)
    assert result.stdout == "1\n" and result.status == 0, result.stderr
    assert "Skipped" not in result.stderr


def test_times_in_nanoseconds(guest: Machine) -> None:
    """-t with -D STP_TIMING_NSECS."""
    script = "probe begin { mdelay(20) exit() }"
    result = run_script(guest, script, "-g", "-t", "-DSTP_TIMING_NSECS")
    times = re.search(r"hits: 1, nsecs: (\d+)min/(\d+)avg/(\d+)max, variance: 0,", result.stdout)
    assert times, result.stdout
    assert 18_000_000 < int(times[1]) == int(times[2]) == int(times[3]) < 5_000_000_000
    assert ", cycles: " in run_script(guest, script, "-g", "-t").stdout


def test_what_cannot_be_read_is_zero(guest: Machine) -> None:
    """-D STP_SKIP_BADVARS, which --skip-badvars sets as well."""
    script = 'probe begin { println("is ", @cast(8, "file", "kernel")->f_flags) exit() }'
    for words in (["-DSTP_SKIP_BADVARS"], ["--skip-badvars"]):
        result = run_script(guest, script, *words)
        assert (result.stdout, result.status) == ("is 0\n", 0), result.stderr
    assert "read fault" in run_script(guest, script).stderr


HOOKS = """%{
static int begun(void) { pr_info("hook begins\\n"); return 0; }
static void gone(void) { pr_info("hook ends\\n"); }
static int refused(void) { return -EPERM; }
#ifdef REFUSED
#define STAP_MODULE_INIT_HOOK refused
#else
#define STAP_MODULE_INIT_HOOK begun
#endif
#define STAP_MODULE_EXIT_HOOK gone
%}
probe begin { println("began") exit() }
"""


def test_hooks_of_embedded_c(guest: Machine) -> None:
    result = run_script(guest, HOOKS, "-g")
    assert result.stdout == "began\n" and result.status == 0, result.stderr
    assert "hook begins" in result.dmesg and "hook ends" in result.dmesg
    result = run_script(guest, HOOKS, "-g", "-DREFUSED")
    assert (result.stdout, result.status) == ("", 1)
    assert "ERROR: Failed to run STAP_MODULE_INIT_HOOK (-1)" in result.stderr
