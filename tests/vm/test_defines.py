"""What -D and --modinfo change of a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.harness import build, run_script
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
    assert lines[1].startswith("sync python"), lines
