"""Modules for arm64 kernels, a script for each family of probes, by the cross compiler.

For a kernel that `stapy kernel fetch` has unpacked; skipped where there is none.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stapy.arch import ARM64, host_name
from stapy.debuginfo.elf import ElfFile
from stapy.kernel.roots import releases, roots

SCRIPTS = {
    "begin": 'probe begin { println("hi") exit() }',
    "timers": "global a, s probe timer.ms(100) { a[cpu(), execname()] += 1; s <<< pid() } "
    "probe end { foreach ([c, e] in a- limit 3) println(c, e) print(@hist_log(s)) }",
    "profile": "probe timer.profile { println(addr(), user_mode()) }",
    "function": 'probe kernel.function("vfs_read") { println($count, " ", pointer_arg(1)) '
    'print_regs() print_backtrace() println(register("x0")) }',
    "return": 'probe kernel.function("vfs_read").return { println($return, @entry($count)) }',
    "tracepoint": 'probe kernel.trace("sched_switch") { println($prev->pid) }',
    "syscall": "probe syscall.openat { println(name, argstr) } "
    "probe syscall.openat.return { println(retstr) }",
    "syscall_nd": "probe nd_syscall.openat { println(argstr) }",
    "syscall_numbers": 'probe kernel.trace("sys_enter") { println(syscall_name($id)) }',
    "perf": "probe perf.sw.cpu_clock { println(1) }",
    "procfs": 'probe procfs("x").read { $value = "1" }',
    "netfilter": "probe netfilter.ipv4.pre_routing { println($hooknum) }",
    "bpf": 'probe bpf.program("x*").type("xdp").return { println($return, @entry($ctx)) }',
    "process": "probe process.begin { println(pid()) } probe process.syscall { println($syscall) }",
    "guru": 'probe kernel.function("vfs_read") { $count = 3 } '
    'probe kernel.function("vfs_read").return { $return = 4 }',
}
# What is refused, and the words for it.
REFUSED = {
    "watchpoint": ('probe kernel.data("jiffies").write { print_backtrace() }',
                   "probes of watched places are not made for arm64"),
    "process.data": ('probe process.data(0x1000).rw { println(1) }',
                     "probes of watched places are not made for arm64"),
    "statement": ('probe kernel.statement("vfs_read@fs/read_write.c:460") { }',
                  "debug information of arm64 kernels is not read"),
}  # fmt: skip


def _fetched() -> str:
    """Find an arm64 kernel with headers in the trees where kernels are looked for."""
    for root in roots(None):
        for name in reversed(releases(root)):
            if name.endswith(f"-{ARM64.debian}") and (root / f"boot/vmlinuz-{name}").exists():
                return name
    return ""


@pytest.fixture(scope="module")
def release() -> str:
    """Name a kernel that modules can be made for here."""
    found = os.environ.get("STAPY_TEST_ARM64") or _fetched()
    if host_name() == ARM64.name or not found:
        pytest.skip("no arm64 kernel is fetched: stapy kernel fetch --arch arm64 6.1-cloud")
    folders = os.environ["PATH"].split(os.pathsep)
    if not any(list(Path(folder).glob(f"{ARM64.cross}gcc-*")) for folder in folders):
        pytest.skip("no cross compiler: apt-get install gcc-12-aarch64-linux-gnu")
    return found


def _stapy(folder: Path, release: str, *words: str) -> subprocess.CompletedProcess[str]:
    root = os.environ.get("STAPY_TEST_ARM64_TREE")
    where = [f"--sysroot={root}"] if root else []
    return subprocess.run(
        [sys.executable, "-m", "stapy", "-r", release, *where, *words],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_module_of_each_family(tmp_path: Path, release: str, name: str) -> None:
    words = ["-g"] if name == "guru" else []
    done = _stapy(
        tmp_path, release, *words, "-a", "arm64", "-v", "-p4", "-m", "made", "-e", SCRIPTS[name]
    )
    assert done.returncode == 0, done.stderr
    assert not re.search("warning|error", done.stderr, re.I)
    assert ElfFile.open(tmp_path / "made.ko").machine == "arm64"


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_made_says_so(tmp_path: Path, release: str, name: str) -> None:
    script, words = REFUSED[name]
    done = _stapy(tmp_path, release, "-p4", "-e", script)
    assert done.returncode == 1
    assert words in done.stderr


def test_it_is_not_loaded_here(tmp_path: Path, release: str) -> None:
    done = _stapy(tmp_path, release, "-e", SCRIPTS["begin"])
    assert done.returncode == 1
    assert f"kernel {release} is for arm64, this machine is {host_name()}" in done.stderr


def test_another_architecture_than_the_kernels(tmp_path: Path, release: str) -> None:
    done = _stapy(tmp_path, release, "-a", "x86_64", "-p4", "-e", SCRIPTS["begin"])
    assert done.returncode == 1
    assert f"kernel {release} is for arm64, not for x86_64" in done.stderr


@pytest.mark.parametrize("way", ["option", "environment"])
def test_the_compiler_can_be_named(
    tmp_path: Path, release: str, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    words = ["-B", "ARCH=arm64", "-B", "CROSS_COMPILE=nobodys-"] if way == "option" else []
    if way == "environment":
        monkeypatch.setenv("CROSS_COMPILE", "nobodys-")
    done = _stapy(tmp_path, release, *words, "-p4", "-e", SCRIPTS["begin"])
    assert done.returncode == 1
    assert "the program nobodys-gcc-12 is missing" in done.stderr
