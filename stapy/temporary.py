"""Temporary folders that kbuild can live in and that never outlive us."""

from __future__ import annotations

import os
import re
from pathlib import Path
from shutil import rmtree

from stapy.ending import cleaning_up
from stapy.paths import is_dir
from stapy.trust import why_untrusted


def scratch_root() -> str:
    """Return ``$TMPDIR``, or ``/tmp`` when its name has characters that make cannot handle.

    ``/tmp`` as well when another user could exchange what is in there.
    """
    root = os.environ.get("TMPDIR", "/tmp")
    usable = re.fullmatch(r"/[\w./+@-]*", root) and is_dir(Path(root))
    return root if usable and not why_untrusted(Path(root)) else "/tmp"


def unused_folder(purpose: str) -> Path:
    """Return a name that no other folder has, of one that is still to be made.

    Who keeps the name first removes the folder also when a signal comes right behind
    ``mkdir(mode=0o700)``.
    """
    # tempfile would cost 20 ms of imports (random, hashlib, bisect …).
    return Path(scratch_root()) / f"stapy-{purpose}-{os.getpid()}-{os.urandom(8).hex()}"


class TemporaryFolder:
    """A new empty folder, removed on the way out, also when that way is an exception.

    A signal may interrupt both ways, right behind the system call that makes the folder as well.
    A generator would not do: interrupted between its ``yield`` and the ``with``, it stays as it is
    until somebody forgets the exception, and a child that leaves by `os._exit` never does.
    """

    def __init__(self, purpose: str) -> None:
        self._folder = unused_folder(purpose)

    def __enter__(self) -> Path:
        try:
            self._folder.mkdir(mode=0o700)
            return self._folder
        except BaseException:
            _remove(self._folder)
            raise

    def __exit__(self, *reason: object) -> None:
        with cleaning_up():
            try:
                _remove(self._folder)
            except BaseException:  # Ctrl-C
                _remove(self._folder)
                raise


def _remove(folder: Path) -> None:
    rmtree(folder, ignore_errors=True)
