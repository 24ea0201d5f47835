"""What a session costs a command: runs of it without and with the probes, compared.

The runs alternate, and each pair turns its order round, so that a machine that grows warmer
or busier meanwhile treats both alike.
"""

from __future__ import annotations

import os
import select
import time
from copy import copy

from .errors import RunError
from .signals import Signals, signal
from .streams import show
from .student import CONFIDENCE, difference, mean_and_deviation
from .target import TargetProcess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Sequence, Tuple

    from .messages import MessagePrinter
    from .options import RunOptions

    # Runs a session as the options say, whose command the function makes; returns how many
    # errors there were.
    Runner = Callable[[RunOptions, Callable[[str, bool], TargetProcess]], int]

RUNS = 10  # of each kind, when the user does not say how many
MEASURES = ("elapsed", "its processor time", "of all processors")
# Steps of the clocks behind them in seconds: two count microseconds, the last one ticks.
RESOLUTIONS = (1e-6, 1e-6, 1 / os.sysconf("SC_CLK_TCK"))
SIGNALLED = "nothing was compared: a signal ended it"
ENDED = "nothing was compared: the session ended before the command did, and its probes with it"


class MeasuredTarget(TargetProcess):
    """A command that reads nothing, shows nothing on its ``left`` streams, and is timed."""

    def __init__(self, command: str, left: Sequence[int] = (1, 2)) -> None:
        self.seconds: Tuple[float, ...] = ()  # in the order of `MEASURES`, once it has ended
        self._began, self._busy = 0.0, 0.0
        super().__init__(command, has_input=False, left=left)

    def release(self) -> None:
        """Let the command begin, and its time with it."""
        self._busy, self._began = busy_time(), time.monotonic()
        super().release()

    def wait(self, options: int) -> Tuple[int, int]:
        """Wait for the command as `os.waitpid` does, and take its time when it has ended."""
        pid, status, usage = os.wait4(self.pid, options)
        if pid == self.pid:
            elapsed = time.monotonic() - self._began
            self.seconds = (elapsed, usage.ru_utime + usage.ru_stime, busy_time() - self._busy)
        return pid, status

    def complaint(self) -> str:
        """Say nothing: how its runs ended is told once, with the comparison."""
        return ""


