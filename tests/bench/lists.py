"""Lists of -l and -L that nobody asked for before: each form, without and with a debug package."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from tests.bench import STAPY, Refused, Row, Rows, Run, median, run
from tests.bench.kernels import kernels, line
from tests.debugpackage import at_hand

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


def rows() -> Rows:
    """Yield figures for each kernel; with its debug package where that is extracted."""
    with tempfile.TemporaryDirectory(prefix="stapy-bench-") as scratch:
        for kernel in kernels():
            name, cache = line(kernel), Path(scratch) / kernel.release
            yield from _lists(f"{name}, no package", kernel.release, cache, _PLAIN, None)
            package = at_hand(kernel.release)
            if package is not None:
                what = f"{name}, with its package"
                yield from _lists(what, kernel.release, cache, _PLAIN + _BY_DWARF, package)


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
            yield Row(f"{name}, {option} '{point}', {lines:,} lines", one.cpu, "s", budget)
    finally:
        os.environ.pop(_NAME)
        if before is not None:
            os.environ[_NAME] = before


def _made(release: str, cache: Path, option: str, point: str) -> Run:
    """Make a list anew: those that were printed are remembered otherwise."""
    cache.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(cache / "stapy" / "lists", ignore_errors=True)
    return run([*STAPY, "-r", release, option, point], cache)
