"""More files than a process may have open."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from stapy.debuginfo import elf

ROOT = Path(__file__).resolve().parents[2]
# Maps each file of a folder, keeps them all, and says what is in them and what is left.
SCRIPT = """
import os, sys
from pathlib import Path
from stapy.debuginfo.elf import map_file
maps = [map_file(path) for path in sorted(Path(sys.argv[1]).iterdir())]
print(sum(bytes(data) == b"file %d" % number for number, data in enumerate(maps)))
print(len(os.listdir("/proc/self/fd")))
os.close(os.dup(0)), [os.pipe() for _ in range(20)]
"""


@pytest.mark.parametrize(("soft", "hard"), [(128, 4096), (128, 128), (1024, 1024)])
def test_more_files_than_descriptors(soft: int, hard: int, tmp_path: Path) -> None:
    for number in range(500):
        (tmp_path / f"{number:04}").write_bytes(b"file %d" % number)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    right, taken = map(int, done.stdout.split())
    assert right == 500
    assert taken < hard


@pytest.mark.parametrize(
    ("number", "limits", "enough", "wanted"),
    [
        (3, (1024, 4096), True, None),
        (1000, (1024, 4096), True, (4096, 4096)),
        (1000, (1024, 1024), False, None),
        (4090, (4096, 4096), False, None),
        (1000, (1024, resource.RLIM_INFINITY), True, (65536, resource.RLIM_INFINITY)),
        (10**6, (resource.RLIM_INFINITY, resource.RLIM_INFINITY), True, None),
    ],
)
def test_limits(
    number: int,
    limits: tuple[int, int],
    enough: bool,
    wanted: tuple[int, int] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: told.append(both))
    assert elf.has_descriptors(number) is enough
    assert told == ([wanted] if wanted else [])
