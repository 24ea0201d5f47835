"""Names as the language writes them."""

from __future__ import annotations

import pytest

from stapy.ir.literals import quote_name, quote_names


@pytest.mark.parametrize(
    "odd", ["", 'a"b', "a\\b", "a\tb", "\0", "\x7f", "é", "\udcff", "operator*"]
)
def test_many_names_are_written_as_each_is(odd: str) -> None:
    for names in ([], ["read"], ["read", odd, "write"], [odd]):
        assert quote_names(names) == [quote_name(name) for name in names]
