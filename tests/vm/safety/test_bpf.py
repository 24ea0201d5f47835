"""Probes on BPF programs: what they tell, what is refused, and that programs go on unharmed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.harness import ROOT
from tests.vm.safety.support import figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

PROGRAMS = ROOT / "tests/vm/cases/programs/bpf_programs.py"
# bpf WORDS…: one command for the loader, whose answers are lines of `told`.
LOADER = """
mkfifo commands
$python -IS $programs <commands >told 2>failed &
exec 3>commands
asked=0
bpf() {
    echo "$*" >&3; asked=$((asked + 1))
    wait_for '[ $(wc -l <told) -ge '$asked' ] || [ -s failed ]'; cat failed >&2
}
answer() { bpf "$@"; tail -n 1 told; }
armed() { wait_for 'grep armed out >/dev/null || [ -s err ]'; }
"""


def loader(guest: Machine) -> str:
    """Return shell commands that start the loader of a guest."""
    foreign = guest.kernel.is_foreign()
    return f"programs={guest.push(PROGRAMS) if foreign else PROGRAMS}\n{LOADER}"


# Timers are heard when all probes are armed; begin probes run before that.
ARMED = 'probe timer.ms(20) { if (!armed++) println("armed") } global armed\n'

VALUES = """
probe bpf.program("xdp_*").type("xdp") {
    printf("%s: %d bytes, %d\\n", pp(), $ctx->data_end - $ctx->data, is_return())
    printf("%s %s %d %s %s %s\\n", ppfunc(), bpf_prog_name(), bpf_prog_id(), bpf_prog_tag(),
           bpf_prog_type(), probe_type())
}
probe bpf.program(301).return {
    printf("%s: %d, %d, %d %d\\n", pp(), $return, $ctx == @entry($ctx), @entry(cpu()) == cpu(),
           is_return())
}
probe bpf.program("xdp_sub").function("sub_*") { printf("%s: %s\\n", pp(), $$vars) }
probe bpf.program("xdp_sub").function("sub_*").return { printf("%s: %s\\n", pp(), $$vars) }
probe bpf.program("packet_bytes"), bpf.program("packet_bytes").return {
    sizes <<< @cast($ctx, "sk_buff", "kernel")->len; if (@defined($return)) returned <<< $return
}
probe bpf.program("sys_e?ter") { if (pid() == target()) entered++ }
probe bpf.program("negative").return { printf("negative: %d\\n", $return) }
probe bpf.program("tails").function("sub_tail"),
      bpf.program("tails").function("sub_tail").return { tails++ }
probe begin { try { println(bpf_prog_id()) } catch (m) { println(m) } }
probe end {
    printf("sizes %d*%d, returned %d*%d\\n", @count(sizes), @max(sizes),
           @count(returned), @min(returned))
    printf("entered %d, tails %d\\n", entered > 5, tails)
}
global sizes, returned, entered, tails
"""


def test_values(pair: Machine, release: str, tmp_path: Path) -> None:
    """Of programs and their functions, with and without types, and beside a tracing program."""
    modules = make(release, tmp_path, values=VALUES)
    text = """
    bpf upto 300
    bpf load xdp_with_a_name_of_many_letters xdp; bpf load xdp_sub sub
    bpf load packet_bytes socket plain; bpf load sys_enter raw; bpf attach sys_enter
    bpf load negative negative; bpf load tails tails
    bpf load before fentry=xdp_sub; bpf attach before traced
    answer tag xdp_sub
    echo 1 >/proc/sys/kernel/bpf_stats_enabled
    cat >go <<'X'
    echo run xdp_with_a_name_of_many_letters 1 >&3; echo load after fexit=xdp_sub >&3
    echo attach after traced >&3; echo run xdp_sub 2 >&3; echo run packet_bytes 50 >&3
    echo run negative 1 >&3; echo run tails 1 >&3; echo say that is all >&3
    while ! grep 'that is all' told >/dev/null; do :; done
