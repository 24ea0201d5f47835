"""Where debug files were looked for, be they there or not, and until when a server's no counts.

What is kept of the answers of a command, such as its list or its module, holds as long as these
places stay what they are: a debug package that is installed, or goes, changes answers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from stapy.kernel.roots import status

_LONGEST = 24 * 3600  # seconds that no answer of a server counts for
_MANY = 2000  # places that are worth a line each: of all modules there are tens of thousands

_places: dict[Path, None] = {}
_ends: list[int] = []


def note(paths: Iterable[Path]) -> None:
    """Remember that an answer depends on what is, or is not, at some places."""
    _places.update(dict.fromkeys(paths))


def note_until(second: float) -> None:
    """Remember that an answer is to be asked for again from a time on, in seconds since 1970."""
    _ends.append(int(second))


def places() -> list[Path]:
    """List the places since `forget`; of many that are empty, the folders that would show a file.

    A folder is another one as soon as something is put into it.
    """
    if len(_places) <= _MANY:
        return list(_places)
    known: dict[Path, bool] = {}
    return list(dict.fromkeys(_shown_by(path, known) for path in _places))


def until() -> int | None:
    """Tell the second from which on answers since `forget` are to be asked for again, or None."""
    return min(_ends, default=None)


def is_over(second: int) -> bool:
    """Tell whether such a second has come; a clock that was set back makes all answers old."""
    return not 0 <= second - time.time() <= _LONGEST


def forget() -> None:
    """Begin a new command: nothing has been looked for."""
    _places.clear()
    _ends.clear()


def _shown_by(path: Path, known: dict[Path, bool]) -> Path:
    """Find the nearest folder that is there, of a path that is not."""
    while path != path.parent:
        if path not in known:
            known[path] = _is_there(path)
        if known[path]:
            break
        path = path.parent
    return path


def _is_there(path: Path) -> bool:
    try:
        status(path)
    except (OSError, ValueError):
        return False
    return True
