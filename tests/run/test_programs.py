"""Programs that points name are opened and handed over; what is missing is told."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

import pytest

from stapy.run.control import Channel
from stapy.run.errors import RunError
from stapy.run.programs import hand_over, program_build_id


class Recorder(Channel):
    """Keeps what would be handed over, as (path, what the descriptor reads)."""

    def __init__(self) -> None:
        super().__init__(-1, [])
        self.held: list[tuple[bytes, bytes]] = []

    def hold(self, path: bytes, fd: int) -> None:
        self.held.append((path, os.read(fd, 100)))


class Refuser(Recorder):
    """The runtime, which takes nothing but files, and none that somebody writes to."""

    def __init__(self, number: int = errno.EINVAL) -> None:
        super().__init__()
        self.number = number

    def hold(self, path: bytes, fd: int) -> None:
        raise OSError(self.number, os.strerror(self.number))


def test_programs_are_handed_over_once(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("first")
    channel = Recorder()
    files = {str(tmp_path / "one"): {"optional": False}, str(tmp_path / "no"): {"optional": True}}
    hand_over(channel, {"files": files})
    assert channel.held == [(os.fsencode(tmp_path / "one"), b"first")]


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="Couldn't resolve target program file path '/nowhere/x'"):
        hand_over(Recorder(), {"files": {"/nowhere/x": {"optional": False}}})


@pytest.mark.parametrize("why", ["loop", "long", "folder"])
def test_an_optional_one_that_cannot_be_had(tmp_path: Path, why: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    path = "/" + "x" * 300 if why == "long" else str(tmp_path / why)
    channel = Refuser() if why == "folder" else Recorder()
    if why == "folder":
        path = str(tmp_path)
    hand_over(channel, {"files": {path: {"optional": True}}})
    assert channel.held == []
    with pytest.raises(RunError):
        hand_over(channel, {"files": {path: {"optional": False}}})


def test_one_that_somebody_writes_to(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("first")
    with pytest.raises(RunError, match="/one': somebody has it open for writing"):
        hand_over(Refuser(errno.ETXTBSY), {"files": {str(tmp_path / "one"): {}}})
    hand_over(Refuser(errno.ETXTBSY), {"files": {str(tmp_path / "one"): {"optional": True}}})


def test_what_is_compared_is_held(tmp_path: Path) -> None:
    """From then on nobody can write to it."""
    (tmp_path / "one").write_text("first")
    channel = Recorder()
    with pytest.raises(RunError, match="is not the program that the script was translated for"):
        hand_over(channel, {"files": {str(tmp_path / "one"): {"identity": "sha256:0"}}})
    assert channel.held


def test_a_manifest_without_programs() -> None:
    channel = Recorder()
    hand_over(channel, {})
    assert channel.held == []


@pytest.mark.parametrize(("size", "count"), [(0xFFFF, 0xFFFF), (56, 0xFFFF), (0, 3), (40, 1000)])
def test_a_file_that_would_have_much_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, count: int
) -> None:
    """Whoever puts it there has us take neither memory nor time for it."""
    head = bytearray(64)
    struct.pack_into("<Q", head, 32, 64)
    struct.pack_into("<HH", head, 54, size, count)
    note = struct.pack("<IIQQQQ16x", 4, 0, 0, 0, 0, 1 << 40)
    path = tmp_path / "program"
    path.write_bytes(bytes(head) + note * (count if size == 56 else 1))
    os.truncate(path, 8 << 30)
    asked: list[int] = []
    read = os.pread

    def pread(fd: int, length: int, at: int) -> bytes:
        asked.append(length)
        return read(fd, length, at)

    monkeypatch.setattr(os, "pread", pread)
    with path.open("rb") as file:
        assert program_build_id(file.fileno()) == ""
    assert sum(asked) < 8 << 20
