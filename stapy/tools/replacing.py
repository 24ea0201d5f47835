"""New content for a user's file, without a moment in which the old one is lost."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def replace(path: Path, data: bytes) -> None:
    """Put new content into a file, wholly or not at all; links to it and its mode stay.

    What is no regular file, as a pipe, is written to.
    """
    path = path.resolve()
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        path.write_bytes(data)
        return
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, stat.S_IMODE(mode))  # noqa: PTH101
        os.replace(name, path)  # noqa: PTH105
    except BaseException:
        os.unlink(name)  # noqa: PTH108
        raise


def create(path: Path, data: bytes) -> None:
    """Make a new file, wholly or not at all; `FileExistsError` where one is."""
    with path.open("xb") as file:
        try:
            file.write(data)
            file.flush()
        except BaseException:
            path.unlink()
            raise
