"""How the tests of pass 1 parse."""

from __future__ import annotations

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.parse import parse_script
from stapy.parse.facts import PreprocessFacts
from stapy.parse.nodes import Script

CONFIG = {"CONFIG_SMP": "y", "CONFIG_HZ": "250", "CONFIG_X": "m"}


def facts(*arguments: str, guru: bool = False, compatible: str = "5.6") -> PreprocessFacts:
    return PreprocessFacts(
        kernel_release="6.1.0-56-cloud-amd64",
        config=lambda name: CONFIG.get(name, ""),
        guru=guru,
        compatible=compatible,
        arguments=list(arguments),
    )


def parse(
    text: str, given: PreprocessFacts | None = None, *, name: str = "<input>"
) -> tuple[Script | None, Diagnostics]:
    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    script = parse_script(name, text, given or facts(), None, sources, diagnostics)
    return script, diagnostics


def parse_row(options: str, text: str) -> tuple[Script | None, Diagnostics]:
    """Parse a text with ``options`` as on a command line: -g, --compatible=V, arguments."""
    words = options.split()
    arguments = [word for word in words if not word.startswith("-")]
    compatible = next((w.partition("=")[2] for w in words if w.startswith("--comp")), "5.6")
    return parse(text, facts(*arguments, guru="-g" in words, compatible=compatible))


def good(text: str, *arguments: str, guru: bool = True) -> Script:
    """Parse a text that must parse; return its tree."""
    script, diagnostics = parse(text, facts(*arguments, guru=guru))
    assert script is not None, [item.message for item in diagnostics.items]
    return script
