"""What pass 4 hands to pass 5."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stapy.record import Record

if TYPE_CHECKING:
    from stapy.translate.manifest import Manifest


class Module(Record):
    """A kernel module on disk.

    ``key`` names its content: equal sources on equal kits give equal keys.
    ``origin`` says how it came about: "cache", "kit" (the short way) or
    "kbuild"; ``reason`` why the short way was not taken, if so.  ``cpu`` is the
    CPU time of the tools that ran, in seconds.
    """

    path: Path
    manifest: Manifest
    log: str
    key: str
    origin: str = "kit"
    reason: str = ""
    cpu: float = 0.0
