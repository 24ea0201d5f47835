"""A kernel that checks the types of calls (kCFI): who would hook a tracepoint refuses itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# A script's own tracepoints, and those by which families follow processes, here that of -x.
SCRIPTS = {
    "events": 'probe kernel.trace("sched_switch") { println(cpu()) }',
    "places": 'probe process("/bin/bash").function("main") { println(pid()) }',
}


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Make modules that believe that the kernel has kCFI: Debian's compiler makes none."""
    folder = tmp_path_factory.mktemp("modules")
    with pytest.MonkeyPatch.context() as patch:
        # Not by -B, which compiles all of the runtime for each of them.
        patch.setenv("KCFLAGS", "-DCONFIG_CFI_CLANG=1")
        return make(release, folder, **SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_families_of_tracepoints_refuse_themselves(
    pair: Machine, modules: dict[str, Path], name: str
) -> None:
    lines, result = shell(
        pair, modules, f"$run -x 1 -T 1 ${name} 2>&1; echo status=$?; echo left=$(loaded {name})"
    )
    said = "\n".join(lines)
    assert "cannot be probed on this kernel: it was built to check the types of calls (kCFI)" in (
        said
    ), (said, result.stderr)
    assert lines[-2:] == ["status=1", "left=0"], said
