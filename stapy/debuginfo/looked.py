"""Where debug files were looked for, be they there or not, and builds that no server had.

What is kept of the answers of a command, such as its list or its module, holds as long as these
places are what they were when they were looked at: a debug package that is installed, or goes,
changes answers, also while a command is on its way.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from stapy.kernel.roots import status

_LONGEST = 24 * 3600  # seconds that no answer of a server counts for
_MANY = 2000  # places that are worth a line each: of all modules there are tens of thousands

_TICK_NS = 20_000_000  # by which a folder's time of change may be behind the clock
_CHANGING = "changing"  # what no place is found to be: such an answer is not given again

_places: dict[Path, str] = {}  # with what was there at the first look
_begun: list[int] = []  # the time of that, in nanoseconds since 1970
_missing: dict[str, int] = {}  # by build-id the second until which that counts


def note(paths: Iterable[Path]) -> None:
    """Remember that an answer depends on what is now, or is not, at some places."""
    if not _begun:
        _begun.append(time.time_ns())
    for path in paths:
        if path not in _places:
            _places[path] = identity(path)


def identity(path: Path) -> str:
    """Tell what is at a place: another file, or content, is another text; "" for nothing.

    Links of other roots are followed as they are there (`stapy.kernel.roots.status`).
    """
    try:
        found = status(path)
    except (OSError, ValueError):  # a name out of a damaged file may be longer than names can be
        return ""
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"


def note_missing(build_id: str, until: float) -> None:
    """Remember that no server gave a build's file, and until when that counts (since 1970)."""
    _missing[build_id] = int(until)


def places() -> dict[Path, str]:
    """Map the places since `forget` to what was there; of many the folders that would show a file.

    A folder is another one as soon as something is put into it; one that may have changed since
    the first look is none that an answer can depend on.
    """
    if len(_places) <= _MANY:
        return dict(_places)
    known: dict[Path, bool] = {}
    return {path: _unchanged(path) for path in {_shown_by(path, known) for path in _places}}


def _unchanged(path: Path) -> str:
    if path in _places:
        return _places[path]
    try:
        changed = status(path).st_mtime_ns
    except (OSError, ValueError):
        return ""
    return identity(path) if changed < _begun[0] - _TICK_NS else _CHANGING


def missing() -> dict[str, int]:
    """Map the builds that no server gave since `forget` to the second until which that counts."""
    return dict(_missing)


def is_over(second: int) -> bool:
    """Tell whether such a second has come; a clock that was set back makes all answers old."""
    return not 0 <= second - time.time() <= _LONGEST


def forget() -> None:
    """Begin a new command: nothing has been looked for."""
    _places.clear()
    _begun.clear()
    _missing.clear()


def _shown_by(path: Path, known: dict[Path, bool]) -> Path:
    """Find the nearest folder that is there, of a path that is not."""
    while path != path.parent:
        if path not in known:
            known[path] = identity(path) != ""
        if known[path]:
            break
        path = path.parent
    return path
