"""Several sessions at a time: of different scripts, and of one and the same module."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = """
probe begin {{ printf("{0} %s\\n", module_name()) }}
probe timer.ms(50) {{ println("{0}") }}
probe end {{ println("end {0}") }}
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("modules")
    return make(release, folder, one=SCRIPT.format("one"), two=SCRIPT.format("two"))


def test_two_scripts_at_the_same_time(pair: Machine, modules: dict[str, Path]) -> None:
    text = "$run -T 3 $one >1 & $run -T 3 $two; wait; cat 1; loaded 'one|two'; folders"
    lines, result = shell(pair, modules, text)
    assert {"one one", "two two", "end one", "end two"} <= set(lines)
    assert lines[-2:] == ["0", "0"], result.stderr


def test_one_script_four_times_at_the_same_time(pair: Machine, modules: dict[str, Path]) -> None:
    text = """
    for n in 1 2 3 4; do ($run -T 15 $one >$n 2>&1; echo status=$? >>$n) & done
    wait_for '[ $(loaded one) = 4 ]'; echo loaded=$(loaded one); wait
    for n in 1 2 3 4; do head -n 1 $n; tail -n 2 $n; done
    loaded one; folders
    """
    lines, _ = shell(pair, modules, text, 90)
    assert lines[0] == "loaded=4"
    assert lines[-2:] == ["0", "0"]
    assert lines.count("end one") == lines.count("status=0") == 4, lines
    names = {line for line in lines if line.startswith("one ")}
    assert len(names) == 4, lines
    assert sum(name.startswith("one one__") for name in names) == 3


def test_a_detached_session_is_alive(guest: Machine, modules: dict[str, Path]) -> None:
    text = """
    $run -L $one >/dev/null
    $run -T 1 $one >2; head -n 1 2; tail -n 1 2
    cat /sys/module/one/parameters/stapy_state
    $run -A -T 0.5 one | tail -n 1; loaded one
    """
    lines, _ = shell(guest, modules, text)
    assert lines[0].startswith("one one__")
    assert lines[1:] == ["end one", "running", "end one", "0"]


def test_what_nobody_opened_is_replaced(guest: Machine, modules: dict[str, Path]) -> None:
    text = """
    insmod $one; cat /sys/module/one/parameters/stapy_state
    $run -T 0.5 $one | head -n 1; loaded one
    """
    lines, _ = shell(guest, modules, text)
    assert lines == ["loaded", "one one", "0"]


def test_what_is_replaced_has_nobody_else_removing_it(
    guest: Machine, modules: dict[str, Path]
) -> None:
    """The kernel's own helper would take the new session's module for the old one."""
    text = """
    for n in 1 2 3 4 5 6; do insmod $one; $run -T 0.05 $one >out; echo status=$?; done
    insmod $one; rmmod=$(readlink -f $(command -v rmmod)); mount --bind /bin/false $rmmod
    : 3>/proc/stapy_one/control # as if killed: the helper tries ten times
    helper='pgrep -f "^/bin/sh -c for try" >/dev/null'
    wait_for "$helper"; wait_for "! $helper"
    umount -l $rmmod
    (echo dismiss >&3) 3>/proc/stapy_one/control; sleep 1; loaded one
    $run -T 0.05 $one >out; echo status=$?; loaded one
    """
    lines, result = shell(guest, modules, text)
    assert lines == ["status=0"] * 6 + ["1", "status=0", "0"], (lines, result.stderr)


def test_many_short_sessions_of_one_module_race(pair: Machine, modules: dict[str, Path]) -> None:
    """Loading, opening and unloading under one name by several consumers."""
    text = """
    for who in a b c; do
        (for n in 1 2 3; do $run -T 0.1 $one; echo status=$?; done >$who 2>&1) &
    done
    wait; cat a b c; loaded one; folders
    """
    lines, _ = shell(pair, modules, text, 120)
    assert lines.count("status=0") == 9, "\n".join(lines)
    assert lines.count("end one") == 9, "\n".join(lines)
    assert lines[-2:] == ["0", "0"]
