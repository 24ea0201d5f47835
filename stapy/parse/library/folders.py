"""Which files belong to the tapset library for one kernel."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from stapy.parse.facts import PreprocessFacts
from stapy.parse.library import programpaths
from stapy.paths import data_dir, exists, is_dir

_ARCHES = frozenset(
    [
        "x86_64",
        "i386",
        "arm64",
        "arm",
        "powerpc",
        "s390",
        "mips",
        "riscv",
        "ia64",
        "sparc",
        "loongarch",
    ]
)
_RUNTIMES = {"linux": "kernel", "dyninst": "dyninst", "bpf": "bpf"}
_VERSION = re.compile(r"\d+\.\d+")


def library_folders(extra: list[str]) -> list[str]:
    """List the library's folders: ours (or $SYSTEMTAP_TAPSET), $XDG_DATA_DIRS, then -I."""
    folders = [os.environ.get("SYSTEMTAP_TAPSET") or str(data_dir("tapsets"))]
    for place in filter(None, os.environ.get("XDG_DATA_DIRS", "").split(":")):
        folder = Path(place) / "systemtap" / "tapset"
        # SystemTap's own library would define every name a second time.
        if is_dir(folder) and not exists(folder / "linux" / "context.stp"):
            folders.append(str(folder))
    folders += extra
    return list(dict.fromkeys(folders))


def _is_wanted(name: str, facts: PreprocessFacts) -> bool:
    """Tell whether a sub-folder is for this kernel: by version, architecture or runtime."""
    if name in _ARCHES:
        return name == facts.arch
    if name in _RUNTIMES:
        return _RUNTIMES[name] == facts.runtime
    if _VERSION.match(name):
        version = facts.kernel_version
        short = ".".join(version.split(".")[:2])
        return name in (facts.kernel_release, version, short)
    return not name.startswith(".")  # which hides a folder


def library_files(folders: list[str], facts: PreprocessFacts) -> Iterator[tuple[str, int, int]]:
    """Yield ``(path, mtime in ns, size)`` of each library file, by folder, sorted by name.

    Folders for a kernel version come before the plain files beside them.
    """
    for folder in folders:
        yield from _walk(folder, facts)


def _walk(
    folder: str, facts: PreprocessFacts, of_programs: bool = False
) -> Iterator[tuple[str, int, int]]:
    """Yield the files of a folder; with ``of_programs`` those of all folders below it."""
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError:
        return
    inner = [entry for entry in entries if entry.is_dir()]
    inner.sort(key=lambda entry: (not _VERSION.match(entry.name), -len(entry.name), entry.name))
    for entry in inner:
        if not of_programs and _VERSION.match(entry.name) and _is_wanted(entry.name, facts):
            yield from _walk(entry.path, facts)
    for entry in entries:
        if entry.name.endswith((".stp", ".stpm", ".table")) and entry.is_file():
            status = entry.stat()
            yield entry.path, status.st_mtime_ns, status.st_size
    for entry in sorted(inner, key=lambda entry: entry.name):
        if of_programs or entry.name == programpaths.FOLDER:
            yield from _walk(entry.path, facts, of_programs=True)
        elif not _VERSION.match(entry.name) and _is_wanted(entry.name, facts):
            yield from _walk(entry.path, facts)
