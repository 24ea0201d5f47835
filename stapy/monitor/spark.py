"""Rates as a row of small bars, one character for each, for the terminal's own characters."""

from __future__ import annotations

import locale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " .:-=+*#@"  # as many, from light to dark


def characters() -> str:
    """Return the bars that the locale has: blocks in UTF-8, else ASCII.

    The locale is asked, not Python, which takes any text for UTF-8 in the C locale.
    """
    try:
        locale.setlocale(locale.LC_CTYPE, "")
        coding = locale.nl_langinfo(locale.CODESET)
    except locale.Error:  # one that is not installed
        coding = ""
    return BLOCKS if coding.replace("-", "").lower() == "utf8" else ASCII


def draw(rates: Iterable[float | None], bars: str = BLOCKS) -> str:
    """Draw each rate as a bar between the least and the greatest of them, and 0.

    What is not known is a blank, as the least one is; any other one can be seen.
    """
    rates = list(rates)
    known = [rate for rate in rates if rate is not None]
    least, most = min([0.0, *known]), max([0.0, *known])
    if least == most:
        return bars[0] * len(rates)
    steps = len(bars) - 1
    heights = (0.0 if rate is None else (rate - least) / (most - least) * steps for rate in rates)
    # Almost a whole step is one: divisions are not exact.
    return "".join(bars[min(-(-int(height * 1000) // 1000), steps)] for height in heights)
