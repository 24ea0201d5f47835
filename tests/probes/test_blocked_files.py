"""Code in the files that handle probes: by wildcard, line, inlined; with and without DWARF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stapy.debuginfo.dwarf.query.answers import CodePlace
from stapy.debuginfo.sites import FunctionSite
from stapy.options import Options
from stapy.probes import blocklist
from stapy.probes.families.kprobe import places
from stapy.vm import kernels
from tests import debugpackage
from tests.program import run_stapy

ROOT = Path(__file__).resolve().parents[2]
FILES = (
    "kernel/kprobes.c",
    "arch/x86/kernel/kprobes/core.c",
    "arch/x86/kernel/kprobes/opt.c",
    "arch/arm64/kernel/kprobes.c",
    "arch/x86/kernel/paravirt.c",
    "arch/x86/include/asm/bitops.h",
    "./include/asm/io.h",
    "arch/x86/include/asm/paravirt.h",
)


class Services:
    def __init__(self, guru: bool) -> None:
        self.options = Options(guru=guru)
        self.debuginfo: Any = None


def place(file: str, **what: bool) -> FunctionSite:
    """Make a function with a harmless name in a file."""
    shape = {"inlined": False, "is_exact": True} | what
    found = CodePlace("harmless", file, 10, "harmless", 0, 4096, 1, **shape)
    return FunctionSite("harmless", None, None, "dwarf", place=found)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("shape", [{}, {"inlined": True}])
def test_nothing_of_these_files_but_in_guru_mode(file: str, shape: dict[str, bool]) -> None:
    site = place(file, **shape)
    for is_return in (False, True):
        why = places.refusal(site, is_return, Services(False))
        assert why == blocklist.of_file(file) != ""
        assert blocklist.hint(f"'harmless' must not be probed: {why}").startswith("-g lifts")
        assert places.refusal(site, is_return, Services(True)) == ""


@pytest.mark.parametrize("file", ["fs/open.c", "kernel/trace/ftrace.c", "kernel/kprobes.cc", ""])
def test_other_files(file: str) -> None:
    assert places.refusal(place(file), False, Services(False)) == ""


@pytest.mark.parametrize(
    "section", [".init.text", ".kprobes.text", ".entry.text", ".noinstr.text", "NOKPROBE_SYMBOL"]
)
def test_sections(section: str) -> None:
    """What the kernel itself refuses stays refused in guru mode."""
    site = FunctionSite("harmless", None, None, "btf", section)
    for guru in (False, True):
        assert places.refusal(site, False, Services(guru))


def listed(release: str, *words: str) -> list[str]:
    debug_files = {"SYSTEMTAP_DEBUGINFO_PATH": str(debugpackage.at_hand(release))}
    done = run_stapy("-r", release, *words, env=debug_files, timeout=300)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.splitlines()


@pytest.mark.build
@pytest.mark.parametrize("release", kernels.lines())
def test_real_kernels(release: str) -> None:
    """By wildcard with a file: no function, return, statement or inlined one; with -g they come.

    Their names alone are refused as well, for kernels without DWARF.
    """
    if debugpackage.at_hand(release) is None:
        pytest.skip(f"the debug package of {release} is not at hand")
    points = [
        'kernel.function("*@kernel/kprobes.c")',
        'kernel.function("*@kernel/kprobes.c").return',
        'kernel.statement("*@kernel/kprobes.c:*")',
        'kernel.function("*@arch/x86/include/asm/bitops.h").inline',
    ]
    for point in points:
        assert listed(release, "-l", point) == [], point
    found = listed(release, "-g", "-l", 'kernel.function("*@kernel/kprobes.c").call')
    names = [line.partition('"')[2].partition("@")[0] for line in found]
    assert len(names) > 40
    assert [name for name in names if not blocklist.reason(name, False)] == []