X
    $run $values -c 'sh go'
    grep gave told; asked=$(wc -l <told); answer count before; answer count after
    answer run xdp_sub 1; answer count before; loaded values
    """
    lines, result = shell(pair, modules, loader(pair) + text, 240)
    assert not result.stderr, result.stderr.decode()
    tag = lines[0].split()[-1]
    one, two = 'bpf.program("xdp_with_a_name_of_many_letters")', 'bpf.program("xdp_sub")'
    function = f'{two}.function("sub_add_numbers")'
    arguments = "arg1=0x14 arg2=0x16 arg3=0x0 arg4=0x0 arg5=0x0"
    call = [
        f'{two}.type("xdp"): 64 bytes, 0',
        f"xdp_sub xdp_sub 301 {tag} xdp bpf",
        f"{function}: {arguments}",
        f"{function}.return: {arguments} return=0x2a",
        "bpf.program(301).return: 42, 1, 1 1",
    ]
    assert lines[1] == "this is no probe of a BPF program", lines
    assert lines[2:] == [
        f'{one}.type("xdp"): 64 bytes, 0',
        *lines[3:4],
        *call,
        *call,
        "negative: -1",
        "sizes 100*50, returned 50*50",
        "entered 1, tails 68",
        "xdp_with_a_name_of_many_letters gave 2",
        "xdp_sub gave 42",
        "packet_bytes gave 50",
        "negative gave 4294967295",
        "tails gave 7",
        "before ran 2 times",
        "after ran 2 times",
        "xdp_sub gave 42",
        "before ran 3 times",
        "0",
    ]
    many = "xdp_with_a_name_of_many_letters"
    assert lines[3].split() == [many, many, "300", lines[3].split()[3], "xdp", "bpf"]


def test_what_cannot_be_probed(pair: Machine, release: str, tmp_path: Path) -> None:
    """A name that nothing has ends the session; what is there and is refused is a warning.

    That is a program that is interpreted, and one that another has replaced.
    """
    scripts = {
        "name": 'probe bpf.program("filter_pakets") { println(1) }',
        "inside": 'probe bpf.program("filter_packets").function("sub_ad_numbers") { println(1) }',
        "number": "probe bpf.program(2147483647) { println(1) }",
        "slow": 'probe bpf.program("slow") { println(1) }',
        "replaced": 'probe bpf.program("repl*").return { println(1) }',
        "maybe": 'probe bpf.program("nothing*")? { println(1) } probe end { println("end") }',
    }
    modules = make(release, tmp_path, **scripts)
    text = """
    bpf load filter_packets sub
    bpf load replaced xdp; bpf load other ext=replaced; bpf attach other in_place
    echo 0 >/proc/sys/net/core/bpf_jit_enable; bpf load slow xdp
    echo 1 >/proc/sys/net/core/bpf_jit_enable
    for one in name inside number slow replaced maybe; do
        eval "place=\\$$one"; $run -T 1 $place 2>&1; echo "$one $? $(loaded $one)"
    done
    answer run replaced 1
    """
    lines, _ = shell(pair, modules, loader(pair) + text, 240)
    told = "\n".join(lines)
    start, none = "probe bpf.program(", "registration error: no running BPF program matches"
    for wanted in (
        f'{start}"filter_pakets") {none}; similar: filter_packets',
        f'.function("sub_ad_numbers") {none}; similar: sub_add_numbers',
        f"{start}2147483647) {none}",
        "it is interpreted (net.core.bpf_jit_enable is 0)",
        "an extension program (freplace) has taken its place",
        f'WARNING: {start}"replaced").return registration error: program ',
    ):
        assert wanted in told, told
    for name, status in (("name", 1), ("inside", 1), ("number", 1), ("slow", 0), ("replaced", 0)):
        assert f"{name} {status} 0" in lines, told
    assert lines[-3:] == ["end", "maybe 0 0", "replaced gave 1"], told


STORM = """
probe bpf.program("storm*"), bpf.program("storm*").return { hits <<< is_return() }
probe bpf.program("storm*").function("sub_*").return {
    kept <<< @entry(gettimeofday_ns()) <= gettimeofday_ns() && $return == 42
}
probe end {
    printf("hits=%d\\nreturns=%d\\n", @count(hits), @sum(hits))
    printf("kept=%d\\nright=%d\\n", @count(kept), @sum(kept))
}
global hits, kept
"""


def test_storm(pair: Machine, release: str, tmp_path: Path) -> None:
    """Sessions begin and end, by a signal too, while the program runs on two processors."""
    modules = make(release, tmp_path, storm=ARMED + STORM)
    text = """
    bpf load storm_1 sub
    cat >go <<'X'
    echo background storm_1 3000 >&3; echo background storm_1 3000 >&3
    echo join >&3; echo say that is all >&3
    while ! grep 'that is all' told >/dev/null; do sleep 0.1; done
