"""Pass 1 over SystemTap's own tapsets and examples (fixture ``systemtap_share``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.parse import parse_script
from stapy.parse.library import Library
from stapy.parse.printer import print_script
from stapy.record import same
from tests.parse.helpers import facts

pytestmark = pytest.mark.slow

# What arguments an example wants is not written anywhere: points, numbers, words.
ARGUMENTS = (
    ["begin"] * 4,
    ["4", "avg", "3", "sum"],
    ["1", "begin", "end", "4"],
    ["begin", "end", "4", "4"],
)

# A template with dots where a script has to be filled in.
NOT_SCRIPTS = {"security-bandaid-template.stp"}


@pytest.fixture(scope="module")
def library(systemtap_share: Path) -> Library:
    sources = SourceMap()
    # Every architecture's and runtime's files are read, not only those for one kernel.
    folders = sorted({str(path.parent) for path in systemtap_share.glob("tapset/**/*.stpm")})
    given = facts("begin", "begin", "begin", "begin", guru=True)
    return Library(folders, given, None, sources, Diagnostics(sources))


def parse_file(path: Path, library: Library, arguments: list[str]) -> list[str]:
    given = facts(*arguments, guru=True)
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    before = len(library.diagnostics.errors)
    script = parse_script(
        str(path), text, given, library, library.sources, library.diagnostics, is_library=True
    )
    found = [item.message for item in library.diagnostics.errors[before:]]
    if script is not None:
        again = parse_script(
            str(path),
            print_script(script),
            given,
            library,
            library.sources,
            library.diagnostics,
            is_library=True,
        )
        if not same(script, again):
            found.append("the printed text gives another tree")
    return found


def test_every_tapset_and_example_is_accepted(library: Library, systemtap_share: Path) -> None:
    bad: dict[str, list[str]] = {}
    for path in sorted(systemtap_share.glob("**/*.stp")):
        if path.name in NOT_SCRIPTS:
            continue
        for arguments in ARGUMENTS:
            problems = parse_file(path, library, arguments)
            if not problems:
                break
        if problems:
            bad[path.name] = problems
    assert bad == {}
