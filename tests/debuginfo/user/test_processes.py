"""What a process runs and maps, also when the file has no name any more."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from stapy.debuginfo.user import processes
from tests.debuginfo.user.sources import compiled, has_mapped, run

WAITS = """
#include <unistd.h>
int main(void) { for (;;) pause(); }
"""


@pytest.mark.parametrize("kind", ["-pie", "-no-pie"])
def test_a_program_whose_file_is_gone(tmp_path: Path, kind: str) -> None:
    """It is found by the process, at low addresses as at high ones."""
    program = compiled(tmp_path, WAITS, "-fPIE", kind)
    content = program.read_bytes()
    (start,) = (
        int(line.split()[0], 16)
        for line in run("nm", str(program)).splitlines()
        if line.endswith(" main")
    )
    with subprocess.Popen([program]) as process:
        try:
            low = has_mapped(process.pid, program)
            program.unlink()
            address = start if kind == "-no-pie" else start + low
            path = processes.of_process(process.pid)
            assert path is not None
            assert Path(path).read_bytes() == content
            found = processes.mapped_at(process.pid, address)
            assert found is not None
            assert Path(found[0]).read_bytes() == content
            assert found[1] == start - (0x400000 if kind == "-no-pie" else 0)
        finally:
            process.kill()


def test_names_of_files_that_end_lines_elsewhere(tmp_path: Path) -> None:
    """Whoever maps such a file does not keep others from looking."""
    program = tmp_path / "a\x0bb\x1c\r \x85"
    compiled(tmp_path, WAITS, "-no-pie").rename(program)
    with subprocess.Popen([program]) as process:
        try:
            row = b""
            while not row:
                time.sleep(0.01)
                rows = Path(f"/proc/{process.pid}/maps").read_bytes().split(b"\n")
                row = next((row for row in rows if b" r-xp " in row and b"a\x0bb" in row), b"")
            found = processes.mapped_at(process.pid, int(row.partition(b"-")[0], 16))
            assert found is not None
            assert found[0] == str(program)
            assert processes.mapped_at(process.pid, 1) is None
            assert list(processes.that_map([str(program)], 60)) == [process.pid]
        finally:
            process.kill()


def test_processes_that_are_not_ours_or_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """No number is better than a wrong one."""
    with pytest.raises(TimeoutError):
        list(processes.that_map(["/nowhere"], -1))

    def refuse(path: Path) -> bytes:
        raise PermissionError

    monkeypatch.setattr(Path, "read_bytes", refuse)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(PermissionError):
        list(processes.that_map(["/nowhere"], 60))
