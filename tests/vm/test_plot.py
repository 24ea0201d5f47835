"""``--plot`` after a real session, and ``stapy plot`` of what the same session recorded."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.program import run_stapy

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = """
global calls, sizes, reads
probe kernel.function("vfs_read") {
  if (pid() != target()) next
  calls[execname(), backtrace()]++
  sizes <<< $count
  printf("reads=%d\\n", ++reads)
}
probe end { print(@hist_log(sizes)) }
"""
COMMAND = "dd if=/dev/zero of=/dev/null bs=64 count=50 status=none"


def words_of(picture: Path) -> set[str]:
    return {word for word in ET.fromstring(picture.read_bytes()).itertext() if word.strip()}


def test_a_session_is_drawn_and_its_record_is_drawn_the_same_way(
    release: str, tmp_path: Path
) -> None:
    def stapy(*words: str) -> str:
        done = run_stapy(*words, cwd=tmp_path)
        said = f"{words}: status {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr}"
        assert done.returncode == 0, said
        return said

    said = stapy(
        f"--vm={release}", "--format=json", "-o", "a.jsonl", "--plot", "a.svg", "-c", COMMAND,
        "-e", SCRIPT,
    )  # fmt: skip
    said += stapy("plot", "a.jsonl", "-o", "b.svg")
    drawn = words_of(tmp_path / "a.svg")
    for word in ("flame graph: calls", "histogram: sizes", "dd", "vfs_read", "ksys_read"):
        assert word in drawn, (word, drawn, said)
    assert any(word.startswith("time series: reads (") for word in drawn), (drawn, said)
    # Both count seconds from moments of their own, so that their axes of time may differ.
    ticks = drawn ^ words_of(tmp_path / "b.svg")
    assert all(word.replace(".", "").isdigit() for word in ticks), (ticks, said)
