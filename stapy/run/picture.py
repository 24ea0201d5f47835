"""How histograms are drawn: by the terminal that shows them, or as a text that can be compared."""

from __future__ import annotations

import os

from .errors import RunError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, List, Tuple

    from .options import RunOptions

NAMES = COLUMNS, COLORS = "stapy_columns", "stapy_colors"  # parameters of the module


def parameters(options: RunOptions, known: Iterable[str]) -> List[str]:
    """List what tells a module with the ``known`` parameters how to draw, if anything.

    Raises `RunError` when a width is wanted of a module that has one for good.
    """
    known = set(known)
    if options.width and COLUMNS not in known:
        raise RunError("the width of this module's histograms is fixed: make it again for --width")
    given = {word.partition("=")[0] for word in options.parameters}
    columns, in_color = decide(options)
    words = [f"{COLUMNS}={columns}"] if columns else []
    words += [f"{COLORS}=1"] if in_color else []
    return [word for word in words if word.partition("=")[0] in known - given]


def unheeded(options: RunOptions, is_for_programs: bool) -> str:
    """Say that a width changes nothing, of a module made with --format or -b; else ""."""
    if options.width and is_for_programs:
        return "--width has no effect: the output of this module is for programs (--format, -b)"
    return ""


def decide(options: RunOptions) -> Tuple[int, bool]:
    """Return the columns that histograms may take, and whether they are coloured.

    No columns means what SystemTap draws.  A width that was asked for counts everywhere,
    colours are for terminals only.
    """
    if options.width == 0:
        return 0, False
    shown = _is_shown(options)
    columns = options.width or (_columns() if shown else 0)
    return columns, shown and _is_color_wanted(options.color)


def _is_shown(options: RunOptions) -> bool:
    """Tell whether what is printed goes to a terminal for eyes, and nowhere else.

    Who detaches does not know where the rest of it will be read.
    """
    if options.output is not None or options.detach or options.daemon or options.monitor:
        return False
    return os.isatty(1) and os.environ.get("TERM", "dumb") not in ("", "dumb")


def _is_color_wanted(color: str) -> bool:
    return color == "always" or (color == "auto" and not os.environ.get("NO_COLOR"))


def _columns() -> int:
    """Return the width of the terminal on standard output; 0 where it does not say."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdecimal() and len(given) < 5:
        return int(given)
    try:
        return os.get_terminal_size(1).columns
    except OSError:
        return 0
