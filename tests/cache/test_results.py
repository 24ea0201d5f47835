"""What was translated or listed before, and what makes it worthless."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stapy.cache import Cache, results
from stapy.options import Options


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "a\tb.ko"
    path.write_bytes(b"one")
    return path


@pytest.mark.parametrize("text", ["", 'kernel.function("a")\nb\n', "\udcff\n3\n"])
def test_a_list_comes_back(cache: Cache, module: Path, text: str) -> None:
    assert results.find_list(cache, "k") is None
    results.store_list(cache, "k", text, [module, module.with_name("missing")])
    assert results.find_list(cache, "k") == text


@pytest.mark.parametrize("change", ["rebuilt", "removed", "new"])
def test_a_kernel_module_that_changed(cache: Cache, module: Path, change: str) -> None:
    other = module.with_name("other.ko")
    results.store_list(cache, "k", "list", [module, other])
    results.store(cache, "k", module, "said", [module, other])
    assert results.find(cache, "k") is not None
    if change == "rebuilt":
        module.write_bytes(b"three")
    elif change == "removed":
        module.unlink()
    else:
        other.write_bytes(b"")
    assert results.find_list(cache, "k") is None
    assert results.find(cache, "k") is None


def test_what_the_names_of_programs_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module is another one when its program is: by -c, $PATH, a pattern, a process."""
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"\x7fELF")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    def key(text: str, command: str | None = None) -> list[str]:
        texts = [("<input>", f"probe {text} {{ next }}")]
        return list(results._programs(texts, Options(command=command)))

    inside = 'process.function("x")'
    assert key(inside, "one 1") != key(inside, "two 1")
    assert key(inside, "one 1") == key(inside, "one 2")
    assert str(tmp_path / "one") in key('process("one").function("x")', "two")
    assert str(tmp_path / "two") in key(f'process ("{tmp_path}/t*").begin')
    own = os.path.realpath(f"/proc/{os.getpid()}/exe")
    assert own in key(f"process({os.getpid()}).end")
    assert key("begin", "one") == []
