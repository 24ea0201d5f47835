"""Runs without and with probes, compared: the figures, and what cannot be compared."""

import os
import random
import signal
import time

import pytest

from stapy.run.effect import MEASURES, MeasuredTarget, measure, report
from stapy.run.errors import RunError
from stapy.run.messages import MessagePrinter
from stapy.run.options import RunOptions
from stapy.run.signals import Signals
from stapy.run.student import difference, mean_and_deviation, quantile

# Two-sided points of Student's t, as any table of it has them.
TABLE = {
    (0.975, 1): 12.7062,
    (0.975, 2): 4.3027,
    (0.975, 9): 2.2622,
    (0.975, 30): 2.0423,
    (0.975, 1e6): 1.9600,
    (0.995, 10): 3.1693,
    (0.9, 5): 1.4759,
}


@pytest.mark.parametrize(("probability", "freedom"), TABLE)
def test_the_distribution(probability, freedom):
    assert quantile(probability, freedom) == pytest.approx(TABLE[probability, freedom], abs=5e-5)


def test_an_interval_holds_the_true_difference_19_times_of_20():
    chance = random.Random(7)
    held = 0
    for _ in range(1000):
        before = [chance.gauss(10, 1) for _ in range(8)]
        after = [chance.gauss(10.5, 3) for _ in range(8)]
        added, width = difference(before, after)
        held += abs(added - 0.5) <= width
    assert 930 <= held <= 970  # 950 are expected, with a deviation of 7


@pytest.mark.parametrize(
    ("before", "after", "added", "width"),
    [
        ([1, 1, 1], [2, 2, 2], 1, 0),  # nothing varies: nothing is in doubt
        ([1, 2, 3], [1, 2, 3], 0, 2.267),
        ([0.5, 0.5, 0.5], [1, 2, 3], 1.5, 2.484),
    ],
)
def test_differences(before, after, added, width):
    assert difference(before, after) == pytest.approx((added, width), abs=1e-3)


@pytest.mark.parametrize(
    ("before", "after", "proven"),
    [
        ([0.02, 0.02, 0.02], [0.03, 0.03, 0.03], False),  # a tick more, each time
        ([0.02, 0.02, 0.02], [0.05, 0.05, 0.05], True),
        ([0.02, 0.03, 0.02] * 100, [0.03, 0.02, 0.03] * 100, False),  # however often
    ],
)
def test_ticks_of_a_clock_prove_nothing_that_is_smaller(before, after, proven):
    *_, fast, slow = report("x", [(before, after)] * 3)
    assert ("not proven" not in slow) is proven, slow
    assert ("no more than a tick of the clock (10 ms)" in slow) is not proven
    assert "not proven" not in fast, fast  # where microseconds are counted, the same is proven


def test_the_deviation_is_that_of_a_sample():
    assert mean_and_deviation([2, 4, 4, 4, 5, 5, 7, 9]) == pytest.approx((5, 2.13809), abs=1e-5)


def test_the_report():
    proven = ([0.1, 0.101, 0.102], [0.2, 0.201, 0.202])
    unproven = ([0.01, 0.02, 0.03], [0.01, 0.02, 0.032])
    nothing = ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert report("sleep 1", [proven, unproven, nothing]) == [
        "sleep 1",
        "3 runs without the probes, as many with them, in turn: mean ± standard deviation in ms",
        "",
        "                          without           with  difference, 95% confidence",
        "elapsed             101.00 ± 1.00  201.00 ± 1.00  +100.00 ± 2.27 (+99.0% ± 2.2%)",
        "its processor time  20.00 ± 10.00  20.67 ± 11.02"
        "  +0.67 ± 23.94 (+3.3% ± 119.7%): not proven",
        "of all processors     0.00 ± 0.00    0.00 ± 0.00  +0.00 ± 9.25: not proven",
    ]


class Session:
    """Stands in for a module: its probes cost the command some time before it begins."""

    def __init__(self, cost=0.0, errors=0, ends_early=False):
        self.cost, self.errors, self.ends_early = cost, errors, ends_early
        self.seen = []

    def __call__(self, options, make_target):
        self.seen.append((options.command, options.output, options.warnings, options.effect))
        target = make_target(options.command, True)
        target.release()
        time.sleep(self.cost)
        target.outlived = self.ends_early
        while not target.has_ended():
            time.sleep(0.001)
        return self.errors


def run(capfd, session, command="true", runs=3):
    options = RunOptions(module="m.ko", effect=command, effect_runs=runs)
    with Signals() as signals:
        status = measure(options, session, MessagePrinter("never"), signals)
    told = capfd.readouterr()
    return status, told.out.splitlines(), told.err


def test_what_probes_cost_is_seen(capfd):
    session = Session(cost=0.5)
    status, lines, errors = run(capfd, session)
    assert (status, errors) == (0, "")
    assert [line.split("  ")[0] for line in lines[4:]] == [*MEASURES]
    assert not lines[4].endswith("not proven")
    assert session.seen == [("true", os.devnull, turn == 0, "") for turn in range(3)]


def test_what_the_command_prints_is_not_shown_and_what_it_complains_of_once(capfd):
    status, lines, errors = run(
        capfd, Session(), "sh -c 'cat; echo out; echo complaint >&2; exit 3'"
    )
    assert status == 0
    assert "out" not in lines
    assert errors == ("complaint\nWARNING: the command exited with status 3 in 6 of 6 runs\n")


@pytest.mark.parametrize(
    ("session", "text"),
    [
        (Session(errors=1), "the session ended with errors"),
        (Session(ends_early=True), "the session ended before the command did"),
    ],
)
def test_what_cannot_be_compared(capfd, session, text):
    with pytest.raises(RunError, match=text):
        run(capfd, session)
    assert len(session.seen) == 1


def test_a_signal_ends_it_wherever_it_comes(capfd):
    """Between two runs, and in a session, which ends by it as well."""

    class Signalled(Session):
        def __call__(self, options, make_target):
            os.kill(os.getpid(), signal.SIGINT)
            super().__call__(options, make_target)
            return 0

    session = Signalled(ends_early=True)
    with pytest.raises(RunError, match="a signal ended it"):
        run(capfd, session)
    assert len(session.seen) == 1
    with pytest.raises(RunError, match="a signal ended it"):
        run(capfd, Session(), "sh -c 'kill -INT $PPID; sleep 60'")


def test_times_are_those_of_the_command(capfd):
    busy = MeasuredTarget("sh -c 'while [ $((n += 1)) -lt 30000 ]; do :; done; sleep 0.2'")
    busy.release()
    while not busy.has_ended():
        time.sleep(0.001)
    elapsed, own, _ = busy.seconds
    assert 0.01 < own < elapsed
    assert elapsed - own > 0.15
