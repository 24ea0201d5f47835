"""-b: a file for each CPU, and what stapy-merge makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.run import merge
from stapy.vm.machine import SHARE, Machine
from tests.vm.safety.support import make, shell
from tests.vm.safety.test_recorder import LINES, PART, RECORD, TEXT, Stream

pytestmark = [pytest.mark.build, pytest.mark.vm]


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    limits = ("-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=100000000", "-DMAXTRYLOCK=10000")
    words = ("-b", "-s", "1", "-G", "most=0", *limits, "-e", RECORD, TEXT)
    return make(release, tmp_path_factory.mktemp("modules"), record=words)


def test_files_of_all_processors_make_one_text(
    pair: Machine, modules: dict[str, Path], tmp_path: Path
) -> None:
    """Attached, stopped for a while, and detached: each byte is there once, or told as missing."""
    text = f"""{LINES}
    $run -o {SHARE}/one $record & run_pid=$!
    wait_for '[ -e /proc/systemtap/record/most ]'; ask 1000; wait_for all
    kill -STOP $run_pid; ask {PART}; wait_for all; kill -CONT $run_pid
    kill -QUIT $run_pid; wait $run_pid; echo left $?
    ask {PART}; wait_for all
    $run -A -T 1 -o {SHARE}/two record; echo ended $?; loaded record
    """
    lines, result = shell(pair, modules, text, 240)
    assert lines == ["left 0", "ended 0", "0"], result.stderr
    rows = []
    for stem in ("one", "two"):
        files = sorted(map(str, pair.share.glob(f"{stem}_*")))
        assert [name[-2:] for name in files] == ["_0", "_1"]
        assert merge.main(["-o", str(tmp_path / stem), *files]) == 0
        rows += (tmp_path / stem).read_text().split("\n")[:-1]
    stream = Stream(rows)
    stream.check()
    assert stream.missing["lost"] and stream.missing["overwrote"]


def test_files_without_a_name(
    guest: Machine, release: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """One processor, and the macro in place of the option."""
    words = ("-DSTP_BULKMODE", "-e", 'probe begin { println("hello") exit() }')
    made = make(release, tmp_path, hello=words)
    text = f"$run $hello; echo status $?; ls; cp stpd_cpu0 {SHARE}; loaded hello"
    lines, result = shell(guest, made, text)
    assert lines == ["status 0", "stpd_cpu0", "0"], result.stderr
    capfdbinary.readouterr()
    assert merge.main([str(guest.share / "stpd_cpu0")]) == 0
    assert capfdbinary.readouterr() == (b"hello\n", b"")
