"""Whole commands, as a user starts them: interpreter, imports and tools included."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path

from stapy.kernel.target import Kernel
from tests.bench import STAPY, Refused, Row, Rows, Run, median, run
from tests.bench.kernels import kernels, line

HELLO = 'probe begin { println("hello") }'
COUNT = 'global n probe kernel.function("vfs_read") { n[execname()] <<< 1 }'
CALLS = "global n probe syscall.* { n[name]++ }"

# What, arguments, budget and SystemTap's figure, all in CPU seconds with a warm cache.
_WARM = (
    ("-p1, hello", ["-p1", "-e", HELLO], "0.12", "0.25"),
    ("-p2, syscall.write", ["-p2", "-e", "probe syscall.write { next }"], "0.3", "75-95, then 1-5"),
    (
        "-p2, vfs_read with $count",
        ["-p2", "-e", 'probe kernel.function("vfs_read") { println($count) }'],
        "0.2",
        "0.24 with debuginfo",
    ),
    (
        "-p2, vfs_*",
        ["-p2", "-e", 'global n probe kernel.function("vfs_*") { n++ }'],
        "0.3",
        "0.28 with debuginfo",
    ),
    ("-l 'kernel.trace(\"*\")'", ["-l", 'kernel.trace("*")'], "0.3", ""),
    ("-l 'kernel.function(\"*\")'", ["-l", 'kernel.function("*")'], "1", ""),
)
# What shells ask with each key: of the tables of options, of the kernel, of the library.
_COMPLETED = (
    ("an option", "stapy --wid"),
    ("a function's name, asked before", "stapy -l 'kernel.function(\"vfs_re"),
    ("a point in a script, asked before", "stapy -e 'probe timer.pro"),
)


def rows() -> Rows:
    """Yield figures of the interpreter alone, then for each kernel."""
    with tempfile.TemporaryDirectory(prefix="stapy-bench-") as scratch:
        cache = Path(scratch)
        bare = median(lambda: run([STAPY[0], "-c", "pass"], cache))
        yield Row("the interpreter alone", bare.cpu, "s")
        version = median(lambda: run([*STAPY, "--version"], cache))
        yield Row("--version", version.cpu, "s", "0.08")
        for what, line_typed in _COMPLETED:
            words = [*STAPY, "complete", "--for", "bash", "--", line_typed]
            if not run(words, cache).output:  # it is kept from now on
                yield Row(f"a key that completes {what} failed: no offers", 0.0, "")
                continue
            one = median(lambda words=words: run(words, cache))  # type: ignore[misc]
            yield Row(f"a key that completes {what}", one.cpu, "s", "0.1")
        for kernel in kernels():
            try:
                yield from _kernel_rows(kernel, cache / kernel.release)
            except Refused as error:
                yield Row(f"{line(kernel)} failed: {error}", 0.0, "")


def _kernel_rows(kernel: Kernel, scratch: Path) -> Rows:
    name = line(kernel)
    numbers = itertools.count()
    warm = scratch / "warm"

    def stapy(cache: Path, *words: str) -> Run:
        cache.mkdir(parents=True, exist_ok=True)
        return run([*STAPY, "-r", kernel.release, *words], cache)

    def cold() -> Run:
        return stapy(scratch / f"cold-{next(numbers)}", "-p4", "-e", COUNT)

    def fresh() -> Run:
        # Another text every time, so that only the kit is found in the cache.
        return stapy(warm, "-p4", "-e", COUNT + f" probe end {{ println({next(numbers)}) }}")

    one = median(cold, times=3)
    yield Row(f"{name}, -p4, nothing cached", one.cpu, "s", "", "22-29")
    yield Row(f"{name}, -p4, nothing cached, wall", one.wall, "s", "4", "20.9")
    stapy(warm, "-p4", "-e", COUNT)
    one = median(fresh)
    yield Row(f"{name}, -p4, new script", one.cpu, "s", "", "")
    yield Row(f"{name}, -p4, new script, wall", one.wall, "s", "0.9", "3.0")
    yield Row(f"{name}, -p4, new script, memory", one.megabytes, "MB", "120", "250")
    one = median(lambda: stapy(warm, "-p4", "-e", COUNT))
    yield Row(f"{name}, -p4, cached script", one.cpu, "s", "0.15", "0.3")
    yield Row(f"{name}, -p4, cached script, wall", one.wall, "s", "0.25", "0.50")

    def anew(words: list[str]) -> Run:
        # What -l printed is remembered: that says nothing about making the list.
        shutil.rmtree(warm / "stapy" / "lists", ignore_errors=True)
        return stapy(warm, *words)

    for what, words, budget, peer in _WARM:
        stapy(warm, *words)
        one = median(lambda words=words: anew(words))  # type: ignore[misc]
        yield Row(f"{name}, {what}", one.cpu, "s", budget, peer)
        if what == "-p1, hello":
            yield Row(f"{name}, {what}, memory", one.megabytes, "MB", "60", "95")
    one = median(lambda: stapy(warm, "-p4", "-e", CALLS), times=1)
    yield Row(f"{name}, -p4, syscall.* counted by name", one.cpu, "s", "15", "36 with debuginfo")
    size = Path(one.output.split()[-1]).stat().st_size
    yield Row(f"{name}, syscall.* counted by name, module", size / 1e6, "MB", "1", "8")
