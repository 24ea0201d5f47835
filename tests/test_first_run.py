"""`make run`: what it shows is what it runs, and the script is that of README.md."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# In the place of Python: it writes down the words that it is called with.
RECORDER = """#!{python}
import json, sys
if "stapy" in sys.argv[2]:
    open({there!r}, "a").write(json.dumps(sys.argv[1:]) + "\\n")
"""


@pytest.fixture
def recorder(tmp_path: Path) -> Path:
    path = tmp_path / "python"
    path.write_text(RECORDER.format(python=sys.executable, there=str(tmp_path / "words")))
    path.chmod(0o755)
    return path


def test_the_command_can_be_copied(recorder: Path) -> None:
    # "-o" takes what is to be installed for there.
    words = ["make", "-o", "setup-run", "run", f"RUN_PYTHON={recorder}", "AS_ROOT="]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    shown = re.search(r"virtual machine\n(.*)^--- to go on", done.stdout, re.DOTALL | re.MULTILINE)
    assert shown, done.stdout
    subprocess.run(["sh", "-c", shown[1]], cwd="/", check=True)
    by_make, by_hand = map(json.loads, (recorder.parent / "words").read_text().splitlines())
    assert by_make == by_hand
    assert by_make[:4] == ["-m", "stapy", "--vm", "-c"]

    first = re.search(r"# stapy -e '(.*?)'\n", (ROOT / "README.md").read_text(), re.DOTALL)
    assert first, "README.md begins with a script"
    assert by_make[-2] == "-e"
    assert by_make[-1].split() == first[1].split()


def test_it_fails_when_the_session_does(recorder: Path) -> None:
    recorder.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('-e' in sys.argv)\n")
    words = ["make", "-o", "setup-run", "run", f"RUN_PYTHON={recorder}", "AS_ROOT="]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "to go on" not in done.stdout
