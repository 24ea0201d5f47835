"""Texts that are parsed at once, as an editor's server does, do not meet."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.parse import parse_script
from stapy.parse.facts import PreprocessFacts


def told(number: int) -> list[str]:
    """Parse a script with a mistake in every other probe; return what was said."""
    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    facts = PreprocessFacts(kernel_release="6.1.0", arch="x86_64", config="")
    good, bad = f"probe begin {{ a{number} = 1 + (2 * 3) }}\n", f"probe end {{ b{number} = ) }}\n"
    parse_script(f"{number}.stp", (good + bad) * 20, facts, None, sources, diagnostics)
    return [f"{sources.position(x.span)} {x.code} {x.message}" for x in diagnostics.items]


def test_parsers_in_threads() -> None:
    expected = {number: told(number) for number in range(8)}
    assert all(len(lines) == 20 for lines in expected.values())
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(told, [number % 8 for number in range(64)]))
    finally:
        sys.setswitchinterval(before)
    assert found == [expected[number % 8] for number in range(64)]
