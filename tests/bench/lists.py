"""Lists of -l and -L that nobody asked for before: each form, without and with a debug package."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from stapy.debuginfo.dwarf.files.paths import by_build_id
from stapy.debuginfo.user.file import UserFile
from tests.bench import STAPY, Refused, Row, Rows, Run, median, run
from tests.bench.kernels import kernels, line
from tests.debugpackage import CACHE, at_hand

_NAME = "SYSTEMTAP_DEBUGINFO_PATH"

# Option, point, budget in CPU seconds; then those that need the package.
_PLAIN = (
    ("-l", 'kernel.function("*")', "1"),
    ("-l", 'kernel.function("*").exported', "1"),
    ("-l", 'kernel.function("vfs_*")', "0.3"),
    ("-l", 'module("*").function("*")', "1"),
    ("-L", 'kernel.function("vfs_*")', ""),
)
_BY_DWARF = (
    ("-l", 'kernel.function("*").call', "1"),
    ("-l", 'kernel.function("*").inline', "1"),
    ("-l", 'kernel.function("*@fs/*.c")', "1"),
    ("-l", 'kernel.statement("*@fs/open.c:*")', "1"),
    ("-L", 'kernel.function("tcp_*")', ""),
    ("-L", 'kernel.statement("*@fs/open.c:*")', ""),
)
# Of programs; those of the second table need the debug package of the C library.
_PROGRAMS = (
    ("-l", 'process("libc.so.6").function("*")', "0.15"),
    ("-l", 'process("libc.so.6").function("str*")', "0.15"),
    ("-l", 'process("bash").plt("*")', "0.12"),
    ("-l", 'process("libstdc++.so.6").mark("*")', "0.12"),
    ("-L", 'process("libstdc++.so.6").mark("*")', "0.12"),
)
_PROGRAMS_BY_DWARF = (
    ("-l", 'process("libc.so.6").function("*")', "0.3"),
    ("-l", 'process("libc.so.6").function("str*")', "0.3"),
    ("-l", 'process("libc.so.6").function("*").inline', ""),
    ("-L", 'process("libc.so.6").function("fopen*")', ""),
)
_JVM = (("-l", 'process("{}").function("*")', "0.5"), ("-l", 'process("{}").mark("*")', "0.12"))
_DEBUG = Path("/usr/lib/debug")


def rows() -> Rows:
    """Yield figures for each kernel; with its debug package where that is extracted.

    Then for programs, with one kernel: they are the same for each.
    """
    with tempfile.TemporaryDirectory(prefix="stapy-bench-") as scratch:
        for kernel in kernels():
            name, cache = line(kernel), Path(scratch) / kernel.release
            yield from _lists(f"{name}, no package", kernel.release, cache, _PLAIN, None)
            package = at_hand(kernel.release)
            if package is not None:
                what = f"{name}, with its package"
                yield from _lists(what, kernel.release, cache, _PLAIN + _BY_DWARF, package)
        for kernel in list(kernels())[:1]:
            yield from _programs(kernel.release, Path(scratch) / "programs")


def _programs(release: str, cache: Path) -> Rows:
    """Yield figures for libraries and programs that are here."""
    yield from _lists("no package", release, cache, _PROGRAMS, None)
    if _has_debug_file("libc.so.6"):
        yield from _lists("with libc6-dbg", release, cache, _PROGRAMS_BY_DWARF, _DEBUG)
    for path in sorted(CACHE.glob("programs/*/usr/lib/jvm/*/lib/server/libjvm.so"))[:1]:
        lists = tuple((option, point.format(path), budget) for option, point, budget in _JVM)
        yield from _lists("libjvm, no package", release, cache, lists, None)


def _lists(
    name: str,
    release: str,
    cache: Path,
    lists: tuple[tuple[str, str, str], ...],
    package: Path | None,
) -> Rows:
    before = os.environ.get(_NAME)
    os.environ[_NAME] = str(package or "/nowhere")
    try:
        for option, point, budget in lists:
            try:
                _made(release, cache, option, point)  # with an index and a catalogue, perhaps
                one = median(lambda o=option, p=point: _made(release, cache, o, p), times=3)  # type: ignore[misc]
            except Refused as error:
                yield Row(f"{name}, {option} '{point}' failed: {error}", 0.0, "")
                continue
            lines = one.output.count("\n")
            shown = point.replace(str(CACHE), "…")
            yield Row(f"{name}, {option} '{shown}', {lines:,} lines", one.cpu, "s", budget)
    finally:
        os.environ.pop(_NAME)
        if before is not None:
            os.environ[_NAME] = before


def _has_debug_file(library: str) -> bool:
    """Tell whether the debug package of a library is installed."""
    path = Path(f"/usr/lib/{os.uname().machine}-linux-gnu/{library}")
    if not path.exists():
        return False
    return any(found.exists() for found in by_build_id(_DEBUG, UserFile.open(path).build_id))


def _made(release: str, cache: Path, option: str, point: str) -> Run:
    """Make a list anew: those that were printed are remembered otherwise."""
    cache.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(cache / "stapy" / "lists", ignore_errors=True)
    return run([*STAPY, "-r", release, option, point], cache)
