"""``stapy complete``: what is offered for a line, and real shells that ask."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stapy import cli
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.editor.bench import Bench
from stapy.kernel import find_kernel
from stapy.options import Options
from stapy.options.tools import TOOLS
from stapy.tools import complete
from tests.editor.support import make_tree

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    tree = make_tree(tmp_path_factory.mktemp("complete"))
    return Bench(find_kernel(f"{tree}/", Diagnostics(SourceMap())), Options())


@pytest.fixture(autouse=True)
def one_kernel(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complete, "_bench", lambda: bench)
    monkeypatch.setattr(complete, "_releases", lambda: iter([complete.Offer("6.1.0-test")]))


@pytest.mark.parametrize(
    ("text", "words", "typed", "quote"),
    [
        ("stapy ", ["stapy"], "", ""),
        ("stapy -l 'kernel.function(\"vfs_", ["stapy", "-l"], 'kernel.function("vfs_', "'"),
        ('stapy -e "probe x { \\"a', ["stapy", "-e"], 'probe x { "a', '"'),
        ("stapy a\\ b 'c d' -v", ["stapy", "a b", "c d"], "-v", ""),
        ("stapy --vm=6", ["stapy"], "--vm=6", ""),
        ("stapy 'a'b\"c\" ", ["stapy", "abc"], "", ""),
        ("stapy \\", ["stapy"], "\\", ""),
    ],
)
def test_lines(text: str, words: list[str], typed: str, quote: str) -> None:
    line = complete.line_of(text)
    assert (line.words, line.typed, line.quote) == (words, typed, quote)


FUNCTION = 'kernel.function("'


@pytest.mark.parametrize(
    ("line", "bash"),
    [
        ("stapy doc", ["doctor"]),
        ("stapy --message-f", ["--message-format="]),
        ("stapy --format=", ["csv", "folded", "json", "text"]),
        ("stapy --message-format=s", ["short", "systemtap"]),
        ("stapy --message-format s", ["short", "systemtap"]),
        ("stapy --color=a", ["always", "auto"]),
        ("stapy -p ", ["1", "2", "3", "4", "5"]),
        ("stapy -r 6", ["6.1.0-test"]),
        ("stapy --vm=6", ["6.1.0-test"]),
        ("stapy -D MAXACT", ["MAXACTION=", "MAXACTION_INTERRUPTIBLE="]),
        ("stapy --explain E0231", ["E0231"]),
        ("stapy fmt --ch", ["--check"]),
        ("stapy check --bt", ["--btf"]),
        ("stapy test --v", ["--vm"]),
        ("stapy -l timer.profil", ["timer.profile", "timer.profile.freq", "timer.profile.tick"]),
        ("stapy -l 'kernel.fun", ["kernel.function(", FUNCTION]),
        (f"stapy -l '{FUNCTION}vfs_", [f'{FUNCTION}vfs_read")', f'{FUNCTION}vfs_readv")']),
        (f"stapy -l '{FUNCTION}vfs_readv\").ret", [f'{FUNCTION}vfs_readv").return',
                                                f'{FUNCTION}vfs_readv").return.maxactive(']),
        (f"stapy -ve 'probe {FUNCTION}vfs_read\") {{ println($cou",
         [f'probe {FUNCTION}vfs_read") {{ println($count']),
        ("stapy x.stp ", []),
        ("stapy -- -", []),
        ("stapy -o ", []),
        ("stapy --nosuch=", []),
    ],
)  # fmt: skip
def test_offers(line: str, bash: list[str]) -> None:
    assert complete.answer("bash", line).splitlines() == bash


def test_other_shells_have_words_as_a_whole() -> None:
    assert complete.answer("zsh", "stapy --vm=6") == "--vm=6.1.0-test\n"
    assert complete.answer("fish", "stapy fm") == f"fmt\t{TOOLS['fmt']}\n"


def test_every_option_is_offered_and_every_value_of_a_list_is_taken() -> None:
    offered = {one.text.rstrip("=") for one in complete.offers(complete.line_of("stapy -"))}
    for option in complete.TABLE:
        assert not option.long or f"--{option.long}" in offered
        assert not option.short or f"-{option.short}" in offered
        for word in option.words:
            option.set(Options(), word)


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [(["bash"], 0, "complete -F _stapy stapy"), ([], 2, "which shell"), (["ksh"], 2, "ksh")],
)
def test_command(
    words: list[str], status: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["complete", *words]) == status
    said = capsys.readouterr()
    assert told in said.out + said.err


@pytest.mark.parametrize(
    ("shell", "begin"),
    [
        ("bash", ["bash", "--norc", "--noprofile", "-i"]),
        ("zsh", ["zsh", "-f", "-i"]),
        ("fish", ["fish", "--no-config", "-i"]),
    ],
)
def test_shells_complete(tmp_path: Path, shell: str, begin: list[str]) -> None:
    """A key is pressed in a terminal, and the line is run: what stands there is an argument."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    program = tmp_path / "stapy"
    program.write_text(
        f"#!/bin/sh\nexport PYTHONPATH='{ROOT}'\n"
        f'[ "$1" = complete ] && exec {sys.executable} -m stapy "$@"\n'
        'printf "<%s>" "$@" >>"$STAPY_SAID"\n'
    )
    program.chmod(0o755)
    said = tmp_path / "said"
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "STAPY_SAID": str(said),
           "HOME": str(tmp_path), "PS1": "ready> ", "TERM": "dumb"}  # fmt: skip
    load = {
        "bash": 'eval "$(stapy complete bash)"\n',
        "zsh": 'autoload -U compinit; compinit -u; eval "$(stapy complete zsh)"\n',
        "fish": "stapy complete fish | source\n",
    }
    outer, inner = pty.openpty()
    with subprocess.Popen(
        ["setsid", "--ctty", "--wait", *begin],
        stdin=inner, stdout=inner, stderr=inner, env=env, cwd=tmp_path, close_fds=True,
    ) as process:  # fmt: skip
        os.close(inner)
        try:
            os.write(outer, load[shell].encode())
            press(outer, b"stapy --message-format=sy\t", b"systemtap")
            os.write(outer, b"\n")
            press(outer, b"stapy -l 'timer.profile.ti\t", b"timer.profile.tick")
            for keys in (b"\n", b"'\n"):  # some close the quote, others leave that to the user
                press(outer, keys, b"", lambda: said.exists() and "-l" in said.read_text())
        finally:
            process.kill()
            os.close(outer)
    text = said.read_text()
    assert text.startswith("<--message-format=systemtap><-l><timer.profile.tick"), text


def press(
    outer: int, keys: bytes, wanted: bytes, is_done: Callable[[], bool] = lambda: False
) -> None:
    """Press keys; wait until a text is on the screen behind them, or something is done."""
    if is_done():
        return
    os.write(outer, keys)
    seen = b""
    end = time.monotonic() + (60 if wanted else 10)
    while not (wanted and wanted in seen) and time.monotonic() < end:
        if is_done():
            return
        if select.select([outer], [], [], 0.2)[0]:
            try:
                seen += os.read(outer, 65536)
            except OSError:  # the shell has ended
                return
