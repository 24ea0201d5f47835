"""Who reads the instructions of a program: one module for each machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from stapy.arch import ARM64, X86_64, Architecture
from stapy.debuginfo.user import a64, x86

if TYPE_CHECKING:
    from stapy.debuginfo.user.file import UserFile


class Reader(Protocol):
    """What is asked of instructions; ``SIZE`` is that of all, None where they differ."""

    SIZE: int | None

    def why_not(self, file: UserFile, address: int) -> tuple[str, bool]:
        """Say why an instruction cannot be probed ("" if it can), and whether that would harm."""

    def doubtful(self, file: UserFile, addresses: list[int]) -> list[int]:
        """List those of some addresses of which `why_not` must tell: all others can be probed."""

    def is_nop(self, code: bytes) -> bool:
        """Tell whether an instruction does nothing."""


LONGEST = x86.LONGEST  # bytes of an instruction on any machine
_READERS: dict[str, Reader] = {X86_64.name: x86, ARM64.name: a64}


def reader(machine: Architecture) -> Reader:
    """Return what reads the instructions of a machine's programs."""
    return _READERS[machine.name]
