"""SystemTap's examples through pass 2: those in ``examples.txt`` are accepted as they are.

The others want a kind of probe that is not there yet, a function that kernels
of this line do not have any more, or the kernel's debug package.  Whatever is
wrong with a script: messages, no traceback.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from stapy import cli

NAMES = (Path(__file__).parent / "examples.txt").read_text().split()
RELEASES = sorted(path.name for path in Path("/lib/modules").glob("6.1.*-cloud-amd64"))

pytestmark = [
    pytest.mark.build,
    pytest.mark.skipif(not RELEASES, reason="no kernel of line 6.1 is installed"),
]


def words_of(script: Path) -> list[str]:
    """Find the command line with which SystemTap's own test suite translates an example."""
    command = ""
    meta = script.with_suffix(".meta")
    if meta.exists():
        text = meta.read_text(errors="replace")
        found = re.search(r"^test_check: *(.*)$", text, re.MULTILINE)
        command = found[1] if found and script.name in found[1] else ""
    command = command or f"stap -p4 {script.name}"
    command = re.sub(r"\$\$(?!\w)", "1", command)  # a process
    command = re.sub(r"0x`[^`]*`", "0xffffffff81000000", command)  # an address of the kernel
    command = re.sub(r"-d `[^`]*`|--all-modules|--ldd", "", command)
    words = shlex.split(command)[1:]
    return [re.sub(r"^-([a-z]*)p[14]$", r"-\1p2", word) for word in words]


def run(script: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.chdir(script.parent)
    return cli.main(["-r", RELEASES[-1], "--color=never", *words_of(script)])


def test_accepted_examples(
    systemtap_share: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    refused = {}
    for name in NAMES:
        script = systemtap_share / "examples" / f"{name}.stp"
        if script.exists() and run(script, monkeypatch):
            refused[name] = capfd.readouterr().err
        capfd.readouterr()
    assert not refused


def test_other_examples_end_with_messages(
    systemtap_share: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = systemtap_share / "examples"
    for script in sorted(folder.glob("*/*.stp")):
        if str(script.relative_to(folder)).removesuffix(".stp") not in NAMES:
            status = run(script, monkeypatch)
            told = capfd.readouterr().err
            assert "Traceback" not in told
            assert "mistake in stapy" not in told
            assert not status or "error: " in told, script
