"""Labels, calls and addresses of the sample program."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.debuginfo.dwarf.query import addresses, callees, labels
from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
from stapy.debuginfo.dwarf.query.spec import Spec
from stapy.debuginfo.elf import ElfFile

from .samples import line_of
from .test_kernel import opened, optimised


def calls(
    dwarf: DwarfFile, function: str, wanted: str = "*", depth: int = 1
) -> list[callees.Callee]:
    return callees.callees(dwarf, Spec(function), Spec(wanted), depth)


def inlined(call: callees.Callee) -> bool:
    assert call.place is not None
    return call.place.inlined


def test_labels(sample: Path) -> None:
    dwarf = opened(sample)
    found = labels.labels(dwarf, Spec("j*"), "o?t")
    assert found
    for label in found:
        assert (label.name, label.place.function) == ("out", "jumping")
        assert label.place.line == line_of("out:")
        assert label.place.address > dwarf.index.anchor(label.place.address)[1]  # type: ignore[index]
        assert not label.place.is_exact
    assert not labels.labels(dwarf, Spec("leaf"), "*")
    assert not labels.labels(dwarf, Spec("jumping"), "in")


def test_callees_are_what_is_called_and_what_is_inlined(sample: Path) -> None:
    dwarf = opened(sample)
    if not optimised(dwarf):
        pytest.skip("gcc tells of calls only with optimisation")
    found = {(call.name, inlined(call)) for call in calls(dwarf, "jumping")}
    assert found == {("framed", False), ("twice", True), ("leaf", False)}
    assert {call.name for call in calls(dwarf, "jumping", "*e*f")} == {"leaf"}
    assert not calls(dwarf, "leaf")
    in_header = callees.callees(dwarf, Spec("jumping"), Spec("*", "inlined.h"))
    assert {call.name for call in in_header} == {"twice"}
    for call in found and calls(dwarf, "jumping"):
        assert call.caller.name == "jumping"
        assert bool(call.frames) != inlined(call)


def test_frames_are_return_addresses(sample: Path) -> None:
    """They lie behind call instructions (e8) to the callee."""
    dwarf = opened(sample)
    if not optimised(dwarf):
        pytest.skip("gcc tells of calls only with optimisation")
    elf = ElfFile.open(sample)
    text = next(s for s in elf.sections if s.name == ".text")
    code = elf.read(".text") or b""
    checked = 0
    for call in calls(dwarf, "*", "*", 2):
        for frame in call.frames[:1]:
            for _, address in frame:
                at = address - text.address
                assert call.place is not None
                if call.place.is_exact and code[at - 5] == 0xE8:
                    distance = int.from_bytes(code[at - 4 : at], "little", signed=True)
                    assert address + distance == call.place.address
                    checked += 1
    assert checked > 5


def test_depth(sample: Path) -> None:
    dwarf = opened(sample)
    if not optimised(dwarf):
        pytest.skip("gcc tells of calls only with optimisation")
    deep = calls(dwarf, "jumping", "leaf", 2)
    assert {(call.caller.name, len(call.frames)) for call in deep} == {
        ("jumping", 1),
        ("framed", 2),
    }
    (through,) = (call for call in deep if call.caller.name == "framed")
    (direct,) = (call for call in calls(dwarf, "jumping", "framed"))
    assert through.frames[1] == direct.frames[0]


def test_a_limit_is_told(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dwarf = opened(sample)
    if not optimised(dwarf):
        pytest.skip("gcc tells of calls only with optimisation")
    monkeypatch.setattr(callees, "MAX_CALLEES", 2)
    with pytest.raises(callees.TooManyCallees, match="more than 2 places"):
        calls(dwarf, "*", "*", 3)


def test_prologues(sample: Path) -> None:
    dwarf = opened(sample)
    (place,) = dwarf.find(Spec("framed", "sample.c")).places
    moved = labels.behind_prologue(dwarf, place)
    assert place.is_exact
    assert not moved.is_exact
    assert 0 < moved.address - place.address == moved.offset - place.offset < 32
    names = {v.name: v.ops for v in dwarf.variables(moved)}
    assert names["n"]


def test_addresses(sample: Path) -> None:
    dwarf = opened(sample)
    (row,) = dwarf.index.functions("leaf")
    start = row.sites[0].pc
    here = addresses.statement_at(dwarf, start)
    assert here is not None
    assert (here.start, here.place.function, here.place.is_exact) == (start, "leaf", True)
    assert here.place.file == "sample.c"
    inside = addresses.statement_at(dwarf, start + 1)
    assert inside is not None
    assert inside.start == start
    assert addresses.statement_at(dwarf, 1) is None
    assert addresses.statement_at(dwarf, 1 << 40) is None
    if optimised(dwarf):
        rows = dwarf.index.functions("twice")
        instance = next(site for row in rows for site in row.sites if site.inlined)
        found = addresses.statement_at(dwarf, instance.pc)
        assert found is not None
        assert (found.place.function, found.place.inlined) == ("twice", True)
