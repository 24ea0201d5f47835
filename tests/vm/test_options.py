"""Options of both programs whose effect only a kernel, or the files that are left, can show."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.program import stapy_command
from tests.vm.harness import ROOT, build
from tests.vm.test_consumer import output, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

TICKS = """
probe begin { warn("careful") println("begin") }
probe timer.ms(50) { println("tick") }
probe end { println("end") }
"""


@pytest.fixture(scope="module")
def ticks(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = build(release, ["-m", "ticks", "-e", TICKS], tmp_path_factory.mktemp("ticks"))
    assert made.module, made.stderr
    return {"ticks": made.module}


def test_background(guest: Machine, ticks: dict[str, Path]) -> None:
    """-D shows the process that goes on, which writes to its file until it is told to end."""
    text = """
    pid=$($run -D -o out $ticks); echo status $? $((pid > 1))
    ticking out; kill -TERM $pid
    n=0; while [ -d /proc/$pid ] && [ $n -lt 3000 ]; do sleep 0.1; n=$((n+1)); done
    sed -n '1p;$p' out; grep -c '^ticks ' /proc/modules
    $run -D -o /nosuch/out $ticks; echo status $?
    """
    result = shell(guest, ticks, text)
    assert output(result) == ["status 0 1", "begin", "end", "0", "status 1"], result.stderr
    assert b"Couldn't open output file '/nosuch/out'" in result.stderr
    assert result.left_modules == []


def test_a_name_of_its_own(guest: Machine, ticks: dict[str, Path]) -> None:
    """-R loads one module twice."""
    text = """
    $run -R -o out $ticks & pid=$!
    ticking out; sed -n 's/^\\(ticks__[0-9]*\\) .*/\\1/p' /proc/modules | tr -d 0-9
    $run -w -T 0.3 $ticks | tail -n 1
    kill $pid; wait $pid; echo status $?
    """
    result = shell(guest, ticks, text)
    assert output(result) == ["ticks__", "end", "status 0"], result.stderr
    assert result.stderr.count(b"WARNING: careful") == 1  # -w: not from the second one


def test_messages_as_objects(guest: Machine, ticks: dict[str, Path]) -> None:
    result = shell(guest, ticks, "$run --message-format=json -T 0.3 $ticks | tail -n 1")
    assert output(result) == ["end"]
    assert json.loads(result.stderr) == {
        "severity": "warning", "kind": "WARNING", "pass": 5, "message": "careful",
    }  # fmt: skip


def test_files_that_are_kept(release: str, tmp_path: Path) -> None:
    """-k says where the sources are; --tmpdir says it itself."""
    place = tmp_path / "here"
    command = stapy_command("-p4", "-r", release, "-m", "kept")
    command += ["-e", "probe begin { exit() }"]
    for words in (["-k"], [f"--tmpdir={place}"]):
        done = subprocess.run(
            [*command, *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        folder = place
        if words == ["-k"]:
            assert done.stderr.startswith("Keeping temporary directory "), done.stderr
            folder = Path(done.stderr.split('"')[1])
        assert "probe begin" in next(folder.rglob("kept_script.c")).read_text()


def test_what_ends_at_its_beginning_is_not_left(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """-L of a script that calls exit(): nobody else would hear of it, and the module would stay."""
    text = 'probe begin { println("begin") exit() } probe end { println("end") }'
    made = build(release, ["-m", "brief", "-e", text], tmp_path)
    assert made.module, made.stderr
    result = shell(guest, {"brief": made.module}, "$run -L $brief; grep -c '^brief ' /proc/modules")
    assert output(result) == ["begin", "end", "0"], result.stderr
    assert result.left_modules == [] and result.stderr == b""


def test_left_in_the_kernel(guest: Machine, ticks: dict[str, Path]) -> None:
    """-F without -o is what -L of the consumer is: the module stays, and can be attached to."""
    result = shell(guest, ticks, "$run -L $ticks | head -n 1; $run -A -T 1 ticks | tail -n 1")
    assert output(result) == ["begin", "end"], result.stderr
    assert b'To reconnect, type "stapy-run -A ticks"' in result.stderr
