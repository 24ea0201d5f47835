"""``--plot``: what the script gathered, drawn when the session has ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stapy.session import Session


def place_of_record(session: Session) -> Path:
    """Return where the consumer writes what is to be drawn."""
    return session.work_folder() / "plot.jsonl"


def draw(session: Session, status: int) -> None:
    """Draw what was recorded; of a session that failed, what there is.

    Raises `Stop` when nothing can be drawn of one that did not fail.
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
        files.write(plot, drawn, files.title_of(found, plot))
    except PlotError as error:
        session.refuse("E0505", f"--plot: {error}", kind="run error")
    for warning in found.warnings:
        session.warn_here("W0505", f"--plot: {warning}")
    session.verbose(f"drew {plot} in {timer.spent()}: {files.summary(drawn)}")
