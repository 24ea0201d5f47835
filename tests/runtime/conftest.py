"""Test scripts in C, built with the runtime by plain kbuild and run in a guest."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from stapy.build.kbuild import copy_runtime
from stapy.cache import Cache
from stapy.debuginfo.facade import Debuginfo
from stapy.debuginfo.facts import kernel_facts
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import find_kernel
from stapy.options import Options
from stapy.paths import data_dir
from stapy.run.ground.manifest import PROTOCOL
from stapy.vm.machine import Machine, VmResult, consumer_command
from tests.vm.harness import PATIENCE

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
SCRIPTS = sorted(path.stem for path in HERE.glob("*.c"))


def releases() -> list[str]:
    """List the kernels that can be booted and built for, oldest first."""
    built = [path.name for path in Path("/lib/modules").glob("*") if (path / "build").exists()]
    return sorted(name for name in built if Path(f"/boot/vmlinuz-{name}").exists())


class Bench(NamedTuple):
    """A guest and the modules built for it."""

    machine: Machine
    folder: Path

    def module(self, script: str) -> Path:
        return self.folder / f"stapy_test_{script}.ko"

    def shell(self, text: str, timeout: float = 90 * PATIENCE) -> VmResult:
        return self.machine.run(["sh", "-c", text], cwd=str(PROJECT), timeout=timeout)

    def play(self, script: str, load: str = "", reader: str = "") -> VmResult:
        """Run a script to its end, with a shell command as load beside it."""
        run = " ".join([*consumer_command(), str(self.module(script))])
        beside = f"({load}) & load=$!;" if load else "load=;"
        after = "[ -z $load ] || kill $load 2>/dev/null; exit $status"
        return self.shell(f"{beside} {run} {reader}; status=$?; {after}")


def build(release: str, folder: Path) -> Path:
    """Build all test modules for one kernel, with the facts that a build kit has."""
    kernel = find_kernel(release, Diagnostics(SourceMap()))
    data = Debuginfo(kernel, Cache.of(Options()), Diagnostics(SourceMap()))
    facts = folder / "runtime" / "kernel_facts.h"
    facts.parent.mkdir(parents=True)
    facts.write_text(kernel_facts(kernel, data.btf, kernel.exports))
    (folder / "protocol.h").write_text(f'#define PROTOCOL "{PROTOCOL}"\n')
    units = copy_runtime(data_dir("runtime"), folder / "runtime", set())
    command = [str(HERE / "build.sh"), release, str(folder), " ".join(units), *SCRIPTS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "warning:" not in done.stderr, done.stderr[:4000]
    return folder


@pytest.fixture(scope="session", params=releases())
def modules(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the modules for one kernel; its name is the release."""
    folder = tmp_path_factory.mktemp("modules") / str(request.param)
    return build(str(request.param), folder)


@pytest.fixture(scope="module")
def bench(modules: Path) -> Iterator[Bench]:
    """Boot a guest with two CPUs."""
    with Machine(modules.name, cpus=2) as machine:
        yield Bench(machine, modules)
