"""Temporary folders: gone whatever interrupts us."""

from __future__ import annotations

import dis
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from stapy import temporary
from stapy.temporary import TemporaryFolder


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(temporary, "scratch_root", lambda: str(tmp_path))
    return tmp_path


def use() -> None:
    with TemporaryFolder("test") as folder:
        (folder / "file").write_text("text")
        assert folder.stat().st_mode & 0o777 == 0o700


def test_removed(scratch: Path) -> None:
    use()
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("owner", "name"), [(Path, "mkdir"), (temporary, "rmtree")], ids=["made", "removed"]
)
def test_interrupted(scratch: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    """A signal that comes while the system call runs is an exception right behind it."""
    real, calls = getattr(owner, name), []

    def interrupted(path: Path, *words: Any, **named: Any) -> None:
        calls.append(path)
        if len(calls) == 1 and name == "rmtree":
            raise KeyboardInterrupt
        real(path, *words, **named)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        use()
    assert calls and list(scratch.iterdir()) == []


def test_interrupted_anywhere_on_the_way_in(scratch: Path) -> None:
    """Also while the exception, and with it all frames, is still held: a child leaves like that."""
    held: list[KeyboardInterrupt] = []
    while error := interrupted_after(len(held)):
        held.append(error)
        assert list(scratch.iterdir()) == []
    assert len(held) >= 3


def interrupted_after(chances: int) -> KeyboardInterrupt | None:
    """Enter a folder; a signal comes at the next chance behind so many, if there are so many.

    The interpreter looks for signals behind calls, where functions start and where loops go back.
    """
    folder, left, behind = TemporaryFolder("test"), chances, {}

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        frame.f_trace_opcodes = True
        if event == "opcode":
            is_chance = behind.get(frame, "").startswith(("CALL", "RESUME", "JUMP_BACKWARD"))
            behind[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if is_chance and not left:
                raise KeyboardInterrupt
            left -= is_chance
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        with folder:
            sys.settrace(before)
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.settrace(before)
    return None
