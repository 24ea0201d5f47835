"""What the shell keeps between its runs: the folder for it, and scripts that would be lost."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.temporary import scratch_root
from stapy.terminal import writing
from stapy.trust import home, made, write_new

if TYPE_CHECKING:
    from stapy.shell.shell import Shell


def state_folder() -> Path:
    """Return the folder: below ``$XDG_STATE_HOME``, else below ``~/.local/state``."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if not base.startswith("/"):
        base = f"{os.environ.get('HOME') or home()}/.local/state"
    return Path(base) / "stapy"


def made_state_folder() -> str:
    """Make the folder; say why nothing can be kept in it, "" when all is well."""
    folder = state_folder()
    why = made(folder)
    if why:
        return why
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        return str(error)
    return ""


def rescue(shell: Shell) -> None:
    """Write what is in no file yet to files, and say where they are.

    In the folder of the state they outlast a restart of the machine; where that cannot be, they
    are among temporary files.
    """
    for text in shell.unsaved():
        try:
            _tell(f"what was not saved is in '{_kept(text)}'")
        except OSError as error:
            _tell(f"what was not saved is lost: '{error.filename}': {error.strerror}")


def set_aside(shell: Shell) -> None:
    """Write what a command is about to drop to files, as `rescue` does, on a terminal.

    Without one the lines are somebody's file.  Raises `OSError` when no folder takes it.
    """
    for text in shell.unsaved() if shell.on_terminal else []:
        _tell(f"what was not saved is in '{_kept(text)}'")


def _kept(text: str) -> Path:
    """Write a text to a new file in the first folder that takes it, and return its path."""
    name = f"unsaved-{os.getpid()}-{os.urandom(4).hex()}.stp"
    folders = [Path(scratch_root())]
    if not made_state_folder():
        folders.insert(0, state_folder())
    return _written(text, [folder / name for folder in folders])


def _written(text: str, places: list[Path]) -> Path:
    """Write a text to the first place that takes it; raise the `OSError` of the last one."""
    failed = OSError()
    for path in places:
        try:
            write_new(path, text.encode("utf-8", "surrogateescape"), 0o600)
        except OSError as error:
            if not isinstance(error, FileExistsError):
                path.unlink(missing_ok=True)  # a part of it, on a full disk
            failed = OSError(error.errno, error.strerror, str(path))
        else:
            return path
    raise failed


def _tell(text: str) -> None:
    """Say it if anybody is there: the terminal may be gone, and the next text is to be saved."""
    with contextlib.suppress(writing.Unheard):
        writing.tell(f"{text}\n")
