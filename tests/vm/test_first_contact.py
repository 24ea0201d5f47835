"""``--vm`` as a person meets it: a terminal, a line of kernels by its number, the own load only."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import threading
from pathlib import Path

import pytest

from tests.program import stapy_command
from tests.vm.harness import ROOT

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = """
global calls, inside, names
probe syscall.read, syscall.write, syscall.poll, syscall.wait4 {
	calls[pid()]++
	names[execname()]++
}
probe kernel.function("vfs_write") { inside[pid()]++ }
probe kernel.function("vfs_read").return { inside[pid()]++ }
probe kernel.trace("raw_syscalls:sys_enter") { inside[pid()]++ }
probe end {
	printf("agent %d %d\\n", calls[1], inside[1])
	printf("others %d %d\\n", calls[target()] > 0, inside[target()] > 0)
	foreach (name in names) println("name ", name)
}
"""


def test_only_what_was_asked_for_is_seen(release: str, tmp_path: Path) -> None:
    line = ".".join(re.findall(r"\d+", release)[:2])
    ours, theirs = pty.openpty()
    said = bytearray()

    def listen() -> None:
        try:
            while piece := os.read(ours, 4096):
                said.extend(piece)
        except OSError:
            pass  # the other side is closed

    listener = threading.Thread(target=listen)
    listener.start()
    command = "sh -c 'for i in 1 2 3 4; do echo hello; cat /proc/self/comm; done'"
    done = subprocess.run(
        stapy_command(f"--vm={line}", "-c", command, "-e", SCRIPT),
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
            "TERM": "xterm",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
        timeout=1200,
    )
    os.close(theirs)
    listener.join(10)
    text = said.decode()
    assert done.returncode == 0, text
    lines = done.stdout.decode().splitlines()
    assert lines.count("hello") == 4
    assert "agent 0 0" in lines and "others 1 1" in lines, lines
    assert "name stapy-run" in lines  # not the name of an interpreter
    # What took seconds was told, and nothing of it is left.
    assert f"stapy: booting {release} …" in text
    assert text.endswith("\r\033[K"), text
