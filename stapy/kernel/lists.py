"""How old signed lists of packages are: old ones can be sent again by whoever is in between.

Keys say who wrote a list, not that it is the newest.  apt looks at the dates, too, unless the
machine's configuration tells it not to; here they count whatever that says.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

from stapy.record import Record

# Point releases of what is stable come every few months; what has ended gets none any more.
_LONG = timedelta(days=183)
_SLACK = timedelta(days=1)  # of clocks


class ListAge(Record):
    """What the dates of a suite's list say: ``why`` it is not believed, or a ``warning``."""

    why: str = ""
    warning: str = ""


def age_of(suite: str, lists: Path, now: datetime) -> ListAge:
    """Look at the dates of the list of a suite in apt's folder of lists."""
    name = "*_dists_" + suite.replace("_", "%5f").replace("/", "_")  # as apt writes them
    files = [*lists.glob(f"{name}_InRelease"), *lists.glob(f"{name}_Release")]
    if not files:
        return ListAge(why=f"there is no list of {suite} that says of when it is")
    for file in files:
        text = file.read_text("utf-8", "replace")
        made, until = _date(text, "Date"), _date(text, "Valid-Until")
        if until is None and _field(text, "Valid-Until") is not None:
            return ListAge(why=f"the list of {suite} does not say clearly until when it is good")
        if until is not None and until < now:
            return ListAge(why=f"the list of {suite} was good until {_day(until)} only")
        if made is None:
            return ListAge(why=f"the list of {suite} does not say of when it is")
        if made > now + _SLACK:
            return ListAge(why=f"the list of {suite} is of {_day(made)}, which is still to come")
        if until is None and made < now - _LONG:
            return ListAge(
                warning=f"the list of {suite} is of {_day(made)}, and does not say until when it"
                " is good: later kernels may be missing"
            )
    return ListAge()


def utc_now() -> datetime:
    """Return the time of this machine's clock."""
    return datetime.now(UTC)


def _field(text: str, name: str) -> str | None:
    """Return the value of a field, None without it; apt heeds no capitals in its name either."""
    found = re.search(rf"^{name}:[ \t]*(.*)$", text, re.M | re.I)
    return found[1].strip() if found else None


def _date(text: str, field: str) -> datetime | None:
    value = _field(text, field)
    try:
        date = parsedate_to_datetime(value) if value is not None else None
    except (ValueError, OverflowError):
        return None
    return date.replace(tzinfo=UTC) if date is not None and date.tzinfo is None else date


def _day(date: datetime) -> str:
    return f"{date:%Y-%m-%d}"
