"""Modules that are not ours are left alone; refusals of the kernel are explained."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.needs import need
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = 'probe begin { printf("%s\\n", module_name()) exit() }'
WAITS = 'probe timer.s(60) { println("tick") }'
# What is at this address, the interrupt table's copy that may only be read, is the kernel's.
READS = """
probe begin {
    try { printf("kernel %d\\n", @cast(0xfffffe0000000000, "list_head")->next != 0) }
    catch (m) { println("kernel: " . m) }
    printf("mine %d %d\\n", is_myproc(), user_string_n(0, 10, "none") == "none")
    FUNCTION
}
probe timer.ms(20) {
    if (execname() == "sh" && uid() == 65534 && user_mode()) {
        try { printf("other %d\\n", uaddr() != 0) } catch (m) { println("other: " . m) }
        FUNCTION
        exit()
    }
}
"""
FUNCTION = 'try { println("function " . probefunc()) } catch (m) { println("function: " . m) }'
GLOBALS = r"""
global text = "t", other = "o"
probe begin { printf("<%s><%s>\n", text, other) exit() }
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("modules")
    return make(
        release,
        folder,
        dummy=SCRIPT,
        printk=SCRIPT,
        one=WAITS,
        two=WAITS,
        all=("--privilege=stapsys", "-e", READS.replace("FUNCTION", "")),
        own=("--privilege=stapusr", "-e", READS.replace("FUNCTION", FUNCTION)),
        settable=("-G", "text=a", "-G", "other=b", "-e", GLOBALS),
    )


def test_modules_of_others_are_left_alone(guest: Machine, modules: dict[str, Path]) -> None:
    """What has our name, what is named by -d and -A; the kernel's own names as well."""
    text = """
    modprobe dummy || exit
    $run $dummy; echo status $?; $run -d dummy; echo status $?; $run -A dummy; echo status $?
    $run -d ../module/dummy; echo status $?; $run $printk; echo status $?
    $run -d printk; echo status $?; $run -d ..; echo status $?
    loaded dummy; dmesg | grep -c 'dummy.*loading'
    rmmod dummy; $run $dummy
    """
    lines, result = shell(guest, modules, text, 300)
    assert lines == ["status 1"] * 7 + ["1", "0", "dummy"], result.stderr
    ours = "take another name (stapy -m NAME)"
    alone = "ERROR: module 'dummy' is not one that stapy made: it is left alone"
    assert result.stderr.decode().splitlines() == [
        "ERROR: module 'dummy' cannot be loaded: another module of this name is loaded, which "
        f"stapy did not make; {ours}",
        alone,
        alone,
        alone,
        f"ERROR: module 'printk' cannot be loaded: the kernel itself has a part of this name; "
        f"{ours}",
        "ERROR: module 'printk' is not one that stapy made: it is left alone",
        "ERROR: module '..' is not loaded",
    ]


def test_all_of_ours_but_those_in_use(guest: Machine, modules: dict[str, Path]) -> None:
    """``-d '*'`` says which one is in use and goes on."""
    text = """
    modprobe dummy
    $run $one & wait_for '[ "$(state one)" = running ]'
    $run -L $two 2>/dev/null
    $run -d '*'; echo status $?; loaded one; loaded two; loaded dummy
    kill $!; wait $!; rmmod dummy; folders
    """
    lines, result = shell(guest, modules, text, 300)
    assert lines == ["status 1", "1", "0", "1", "0"], result.stderr
    assert b"Couldn't remove module 'one': Resource temporarily unavailable" in result.stderr


def test_sessions_are_listed(guest: Machine, modules: dict[str, Path]) -> None:
    """One that is read, one that was detached, and none: the list itself ends no session."""
    text = """
    $run --list
    $run $one & reader=$!; wait_for '[ "$(state one)" = running ]'
    $run -L $two 2>/dev/null
    for time in 1 2; do $run --list | sed "s/ $reader (/ PID (/"; done
    state one; state two
    $run -d two; kill $reader; wait $reader; $run --list; folders
    """
    lines, result = shell(guest, modules, text, 300)
    table = [
        "MODULE  STATE    USER  READ BY",
        "one     running  root  PID (stapy-run)",
        "two     running  root  nobody: detached",
    ]
    none = "no module of stapy's is loaded"
    assert [line for line in lines if line not in ("one", "two")] == [
        *(none, *table, *table, "running", "running", none, "0")
    ], (lines, result.stderr)


