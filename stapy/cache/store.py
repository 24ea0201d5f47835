"""Content-addressed files: one folder per kind, one file or folder per key.

An entry appears by a rename, so that a reader sees all of it or nothing, and an
interrupted build leaves nothing.  Beside each entry lies a small ``.sum`` file
with its size and check sum; an entry that does not fit its sum is a miss.

Layout: ``ROOT/KIND/KE/KEY`` (two digits of fan-out).  ``ROOT/cache_mb_limit``
and ``ROOT/cache_clean_interval_s`` hold one number each, as in SystemTap.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast
from zlib import crc32

from stapy.paths import cache_dir, exists, is_dir, names_in

if TYPE_CHECKING:
    from typing import Protocol

    from stapy.options import Options

    class Digest(Protocol):
        """What of a check sum is used here."""

        def update(self, data: bytes, /) -> None:
            """Take more bytes."""

        def hexdigest(self) -> str:
            """Return the sum as text."""


DEFAULT_LIMIT_MB = 1024  # four build kits; SystemTap, which keeps none, has 256
DEFAULT_INTERVAL_S = 300
_SMALL = 1 << 20  # larger entries are mapped to be checked, not read
# An entry, or one that was being written; without its sum it belongs to a killed process.
_LEFT_OVER = r"[0-9a-f]{64}(?:\.ko)?|\.[0-9a-f]{16}\.\d+\.\d+(?:\.s)?"
_STALE_S = 3600  # a temporary name older than this belongs to nobody


def key_of(*parts: object) -> str:
    """Compute the hex SHA-256 of the parts; framed, ``("ab", "c")`` is not ``("a", "bc")``.

    Parts are ``bytes``, ``str`` or anything whose ``str()`` identifies it.
    """
    digest = _sha256_maker()()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogateescape")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


@cache
def _sha256_maker() -> Callable[[], Digest]:
    """Find the interpreter's own SHA-256: `hashlib` has OpenSSL loaded, which takes 3 ms."""
    for name in () if "hashlib" in sys.modules else ("_sha2", "_sha256"):
        with contextlib.suppress(ImportError, AttributeError):
            return cast("Callable[[], Digest]", import_module(name).sha256)
    from hashlib import sha256

    return sha256


def file_identity(path: Path) -> tuple[str, int, int]:
    """Return real path, size in bytes and mtime in ns: another content has others."""
    status = path.stat()
    return str(path.resolve()), status.st_size, status.st_mtime_ns


def files_below(folder: str | Path) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and mtime in ns of every file below a folder, in order of names.

    Compiled Python is left out; a folder that cannot be read has no files.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from files_below(entry.path)
        elif not entry.name.endswith(".pyc"):
            status = entry.stat()
            yield entry.path, status.st_size, status.st_mtime_ns


@cache
def own_state(folder: str | Path) -> str:
    """Name the state that a folder of our modules had when this process first asked for it.

    What runs on through an upgrade (a language server, a shell) keeps the modules that it has:
    what these make must not be kept under the name of what the new ones make.
    """
    return repr(list(files_below(folder)))


