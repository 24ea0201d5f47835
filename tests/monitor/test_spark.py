"""Rates as bars, in the characters of the terminal."""

from __future__ import annotations

import subprocess
import sys

import pytest

from stapy.monitor.spark import ASCII, BLOCKS, draw


@pytest.mark.parametrize(
    "rates, expected",
    [
        ([], ""),
        ([0.0, 0.0], "  "),
        ([5.0], "█"),
        ([50.0, 10.0], "█▂"),
        ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], BLOCKS),
        ([0.001, 8.0], "▁█"),  # hardly any is not none
        ([None, 4.0, None], " █ "),
        ([None], " "),
        ([-4.0, 0.0, 4.0], " ▄█"),
        ([-4.0, -2.0], " ▄"),
    ],
)
def test_draw(rates: list[float | None], expected: str) -> None:
    assert draw(rates) == expected


def test_draw_in_ascii() -> None:
    assert draw([0.0, 1.0, 8.0, None], ASCII) == " .@ "
    assert len(ASCII) == len(BLOCKS) == len(set(ASCII))


@pytest.mark.parametrize(
    "environment, expected",
    [
        ({"LC_ALL": "C.UTF-8"}, BLOCKS),
        ({"LC_ALL": "C"}, ASCII),
        ({"LC_ALL": "POSIX", "LANG": "C.UTF-8"}, ASCII),
        ({"LC_ALL": "xx_XX.UTF-8"}, ASCII),  # not installed
        # Python itself takes a locale that nobody has set to be one with UTF-8.
        ({}, BLOCKS),
    ],
)
def test_characters(environment: dict[str, str], expected: str) -> None:
    text = (
        "import sys; from stapy.monitor.spark import characters as c; sys.stdout.write(ascii(c()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == ascii(expected)
