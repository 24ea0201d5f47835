"""Temporary folders that kbuild can live in and that never outlive us."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from stapy.paths import is_dir
from stapy.trust import doubt


def scratch_root() -> str:
    """``$TMPDIR``, or ``/tmp`` when its name has characters that make cannot handle.

    ``/tmp`` as well when another user could exchange what is in there.
    """
    root = os.environ.get("TMPDIR", "/tmp")
    usable = re.fullmatch(r"/[\w./+@-]*", root) and is_dir(Path(root))
    return root if usable and not doubt(Path(root)) else "/tmp"


def make_folder(purpose: str) -> Path:
    """A new empty folder that only this user can enter; the caller removes it."""
    # tempfile would cost 20 ms of imports (random, hashlib, bisect …).
    number = os.getpid()
    while True:
        folder = Path(scratch_root()) / f"stapy-{purpose}-{number}-{os.urandom(4).hex()}"
        try:
            folder.mkdir(mode=0o700)
            return folder
        except FileExistsError:
            continue


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """A new empty folder, removed on the way out, also when that way is an exception."""
    folder = make_folder(purpose)
    try:
        yield folder
    finally:
        from shutil import rmtree

        rmtree(folder, ignore_errors=True)
