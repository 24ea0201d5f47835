"""Pass 4: what a kit costs once, a small script every time, and the cache."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

from stapy.build.driver import build
from stapy.build.module import Module
from stapy.cache import Cache
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.facade import Debuginfo
from stapy.debuginfo.facts import kernel_facts
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel.target import Kernel
from stapy.options import Options
from stapy.translate.manifest import make_manifest
from stapy.translate.source import ModuleSource
from tests.bench import Row, Rows, cpu
from tests.bench.kernels import kernels, line

HELLO = Path(__file__).parents[1] / "build" / "samples" / "hello.c"


def rows() -> Rows:
    """Yield figures for each kernel whose headers are installed."""
    for kernel in kernels():
        yield from _kernel_rows(kernel, line(kernel))


def _kernel_rows(kernel: Kernel, line: str) -> Rows:
    numbers = itertools.count()
    text = HELLO.read_text()
    with tempfile.TemporaryDirectory(prefix="stapy-bench-") as scratch:
        cache = Cache(Path(scratch) / "cache")

        def once(changed: bool) -> Module:
            number = next(numbers)
            folder = Path(scratch) / str(number)
            folder.mkdir()
            script = text + (f"/* {number} */\n" if changed else "")
            return make(kernel, script, cache, folder)

        seconds, module = cpu(lambda: once(False))
        yield Row(f"{line}, pass 4 alone, hello, no kit yet", seconds, "s", "4", "22-29")
        seconds, module = cpu(lambda: once(True), times=5)
        yield Row(f"{line}, pass 4 alone, hello, new script", seconds, "s", "0.5", "2.1-2.7")
        elf = ElfFile.open(module.path)
        seconds, _ = cpu(lambda: once(False), times=5)
        yield Row(f"{line}, pass 4 alone, hello, cached", seconds, "s")
        code = sum(s.size for s in elf.sections if s.flags & 6 == 6)
        yield Row(f"{line}, hello's module, code", code / 1024, "KiB", "40", "43")
        yield Row(f"{line}, hello's module, file", module.path.stat().st_size / 1024, "KiB")


def make(kernel: Kernel, text: str, cache: Cache, folder: Path) -> Module:
    """Run pass 4 once; it must succeed."""
    manifest = make_manifest(
        name="stapy_hello",
        script_name="hello.stp",
        script_text='probe begin { printf("hello world\\n") }',
        release=kernel.release,
        arch=kernel.arch,
        probes=[],
        limits={},
    )
    diagnostics = Diagnostics(SourceMap())
    module = build(
        ModuleSource("stapy_hello", {"hello.c": text}, manifest),
        kernel=kernel,
        options=Options(),
        diagnostics=diagnostics,
        cache=cache,
        folder=folder,
        facts=lambda: facts(kernel),
    )
    assert module is not None, diagnostics.errors
    return module


def facts(kernel: Kernel) -> str:
    """Write ``kernel_facts.h``, from a cache of its own as in a user's session."""
    data = Debuginfo(kernel, Cache.of(Options()), Diagnostics(SourceMap()))
    return kernel_facts(kernel, data.btf, kernel.exports)