class Cache:
    """All caches of one user; every method is safe against other processes doing the same.

    A cache whose ``is_enabled`` is False (--disable-cache, or a root that cannot be
    written) misses always and stores nothing.
    """

    def __init__(self, root: Path, is_enabled: bool = True) -> None:
        self.root = root
        self.is_enabled = is_enabled
        self.poisoned = False

    @classmethod
    def of(cls, options: Options) -> Cache:
        """Make the cache that the command line asks for."""
        cache = cls(cache_dir(), options.use_cache)
        cache.poisoned = options.poison_cache
        return cache

    def filled(self) -> Cache:
        """Open this cache once more, to be asked for what was just stored though it is poisoned."""
        return Cache(self.root, self.is_enabled)

    def path(self, kind: str, key: str) -> Path:
        """Return where an entry lives, whether it exists or not."""
        return self.root / kind / key[:2] / key

    def _make_root(self) -> None:
        """Create the root with mode 0700: it holds code that nobody else may change."""
        if not is_dir(self.root):
            self.root.parent.mkdir(parents=True, exist_ok=True)
            self.root.mkdir(mode=0o700, exist_ok=True)

    # --- reading ---------------------------------------------------------

    def get(self, kind: str, key: str) -> Path | None:
        """Find an entry's path; None when there is none or it is damaged.

        A poisoned cache (--poison-cache) stores but never answers.
        """
        if not self.is_enabled or self.poisoned:
            return None
        path = self.path(kind, key)
        try:
            expected = _sum_path(path).read_bytes()
            found = _check_sum(path)
            if expected != found:
                self._drop(path)
                return None
            os.utime(_sum_path(path))
        except OSError:
            return None
        return path

    def get_bytes(self, kind: str, key: str) -> bytes | None:
        """Read an entry's content; None when there is none or it is damaged."""
        path = self.get(kind, key)
        if path is None:
            return None
        try:
            return path.read_bytes()
        except OSError:
            return None

    # --- writing ---------------------------------------------------------

    def put_bytes(self, kind: str, key: str, data: bytes) -> Path | None:
        """Store a content; None when it could not be stored (disk full, read-only, disabled)."""
        return self._put(kind, key, lambda temporary: temporary.write_bytes(data))

    def put_file(self, kind: str, key: str, source: Path) -> Path | None:
        """Store a copy of a file; return its path, None when it could not be stored."""

        def copy(temporary: Path) -> None:
            from shutil import copyfile

            copyfile(source, temporary)

        return self._put(kind, key, copy)

    def put_tree(self, kind: str, key: str, source: Path, *, may_link: bool = False) -> Path | None:
        """Store a copy of a folder; only its presence is checked by `get`.

        ``may_link`` promises that nobody will change the source's files in place:
        they are linked where that is possible.
        """

        def copy(temporary: Path) -> None:
            from shutil import copy2, copytree

            copy_file = _link_or_copy if may_link else copy2
            copytree(source, temporary, symlinks=True, copy_function=copy_file)

        return self._put(kind, key, copy)

    def _put(self, kind: str, key: str, fill: Callable[[Path], object]) -> Path | None:
        if not self.is_enabled:
            return None
        path = self.path(kind, key)
        temporary = path.with_name(f".{key[:16]}.{os.getpid()}.{time.monotonic_ns()}")
        try:
            self._make_root()
            path.parent.mkdir(parents=True, exist_ok=True)
            fill(temporary)
            total = _check_sum(temporary)
            if is_dir(path):
                self._drop(path)
            temporary.replace(path)
            summary = temporary.with_name(temporary.name + ".s")
            summary.write_bytes(total)
            summary.replace(_sum_path(path))
        except OSError:
            return None
        finally:
            _remove(temporary)
        self._clean_when_due()
        return path

    def _drop(self, path: Path) -> None:
        _remove(_sum_path(path))
        _remove(path)

    # --- one builder at a time -------------------------------------------

    @contextlib.contextmanager
    def lock(self, kind: str, key: str) -> Iterator[None]:
        """Hold the lock of an entry while building it; look with `get` again once inside.

        A disabled cache locks nothing.  The lock dies with its holder.
        """
        if not self.is_enabled:
            yield
            return
        path = self.root / "locks" / f"{kind}-{key[:32]}"
        descriptor = -1
        try:
            self._make_root()
            path.parent.mkdir(parents=True, exist_ok=True)
            while True:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                # The last holder may have unlinked the name while we waited.
                with contextlib.suppress(OSError):
                    if os.fstat(descriptor).st_ino == path.stat().st_ino:
                        break
                os.close(descriptor)
                descriptor = -1
        except OSError:
            if descriptor >= 0:
                os.close(descriptor)
            descriptor = -1
        try:
            yield
        finally:
            if descriptor >= 0:
                with contextlib.suppress(OSError):
                    path.unlink()
                os.close(descriptor)

    # --- size ------------------------------------------------------------

    def setting(self, name: str, default: int) -> int:
        """Read the number in a settings file of the root; ``default`` without one."""
        try:
            return max(0, int((self.root / name).read_text().split()[0]))
        except (OSError, ValueError, IndexError):
            return default

    def _clean_when_due(self) -> None:
        stamp = self.root / "last_clean"
        interval = self.setting("cache_clean_interval_s", DEFAULT_INTERVAL_S)
        try:
            age = time.time() - stamp.stat().st_mtime
        except OSError:
            age = float("inf")
        if age >= interval or age < 0:
            self.clean()

    def clean(self, limit_mb: int | None = None) -> int:
        """Remove the entries used longest ago until the rest fits; return how many.

        ``--clean-cache`` is ``clean(0)``.
        """
        if not is_dir(self.root):
            return 0
        if limit_mb is None:
            limit_mb = self.setting("cache_mb_limit", DEFAULT_LIMIT_MB)
        with contextlib.suppress(OSError):
            (self.root / "last_clean").write_bytes(b"")
        now, total, removed = time.time(), 0, 0
        entries, lost = self._entries()
        for path in lost:
            self._drop(path)
        for path in self._files():
            if re.fullmatch(_LEFT_OVER, path.name) and not exists(_sum_path(path)):
                with contextlib.suppress(OSError):
                    if now - path.lstat().st_mtime > _STALE_S:
                        _remove(path)
        for _, size, path in sorted(entries, key=lambda entry: -entry[0]):
            total += size
            if total > limit_mb << 20:
                self._drop(path)
                removed += 1
        return removed

    def size(self) -> int:
        """Return how many bytes the entries have: what the limit is for, and nothing else."""
        return sum(size for _, size, _ in self._entries()[0])

    def _entries(self) -> tuple[list[tuple[float, int, Path]], list[Path]]:
        """List entries with time of use and size in bytes, and those whose content has gone."""
        found: list[tuple[float, int, Path]] = []
        lost = []
        for summary in self._files():
            if summary.suffix != ".sum":
                continue
            path = summary.with_suffix("")
            try:
                found.append((summary.stat().st_mtime, _size(path), path))
            except OSError:
                lost.append(path)
        return found, lost

    def _files(self) -> Iterator[Path]:
        """Yield what lies where entries do; nothing of folders that cannot be read."""
        for kind in names_in(self.root):
            for part in names_in(self.root / kind):
                if len(part) == 2:
                    folder = self.root / kind / part
                    yield from (folder / name for name in names_in(folder))


def _sum_path(path: Path) -> Path:
    return path.with_name(path.name + ".sum")


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        from shutil import copy2

        copy2(source, target)


def _check_sum(path: Path) -> bytes:
    if is_dir(path):
        return b"tree\n"
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= _SMALL:
            total = crc32(file.read())
        else:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                total = crc32(data)
    return b"%d %08x\n" % (size, total)


def _size(path: Path) -> int:
    if not is_dir(path):
        return path.stat().st_size
    return sum(inner.lstat().st_size for inner in path.rglob("*"))


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if is_dir(path) and not path.is_symlink():
            from shutil import rmtree

            rmtree(path, ignore_errors=True)
        else:
            path.unlink()
