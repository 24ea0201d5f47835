"""A kit that is made beside the passes before."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from stapy.build.ahead import prepare
from stapy.build.kit import KIND, kit_key
from stapy.cache import Cache
from stapy.options import Options
from tests.build import small
from tests.build.conftest import Builder, installed

pytestmark = [
    pytest.mark.build,
    pytest.mark.skipif(not installed(), reason="no kernel headers are installed"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor"),
]
FACTS = "/* no facts */\n"


def test_pass_4_waits_for_it(
    newest: Builder,
    tmp_path: Path,
    runtime: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stapy.terminal.progress.on_terminal", lambda: True)
    cache = Cache(tmp_path / "cache")
    ahead = prepare(installed()[-1], Options(runtime_dir=str(runtime)), cache, lambda: FACTS)
    assert ahead
    key = kit_key(installed()[-1], runtime)
    while not (cache.root / "locks" / f"{KIND}-{key[:32]}").exists():
        time.sleep(0.01)
    assert newest(cache=cache).made.origin == "kit"
    ahead.close()
    assert capfd.readouterr().err.count("making the build kit") == 1
    assert prepare(installed()[-1], Options(runtime_dir=str(runtime)), cache, lambda: FACTS) is None


@pytest.mark.parametrize("seconds", [0, 0.05, 0.5])
def test_close_leaves_nothing(tmp_path: Path, runtime: Path, scratch: Path, seconds: float) -> None:
    cache = Cache(tmp_path / "cache")
    ahead = prepare(installed()[-1], Options(runtime_dir=str(runtime)), cache, lambda: FACTS)
    assert ahead
    time.sleep(seconds)
    ahead.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(ahead.pid, 0)
    assert list(scratch.iterdir()) == []
    assert not list(cache.root.glob(f"{KIND}/*/*"))


@pytest.mark.parametrize("why", ["disabled", "kbuild", "no tree"])
def test_not_started_in_vain(
    tmp_path: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    cache = Cache(tmp_path / "cache", is_enabled=why != "disabled")
    kernel = installed()[-1]
    if why == "kbuild":
        monkeypatch.setenv("STAPY_BUILD", "kbuild")
    if why == "no tree":
        kernel = small.Kernel("9.9.9", "x86_64", tmp_path)
    assert prepare(kernel, Options(runtime_dir=str(runtime)), cache, lambda: FACTS) is None
