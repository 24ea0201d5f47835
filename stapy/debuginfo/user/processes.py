"""What a process runs: its program, the files that it maps, and whether it sees ours."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from stapy.debuginfo.user.questions import remembered
from stapy.paths import exists


@remembered
def of_process(pid: int) -> str | None:
    """Find the file that a process runs; None without it.

    By its own path, if that still is the file.
    """
    own = Path(f"/proc/{pid}/exe")
    try:
        path = own.readlink()
        if path.samefile(own):
            return str(path.resolve())
    except FileNotFoundError:
        return str(own) if exists(own) else None
    except OSError:
        return None
    return str(own)


@remembered
def mapped_at(pid: int, address: int) -> tuple[str, int] | None:
    """Find the file whose code a process has at an address, and the offset; None for others."""
    try:
        lines = _maps(pid)
    except OSError:
        return None
    for line in lines:
        words = line.split(None, 5)
        start, _, end = words[0].partition("-")
        if not int(start, 16) <= address < int(end, 16):
            continue
        if len(words) < 6 or "x" not in words[1] or not words[5].startswith("/"):
            return None
        path = _mapped_file(pid, words[0], int(words[4]), words[5])
        return path, address - int(start, 16) + int(words[2], 16)
    return None


def _maps(pid: int) -> list[str]:
    """Read the rows of a process's memory; may raise `OSError`.

    Names of files in them have all that ends lines elsewhere, but for a newline.
    """
    text = os.fsdecode(Path(f"/proc/{pid}/maps").read_bytes())
    return text.split("\n")[:-1]


def _mapped_file(pid: int, addresses: str, inode: int, name: str) -> str:
    """Find the path of a file that a process maps, as we see it.

    Its own root may be another one.
    """
    start, _, end = addresses.partition("-")  # there without the zeros that begin it in maps
    inside = Path(f"/proc/{pid}/map_files/{int(start, 16):x}-{int(end, 16):x}")
    for path in (Path(name), Path(f"/proc/{pid}/root{name}")):
        try:
            if path.samefile(inside):
                return str(path)
        except PermissionError:  # who is not root may not ask for the file itself
            try:
                if path.stat().st_ino == inode:
                    return str(path)
            except OSError:
                continue
        except OSError:
            continue
    return str(inside)


def that_map(paths: Iterable[str], seconds: float) -> Iterator[int]:
    """Yield the processes, but for this one, that have code of one of these files.

    Raises, having yielded what it found, `PermissionError` for who may not look at others' and
    `TimeoutError` when there are too many for the time.
    """
    is_hidden = False
    until = time.monotonic() + seconds
    wanted = {os.fsencode(path) for path in paths}
    own = os.getpid()
    for name in filter(str.isdigit, (folder.name for folder in Path("/proc").iterdir())):
        if time.monotonic() > until:
            raise TimeoutError
        try:
            text = b"" if int(name) == own else Path(f"/proc/{name}/maps").read_bytes()
        except PermissionError:
            is_hidden = True
            continue
        except OSError:
            continue  # it has ended
        # Most have none of them: a search is a tenth of the work.
        if any(path in text for path in wanted) and _has_code(text, wanted):
            yield int(name)
    if is_hidden and os.geteuid() != 0:  # root lacks at most what a container's host hides
        raise PermissionError


def _has_code(maps: bytes, wanted: set[bytes]) -> bool:
    rows = (row.split(None, 5) for row in maps.split(b"\n"))
    return any(len(row) == 6 and b"x" in row[1] and row[5] in wanted for row in rows)


@remembered
def libraries_of(pid: int) -> list[tuple[str, str]]:
    """List the files whose code a process has: as it names them, and our paths.

    Its program is left out.
    """
    try:
        lines = _maps(pid)
    except OSError:
        return []
    own = of_process(pid)
    found: dict[str, str] = {}
    for line in lines:
        words = line.split(None, 5)
        if len(words) == 6 and "x" in words[1] and words[5].startswith("/"):
            path = _mapped_file(pid, words[0], int(words[4]), words[5])
            if path != own and words[5] not in found:
                found[words[5]] = path
    return list(found.items())


@remembered
def sees_our_files(pid: int) -> bool:
    """Tell whether paths mean for a process what they mean for us."""
    own = Path("/proc/self/ns/mnt")
    try:
        return Path(f"/proc/{pid}/root").samefile("/") and own.samefile(f"/proc/{pid}/ns/mnt")
    except OSError:
        return False
