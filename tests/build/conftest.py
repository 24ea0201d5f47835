"""Fixtures of pass 4: which kernels have headers here, and one cache for all tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stapy.build.driver import build
from stapy.build.module import Module
from stapy.cache import Cache
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.options import Options
from stapy.translate.source import ModuleSource
from tests.build import small


def installed() -> list[small.Kernel]:
    """List every kernel whose headers can build a module."""
    found = []
    for folder in sorted(Path("/lib/modules").glob("*")):
        tree = folder / "build"
        if (tree / "Makefile").exists() and (tree / "Module.symvers").exists():
            found.append(small.Kernel(folder.name, "x86_64", tree))
    return found


@pytest.fixture(scope="session", params=installed() or [None], ids=lambda k: k and k.release)
def kernel(request: pytest.FixtureRequest) -> small.Kernel:
    if request.param is None:
        pytest.skip("no kernel headers are installed")
    found: small.Kernel = request.param
    return found


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put temporary folders and kept logs of a test below its own folder; return theirs."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small.write_runtime(tmp_path_factory.mktemp("runtime"))


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("cache"))


class Run:
    """One run of pass 4 and what it said."""

    def __init__(self, module: Module | None, diagnostics: Diagnostics) -> None:
        self.module = module
        self.diagnostics = diagnostics

    @property
    def codes(self) -> list[str]:
        return [item.code for item in self.diagnostics.errors]

    @property
    def made(self) -> Module:
        assert self.module is not None, self.diagnostics.errors
        return self.module


Builder = Callable[..., Run]


def _builder(kernel: small.Kernel, runtime: Path, cache: Cache, tmp_path: Path) -> Builder:
    number = 0

    def make(source: ModuleSource | None = None, **changes: object) -> Run:
        nonlocal number
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        sources = changes.pop("sources", None) or SourceMap()
        assert isinstance(sources, SourceMap)
        diagnostics = Diagnostics(sources)
        used_kernel = changes.pop("kernel", kernel)
        used_cache = changes.pop("cache", cache)
        assert isinstance(used_cache, Cache)
        options = Options(runtime_dir=str(changes.pop("runtime", runtime)))
        for name, value in changes.items():
            assert name in Options.fields
            setattr(options, name, value)
        module = build(
            source or small.source(),
            kernel=used_kernel,  # type: ignore[arg-type]
            options=options,
            diagnostics=diagnostics,
            cache=used_cache,
            folder=folder,
            facts=lambda: "/* no facts */\n",
        )
        return Run(module, diagnostics)

    return make


@pytest.fixture
def builder(kernel: small.Kernel, runtime: Path, cache: Cache, tmp_path: Path) -> Builder:
    """``builder(source, sources=…, cache=…, kernel=…, runtime=…, **options)``."""
    return _builder(kernel, runtime, cache, tmp_path)


@pytest.fixture
def newest(runtime: Path, cache: Cache, tmp_path: Path) -> Builder:
    """Return a builder for the newest kernel, for tests that take seconds and fit any kernel."""
    kernels = installed()
    if not kernels:
        pytest.skip("no kernel headers are installed")
    return _builder(kernels[-1], runtime, cache, tmp_path)
