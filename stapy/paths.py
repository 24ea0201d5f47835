"""Where stapy's own data lives: in a checkout beside the package, in a wheel inside it."""

from __future__ import annotations

import contextlib
import os
import stat
from functools import cache
from pathlib import Path

from stapy.record import Record

_PACKAGE = Path(__file__).resolve().parent


def exists(path: Path | str) -> bool:
    """Tell whether something is there for us: nothing is in a folder that we may not enter.

    The methods of pathlib raise an error for that.
    """
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: Path | str) -> bool:
    """Tell whether a file is there for us."""
    return os.path.isfile(path)  # noqa: PTH113


def is_dir(path: Path | str) -> bool:
    """Tell whether a folder is there for us."""
    return os.path.isdir(path)  # noqa: PTH112


def names_in(folder: Path | str) -> list[str]:
    """List the names in a folder, sorted; none of what is no folder or cannot be read.

    Before Python 3.13 `glob` of pathlib raises an error for some that cannot.
    """
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are all that is asked
    except OSError:
        return []


def package_dir() -> Path:
    """Return the folder of stapy's own Python files."""
    return _PACKAGE


def data_dir(name: str) -> Path:
    """Return the folder ``tapsets``, ``runtime``, ``examples`` …."""
    override = {"tapsets": "STAPY_TAPSETS", "runtime": "STAPY_RUNTIME"}.get(name)
    if override and os.environ.get(override):
        return Path(os.environ[override])
    inside = _PACKAGE / "share" / name
    return inside if is_dir(inside) else _PACKAGE.parent / name


class CacheFolder(Record):
    """A folder of ours, and why it is not the one that the environment names."""

    folder: Path
    complaint: str = ""


def cache_dir() -> Path:
    """Return the root of all caches.

    ``$SYSTEMTAP_DIR/cache/stapy`` when that variable is set, else
    ``$XDG_CACHE_HOME/stapy``, else ``~/.cache/stapy``.  What is in there is
    loaded and run: a folder that others can write to (that of another user,
    after ``sudo -E``) is not used, but that of our own home, or a private one.
    """
    return cache_place().folder


def cache_place() -> CacheFolder:
    """Find the root of all caches, with the complaint that its choice deserves."""
    names = ("SYSTEMTAP_DIR", "XDG_CACHE_HOME", "HOME")
    return _cache_place(*(os.environ.get(name) for name in names), os.geteuid())


@cache
def _cache_place(
    folder: str | None, base: str | None, at_home: str | None, uid: int
) -> CacheFolder:
    from stapy.trust import home, made

    if folder:
        wanted = Path(folder) / "cache" / "stapy"
    else:
        wanted = (Path(base) if base else Path(at_home or home()) / ".cache") / "stapy"
    why = made(wanted)
    if not why:
        _close_to_others(wanted, uid)
        return CacheFolder(wanted)
    own = home() / ".cache" / "stapy"
    if own == wanted or made(own):
        own = private_folder("cache")
    return CacheFolder(
        own, f"the cache folder '{wanted}' is not used: {why}; '{own}' is used instead"
    )


def _close_to_others(folder: Path, uid: int) -> None:
    """Take what an open umask left in there out of other users' reach."""
    with contextlib.suppress(OSError):
        status = folder.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == uid and status.st_mode & 0o077:
            folder.chmod(0o700)


def private_folder(purpose: str) -> Path:
    """Return a folder below /tmp that is ours alone: an earlier command's, or a new one."""
    from stapy.trust import why_untrusted

    place = Path("/tmp") / f"stapy-{purpose}-{os.geteuid()}"
    with contextlib.suppress(FileExistsError):
        place.mkdir(0o700)
    if why_untrusted(place) or not is_dir(place):
        import atexit
        import shutil
        import tempfile

        place = Path(tempfile.mkdtemp(prefix=f"stapy-{purpose}-", dir="/tmp"))
        atexit.register(shutil.rmtree, place, True)
    return place