def busy_time() -> float:
    """Return the seconds that all processors have worked since the start, in ticks of 10 ms.

    Those of the first line of /proc/stat but idle, iowait and stolen ones; the time of guests
    is in that of users (proc_stat(5)).
    """
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq = map(int, file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def measure(
    options: RunOptions, session: Runner, messages: MessagePrinter, signals: Signals
) -> int:
    """Run the command of ``--probe-effect`` without and with the probes; print the comparison.

    Returns the exit status. Raises `RunError` with the reason when there is nothing to compare,
    because a session failed or was over before its command, or a signal came.
    """
    # What it reads from disks is in memory from now on; what it complains of is said once.
    _alone(options.effect, signals, left=(1,))
    before: List[MeasuredTarget] = []
    after: List[MeasuredTarget] = []
    for turn in range(options.effect_runs or RUNS):
        for is_probed in (False, True) if turn % 2 == 0 else (True, False):
            if is_probed:
                after.append(_within(options, session, signals, is_first=not after))
            else:
                before.append(_alone(options.effect, signals))
        messages.progress(f"{turn + 1} of {options.effect_runs or RUNS} pairs of runs")
    messages.progress("")
    failed = [target for target in (*before, *after) if target.status]
    if failed:
        how = TargetProcess.complaint(failed[0]).replace("Child process", "the command")
        messages.warning(f"{how} in {len(failed)} of {len(before) + len(after)} runs")
    pairs = [
        (
            [target.seconds[number] for target in before],
            [target.seconds[number] for target in after],
        )
        for number in range(len(MEASURES))
    ]
    return show(report(options.effect, pairs))


def _alone(command: str, signals: Signals, left: Sequence[int] = (1, 2)) -> MeasuredTarget:
    """Run the command without probes, and wait for it as a session does."""
    target = MeasuredTarget(command, left)
    target.release()
    poll = select.poll()
    poll.register(signals.wake, select.POLLIN)
    while not target.has_ended():
        poll.poll()
        _heed(signals, target)
    _heed(signals, target)
    return target


def _heed(signals: Signals, target: MeasuredTarget) -> None:
    """End the comparison, and the command, when the user wants that."""
    signals.drain()
    signals.take()
    if signals.heard:
        if target.status is None:
            os.kill(target.pid, signal.SIGTERM)
        raise RunError(SIGNALLED)


def _within(
    options: RunOptions, session: Runner, signals: Signals, is_first: bool
) -> MeasuredTarget:
    """Run the command in a session of its own; its output goes nowhere.

    Errors are shown, and the warnings of the first session.
    """
    once = copy(options)
    once.command, once.output, once.effect = options.effect, os.devnull, ""
    once.warnings = options.warnings and is_first
    made: List[MeasuredTarget] = []

    def make(command: str, has_input: bool) -> TargetProcess:
        made.append(MeasuredTarget(command))
        return made[0]

    errors = session(once, make)
    _heed(signals, made[0])
    if errors:
        raise RunError("nothing was compared: the session ended with errors")
    if not made[0].seconds or made[0].outlived:
        raise RunError(ENDED)
    return made[0]


def report(command: str, pairs: List[Tuple[List[float], List[float]]]) -> List[str]:
    """Return the lines of the comparison: for each of `MEASURES` the seconds of all runs."""
    rows = [("", "without", "with", f"difference, {CONFIDENCE:.0%} confidence")]
    for name, resolution, (before, after) in zip(MEASURES, RESOLUTIONS, pairs):
        less, more = mean_and_deviation(before), mean_and_deviation(after)
        digits = _digits(max(less[0], more[0]))
        rows.append(
            (
                name,
                _with_spread(less, digits),
                _with_spread(more, digits),
                _verdict(before, after, digits, resolution),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        command,
        f"{len(pairs[0][0])} runs without the probes, as many with them, in turn:"
        " mean ± standard deviation in ms",
        "",
        *("  ".join(_aligned(row, widths)) for row in rows),
    ]


def _aligned(row: Sequence[str], widths: List[int]) -> List[str]:
    """Fill the cells of a row up: the first to the left, the last one not, others to the right."""
    filled = [cell.rjust(width) for cell, width in zip(row, widths)]
    return [row[0].ljust(widths[0]), *filled[1:], row[-1]]


def _digits(seconds: float) -> int:
    """Return how many digits a time in milliseconds needs behind the point."""
    return 2 if seconds < 1 else 1 if seconds < 10 else 0


def _with_spread(value: Tuple[float, float], digits: int) -> str:
    return f"{value[0] * 1000:.{digits}f} ± {value[1] * 1000:.{digits}f}"


def _verdict(before: List[float], after: List[float], digits: int, resolution: float) -> str:
    """Say how much the probes added, and whether the runs prove that they did.

    What is no more than a step of the clock is not proven by any number of runs: ticks are given as
    a whole to whoever has the processor at that moment, which may be the same one each time.
    """
    added, width = difference(before, after, resolution)
    text = f"{added * 1000:+.{digits}f} ± {width * 1000:.{digits}f}"
    mean = mean_and_deviation(before)[0]
    if mean:
        text += f" ({added / mean:+.1%} ± {width / mean:.1%})"
    if abs(added) > max(width, resolution * 1.000001):  # more than a step, written as fractions
        return text
    is_seen = abs(added) * 1000 >= 0.5 / 10**digits
    within = abs(added) <= resolution * 1.000001 and is_seen
    tick = f", no more than a tick of the clock ({resolution * 1000:g} ms)" if within else ""
    return f"{text}: not proven{tick}"
