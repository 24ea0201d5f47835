"""The script that --monitor adds: names, rooms, and what it does to the user's."""

from __future__ import annotations

import subprocess

import pytest

from tests.program import run_stapy

ALL = "probe timer.s(1) { ticks++ }"


def stapy(*words: str) -> subprocess.CompletedProcess[str]:
    return run_stapy("-p2", *words)


@pytest.mark.parametrize("name", ["__separator", "__number", "__place", "__word", "__rest"])
def test_globals_of_any_name(name: str) -> None:
    """Locals of the monitor are no globals of the script, whatever their types."""
    script = f'global {name}, other; probe timer.s(1) {{ {name}["a", 1] <<< 2 other = "x" }}'
    result = stapy("--monitor", "-e", script)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "declaration", ["global __monitor_off", "function __monitor_alone() { return 1 }"]
)
def test_names_of_the_monitor(declaration: str) -> None:
    script = f"global ticks; {declaration} {ALL}"
    assert stapy("-e", script).returncode == 0
    result = stapy("--monitor", "-e", script)
    assert result.returncode == 1
    assert "with --monitor, names that begin with '__monitor_' are the monitor's" in result.stderr
    assert "--> <input>:1:" in result.stderr and "<monitor>" not in result.stderr


@pytest.mark.parametrize("name", ["tokenize", "strlen", "strtol", "warn"])
def test_functions_of_any_name(name: str) -> None:
    """A script's own function hides the library's, also from the script of the monitor."""
    script = (
        f"function {name}:long(a:long) {{ return a }} probe timer.s(1) {{ println({name}(1)) }}"
    )
    result = stapy("--monitor", "-e", script)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("words", [[], ["--monitor"]])
def test_its_functions_are_not_for_scripts(words: list[str]) -> None:
    """They mask interrupts and lift the bound of actions: no loop may call them."""
    script = "global ticks probe timer.s(1) { while (1) ticks += __monitor_alone() }"
    result = stapy(*words, "-e", script)
    assert result.returncode == 1
    assert "unresolved function __monitor_alone" in result.stderr
    assert "<input>:1:52" in result.stderr


def test_private_globals() -> None:
    """They are shown and reset: the monitor has no namesake of its own."""
    script = "private global ticks = 3; probe timer.s(1) { if (ticks++ > 5) exit() }"
    result = stapy("--monitor", "-e", script)
    assert (result.returncode, result.stderr) == (0, "")


def test_short_strings() -> None:
    result = stapy("--monitor", "-D", "MAXSTRINGLEN=128", "-e", f"global ticks {ALL}")
    assert result.returncode == 1
    assert "--monitor needs strings of 256 bytes, and MAXSTRINGLEN is 128" in result.stderr
