"""The golden files compile without a warning against the runtime, for every installed kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.build.driver import build
from stapy.cache import Cache
from stapy.debuginfo.facade import Debuginfo
from stapy.debuginfo.facts import kernel_facts
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import find_kernel
from stapy.options import Options
from stapy.translate.source import ModuleSource
from tests.translate.support import GOLDEN

pytestmark = pytest.mark.build

# Together they use everything that generated C can contain.
CHOSEN = [
    "embedded",
    "foreach_forms",
    "formats",
    "guru_writes",
    "latency",
    "order_of_evaluation",
    "overloads",
    "recursion",
    "regex_groups",
    "sched",
    "slices",
    "statistics",
    "try_catch",
]


def releases() -> list[str]:
    found = Path("/lib/modules").glob("*/build/Makefile")
    return sorted(path.parts[3] for path in found)


@pytest.mark.parametrize("release", releases() or [""])
@pytest.mark.parametrize("name", CHOSEN)
def test_module_is_made(name: str, release: str, tmp_path: Path) -> None:
    if not release:
        pytest.skip("no kernel headers are installed")
    options = Options()
    cache = Cache.of(options)
    diagnostics = Diagnostics(SourceMap())
    kernel = find_kernel(release, diagnostics)
    debuginfo = Debuginfo(kernel, cache, diagnostics)
    text = (GOLDEN / f"{name}.c").read_text(encoding="latin-1")
    module = build(
        ModuleSource(name=f"stapy_{name}", files={f"{name}.c": text}, manifest={"stapy": "test"}),
        kernel=kernel,
        options=options,
        diagnostics=diagnostics,
        cache=cache,
        folder=tmp_path,
        facts=lambda: kernel_facts(kernel, debuginfo.btf, kernel.exports),
    )
    assert module is not None, [item.message for item in diagnostics.items]
    assert "warning" not in module.log
