"""What is sent to a host: a program that unpacks the rest, stapy-run, and the module."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from stapy.paths import package_dir
from stapy.remote.ask import HostFacts
from stapy.remote.merge import MARK

# The first line of the input is the program; reading one line takes no byte behind it.
_BOOT = 'exec(open(0,"rb",0,closefd=False).readline())'
RUNNER = "stapy_run"


def command(facts: HostFacts) -> str:
    """Return the shell command that takes a parcel."""
    return f"exec {facts.becomes_root}{shlex.quote(facts.python)} -ISB -c {shlex.quote(_BOOT)}"


def folder() -> str:
    """Choose a name for the folder on a host, which nobody can guess."""
    return f"/tmp/stapy-remote-{os.urandom(12).hex()}"


def pack(place: str, files: dict[str, bytes], words: list[str]) -> bytes:
    """Make a parcel: ``files`` go into the folder ``place``, ``words`` are run there."""
    program = Path(__file__).with_name("there.py").read_text("utf-8")
    sizes = [(name, len(data)) for name, data in files.items()]
    program += f"\n\nmain({place!r}, {sizes!r}, {words!r}, {MARK!r})\n"
    return b"exec(" + ascii(program).encode() + b")\n" + b"".join(files.values())


def runner() -> dict[str, bytes]:
    """Read the files of stapy-run, which needs nothing of ours beside them."""
    root = package_dir() / "run"
    return {
        f"{RUNNER}/{path.relative_to(root)}": path.read_bytes()
        for path in sorted(root.rglob("*.py"))
    }
