"""The debug information of a whole kernel, opened and indexed once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo.facade import Debuginfo
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import find_kernel


@pytest.fixture(scope="session")
def kernel_info(debug_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Debuginfo]:
    """Open a kernel of line 6.1 with its debug package."""
    release = next((debug_root / "boot").glob("vmlinux-6.1.*")).name.removeprefix("vmlinux-")
    diagnostics = Diagnostics(SourceMap())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYSTEMTAP_DEBUGINFO_PATH", str(debug_root))
        cache = Cache(tmp_path_factory.mktemp("index"))
        made = Debuginfo(find_kernel(release, diagnostics), cache, diagnostics)
        assert made.dwarf is not None
    yield made
