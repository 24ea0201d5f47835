"""A machine that its command line locks down: what is said of it, and when."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stapy.build import sign
from stapy.vm.machine import Machine
from tests.vm.conftest import missing
from tests.vm.harness import Built, build, patience, run_built
from tests.vm.test_secure_boot import ASK, ROOT

pytestmark = [pytest.mark.build, pytest.mark.vm]

WORDS = ["-e", 'probe kernel.function("vfs_read") { println("hit") exit() }']


@pytest.fixture(scope="module")
def locked(release: str) -> Iterator[Machine]:
    if missing():
        pytest.skip(missing())
    with Machine(release, command_line="lockdown=confidentiality") as machine:
        done = machine.run(["/bin/mount", "-t", "securityfs", "none", "/sys/kernel/security"])
        assert done.status == 0, done.stderr
        yield machine


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Built]:
    """Make a module without a signature, and one that is signed by a key of nobody."""
    folder = tmp_path_factory.mktemp("modules")
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYSTEMTAP_DIR", str(folder / "home"))
        sign.make()
        for name, words in {"unsigned": [], "unknown": ["--sign-module"]}.items():
            (folder / name).mkdir()
            made[name] = build(release, [*words, "-m", "traced", *WORDS], folder / name)
            assert made[name].module, made[name].stderr
    return made


def test_confidentiality_is_told_before_anything_is_compiled(locked: Machine) -> None:
    done = locked.run(
        ["/usr/bin/python3", "-IS", "-c", ASK, str(ROOT)], timeout=120 * patience(locked)
    )
    shown = done.stdout.decode() + done.stderr.decode()
    assert "the kernel is locked down (confidentiality): it takes only signed modules" in shown
    assert "kprobes" not in shown  # which signed modules may set: tests/vm/test_secure_boot.py


@pytest.mark.parametrize(
    ("name", "how"), [("unsigned", "not signed"), ("unknown", "signed with a key")]
)
def test_confidentiality_keeps_modules_out(
    locked: Machine, modules: dict[str, Built], name: str, how: str
) -> None:
    result = run_built(locked, modules[name], WORDS, 60)
    shown = (result.stdout, result.stderr)
    assert result.status == 1 and not result.stdout, shown
    assert f"locked down (confidentiality) and this module is {how}" in result.stderr, shown
    assert "switch lockdown= off where the machine boots" in result.stderr, shown
