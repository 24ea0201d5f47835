"""Programs that points name are opened and handed over; what is missing is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stapy.run.control import Channel
from stapy.run.errors import RunError
from stapy.run.programs import hand_over


class Recorder(Channel):
    """Keeps what would be handed over, as (path, what the descriptor reads)."""

    def __init__(self) -> None:
        super().__init__(-1, [])
        self.held: list[tuple[bytes, bytes]] = []

    def hold(self, path: bytes, fd: int) -> None:
        self.held.append((path, os.read(fd, 100)))


def test_programs_are_handed_over_once(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("first")
    channel = Recorder()
    files = {str(tmp_path / "one"): {"optional": False}, str(tmp_path / "no"): {"optional": True}}
    hand_over(channel, {"files": files})
    assert channel.held == [(os.fsencode(tmp_path / "one"), b"first")]


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="Couldn't resolve target program file path '/nowhere/x'"):
        hand_over(Recorder(), {"files": {"/nowhere/x": {"optional": False}}})


def test_a_manifest_without_programs() -> None:
    channel = Recorder()
    hand_over(channel, {})
    assert channel.held == []
