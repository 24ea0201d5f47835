"""The table that ends a run in which hits were skipped or missed, or which was stopped.

The module tells of the run and of each probe that took much (runtime/accounts.c).
"""

from .printable import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List

_FIGURES = 6  # in the message of a probe, before its point and its place
_CAUSES = ("nested", "low stack", "locks")
_HELP_MISSED = (
    "the kernel misses a hit of a kprobe in another one's, and a return where too many calls are"
    " under way: -D KRETACTIVE=N makes room for N at a time"
)


class Account:
    """What one probe did: hits, what they took, skipped hits by cause, errors."""

    def __init__(self, text: str) -> None:
        *figures, where = text.split("\t", _FIGURES)
        self.hits, self.taken, nested, stack, locks, self.errors = map(int, figures)
        self.skipped = [nested, stack, locks]
        self.point, _, self.place = where.partition("\t")  # cut where it is very long


class Accounts:
    """Collects the messages of a run that did not go well, and makes a table of them."""

    def __init__(self) -> None:
        self._rows: "List[Account]" = []
        self._told = False
        self._overloaded = False
        self._went_on = False  # all the same: --on-overload
        self._units = ""  # of what hits took, "" when that was not counted
        self._all = 0
        self._skipped = [0] * len(_CAUSES)  # of all probes, also of those that have no row
        self._missed = 0  # hits that the kernel did not hand on
        self._lock = ""  # the global that was waited for in vain most often

    def take(self, kind: str, text: str) -> bool:
        """Take in a message; False when it is none of ours, or not of the shape that it has here.

        A session that was left in the kernel may be another version's, which -A cannot know.
        """
        try:
            if kind == "account":
                self._rows.append(Account(text))
            elif kind == "accounts":
                self._take_sums(text)
            else:
                return False
        except ValueError:
            return False
        return True

    def _take_sums(self, text: str) -> None:
        overloaded, units, taken, *skipped, missed, lock = text.split("\t")
        whole, *counts = map(int, (taken, *skipped, missed))
        if len(skipped) != len(_CAUSES):
            raise ValueError("other causes than ours")
        *self._skipped, self._missed = counts
        self._overloaded, self._went_on = overloaded != "0", overloaded == "2"
        self._units, self._all, self._lock, self._told = units, whole, lock, True

    def lines(self) -> "List[str]":
        """Return the table and what would help; nothing when there are no figures to show."""
        skips = self._skipped
        # A single error has told its place already.
        failed = sum(row.errors for row in self._rows) > 1
        shows = any(skips) or self._missed or self._units or self._overloaded or failed
        if not self._told or not shows:
            return []
        lines = []
        if self._rows or any(self._others()):
            lines.append(f"note: what the probes did, {self._order()}:")
            lines += self._table()
            if self._missed:
                lines.append(f"  and {self._missed} that the kernel missed, before any probe ran")
        elif self._missed:
            lines.append(f"note: hits that the kernel missed, before any probe ran: {self._missed}")
        help_ = self._help(skips)
        if help_:
            lines.append(f"help: {help_}")
        return lines

    def _order(self) -> str:
        if self._units:
            return "those first that took most"
        return "those first that skipped or failed most (-t adds hits, what they took, and shares)"

    def _table(self) -> "List[str]":
        heads = ["hits", self._units, "share"] if self._units else []
        cells = [[*heads, *_CAUSES, "errors"]]
        for row in self._rows:
            counted = [str(row.hits), str(row.taken), f"{_share(row.taken, self._all)}%"]
            figures = [*row.skipped, row.errors]
            cells.append([*(counted if self._units else []), *map(str, figures)])
        texts = ["probe", *(f"{shown(row.point)} at {shown(row.place)}" for row in self._rows)]
        others = self._others()
        if any(others):
            cells.append([*("" for _ in heads), *map(str, others), ""])
            texts.append("(other probes)")
        widths = [max(map(len, column)) for column in zip(*cells)]
        return [
            "  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths)) + f"  {text}"
            for line, text in zip(cells, texts)
        ]

    def _others(self) -> "List[int]":
        """Count the skipped hits, by cause, of probes that have no row of their own."""
        return [
            max(whole - sum(row.skipped[cause] for row in self._rows), 0)
            for cause, whole in enumerate(self._skipped)
        ]

    def _help(self, skips: "List[int]") -> str:
        """Choose the one change that helps most."""
        if self._overloaded:
            return self._help_overload()
        cause = max(range(len(skips)), key=skips.__getitem__)
        if not skips[cause]:
            return _HELP_MISSED if self._missed else ""
        if _CAUSES[cause] == "locks":
            return (
                f"hits waited for the global '{self._lock}' in vain: -D MAXTRYLOCK=N waits longer;"
                " if it only counts or adds up numbers, make it a statistic, which <<< adds to"
                " without waiting"
            )
        if _CAUSES[cause] == "low stack":
            return (
                "-D MINSTACKSPACE=N asks for fewer bytes of stack; short chains of calls need less"
            )
        return (
            "a probe was hit while a handler ran on the same processor: -D INTERRUPTIBLE=0 keeps"
            " interrupts out of handlers, if it was one in an interrupt"
        )

    def _help_overload(self) -> str:
        if not self._units:
            return (
                "-t counts hits and cycles of each probe: a table then says where they went;"
                " --on-overload=throttle or disarm goes on without the one that takes most"
            )
        if not self._rows or not self._all:
            return ""
        row = self._rows[0]
        return (
            f"{_share(row.taken, self._all)}% of the {self._units} went to {shown(row.point)}:"
            " make it be hit less often (a condition, `if (…) next` first), or allow more by"
            " -D STP_OVERLOAD_THRESHOLD=CYCLES"
            + ("" if self._went_on else "; --on-overload=throttle or disarm goes on without it")
        )


def _share(part: int, whole: int) -> int:
    return round(100 * part / whole) if whole else 0


def memory_line(text: str) -> str:
    """Turn a message about memory into a line for -v; "" for one that is not understood."""
    size, _, rest = text.partition("\t")
    kind, _, name = rest.partition("\t")
    if not size.isdigit():
        return ""
    amount = f"{int(size) / 1024:,.1f} KiB"
    if kind == "others":
        return f"memory: {amount} in {name} smaller parts"
    quoted = f"'{name}'" if kind in ("array", "statistic", "module") else name
    return f"memory: {amount} {kind} {quoted}"
