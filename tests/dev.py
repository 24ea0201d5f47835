"""Runs what a change concerns whenever a file is written: ``make dev``.

For each file that is not as it was: ruff, then the quick tests that import it by
name or lie in the folder of the same name, then mypy when something of stapy's own changed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests import commandline

ROOT = Path(__file__).resolve().parents[1]
WATCHED = ("stapy", "tests", "tapsets", "runtime", "templates")
SECONDS = 0.5
QUICK = "not build and not vm and not slow"
# What tests of other folders show: how C is written, and what the library says.
ELSEWHERE = {
    "runtime": ("tests/translate", "tests/elaborate/test_golden.py"),
    "templates": ("tests/translate", "tests/elaborate/test_golden.py"),
    "tapsets": ("tests/tapsets", "tests/elaborate/test_golden.py"),
}


def stamps(root: Path) -> dict[Path, int]:
    """Map each watched file, by its path from ``root``, to when it was written last, in ns."""
    found = {}
    for top in WATCHED:
        for path in (root / top).rglob("*"):
            if path.suffix != ".pyc" and path.is_file():
                found[path.relative_to(root)] = path.stat().st_mtime_ns
    return found


def concerned(path: Path, root: Path) -> set[str]:
    """Find the test files and folders that a changed file concerns, as paths from ``root``."""
    top, *rest = path.parts
    if top == "tests":
        if path.name.startswith("test_") and path.suffix == ".py":
            return {str(path)}
        return {str(path.parent)} if len(rest) > 1 else set()
    found = {place for place in ELSEWHERE.get(top, ()) if (root / place).exists()}
    if top != "stapy" or path.suffix != ".py":
        return found
    parent, name = ".".join(path.parts[:-1]), path.stem
    imports = (f"from {parent}.{name} import", f"import {parent}.{name}\n")
    for test in (root / "tests").rglob("test_*.py"):
        text = test.read_text(encoding="utf-8")
        listed = text.partition(f"from {parent} import ")[2].partition("\n")[0]
        if any(words in text for words in imports) or name in listed.replace(",", " ").split():
            found.add(str(test.relative_to(root)))
    if len(rest) > 1 and (root / "tests" / rest[0]).is_dir():
        found.add(f"tests/{rest[0]}")
    return found


def look_at(changed: set[Path]) -> bool:
    """Run the checks of these files until one fails; False then."""
    present = [path for path in changed if (ROOT / path).exists()]
    python = sorted(str(path) for path in present if path.suffix == ".py")
    tests = sorted(set().union(*(concerned(path, ROOT) for path in present)))
    # A file of a folder that is there as a whole needs no run of its own.
    tests = [test for test in tests if not any(test.startswith(f"{other}/") for other in tests)]
    commands = []
    if python:
        commands += [["ruff", "check", *python], ["ruff", "format", "--check", "-q", *python]]
    if tests:
        commands.append(["pytest", "-x", "-q", "-m", QUICK, *tests])
    if any(path.parts[0] == "stapy" for path in present):
        commands.append(["mypy"])
    for command in commands:
        print("---", *command, flush=True)
        status = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode
        if status and not (command[0] == "pytest" and status == 5):  # 5: none is quick
            return False
    return True


def main() -> None:
    """Watch until interrupted."""
    before = stamps(ROOT)
    print(f"--- watching {', '.join(WATCHED)}; end with Ctrl-C", flush=True)
    while True:
        time.sleep(SECONDS)
        now = stamps(ROOT)
        changed = {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}
        if changed:
            print("--- good" if look_at(changed) else "--- there is something to mend", flush=True)
        before = now


if __name__ == "__main__":
    commandline.read("python -m tests.dev", __doc__, sys.argv[1:])
    try:
        main()
    except KeyboardInterrupt:
        print()
