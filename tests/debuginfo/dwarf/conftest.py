"""One compiled sample per style."""

from __future__ import annotations

from pathlib import Path

import pytest

from .samples import STYLES, make

_MADE: dict[str, Path] = {}


@pytest.fixture(scope="session", params=STYLES)
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample as an executable."""
    style = request.param
    if style not in _MADE:
        _MADE[style] = make(tmp_path_factory.mktemp("sample"), style)
    return _MADE[style]
