"""Where stapy's own data lives: in a checkout beside the package, in a wheel inside it."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def data_dir(name: str) -> Path:
    """Folder ``tapsets``, ``runtime`` or ``templates``."""
    override = {"tapsets": "STAPY_TAPSETS", "runtime": "STAPY_RUNTIME"}.get(name)
    if override and os.environ.get(override):
        return Path(os.environ[override])
    inside = _PACKAGE / "share" / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def cache_dir() -> Path:
    """Root of all caches.

    ``$SYSTEMTAP_DIR/cache/stapy`` when that variable is set, else
    ``$XDG_CACHE_HOME/stapy``, else ``~/.cache/stapy``.
    """
    if os.environ.get("SYSTEMTAP_DIR"):
        return Path(os.environ["SYSTEMTAP_DIR"]) / "cache" / "stapy"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "stapy"
