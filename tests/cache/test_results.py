"""What was translated or listed before, and what makes it worthless."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.cache import Cache, results


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
