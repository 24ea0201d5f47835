"""Functions named with their scopes, over a C++ program that stands for a kernel."""

from __future__ import annotations

import pytest

from tests.debuginfo.dwarf import samples
from tests.debuginfo.dwarf.test_scopes import SOURCE
from tests.elaborate import support as s
from tests.probes.test_dwarf_points import Info


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> Info:
    flags = ("-O2", "-gdwarf-5", "-ffreestanding", "-fno-exceptions", *samples.LINKED)
    return Info(samples.compiled(tmp_path_factory.mktemp("scopes"), "a.cc", SOURCE, *flags))


AREA, METHOD, TWICE = (
    "outer::inner::area",
    "outer::inner::Shape::area",
    "outer::inner::Shape::twice",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('function("inner::area")', {AREA}),
        ('function("outer::*::area").call', {AREA}),
        ('function("Shape::*").call', {METHOD}),
        ('function("Shape::*").inline', {TWICE, "outer::inner::Shape::Shape"}),
        ('function("area")', {"area", AREA, METHOD}),
        ('function("inner::area@a.cc").return', {AREA}),
        ('function("inner::area(int)")', {AREA}),
        ('statement("Shape::area@a.cc+0")', {METHOD}),
        ('function("_start").callee("inner::area")', {AREA}),
        ('function("_start").callee("Shape::*").call', {METHOD}),
        ('function("_start").callee("area")', {"area", AREA, METHOD}),
    ],
)
def test_points(text: str, expected: set[str], info: Info) -> None:
    result = s.run(f"probe kernel.{text} {{ println(1) }}", debuginfo=info)
    assert result.program is not None, result.shown()
    sites = [site for probe in result.program.probes for site in probe.sites]
    assert {site.place.function for site in sites} == expected


def test_a_scope_that_is_not_there(info: Info) -> None:
    result = s.run('probe kernel.function("other::area") { println(1) }', debuginfo=info)
    assert result.codes == ["E0231"]
