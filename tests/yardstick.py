"""A measure of how fast the machine is while a test measures: the start of a known program.

Limits of processor time are written for a machine on which the yardstick takes 0.1 s. What a
neighbour, a hypervisor or a slow processor makes longer, it makes longer for both, so a test tries
both in turns and compares the pairs.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

SECONDS = 0.1
# Modules of Python's own library, with their bytecode: read, unmarshalled and executed as ours are.
_PROGRAM = "import argparse, asyncio, dataclasses, inspect, json, subprocess, typing"
_LEAST, _MOST = 5, 25


class Yardstick:
    """The known program, with its bytecode in a folder."""

    def __init__(self, bytecode: Path) -> None:
        self._env = {**os.environ, "PYTHONPYCACHEPREFIX": str(bytecode)}
        self._env.pop("PYTHONDONTWRITEBYTECODE", None)
        self.seconds()  # which writes the bytecode

    def seconds(self) -> float:
        """Run the program once; return the processor time that it took."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-S", "-c", _PROGRAM], env=self._env, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def compare(self, measure: Callable[[], float], limit: float) -> float:
        """Measure until the median of the tries is within the limit; return the last median.

        ``measure`` returns seconds of processor time. They are multiplied by what the yardstick
        should take, and divided by what it took just before.
        """
        tries: list[float] = []
        while len(tries) < _LEAST or (median(tries) > limit and len(tries) < _MOST):
            yardstick = self.seconds()
            tries.append(measure() * SECONDS / yardstick)
        return median(tries)
