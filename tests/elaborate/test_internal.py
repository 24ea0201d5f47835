"""Aliases that a tapset has for itself: in lists and wildcards only where asked for."""

from __future__ import annotations

import pytest

from stapy.elaborate.listing import dump, list_points
from stapy.parse import parse_script
from stapy.parse.preprocess import PreprocessFacts
from tests.elaborate import support as s

TAPSET = """
probe __shop.asked = timer.s(7) { }
probe __shop = timer.s(8) { }
probe shop.sold = __shop.asked { }
probe shop.__sold_out = timer.s(9) { }
"""


@pytest.mark.parametrize(
    ("pattern", "listed"),
    [
        ("**.*", ["shop.__sold_out", "shop.sold"]),
        ("*.asked", []),
        ("*sho**", ["shop.__sold_out", "shop.sold"]),
        ("shop.*", ["shop.__sold_out", "shop.sold"]),
        ("__sh*", ["__shop"]),
        ("__sh**", ["__shop", "__shop.asked"]),
        ("__shop.asked", ["__shop.asked"]),
    ],
)
def test_listed(pattern: str, listed: list[str]) -> None:
    """A name that only its last part begins so with is a function's, and for all."""
    text = f"probe shop.sold {{ }} probe {pattern} {{ }}"  # the first has brought __shop in
    result = s.run("probe begin { println(1) }", library={"shop": TAPSET})
    services = result.services
    script = parse_script(
        "<l>", text, PreprocessFacts(), None, services.sources, services.diagnostics
    )
    assert script is not None
    found = [one for one in list_points([script], services, False) if "shop" in one]
    assert found == sorted({"shop.sold", *listed})


def test_lists_of_all_aliases_leave_them_out() -> None:
    services = s.run("probe begin { println(1) }", library={"shop": TAPSET}).services
    assert dump("probe-aliases", services) == ["shop.__sold_out", "shop.sold"]
