"""What two samples say about the difference of their means, by Welch's test."""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence, Tuple

CONFIDENCE = 0.95


def mean_and_deviation(sample: Sequence[float]) -> Tuple[float, float]:
    """Return mean and standard deviation (of the sample, by n - 1) of at least two values."""
    mean = math.fsum(sample) / len(sample)
    squares = math.fsum((value - mean) ** 2 for value in sample)
    return mean, math.sqrt(squares / (len(sample) - 1))


def difference(
    before: Sequence[float], after: Sequence[float], resolution: float = 0.0
) -> Tuple[float, float]:
    """Return how much larger the mean of ``after`` is, and the half width of its interval.

    The interval is that of Welch's t test at `CONFIDENCE`: the variances of the two may
    differ, as they do when probes add cost to some runs only. A difference that is smaller
    than the half width is not proven.

    Each value is the difference of two readings of a clock that goes on by ``resolution``: up to
    that much is unknown of it, with a variance of a sixth of the square, whether the values show
    it or, as few of a slow clock, are all the same.
    """
    unknown = resolution**2 / 6
    mean_before, deviation_before = mean_and_deviation(before)
    mean_after, deviation_after = mean_and_deviation(after)
    error_before = (deviation_before**2 + unknown) / len(before)
    error_after = (deviation_after**2 + unknown) / len(after)
    error = error_before + error_after
    if error == 0:
        return mean_after - mean_before, 0.0
    freedom = error**2 / (error_before**2 / (len(before) - 1) + error_after**2 / (len(after) - 1))
    return mean_after - mean_before, quantile((1 + CONFIDENCE) / 2, freedom) * math.sqrt(error)


def quantile(probability: float, freedom: float) -> float:
    """Return the value that Student's t stays below with a probability of 0.5 to below 1."""
    low, high = 0.0, 1.0
    while _below(high, freedom) < probability:
        low, high = high, high * 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if _below(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return high


def _below(value: float, freedom: float) -> float:
    """Return the probability that t is below ``value``, which is not negative."""
    return 1 - _beta(freedom / (freedom + value * value), freedom / 2, 0.5) / 2


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side only
        return 1 - _beta(1 - x, b, a)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(scale + a * math.log(x) + b * math.log1p(-x)) / a
    return front / _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method.

    Its terms are those of DLMF 8.17.22, 1 + d1/(1 + d2/(1 + ...)).
    """
    value, c, d = 1.0, 1.0, 0.0
    for step in range(1, 1000):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + term * d)
        c = 1 + term / c
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value
