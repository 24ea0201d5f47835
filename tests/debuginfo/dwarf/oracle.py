"""What pyelftools says about a file."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def opened(path: Path) -> Any:
    """Open the file's DWARF by pyelftools, relocations left alone."""
    elf = pytest.importorskip("elftools.elf.elffile")
    with path.open("rb") as file:
        yield elf.ELFFile(file).get_dwarf_info(relocate_dwarf_sections=False)


def text(value: Any) -> Any:
    """Decode bytes to a string; return all else as it is."""
    return value.decode() if isinstance(value, bytes) else value
