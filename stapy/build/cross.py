"""Modules for machines of another architecture, by a compiler that runs here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.build.tools import Tools

if TYPE_CHECKING:
    from pathlib import Path

    from stapy.arch import Architecture

# What Debian's headers have beside their Makefile, which includes it.
_VARIABLES = ".kernelvariables"
_OVERRIDDEN = re.compile(r"^override\s+CROSS_COMPILE\s*:?=[ \t]*([^\s$#]+)", re.MULTILINE)
_COMPILER = re.compile(r"^CC\s*:?=.*\$\(CROSS_COMPILE\)([\w.+-]+)", re.MULTILINE)
# The kernel's Makefile names these by CROSS_COMPILE: variable and program.
_PROGRAMS = {
    "LD": "ld",
    "AR": "ar",
    "NM": "nm",
    "OBJCOPY": "objcopy",
    "OBJDUMP": "objdump",
    "READELF": "readelf",
    "STRIP": "strip",
}


class CrossTools(Tools):
    """This machine's programs, with a compiler whose name begins with ``prefix``.

    ``build_dir`` is where the kernel's headers are.
    """

    def __init__(
        self, machine: Architecture, prefix: str = "", build_dir: Path | None = None
    ) -> None:
        self.machine = machine
        self.prefix = prefix or machine.cross
        words = [f"ARCH={machine.make}", f"CROSS_COMPILE={self.prefix}"]
        if build_dir is not None:
            words += _by_name(build_dir, self.prefix)
        self.make_words = tuple(words)
        self.identity = " ".join(self.make_words)


def _by_name(build_dir: Path, prefix: str) -> list[str]:
    """Name each program for headers that say themselves what CROSS_COMPILE is; else nothing.

    make lets ``override`` win against its command line. Debian's headers of Linux 6.12 have that
    for CROSS_COMPILE, and not for the programs that are named by it.
    """
    try:
        text = (build_dir / _VARIABLES).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    found = _OVERRIDDEN.search(text)
    if found is None or found[1] == prefix:
        return []
    compiler = _COMPILER.search(text)
    programs = {"CC": compiler[1] if compiler else "gcc", **_PROGRAMS}
    return [f"{name}={prefix}{program}" for name, program in programs.items()]
