"""Passes 1 to 3 of the ``stap`` program, when there is one on this machine.

Its pass 4 is left out: it takes half a minute, and does not work for every kernel.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.bench import Refused, Row, Rows, median, run
from tests.bench.commands import HELLO
from tests.bench.kernels import kernels, line

_MEMORY = 4 << 30  # it has taken all of a machine's memory once
_SECONDS = 20


def rows() -> Rows:
    """Nothing without that program; what fails, for want of debuginfo say, has no row."""
    program = shutil.which("stap")
    if program is None:
        return
    with tempfile.TemporaryDirectory(prefix="stapy-bench-") as scratch:
        for kernel in kernels():
            for number in (1, 2, 3):
                words = [program, "-r", kernel.release, f"-p{number}", "-e", HELLO]
                try:
                    one = median(
                        lambda words=words: run(  # type: ignore[misc]
                            words, Path(scratch), memory=_MEMORY, seconds=_SECONDS
                        ),
                        times=3,
                    )
                except Refused:
                    continue
                yield Row(f"{line(kernel)}, stap itself: -p{number}, hello", one.cpu, "s")
