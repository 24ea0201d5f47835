"""Commands that messages advise: each is run, and must have something to say."""

from __future__ import annotations

import contextlib
import io
import re
import shlex

import pytest

from stapy.cli import main
from stapy.vm import kernels

pytestmark = pytest.mark.build  # asks about a kernel

RELEASE = next(iter(kernels.lines()), "")
CITED = re.compile(r"stapy (-[lL] '[^']+'|--dump-[a-z-]+)")

# What nothing goes on from by itself, and what much does.
WILD = [
    "perf.*", "perf.hw_cache.*", "perf.h*", "kernel.*", 'module("ext4").*', "python3.*", "bpf.*",
    "debuginfod.*", 'debuginfod.archive("x").*', 'process("/bin/true").f*', "kprobe.*", "stap.z*",
    "netfilter.*", "perf.type(1).*", "process.f*", "netfilter.z*",
]  # fmt: skip


MORE = 'debuginfod.archive("x").nosuchword'


def ran(*words: str) -> tuple[int, str, str]:
    """Run the program; its status and what it wrote."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["-r", RELEASE, *words])
    return status, out.getvalue(), err.getvalue()


def parents() -> set[str]:
    """Find all that a probe point may begin with."""
    found = set()
    for what, most in (("--dump-probe-types", 9), ("--dump-probe-aliases", 2)):
        for line in ran(what)[1].splitlines():
            words = line.replace("(string)", '("x")').replace("(number)", "(1)").split(".")
            for at in range(1, min(len(words), most + 1)):
                found.add(".".join(words[:at]))
    return found


def test_each_command_that_is_cited_works() -> None:
    """Of wrong words behind all that points begin with, and of wildcards that match no point."""
    above = parents()
    assert len(above) > 100
    points = [*(f"{one}.nosuchword" for one in sorted(above)), *WILD, MORE, "nosuchword"]
    status, _, said = ran("-p2", "-e", "\n".join(f"probe {point} {{}}" for point in points))
    assert status == 1
    said = re.sub(r"\s*\n\s+", " ", said)
    cited = sorted(set(CITED.findall(said)))
    for command in cited:
        status, out, err = ran(*shlex.split(command))
        assert (status, bool(out.strip())) == (0, True), (command, err)
    for command in ("-l 'syscall.*'", "-l 'perf.**'", "--dump-probe-aliases"):
        assert command in cited
    # Few names are written out.
    assert "under 'perf': hw, hw_cache, sw, type" in said
    assert "'process' is the only name under 'debuginfod.archive(\"x\")'" in said
