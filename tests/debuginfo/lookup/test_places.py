"""Which of DWARF's places are one place."""

from __future__ import annotations

from typing import Any

import pytest

from stapy.debuginfo.dwarf.query.answers import Answer, CodePlace
from stapy.debuginfo.dwarf.query.spec import Spec
from stapy.debuginfo.lookup.places import PlaceLookup

OUTER = CodePlace("outer", "a.c", 1, "outer", 0, 0x10, 1, False, True)
INNER = CodePlace("inner", "a.h", 5, "outer", 0, 0x10, 2, True, False)
AGAIN = CodePlace("inner", "a.h", 5, "outer", 0, 0x10, 3, True, False)
DEEPER = CodePlace("deeper", "a.h", 9, "outer", 0, 0x10, 4, True, False)
ALIAS = CodePlace("alias", "a.c", 20, "outer", 0, 0x10, 5, False, True)


class Info:
    loaded = None

    def units(self, module: str | None) -> list[tuple[None, None]]:
        return [(None, None)]

    def of(self, module: str | None, *, download: bool) -> Info:
        return self

    def find(self, spec: Spec, *, allow_nearest: bool, lines_as_functions: bool) -> Answer:
        return Answer([INNER, OUTER, AGAIN, DEEPER, ALIAS])

    def safe(self, otherwise: Any, question: Any, *arguments: Any) -> Any:
        return question(*arguments)


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("*", (), ["inner", "outer", "deeper"]),
        ("*", {("outer", None)}, ["inner", "deeper"]),
        ("*@a.h:*", (), ["inner", "outer", "deeper", "alias"]),
    ],
)
def test_places_at_one_address(text: str, known: Any, expected: list[str]) -> None:
    info: Any = Info()
    found = PlaceLookup(info, info, info).places(
        text, None, allow_nearest=False, lines_as_functions=False, download=False, known=known
    )
    assert [site.name for site in found.sites] == expected
