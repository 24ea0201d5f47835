"""One compiled sample per style."""

from __future__ import annotations

from pathlib import Path

import pytest

from .samples import CLANG, STYLES, extracted, make

_MADE: dict[str, Path] = {}


@pytest.fixture(scope="session", params=[*STYLES, *CLANG])
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the sample as an executable."""
    style = request.param
    if style not in _MADE:
        folder = tmp_path_factory.mktemp("sample")
        if style in CLANG:
            extracted("clang", folder)
            _MADE[style] = folder / CLANG[style] / "sample"
        else:
            _MADE[style] = make(folder, style)
    return _MADE[style]
