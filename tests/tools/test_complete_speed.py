"""Shells have their answer within 0.1 s of processor time, names of probe points included.

Each shell's own function is called as its key does. Measured is what stapy takes, in seconds of the
machine that `tests.yardstick` describes. Run with ``-s`` it shows the figures.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.yardstick import Yardstick

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 0.1
# What is typed, and a word that has to be offered.
LINES = {
    "option": ("stapy --message-f", "--message-format="),
    "alias": ("stapy -l syscall.openat", "syscall.openat2"),
    "point": ("stapy -l timer.profile.f", "timer.profile.freq"),
    "family": ("stapy -l kernel.tr", 'kernel.trace("'),
}
# How a shell's function is called with the line in $LINE; fish has a command for it.
CALLS = {
    "bash": ["bash", "--norc", "--noprofile", "-c",
             'complete() { :; }; . "$FUNCTION"; COMP_LINE=$LINE COMP_POINT=${#LINE} _stapy;'
             ' printf "%s\\n" "${COMPREPLY[@]}"'],
    "zsh": ["zsh", "-f", "-c",
            'compdef() { :; }; compadd() { print -l -- "$@"; }; . "$FUNCTION"; LBUFFER=$LINE;'
            " _stapy"],
    "fish": ["fish", "--no-config", "-c", "source $FUNCTION; complete -C $LINE"],
}  # fmt: skip
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a ``stapy`` that leaves in a file what it took, and has its bytecode as installed."""
    folder = tmp_path_factory.mktemp("program")
    path = folder / "stapy"
    path.write_text(
        "#!/bin/bash\nunset PYTHONDONTWRITEBYTECODE\n"
        f"export PYTHONPATH={shlex.quote(str(ROOT))} PYTHONPYCACHEPREFIX='{folder}/bytecode'\n"
        f'{sys.executable} -m stapy "$@"\ntimes >"$STAPY_TIMES"\n'
    )
    path.chmod(0o755)
    return path


def taken(times: Path) -> float:
    """Read what the children of a shell took, the second line of its ``times``."""
    minutes = re.findall(r"(\d+)m([\d.]+)s", times.read_text().splitlines()[1])
    return sum(int(whole) * 60 + float(rest) for whole, rest in minutes)


@pytest.mark.parametrize("shell", CALLS)
def test_points_are_offered_in_time(shell: str, program: Path, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    env = {**os.environ, "HOME": str(tmp_path), "STAPY_TIMES": str(tmp_path / "times"),
           "PATH": f"{program.parent}:{os.environ['PATH']}",
           "FUNCTION": str(tmp_path / "function")}  # fmt: skip
    env.setdefault("XDG_CACHE_HOME", str(tmp_path))
    made = subprocess.run(
        [program, "complete", shell], env=env, capture_output=True, text=True, check=True
    )
    (tmp_path / "function").write_text(made.stdout)

    def ask(line: str) -> list[str]:
        done = subprocess.run(
            CALLS[shell], env={**env, "LINE": line}, capture_output=True, text=True, check=False,
            timeout=300, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return [word.partition("\t")[0] for word in done.stdout.splitlines()]

    yardstick = Yardstick(tmp_path / "yardstick")
    for line, wanted in LINES.values():
        assert wanted in ask(line), (line, ask(line))  # what can be kept is kept from now on

        def once(line: str = line) -> float:
            ask(line)
            return taken(tmp_path / "times")

        seconds = yardstick.compare(once, LIMIT)
        print(f"{shell}: {line}: {seconds:.3f} s")
        assert seconds <= LIMIT, (line, seconds)
