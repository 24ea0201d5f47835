"""The command ``dtrace`` for programs that are configured with the one in ``$PATH``."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from stapy.diagnostics.render import harmless
from stapy.paths import data_dir, package_dir
from stapy.tools.replacing import create, replace

NAME = "dtrace"
_MODE = 0o755
_MARK = b"# Made by stapy dtrace --install."
# The folder of a build may have files with the names of Python's modules: none is taken from there.
_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); sys.argv[:2] = ['dtrace']; "
    "from stapy.cli import main; sys.exit(main(sys.argv[1:]))"
)


class EntryError(Exception):
    """The command cannot be made; the text says why."""


def main(words: list[str]) -> None:
    """Make the command in the folder that is named, and tell how it is used.

    Raises `EntryError` for anything else, and where another program has that name; and OSError.
    """
    if len(words) != 1:
        raise EntryError("--install takes a folder, and nothing else")
    path = _made(Path(words[0]).absolute())
    lines = [f"sys/sdt.h is in {data_dir('include')}: CPPFLAGS=-I… where there is none"]
    first = shutil.which(NAME)
    if first is None or not Path(first).samefile(path):
        before = f" before that of '{first}'" if first is not None else ""
        lines.append(f"put its folder into $PATH{before}, or configure with DTRACE={path}")
    print(harmless(str(path)))
    for line in lines:
        print(harmless(line), file=sys.stderr)


def _made(folder: Path) -> Path:
    path = folder / NAME
    if not folder.is_dir():
        raise EntryError(f"'{folder}' is no folder")
    words = [sys.executable, "-I", "-c", _CODE, str(package_dir().parent)]
    line = " ".join(shlex.quote(word) for word in words)
    text = b"#!/bin/sh\n" + _MARK + f'\nexec {line} "$@"\n'.encode("utf-8", "surrogateescape")
    if path.is_symlink() or path.exists():
        if path.is_symlink() or not path.is_file() or not _is_ours(path):
            raise EntryError(f"'{path}' is not stapy's, and stays; name another folder")
        replace(path, text, _MODE)
    else:
        create(path, text, _MODE)
    return path


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(256).partition(b"\n")[2].startswith(_MARK)
