"""``stapy test``: cases run in virtual machines, and what a failure shows of what came."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.program import run_stapy

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = r"""
global reads
probe kernel.function("vfs_read") { if (pid() == target()) reads[pid()]++ }
probe begin { %( $# == 1 %? println(@1); exit() %) }
probe end { foreach (p in reads) printf("%d reads\n", reads[p]); println("the end") }
"""
CASES = r"""
[case."reads are counted"]
command = "/bin/cat /etc/hostname"
expect = [{ re = '^\d+ reads$' }, "the end"]

[case."another word"]
arguments = ["word"]
expect = ["word", { part = "reads" }]

[case."does not build"]
options = ["-e", "probe nosuch {}"]

[case."is refused"]
options = ["-E", "probe nosuch {}"]
status = 1
stderr = [{ re = "no probe point matches 'nosuch'" }]

[case."is refused and should not be"]
options = ["-E", "probe nosuch {}"]

[case."hangs"]
timeout = TIMEOUT
never = ["the end"]
"""
PATIENCE = 90  # seconds of a case that shall end late: its session has begun on a busy machine, too


def test_cases_in_machines(release: str, tmp_path: Path) -> None:
    """One passes; others fail, do not build, hang, and each says what it was that came."""
    (tmp_path / "reads.stp").write_text(SCRIPT)
    (tmp_path / "reads.test.toml").write_text(CASES.replace("TIMEOUT", str(PATIENCE)))
    words = [f"--vm={release}", "--message-format=junit", "-o", "log.xml", "reads.stp"]
    done = run_stapy("test", *words, cwd=tmp_path, timeout=1800)
    said = f"{done.stdout}\n--- stderr\n{done.stderr}"
    (suite,) = ElementTree.parse(tmp_path / "log.xml").getroot()
    found = {case.get("name", ""): case for case in suite}
    failed = {name: one.findtext("failure") or "" for name, one in found.items()}
    assert suite.get("name") == release, said
    assert failed["reads are counted"] == "" and failed["is refused"] == "", said
    assert "  word\n- …reads…\n+ the end\n" in failed["another word"], said
    assert "Only one script" in found["does not build"].find("error").get("message"), said  # type: ignore[union-attr,operator]
    refused = failed["is refused and should not be"]
    assert "expected 0: no module was made (pass 2)" in refused, said
    assert "no probe point matches 'nosuch'" in refused and "did not come" not in refused, said
    # The session was ended as a user would do it: its end probes have run.
    assert f"did not end in {PATIENCE} s and was ended; it said:\n" in failed["hangs"], said
    assert "+ the end\n" in failed["hangs"] and "must not" not in failed["hangs"], said
    assert "2 passed, 3 failed, 1 unusable\n" in done.stdout and done.returncode == 2, said
