"""Standard streams that the caller has closed: the status tells, and no file gets their text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STAPY, RUN, MERGE = "stapy", "stapy.run", "stapy.run.merge"
GOOD, BAD = "probe begin { exit() }", "probe begin { exit( }"
LOST = "ERROR: cannot write: Bad file descriptor\n"
CASES = [
    # closed, module, words, status, what comes on the streams that are open
    ("2>&-", STAPY, ["-p1", "-e", GOOD], 0, "# parse tree dump"),
    ("2>&-", STAPY, ["-p1", "-e", BAD], 1, ""),
    ("2>&-", STAPY, ["--nosuch"], 1, ""),
    ("2>&-", STAPY, ["kernel", "fetch"], 2, ""),
    ("2>&-", STAPY, ["fmt", "none.stp"], 2, ""),
    ("2>&-", STAPY, ["--explain", "E9999"], 1, ""),
    ("2>&-", STAPY, ["-i", "--color=always"], 0, ""),
    (">&-", STAPY, ["-p1", "-e", GOOD], 1, LOST),
    (">&-", STAPY, ["-p1", "-e", BAD], 1, "parse error: expected ')'"),
    (">&-", STAPY, ["--help"], 1, LOST),
    (">&-", STAPY, ["--version"], 1, LOST),
    (">&-", STAPY, ["fmt", "a.stp"], 0, ""),
    (">&-", STAPY, ["-i"], 0, ""),
    (">&- 2>&-", STAPY, ["-p1", "-e", GOOD], 1, ""),
    (">&- 2>&-", STAPY, ["-p1", "-e", BAD], 1, ""),
    ("<&- >&- 2>&-", STAPY, ["--nosuch"], 1, ""),
    ("<&-", STAPY, ["-p1", "-"], 1, "parse error"),
    ("2>&-", RUN, ["none.ko"], 1, ""),
    (">&-", RUN, ["--help"], 1, LOST),
    (">&-", RUN, ["-V"], 1, LOST),
    (">&- 2>&-", RUN, ["--nosuch"], 1, ""),
]


@pytest.mark.slow
@pytest.mark.parametrize(("closed", "module", "words", "status", "said"), CASES)
def test_closed(
    tmp_path: Path, closed: str, module: str, words: list[str], status: int, said: str
) -> None:
    (tmp_path / "a.stp").write_text("probe begin {\n    exit()\n}\n")
    before = sorted(tmp_path.iterdir())
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", sys.executable, "-m", module, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == status, done
    both = done.stdout + done.stderr
    assert both.startswith(said) if said else not both, done
    assert sorted(tmp_path.iterdir()) == before, "a file was left, perhaps a report of a mistake"
    assert (tmp_path / "a.stp").read_text() == "probe begin {\n    exit()\n}\n"


@pytest.mark.slow
def test_children_find_them_open() -> None:
    """Else the first file that a compiler opens would be its standard error."""
    program = (
        "import os, subprocess; from stapy.run import streams; streams.hold();"
        "raise SystemExit(subprocess.call(['sh', '-c', 'true <&0 && true >&2'], close_fds=False))"
    )
    words = ["sh", "-c", '"$@" <&- >&- 2>&-', "sh", sys.executable, "-c", program]
    assert subprocess.run(words, cwd=ROOT, check=False).returncode == 0
