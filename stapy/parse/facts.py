"""What the preprocessor may ask about the target and the session."""

from __future__ import annotations

import re
from collections.abc import Callable

from stapy import LANGUAGE_VERSION
from stapy.diagnostics import Span
from stapy.options.versions import compare_versions
from stapy.patterns import compiled_when_used
from stapy.record import Record, new

# In the comments that a script begins with; so do those of the gallery.
_USAGE = compiled_when_used(r"(?:(?:#|//)[^\n]*\n)*?(?:#|//) *usage: *([^\n]+)", re.IGNORECASE)


def _no_config(name: str) -> str:
    return ""


class PreprocessFacts(Record):
    """Answers for the conditions of ``%( … %? … %)``.

    ``config`` maps ``CONFIG_X`` to "y", "m", a number or a text without
    quotes, and to "" when the option is not set.
    """

    kernel_release: str = ""
    arch: str = "x86_64"
    config: Callable[[str], str] = _no_config
    guru: bool = False
    privilege: str = "stapdev"
    runtime: str = "kernel"
    compatible: str = LANGUAGE_VERSION
    arguments: list[str] = new(list)
    arguments_way: str = ""  # how they are given, where that is not the command line
    version_tests: list[Span] = new(list)  # where systemtap_v was asked, filled by reading

    @property
    def kernel_version(self) -> str:
        """The release up to its first dash: ``6.1.0`` of ``6.1.0-56-cloud-amd64``."""
        return self.kernel_release.split("-", 1)[0]

    def key(self) -> str:
        """Make a text that differs when any fact but ``config`` and ``arguments`` differs.

        The configuration belongs to the release, so the release stands for it.
        """
        return "|".join(
            (
                self.kernel_release,
                self.arch,
                str(int(self.guru)),
                self.privilege,
                self.runtime,
                self.compatible or LANGUAGE_VERSION,
            )
        )

    def argument_hint(self, script: str) -> str:
        """Say how a script whose text this is wants its arguments, "" where some were given."""
        usage = _USAGE().match(script)
        if usage:
            return f"usage: {usage[1].strip()}"
        way = self.arguments_way or "give arguments after the script's name"
        return "" if self.arguments else f"{way}, or test '%( $# >= 1 %? … %)'"

    def at_least(self, version: str) -> bool:
        """Tell whether the language spoken is that of ``version`` or newer."""
        return compare_versions(self.compatible or LANGUAGE_VERSION, version) >= 0
