"""Modules for machines of another architecture, by a compiler that runs here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.build.tools import Tools

if TYPE_CHECKING:
    from stapy.arch import Architecture


class CrossTools(Tools):
    """This machine's programs, with a compiler whose name begins with ``prefix``."""

    def __init__(self, machine: Architecture, prefix: str = "") -> None:
        self.machine = machine
        self.prefix = prefix or machine.cross
        self.make_words = (f"ARCH={machine.make}", f"CROSS_COMPILE={self.prefix}")
        self.identity = " ".join(self.make_words)
