"""Try kernels and write ``docs/wall.md``: ``python -m tests.wall [KERNEL…]``, all lines by itself.

A kernel is a release that is installed or was fetched by ``stapy kernel fetch``, or
``SUITES:LINE`` as ``stapy kernel fetch -s SUITES LINE`` takes them, or ``SUITES:LINE@ARCH``
with its ``-a ARCH``. What earlier
runs found is kept in stapy's cache, a file for each kernel, and in the page itself: a row stays
until its kernel is tried again. To be rid of one, remove its file and its line of the page.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from stapy.arch import debian_name, host_name
from stapy.kernel.release import newest_of
from stapy.kernel.suites import kernel_suites
from stapy.paths import cache_dir
from stapy.vm import kernels
from stapy.vm.errors import VmError
from tests import commandline
from tests.program import stapy_command
from tests.vm.harness import ROOT
from tests.wall.page import read, write
from tests.wall.rows import Row, try_kernel

PAGE = ROOT / "docs" / "wall.md"
_OF = {suite.name: suite.fetch for suite in kernel_suites()}
# What Debian packages, oldest first; the word behind the colon is for `stapy kernel`.
LINES = (
    f"{_OF['bullseye']}:5.10-cloud",
    *(":6.1-cloud", ":6.1-amd64", ":6.1-rt"),
    *(":6.12-cloud", ":6.12-amd64", ":6.12-rt"),
    *(":6.1-cloud@arm64", ":6.12-cloud@arm64"),
    f"{_OF['trixie']}:6.12-cloud",
    f"{_OF['trixie']}:7-cloud",
    f"{_OF['sid']}:7-cloud",
)


def fetch(wanted: str) -> tuple[str, str]:
    """Return the release of a name, fetched if it has to be, and why it cannot be had."""
    if ":" not in wanted:
        return wanted, ""
    suites, _, line = wanted.partition(":")
    line, _, architecture = line.partition("@")
    own = debian_name(host_name())
    here = newest_of(line if "-" in line else f"{line}-{own}", kernels.installed(), own)
    if not suites and not architecture and here:
        return here, ""
    words = stapy_command("kernel", "fetch", line)
    # What is fetched is run in virtual machines only, and some suites are at their end.
    words += ["-a", architecture] if architecture else []
    words += ["-s", suites, "--old-lists"] if suites else []
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        return _unfetched(wanted), f"it could not be fetched: {said[-1]}"
    return done.stdout.split()[-1], ""


def _unfetched(wanted: str) -> str:
    """Name the row of a line that cannot be had; "" for a release, which is here."""
    suites, colon, line = wanted.partition(":")
    return f"{line} of {suites or 'this suite'}" if colon else ""


def is_here(release: str) -> bool:
    """Tell whether a release is installed or was fetched."""
    try:
        return kernels.find(release).release == release
    except VmError:
        return False


def main(words: list[str]) -> int:
    """Try the kernels, write the page after each; the exit status tells whether all is known."""
    words = commandline.read("python -m tests.wall", __doc__, words, "KERNEL", "*")
    unknown = [word for word in words if ":" not in word and not is_here(word)]
    if unknown:
        print(f"no such kernel: {', '.join(unknown)}; they are fetched as :LINE", file=sys.stderr)
        return 2
    folder = cache_dir() / "wall"
    folder.mkdir(parents=True, exist_ok=True)
    for wanted in words or LINES:
        release, why = fetch(wanted)
        print(f"--- {release}: {why or 'is tried'}", flush=True)
        row = Row(release, why=why, date=time.strftime("%Y-%m-%d")) if why else try_kernel(release)
        if row.why:
            print(f"  not tried: {row.why}", flush=True)
        gone = "" if why else _unfetched(wanted)  # what it was called while it could not be had
        record(row, folder, PAGE, gone)
    print(PAGE)
    return 0


def record(row: Row, folder: Path, page: Path, gone: str = "") -> None:
    """Keep a row in the cache and write the page, without the row ``gone``.

    Rows that the page or the cache has are not lost: a kernel that could not be tried now keeps
    what an earlier run has found. Runs at the same time wait for each other here.
    """
    with ExitStack() as held:
        # Each once: a lock that is held keeps out a second one of the same process as well.
        for one in sorted({folder.resolve(), page.parent.resolve()}):
            held.enter_context(_alone(one))
        _record(row, folder, page, gone)


def _record(row: Row, folder: Path, page: Path, gone: str) -> None:
    rows = known(folder, page)
    if gone != row.release:
        rows.pop(gone, None)
        _file(folder, gone).unlink(missing_ok=True)
    before = rows.get(row.release)
    if row.why and before is not None and not before.why:
        print(f"  the row of {before.date} stays", flush=True)
        row = before
    rows[row.release] = row
    _replace(_file(folder, row.release), json.dumps({x: getattr(row, x) for x in Row.fields}))
    _replace(page, write(list(rows.values())))


def known(folder: Path, page: Path) -> dict[str, Row]:
    """Map releases to what is known of them: the newer of page and cache, the cache's of a day."""
    rows = {row.release: row for row in read(page.read_text())} if page.exists() else {}
    for row in kept(folder):
        there = rows.get(row.release)
        if there is None or (not row.why, row.date) >= (not there.why, there.date):
            rows[row.release] = row
    return rows


def kept(folder: Path) -> list[Row]:
    """Read what the cache has of all kernels."""
    return [Row(**json.loads(file.read_text())) for file in sorted(folder.glob("*.json"))]


def _file(folder: Path, release: str) -> Path:
    return folder / f"{release.replace('/', '_')}.json"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which needs no file in it."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _replace(file: Path, text: str) -> None:
    """Write a file that is whole at any time: a run may be interrupted."""
    fresh = file.with_name(f"{file.name}.{os.getpid()}.new")
    fresh.write_text(text)
    fresh.replace(file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
