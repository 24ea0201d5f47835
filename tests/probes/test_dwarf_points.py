"""Points inside of functions, over a small program that stands for a kernel."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any

import pytest

from stapy.debuginfo.dwarf.query.answers import CodePlace
from stapy.debuginfo.dwarf.query.spec import parse
from stapy.debuginfo.sites import FunctionSite, FunctionSites
from tests.debuginfo.dwarf import samples
from tests.debuginfo.dwarf.test_kernel import opened
from tests.elaborate import support as s
from tests.probes.test_begin_end import rows


class Info(s.FakeDebuginfo):
    """A kernel whose debug file is the sample's."""

    def __init__(self, path: Path) -> None:
        self.dwarf = opened(path)

    def places(
        self,
        text: str,
        module: str | None = None,
        *,
        allow_nearest: bool = False,
        lines_as_functions: bool = False,
        download: bool = True,
        known: Container[tuple[str, str | None]] = (),
    ) -> FunctionSites:
        spec = parse(text)
        assert spec is not None
        found = self.dwarf.find(
            spec, allow_nearest=allow_nearest, lines_as_functions=lines_as_functions
        )
        sites = [self.site_at(place) for place in found.places]
        return FunctionSites(sites, True, True, found.near_lines, found.functions)

    def site_at(self, place: CodePlace) -> FunctionSite:
        return FunctionSite(place.function, None, None, "DWARF", place=place)


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> Info:
    return Info(samples.make(tmp_path_factory.mktemp("sample"), "-gdwarf-5"))


def points(text: str, info: Info, **options: Any) -> list[str]:
    program = s.run(f"probe {text} {{ println(1) }}", debuginfo=info, **options).program
    assert program is not None
    return sorted(point for probe in program.probes for point in probe.points)


def at(name: str, file: str = "sample.c") -> str:
    text = samples.HEADER if file == "inlined.h" else samples.SOURCE
    found = (n for n, line in enumerate(text.split("\n"), 1) if f" {name}(" in line)
    return f"{name}@{file}:{next(found)}"


JUMPING = f'kernel.function("{at("jumping")}")'
FRAMED = f'.callee("{at("framed")}")'
LEAF = f'.callee("{at("leaf")}")'
TWICE = f'.callee("{at("twice", "inlined.h")}")'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('kernel.function("jumping").callee("*")', [JUMPING + c for c in (FRAMED, LEAF, TWICE)]),
        ('kernel.function("jumping").callees', [JUMPING + c for c in (FRAMED, LEAF, TWICE)]),
        ('kernel.function("jumping").callee("twice")', [JUMPING + TWICE]),
        ('kernel.function("jumping").callee("l*f").call', [f"{JUMPING}{LEAF}.call"]),
        ('kernel.function("jumping@sample.c").callee("leaf").return', [f"{JUMPING}{LEAF}.return"]),
        ('kernel.function("first").callees(2)', None),
        (
            'kernel.function("jumping").label("*")',
            [f'kernel.function("jumping@sample.c:{samples.line_of("out:")}").label("out")'],
        ),
    ],
)
def test_points(text: str, expected: list[str] | None, info: Info) -> None:
    found = points(text, info)
    if expected is None:
        assert JUMPING + FRAMED in found
        assert len(set(found)) > 5
    else:
        assert sorted(set(found)) == sorted(expected)


def test_callers_are_distances(info: Info) -> None:
    text = 'probe kernel.function("jumping").callee("framed") { println(1) }'
    (row,) = rows(text, "kprobe", debuginfo=info)
    frames, at_entry, alternatives, start, distance = row["callers"]
    assert (frames, at_entry, alternatives, start) == (1, 1, 1, -1)
    sites = {r.name: r.sites[0].pc for r in info.dwarf.index.functions("*")}
    assert sites["jumping"] < sites["framed"] + distance < sites["jumping"] + 200
    inlined = 'probe kernel.function("jumping").callee("twice") { println(1) }'
    assert rows(inlined, "kprobe", debuginfo=info)[0]["callers"] is None
    every = s.run(text, debuginfo=info, defines={"STAP_CALLEE_MATCHALL": ""}).program
    assert every is not None
    assert every.probes[0].sites[0].callers == []


def test_prologue_search_moves_entries_only(info: Info) -> None:
    def offset(tail: str) -> int:
        text = f'probe kernel.function("framed@sample.c"){tail} {{ println(1) }}'
        (row,) = rows(text, "kprobe", debuginfo=info, prologue_search=True)
        assert isinstance(row["offset"], int)
        return row["offset"]

    assert offset("") > 0
    assert offset(".return") == 0


def test_statements_by_address(info: Info) -> None:
    (leaf,) = info.dwarf.index.functions("leaf")
    start = leaf.sites[0].pc
    assert points(f"kernel.statement({start:#x})", info) == [f"kernel.statement({start:#x})"]
    assert points(f"kernel.statement({start + 1:#x}).nearest", info)
    result = s.run(f"probe kernel.statement({start + 1:#x}) {{ println(1) }}", debuginfo=info)
    assert result.shown()[0].startswith(
        f"E0231 address {start + 1:#x} does not match the beginning of a statement (try {start:#x})"
    )


@pytest.mark.parametrize(
    ("text", "code", "help"),
    [
        ('kernel.function("jumping").label("aut")', "E0231", "did you mean 'out'?"),
        ('kernel.function("jumping").label("zzz")', "E0231", "there are out"),
        ('kernel.function("leaf").label("out")', "E0231", "no code was kept"),
        ('kernel.function("jumping").callee("leef")', "E0231", "did you mean 'leaf'?"),
        ('kernel.function("leaf").callee("x")', "E0231", "has no call of 'x'"),
        ('kernel.function("jumping").callee("twice").call', "E0231", "is not inlined"),
        ('kernel.function("vfs_raed").callee("x")', "E0231", "did you mean 'vfs_read'"),
        ('kernel.function("jumping").callee("x:3")', "E0231", "name or name@file"),
        ('kernel.function("jumping@").callee("x")', "E0231", "name or name@file"),
        ('kernel.function("jumping").callees(0)', "E0212", ""),
        ('kernel.function("jumping").callees(33)', "E0212", ""),
        ("kernel.statement(1)", "E0231", "lies in no function"),
    ],
)
def test_refusals(text: str, code: str, help: str, info: Info) -> None:
    result = s.run(f"probe {text} {{ println(1) }}", debuginfo=info)
    assert result.codes == [code]
    item = result.diagnostics.items[0]
    assert help in " ".join([item.hint, *item.notes])
