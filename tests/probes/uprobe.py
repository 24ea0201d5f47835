"""What the tests of user programs say: a probe, its points, an address by ``nm``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.debuginfo.user.sources import run as command
from tests.elaborate.support import Result, run


def probe(point: str, body: str = "println(1)", **options: Any) -> Result:
    return run(f"probe {point} {{ {body} }}", **options)


def points(result: Result) -> list[str]:
    assert result.program is not None, result.shown()
    return [point for probe in result.program.probes for point in probe.points]


def symbol(path: Path, name: str) -> int:
    lines = command("nm", str(path)).splitlines()
    return next(int(line.split()[0], 16) for line in lines if line.split()[-1] == name)
