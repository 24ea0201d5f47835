"""What a test needs of a kernel: for one of few parts it is skipped, with the reason."""

from __future__ import annotations

import pytest

from stapy.vm import kernels


def lacking(release: str, *options: str) -> list[str]:
    """List those of these options that a kernel was built without."""
    config = kernels.find(release).config
    return [name for name in options if not config.is_enabled(name)]


def need(release: str, *options: str) -> None:
    """Skip a test for kernels that were built without one of these options."""
    lacks = lacking(release, *options)
    if lacks:
        pytest.skip(f"this kernel has no {' and no '.join(lacks)}")
