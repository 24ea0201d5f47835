"""Names the quick tests of what changed, for ``make check``; nothing when all shall run.

What changed are the commits that the main branch of the origin does not have and what is not
committed; where there is neither, the last commit.  A change of which nobody can tell what it
concerns is a reason to run all.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import commandline
from tests.dev import ROOT, concerned

MAIN = "origin/main"
# What runs after each change of stapy: everything goes through them.
ALWAYS = (
    "tests/elaborate/test_golden.py",
    "tests/test_program.py",
    "tests/translate/test_golden.py",
)
# No tests read these but those of the manual pages, and `make lint`.
DOCUMENTS = ("docs", "man", "README.md", "CONTRIBUTING.md", "CHANGES.md")
MANUAL = "tests/test_manual.py"


def git(root: Path, *words: str) -> list[str]:
    """Run git; return its lines, raise OSError or CalledProcessError when it cannot."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def changed(root: Path) -> set[Path] | None:
    """List the files that changed, as paths from ``root``; None when there is no history."""
    try:
        base = git(root, "merge-base", "HEAD", MAIN)[0]
        new = git(root, "ls-files", "--others", "--exclude-standard")
        found = {*git(root, "diff", "--name-only", base), *new}
        found = found or {*git(root, "diff", "--name-only", "HEAD~1")}
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None
    return {Path(name) for name in found}


def places(files: set[Path] | None, root: Path) -> list[str]:
    """List the test files and folders that these files concern; none when all shall run."""
    found: set[str] = set()
    for path in files or ():
        if path.parts[0] in DOCUMENTS:
            found.add(MANUAL)
            continue
        named = concerned(path, root)
        if not named:
            return []
        found |= named if path.parts[0] == "tests" else {*named, *ALWAYS}
    present = {place for place in found if (root / place).exists()}
    # A file of a folder that is there as a whole needs no run of its own.
    return sorted(
        place
        for place in present
        if not any(str(parent) in present for parent in Path(place).parents)
    )


if __name__ == "__main__":
    commandline.read("python -m tests.check", __doc__, sys.argv[1:])
    print(*places(changed(ROOT), ROOT))
