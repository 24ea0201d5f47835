"""Standard input on its way to a script whose file is played by the test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.run import input
from stapy.run.input import Input
from stapy.run.messages import MessagePrinter
from stapy.run.options import RunOptions


@pytest.fixture
def typed() -> Iterator[int]:
    """Put a pipe in place of standard input; yield where to write to it."""
    usual = os.dup(0)
    theirs, ours = os.pipe()
    os.dup2(theirs, 0)
    os.close(theirs)
    yield ours
    os.dup2(usual, 0)
    os.close(usual)


def begin(place: Path) -> Input:
    place.touch()
    source = Input(str(place), True)
    assert source.begin() == ""
    return source


def test_what_is_there_is_handed_on(typed: int, tmp_path: Path) -> None:
    source = begin(tmp_path / "__stdin")
    os.write(typed, b"a\0\xff\n")
    assert source.fd(is_output_busy=False) >= 0
    assert source.patience is None
    source.take()
    assert (tmp_path / "__stdin").read_bytes() == b"a\0\xff\n"
    # Somebody else was quicker: it is not waited for, and is no end.
    source.take()
    assert source.fd(is_output_busy=False) >= 0
    os.close(typed)
    source.take()
    assert source.fd(is_output_busy=False) == -1


def test_output_that_waits_comes_first(typed: int, tmp_path: Path) -> None:
    source = begin(tmp_path / "__stdin")
    assert source.fd(is_output_busy=True) == -1
    source.end()
    os.close(typed)


def test_a_skipped_hit_is_tried_again(
    typed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = begin(tmp_path / "__stdin")
    os.write(typed, b"xy")
    write, refused = os.write, [b"x", b"y", b"y"]

    def write_or_not(fd: int, data: bytes) -> int:
        if data in refused:
            refused.remove(data)
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return write(fd, data)

    monkeypatch.setattr(os, "write", write_or_not)
    source.take()
    assert source.fd(is_output_busy=False) == -1
    assert source.patience == input.AGAIN
    for _ in range(3):
        source.serve()
    assert (tmp_path / "__stdin").read_bytes() == b"xy"
    assert source.patience is None
    source.end()
    os.close(typed)


@pytest.mark.parametrize(
    ("manifest", "options", "text"),
    [
        ({}, RunOptions(), ""),
        ({}, RunOptions(input=True), "-i has no effect: the script has no input probes"),
        ({"input": "keys"}, RunOptions(detach=True), "input probes are not hit"),
        ({"input": "lines"}, RunOptions(daemon=True), "input probes are not hit"),
    ],
)
def test_none(
    manifest: dict[str, str],
    options: RunOptions,
    text: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert input.make("m", manifest, options, MessagePrinter()) is None
    told = capfd.readouterr().err
    assert text in told
    assert bool(told) == bool(text)


def test_a_closed_input_is_empty() -> None:
    """And not the first pipe that we open, such as the one that tells of signals."""
    code = "import os; from stapy.cli import main; main(['-V']); print(os.read(0, 1), os.pipe())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        preexec_fn=lambda: os.close(0),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("b'' (3, 4)\n"), done.stderr


def test_no_file(tmp_path: Path, typed: int) -> None:
    source = Input(str(tmp_path / "none"), True)
    assert "No such file" in source.begin()
    assert source.fd(is_output_busy=False) == -1
    assert input.make("none_such", None, RunOptions(), MessagePrinter()) is None
    os.close(typed)
