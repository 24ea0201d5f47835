"""Scripts for a kernel of which there are headers only: no BTF, image or debug package."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import find_kernel
from stapy.vm.machine import Machine
from tests.vm.harness import build, check_kernel, run_built

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = """
global good, bad, words
probe kernel.trace("sched:sched_switch") {
  cast = @cast(task_current(), "task_struct", "kernel<linux/sched.h>")
  if ($prev->pid == tid() && cast->pid == tid() && $next->pid != $prev->pid) good++
  else bad++
  if (good + bad == 100) { words = $$parms; exit() }
}
probe end { println("good ", good, ", bad ", bad); println(words) }
"""


def only_headers(release: str, root: Path) -> Path:
    """Make a file tree that has of a kernel what its packages of headers bring."""
    kernel = find_kernel(release, Diagnostics(SourceMap()))
    assert kernel.build_dir and kernel.source_dir and kernel.modules_dir
    folders = {kernel.build_dir.resolve(), kernel.source_dir.resolve()}
    folders |= {Path(path) for path in Path("/usr/lib").glob("linux-kbuild-*")}
    for folder in folders:
        shutil.copytree(folder, root / folder.relative_to("/"), symlinks=True, copy_function=linked)
    modules = root / "lib/modules" / release
    modules.mkdir(parents=True)
    (modules / "build").symlink_to(kernel.build_dir.resolve())
    (modules / "source").symlink_to(kernel.source_dir.resolve())
    return root


def linked(source: str, target: str) -> None:
    """Save the time and room of a copy where one file system holds both."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def test_tracepoints_and_casts_come_from_headers(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    words = ["--sysroot", str(only_headers(release, tmp_path / "root")), "-e", SCRIPT]
    made = build(release, words, tmp_path)
    assert made.module, made.stderr
    result = run_built(guest, made, ["-e", SCRIPT], 300)
    check_kernel(result)
    assert result.status == 0, result.stderr
    counts, parms = result.stdout.splitlines()
    assert counts == "good 100, bad 0"
    assert "prev=0x" in parms and "next=0x" in parms
