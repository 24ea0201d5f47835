from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from stapy.cache import Cache, file_identity, key_of, own_state
from stapy.options import Options

KEY = key_of("a")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_keys_frame_their_parts() -> None:
    keys = {key_of("ab", "c"), key_of("a", "bc"), key_of("abc"), key_of("abc", ""), key_of(b"a", 1)}
    assert len(keys) == 5
    assert key_of("a", 1) == key_of(b"a", "1")
    assert all(len(key) == 64 for key in keys)


@pytest.mark.parametrize("size", [0, 10, 1 << 20, (1 << 20) + 1])
def test_what_was_put_comes_back(cache: Cache, size: int, tmp_path: Path) -> None:
    data = os.urandom(size)
    assert cache.get("x", KEY) is None
    assert cache.put_bytes("x", KEY, data) == cache.get("x", KEY)
    assert cache.get_bytes("x", KEY) == data
    (tmp_path / "file").write_bytes(data)
    cache.put_file("y", KEY, tmp_path / "file")
    assert cache.get_bytes("y", KEY) == data
    assert cache.get("z", KEY) is None


def test_a_program_that_is_upgraded_while_it_runs(tmp_path: Path) -> None:
    """What the modules that it has make is not kept under the name of what the new ones make."""
    module = tmp_path / "module.py"
    module.write_text("old")
    before = own_state(tmp_path)
    module.write_text("another one")
    assert own_state(tmp_path) == before
    assert own_state.__wrapped__(tmp_path) != before


def test_folders(cache: Cache, tmp_path: Path) -> None:
    (tmp_path / "kit/sub").mkdir(parents=True)
    (tmp_path / "kit/sub/file").write_text("1")
    first = cache.put_tree("kit", KEY, tmp_path / "kit")
    assert first is not None
    (tmp_path / "kit/sub/file").write_text("2")
    assert (first / "sub/file").read_text() == "1"
    cache.put_tree("kit", KEY, tmp_path / "kit")
    found = cache.get("kit", KEY)
    assert found is not None
    assert (found / "sub/file").read_text() == "2"


@pytest.mark.parametrize("size", [100, 3 << 20])
@pytest.mark.parametrize(
    "damage", ["cut", "flip first", "flip middle", "flip last", "no sum", "gone"]
)
def test_damage_is_a_miss(cache: Cache, size: int, damage: str) -> None:
    path = cache.put_bytes("x", KEY, bytes(size))
    assert path is not None
    data = bytearray(size)
    if damage == "cut":
        path.write_bytes(data[:-1])
    elif damage == "gone":
        path.unlink()
    elif damage == "no sum":
        path.with_name(path.name + ".sum").unlink()
    else:
        data[{"first": 0, "middle": size // 2, "last": -1}[damage.split()[1]]] = 1
        path.write_bytes(data)
    assert cache.get("x", KEY) is None
    cache.put_bytes("x", KEY, b"new")
    assert cache.get_bytes("x", KEY) == b"new"


def test_a_disabled_cache(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", is_enabled=False)
    assert cache.put_bytes("x", KEY, b"1") is None
    assert cache.get("x", KEY) is None
    with cache.lock("x", KEY):
        pass
    assert not cache.root.exists()


def test_a_poisoned_cache_stores_but_never_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYSTEMTAP_DIR", str(tmp_path))
    cache = Cache.of(Options(poison_cache=True))
    cache.put_bytes("x", KEY, b"1")
    assert cache.get("x", KEY) is None
    assert cache.filled().get_bytes("x", KEY) == b"1"
    assert Cache.of(Options()).get_bytes("x", KEY) == b"1"


def test_a_root_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file")
    assert cache.put_bytes("x", KEY, b"1") is None
    assert cache.get("x", KEY) is None
    with cache.lock("x", KEY):
        pass


def test_an_interrupted_build_leaves_nothing(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, data: bytes) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fail)
        with pytest.raises(KeyboardInterrupt):
            cache.put_bytes("x", KEY, b"1")
    assert cache.get("x", KEY) is None
    assert [path for path in cache.root.rglob("*") if path.is_file()] == []


def use(cache: Cache, key: str, ago: float) -> None:
    then = time.time() - ago
    path = cache.path("x", key)
    os.utime(path.with_name(path.name + ".sum"), (then, then))


def test_cleaning_keeps_what_was_used_last(cache: Cache) -> None:
    keys = [key_of(number) for number in range(4)]
    for number, key in enumerate(keys):
        cache.put_bytes("x", key, bytes(700 << 10))
        use(cache, key, ago=100 - number)
    use(cache, keys[0], ago=1)
    assert cache.clean(limit_mb=2) == 2
    assert [cache.get("x", key) is not None for key in keys] == [True, False, False, True]
    assert cache.clean(limit_mb=0) == 2
    assert not list(cache.root.glob("x/*/*"))


def test_cleaning_removes_what_a_killed_process_left(cache: Cache) -> None:
    path = cache.put_bytes("x", KEY, b"1")
    assert path is not None
    old, new = path.with_name(f".{KEY[:16]}.1.2"), path.with_name(f".{KEY[:16]}.1.3.s")
    other, unsummed = path.with_name("other"), path.with_name(key_of("b"))
    for left in (old, new, other, unsummed):
        left.write_bytes(b"")
        if left != new:
            os.utime(left, (1, 1))
    cache.clean()
    found = [left.exists() for left in (old, new, other, unsummed, path)]
    assert found == [False, True, True, False, True]


@pytest.mark.parametrize(
    ("limit", "interval", "kept"),
    [("1", "0", 1), ("9", "0", 3), ("1", "1000", 3), ("rubbish", "0", 3), (None, None, 3)],
)
def test_the_settings_files(
    cache: Cache, limit: str | None, interval: str | None, kept: int
) -> None:
    cache.root.mkdir()
    (cache.root / "last_clean").write_bytes(b"")
    if limit is not None:
        (cache.root / "cache_mb_limit").write_text(limit + "\n")
    if interval is not None:
        (cache.root / "cache_clean_interval_s").write_text(interval)
    for number in range(3):
        cache.put_bytes("x", key_of(number), bytes(700 << 10))
    assert len(list(cache.root.glob("x/*/*.sum"))) == kept


def hold(root: Path, log: Path, inside: float) -> None:
    cache = Cache(root)
    with cache.lock("x", KEY), log.open("a") as file:
        file.write("in ")
        file.flush()
        time.sleep(inside)
        file.write("out ")


def test_one_builder_at_a_time(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    log = tmp_path / "log"
    workers = [context.Process(target=hold, args=(tmp_path / "cache", log, 0.02)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert log.read_text() == "in out " * 4


def test_identity_changes_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("1")
    before = file_identity(path)
    assert before == file_identity(path)
    path.write_text("22")
    assert file_identity(path) != before
