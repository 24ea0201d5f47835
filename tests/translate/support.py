"""Passes 1 to 3 over small texts, with the hand-made world of the tests of pass 2."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from stapy.cli import parse as parse_options
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.elaborate import elaborate
from stapy.elaborate.assemble.binaries import take_along
from stapy.ir.program import Program
from stapy.options import Options
from stapy.parse import parse_script
from stapy.parse.facts import PreprocessFacts
from stapy.services import Services
from stapy.translate import translate
from stapy.translate.source import ModuleSource
from tests.elaborate.support import FakeDebuginfo, TextLibrary

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
LIBRARY = (GOLDEN / "library.txt").read_text(encoding="latin-1")


def options_of(words: str) -> Options:
    """Parse the options that a command line gives."""
    options = parse_options([*shlex.split(words), "-e", "probe begin {}"])
    assert isinstance(options, Options)
    options.use_cache = False
    return options


def program_of(
    text: str, name: str = "test.stp", options: Options | None = None
) -> tuple[Program, Services]:
    """Run passes 1 and 2; they must succeed."""
    options = options or Options(use_cache=False)
    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    facts = PreprocessFacts(guru=options.guru)
    script = parse_script(name, text, facts, None, sources, diagnostics)
    assert script is not None, [item.message for item in diagnostics.errors]
    library = TextLibrary({"library.stp": LIBRARY}, sources, diagnostics)
    services = Services(options, diagnostics, sources, None, FakeDebuginfo(), library)
    program = elaborate([script], services)
    assert program is not None, [item.message for item in diagnostics.errors]
    return program, services


def source_of(text: str, name: str = "test.stp", args: str = "") -> ModuleSource:
    """Run passes 1 to 3."""
    program, services = program_of(text, name, options_of(args))
    return translated(program, services, Path(name).stem)


def translated(program: Program, services: Services, name: str) -> ModuleSource:
    """Run the end of pass 2, and pass 3."""
    take_along(program, services)
    return translate(program, services.options, services.diagnostics, name)


def c_of(text: str, args: str = "", **ignored: Any) -> str:
    """Translate a script to its C."""
    return source_of(text, args=args).text()


def handler_of(text: str, args: str = "") -> str:
    """Translate a script; return the C from the handlers to the tables of probes."""
    whole = c_of(text, args)
    return whole[whole.index("/* --- handlers --- */") : whole.index("/* --- probes --- */")]
