"""stapy-run as one file, for machines that have Python and nothing of ours."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

from stapy.remote.parcel import RUNNER, runner
from stapy.trust import write_new

_SHEBANG = b"#!/usr/bin/env python3\n"
_START = f"from {RUNNER}.cli import start\nstart()\n"
_WHEN = (1980, 1, 1, 0, 0, 0)  # equal programs make equal files, so that copies can be compared
_MODE = 0o755


def data() -> bytes:
    """Make the archive, which `python3 FILE` runs.

    It is not compressed: python3-minimal may lack zlib.
    """
    held = io.BytesIO()
    held.write(_SHEBANG)
    with zipfile.ZipFile(held, "a") as archive:
        for name, content in {**runner(), "__main__.py": _START.encode()}.items():
            archive.writestr(zipfile.ZipInfo(name, _WHEN), content)
    return held.getvalue()


def write(place: Path) -> None:
    """Write the archive as an executable file; an OSError when that is not possible."""
    # Whoever runs the old one meanwhile keeps it, and nobody sees half of the new one.
    temporary = place.with_name(f".{place.name}.{os.getpid()}-{os.urandom(4).hex()}")
    try:
        write_new(temporary, data())
        temporary.chmod(_MODE)
        temporary.replace(place)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
