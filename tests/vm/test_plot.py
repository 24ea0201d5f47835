"""``--plot`` after a real session, and ``stapy plot`` of what the same session recorded."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.plot.test_page import boxes, shown
from tests.program import run_stapy
from tests.site import browser

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = """
global calls, sizes, reads
probe kernel.function("vfs_read") {
  if (pid() != target()) next
  calls[execname(), backtrace()]++
  sizes <<< $count
  printf("reads=%d\\n", ++reads)
}
probe end {
  printf("%d bytes on average\\n", @avg(sizes))
  print(@hist_log(sizes))
}
"""
COMMAND = "dd if=/dev/zero of=/dev/null bs=64 count=50 status=none"


def words_of(picture: Path) -> set[str]:
    return {word for word in ET.fromstring(picture.read_bytes()).itertext() if word.strip()}


def stapy(folder: Path, *words: str) -> str:
    """Run a command that must end well; return what it said."""
    done = run_stapy(*words, cwd=folder)
    said = f"{words}: status {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr}"
    assert done.returncode == 0, said
    return said


def test_a_session_is_drawn_and_its_record_is_drawn_the_same_way(
    release: str, tmp_path: Path
) -> None:
    said = stapy(
        tmp_path, f"--vm={release}", "--format=json", "-o", "a.jsonl", "--plot", "a.svg",
        "-c", COMMAND, "-e", SCRIPT,
    )  # fmt: skip
    said += stapy(tmp_path, "plot", "a.jsonl", "-o", "b.svg")
    drawn = words_of(tmp_path / "a.svg")
    for word in ("flame graph: calls", "histogram: sizes", "dd", "vfs_read", "ksys_read"):
        assert word in drawn, (word, drawn, said)
    assert {"sizes (bytes), from", "time since start (s)"} <= drawn, (drawn, said)
    assert any(word.startswith("time series: reads (") for word in drawn), (drawn, said)
    # Both count seconds from moments of their own, so that their axes of time may differ.
    ticks = drawn ^ words_of(tmp_path / "b.svg")
    assert all(word.replace(".", "").isdigit() for word in ticks), (ticks, said)


def test_a_page_is_drawn_of_a_session(release: str, tmp_path: Path) -> None:
    """``--plot FILE.html``: a browser shows the session's stacks, zooms into one, finds another."""
    said = stapy(tmp_path, f"--vm={release}", "--plot", "a.html", "-c", COMMAND, "-e", SCRIPT)
    text = (tmp_path / "a.html").read_text()
    for word in ("flame graph: calls", "histogram: sizes", "ksys_read"):
        assert word in text, (word, said)
    if why := browser.missing():
        pytest.skip(f"the page is made, but not shown: {why}")
    with shown(tmp_path / "a.html") as (page, told):
        there = boxes(page, all=[0, 1000])
        assert {"dd", "vfs_read"} <= set(there), there
        page.locator(".chart0_layer_0_marks path[aria-label^='ksys_read: ']").click()
        boxes(page, ksys_read=[0, 1000])
        page.keyboard.press("Escape")
        boxes(page, all=[0, 1000], ksys_read=there["ksys_read"])
        page.locator("#controls input").fill("ksys_re")
        page.wait_for_function(
            "document.querySelector('#told').innerText"
            ".startsWith('flame graph: calls: 1 boxes are found, ')"
        )
        found = page.locator(".chart0_layer_0_marks path[fill='#c026d3']")
        assert (found.get_attribute("aria-label") or "").startswith("ksys_read: ")
        assert len(told) == 1 and told[0].startswith("a request: file:"), told