X
    $run $storm -c 'sh go' | grep =; asked=$(wc -l <told)
    bpf background storm_1 100000000; bpf background storm_1 100000000
    for ending in INT KILL; do
        rm -f out err; $run $storm >out 2>err & run_pid=$!
        armed; kill -$ending $run_pid
        wait $run_pid; echo ended=$?
        wait_for '[ $(loaded storm) = 0 ]'; grep -h ERROR err
    done
    echo left=$(loaded storm)
    bpf stop
    answer run storm_1 1
    """
    lines, _ = shell(pair, modules, loader(pair) + text, 300)
    expected = {"hits": 12000, "returns": 6000, "kept": 6000, "right": 6000}
    assert figures(lines[:4]) == expected, lines
    assert lines[4:] == ["ended=0", "ended=137", "left=0", "storm_1 gave 42"]


SLEEPS = """
probe bpf.program("sleeps").return { printf("%d %d\\n", $return, @entry(pid()) == pid()) }
"""


def test_a_call_that_sleeps(pair: Machine, release: str, tmp_path: Path) -> None:
    """A session may end between the call and the return of a program that sleeps."""
    modules = make(release, tmp_path, sleeps=ARMED + SLEEPS)
    text = """
    bpf load sleeps sleeps
    rm -f out err; $run $sleeps >out 2>err & run_pid=$!
    armed; bpf fault sleeps; kill -INT $run_pid; wait $run_pid; echo ended=$?; said
    loaded sleeps; answer resolve; cat out
    # Another time the session sees both.
    bpf load sleeps_again sleeps
    rm -f out err; $run $sleeps >out 2>err & run_pid=$!
    armed; bpf run sleeps 2; kill -INT $run_pid; wait $run_pid; cat out; said
    """
    lines, _ = shell(pair, modules, loader(pair) + text, 240)
    expected = ["ended=0", "0", "resolve done", "armed", "armed", "1234 1", "1234 1"]
    assert lines == expected


LATER = """
probe bpf.program("later*")? {
    id = bpf_prog_id()
    if (!(id in seen)) printf("saw %d\\n", ++n)
    seen[id]++
}
probe end { println(n) foreach (id+ in seen) println(seen[id]) }
global seen, n
"""


def test_programs_that_come_and_go(pair: Machine, release: str, tmp_path: Path) -> None:
    """One that is loaded later is probed; one that nobody has is let go when the next one comes."""
    modules = make(release, tmp_path, later=ARMED + LATER)
    text = """
    bpf upto 500
    rm -f out err; $run $later >out 2>err & run_pid=$!
    once() { ran=$((ran + 1)); bpf run later_$1 1; grep "saw $1" out >/dev/null; }
    saw() { ran=0; wait_for "once $1"; }
    armed; bpf load later_1 xdp; saw 1; echo $ran; bpf run later_1 3; bpf drop later_1
    answer there 500; bpf load later_2 sub
    wait_for 'bpf there 500; tail -n 1 told | grep "is not there"'; saw 2; echo $ran
    bpf run later_2 4; bpf drop later_2; answer there 501
    kill -INT $run_pid; wait $run_pid; cat out; said
    answer there 501; loaded later
    """
    lines, _ = shell(pair, modules, loader(pair) + text, 240)
    tries = int(lines.pop(0)), int(lines.pop(2))
    hits = int(lines.pop(-4)), int(lines.pop(-3))
    told = ["500 is there", "500 is not there", "501 is there", "armed", "saw 1", "saw 2", "2"]
    assert lines == [*told, "501 is not there", "0"]
    # Tries may come before the program is probed, and one more before its line is read.
    assert 1 <= hits[0] - 3 <= tries[0] and 1 <= hits[1] - 4 <= tries[1], (hits, tries)


def test_list(pair: Machine) -> None:
    """-l asks the kernel that runs."""
    text = f"""
    bpf load xdp_with_a_name_of_many_letters xdp; bpf load listed_sub sub
    export PYTHONPATH={ROOT}:$PYTHONPATH
    # In one process: an emulated Python takes ten seconds to import what -l needs.
    {sys.executable} -c '
import os, sys
from stapy.cli import main
for number, point in enumerate(sys.argv[1:]):
    os.write(1, b"= %d\\n" % number)
    main(["-l", point])
    sys.stdout.flush()
' 'bpf.program("xdp_with*").type("xdp").return' 'bpf.program("listed*").function("*")' \
        'bpf.program("nothing")' >all 2>&1
    sed '/^= 2/,$d' all | grep -v '^= '; sed '1,/^= 2/d' all | grep -c 'none fits'
    """
    lines, _ = shell(pair, {}, loader(pair) + text, 240)
    assert lines == [
        'bpf.program("xdp_with_a_name_of_many_letters").type("xdp").return',
        'bpf.program("listed_sub").function("listed_sub")',
        'bpf.program("listed_sub").function("sub_add_numbers")',
        "1",
    ]
