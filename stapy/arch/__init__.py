"""What is known of each architecture that modules are made for, one record each.

All that must know a machine asks here: names, where calls pass arguments, what debug information
calls the registers, which relocations its files have, how an emulator boots it.  The C side has
`runtime/arch/NAME`, scripts have `tapsets/arch/NAME`; docs/decisions/architectures.md says what a
further one takes.
"""

from __future__ import annotations

import os
import re

from stapy.arch.arm64 import ARM64
from stapy.arch.record import Architecture, Emulator
from stapy.arch.x86_64 import X86_64

__all__ = [
    "ARCHITECTURES",
    "ARM64",
    "X86_64",
    "Architecture",
    "Emulator",
    "architecture",
    "architecture_of_debian",
    "architecture_of_elf",
    "debian_name",
    "host",
    "host_name",
    "spelling",
]

ARCHITECTURES = {one.name: one for one in (X86_64, ARM64)}
# As SystemTap spells those of which nothing more is known here.
_SPELLINGS = {"ppc64le": "powerpc", "ppc64": "powerpc", "s390x": "s390", "riscv64": "riscv"}


def spelling(machine: str) -> str:
    """Return SystemTap's word for what ``uname -m`` calls a machine."""
    if re.fullmatch("i[3-6]86", machine):
        return "i386"
    for one in ARCHITECTURES.values():
        if machine in one.machines:
            return one.name
    return _SPELLINGS.get(machine, machine)


def architecture(name: str) -> Architecture | None:
    """Find the record by SystemTap's, the machine's or Debian's word; None for unknown ones."""
    for one in ARCHITECTURES.values():
        if name in (one.name, one.debian, *one.machines):
            return one
    return None


def architecture_of_elf(machine: int) -> Architecture | None:
    """Find the record by the ``e_machine`` of an ELF file; None for unknown ones."""
    return next((one for one in ARCHITECTURES.values() if one.elf == machine), None)


def architecture_of_debian(release: str) -> Architecture | None:
    """Find the record by the end of a release of Debian: ``6.1.0-56-cloud-arm64``."""
    tail = release.rpartition("-")[2]
    return next((one for one in ARCHITECTURES.values() if one.debian == tail), None)


def debian_name(name: str) -> str:
    """Return Debian's word for an architecture, the given one when it is not known."""
    known = architecture(name)
    return known.debian if known else name


def host_name() -> str:
    """Return SystemTap's word for this machine's architecture."""
    return spelling(os.uname().machine)


def host() -> Architecture | None:
    """Return this machine's architecture; None when modules are not made for it."""
    return architecture(host_name())
