"""What a machine lacks is refused by pass 2, every point of a family by the same words."""

from __future__ import annotations

import pytest

from stapy.arch import ARM64
from stapy.record import replace
from stapy.services import Services
from tests.elaborate.support import run

# Every shape of a point that a family has: none may come through to pass 3.
POINTS = {
    "uprobe.callee": (
        'process("/bin/sh").function("main").callee("x")',
        'process("/bin/sh").function("main").callee("x").return',
        'process("/bin/sh").library("libc.so.6").function("malloc").callee("x").call',
        'process(1).function("main").callee("x")',
    ),
    "uprobe.callees": (
        'process("/bin/sh").function("main").callees',
        'process.function("main").callees(2)',
    ),
    "bpf": ('bpf.program("x")', 'bpf.program("x").return'),
}


@pytest.mark.parametrize(
    ("family", "point"), [(family, point) for family, points in POINTS.items() for point in points]
)
def test_each_point_of_a_family(monkeypatch: pytest.MonkeyPatch, family: str, point: str) -> None:
    # None that there is lacks any of these; a further one may.
    monkeypatch.setattr(Services, "machine", replace(ARM64, refused=tuple(POINTS)))
    (error,) = run(f"probe {point} {{ println(1) }}").diagnostics.items
    name = family.removeprefix("uprobe")
    assert (error.code, error.message) == ("E0265", f"{name} probes are not made for arm64")
    assert any(note.endswith("is for arm64") for note in error.notes)


def test_what_is_made_instead_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Services, "machine", replace(ARM64, refused=tuple(POINTS)))
    (error,) = run(f"probe {POINTS['uprobe.callee'][0]} {{ println(1) }}").diagnostics.items
    assert error.hint == 'process("PATH").function("NAME") is made for it'