def test_only_root_can_hold_the_lock(guest: Machine, modules: dict[str, Path]) -> None:
    """/sys/module, which was locked before, can be locked by anybody."""
    text = """
    nobody='setpriv --reuid 65534 --clear-groups'
    $run $dummy; stat -c '%a %u' /run/stapy-run.lock
    $nobody sh -c 'exec 3</run/stapy-run.lock' 2>&1 | grep -c denied
    flock /run/stapy-run.lock sleep 600 & holder=$!
    wait_for '! flock -n /run/stapy-run.lock true' >&2
    a=$(now); $run $dummy; b=$(now); [ $((b - a)) -ge 500 ] && echo waited; kill $holder
    """
    lines, result = shell(guest, modules, text, 300)
    assert lines == ["dummy", "600 0", "1", "dummy", "waited"], result.stderr


def test_values_do_not_become_parameters(guest: Machine, modules: dict[str, Path]) -> None:
    text = r"""
    $run $settable 'text=x y' other=z; $run $settable "text=$(printf 'two\nother=no')" other=z
    $run $settable text=à other=ä; $run $settable 'text=a"b c' 'other=d"e'; echo status $?
    $run $settable 'text=" other="no' other=$(printf '\001'); echo status $?
    $run $settable other=z "text=$(printf '%1000s' x)"; echo status $?
    $run $settable 'text="q"' other=; $run $settable stapy_state=running; echo status $?
    """
    lines, result = shell(guest, modules, text, 300)
    assert lines == [
        "<x y><z>",
        "<two",
        "other=no><z>",
        "<à><ä>",
        '<a"b c><d"e>',
        "status 0",
        '<" other="no><\x01>',
        "status 0",
        "status 1",
        '<"q"><>',
        "status 1",
    ], result.stderr
    assert b"reason: a value is not what its parameter takes: a text is too long" in result.stderr


def test_files_that_change_while_they_are_loaded(guest: Machine, modules: dict[str, Path]) -> None:
    """A file that anybody may write is loaded as it was read."""
    text = """
    cp $dummy open.ko; chmod 666 open.ko; $run open.ko; echo status $?
    cp $dummy his.ko; chown 65534 his.ko; $run his.ko; echo status $?
    """
    lines, result = shell(guest, modules, text, 300)
    assert lines == ["dummy", "status 0"] * 2, result.stderr


def test_unprivileged_scripts_see_their_users_memory_only(
    guest: Machine, modules: dict[str, Path]
) -> None:
    """--privilege=stapusr: as SystemTap, by the address and by whose process it is."""
    text = """
    setpriv --reuid 65534 --clear-groups sh -c 'while :; do :; done' & other=$!
    $run -T 60 $all; $run -T 60 $own; kill $other
    """
    lines, result = shell(guest, modules, text, 300)
    assert lines[:4] == ["kernel 1", "mine 1 1", "other 1", lines[3]], result.stderr
    assert lines[3].startswith("kernel: read fault"), lines
    kernels = "function: kernel probefunc() query from unprivileged script"
    assert lines[4:6] == ["mine 1 1", kernels], lines
    assert lines[6].startswith(
        "other: myproc-unprivileged tapset function called without is_myproc checking for pid "
    ), lines
    assert "(euid 65534)" in lines[6], lines
    assert lines[7:] == [lines[6].replace("other", "function", 1)], lines


@pytest.fixture
def strict(release: str) -> Iterator[Machine]:
    """Boot a machine of its own: what is forbidden here stays so until it is switched off."""
    need(release, "CONFIG_SECURITY_LOCKDOWN_LSM", "CONFIG_MODULE_SIG")
    with Machine(release) as machine:
        yield machine


def test_refusals_of_the_kernel(strict: Machine, modules: dict[str, Path]) -> None:
    text = """
    capsh --drop=cap_sys_module -- -c "$run $dummy"
    mount -t securityfs none /sys/kernel/security
    echo integrity >/sys/kernel/security/lockdown; $run $dummy
    echo 1 >/sys/module/module/parameters/sig_enforce; $run $dummy
    echo 1 >/proc/sys/kernel/modules_disabled; $run $dummy
    """
    _, result = shell(strict, modules, text, 300)
    told = result.stderr.decode()
    for words in (
        "root without the right to load modules (CAP_SYS_MODULE)",
        "reason: the kernel is locked down (integrity) and this module is not signed:",
        "reason: the kernel takes signed modules only, and this one is not signed: sign it",
        "reason: loading modules is switched off until the next boot",
    ):
        assert words in told, told
    assert "Loading of unsigned" not in told  # the kernel is not asked in vain
    assert "as root" not in told
    assert "try sudo" not in told
    assert "secure boot" not in told  # this machine has none
