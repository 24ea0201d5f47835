"""A module is run by a program that speaks its language, and by no other."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from stapy.run import consumer
from stapy.run.ground.manifest import PROTOCOL
from stapy.run.options import RunOptions
from tests.run.test_parts import make_module

RUNTIME = Path(__file__).resolve().parents[2] / "docs/runtime.md"


@pytest.mark.parametrize(
    ("told", "said"),
    [({}, "protocol 1"), ({"protocol": PROTOCOL + 1}, f"protocol {PROTOCOL + 1}")],
)
def test_of_another_version(
    told: dict[str, int], said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = make_module(tmp_path / "m.ko", manifest={"stapy": "0.9", **told})
    assert consumer.run(str(path), RunOptions()) == 1
    text = capfd.readouterr().err
    assert "was made by another version of stapy (0.9, " + said in text, text
    assert "the stapy-run of that one" in text, text


def test_who_changes_the_messages_counts_the_protocol_on() -> None:
    """The page names all messages: when this fails, count `PROTOCOL` on and take the new digest."""
    rows = [line.split(" | ")[0] for line in RUNTIME.read_text().splitlines()]
    start = rows.index("| line") + 2
    messages = rows[start : rows.index("", start)]
    assert len(messages) > 10
    digest = hashlib.sha256("\n".join(messages).encode()).hexdigest()[:16]
    assert (PROTOCOL, digest) == (2, "696150c223df5c5e"), messages
