"""``--plot``: what the script gathered, drawn when the session has ended."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stapy.session import Session


def place_of_record(session: Session) -> Path:
    """Return where the consumer writes what is to be drawn."""
    return session.work_folder() / "plot.jsonl"


def draw(session: Session, status: int) -> None:
    """Draw what was recorded, or as much as a session that failed has left.

    Raises `Stop` when nothing was drawn. A recording of which a picture could be made, but for
    a disk that is full or a library that fails, is kept.
    """
    from stapy.plot import choice, files, recording
    from stapy.plot.errors import PlotError
    from stapy.run.output import place_of
    from stapy.timing import PassTimer

    record = place_of_record(session)
    if status and not (record.exists() and record.stat().st_size):
        return  # it never began, which has been told
    timer = PassTimer()
    plot = place_of(session.options.plot or "", None)
    try:
        found = recording.read(str(record))
        drawn = choice.choose(found, choice.PlotWish())
    except PlotError as error:
        session.refuse("E0505", f"--plot: {error}", kind="run error")
    try:
        files.write(plot, drawn, files.title_of(found, plot))
    except PlotError as error:
        session.refuse("E0505", f"--plot: {error}", kind="run error", hint=kept(record))
    for warning in found.warnings:
        session.warn_here("W0505", f"--plot: {warning}")
    session.verbose(f"drew {plot} in {timer.spent()}: {files.summary(drawn)}")


def kept(record: Path) -> str:
    """Put a recording where it outlives the session; say where, or why that failed."""
    place = ""
    try:
        fd, place = tempfile.mkstemp(prefix="stapy-plot-", suffix=".jsonl")
        os.close(fd)
        shutil.copyfile(record, place)
    except OSError as error:
        if place:
            Path(place).unlink(missing_ok=True)
        return f"what was recorded could not be kept either: {error.filename}: {error.strerror}"
    return f"what was recorded is kept: stapy plot {place} -o FILE.svg"
