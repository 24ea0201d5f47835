"""What a container calls the module is looked at before it is kept and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stapy.build.modpost import modinfo
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.errors import DebuginfoError
from stapy.translate.manifest import SECTION, encode

if TYPE_CHECKING:
    from stapy.translate.source import ModuleSource

MOST_BYTES = 64 << 20
_STRUCTURE = ".gnu.linkonce.this_module"


def why_unfit(path: Path, source: ModuleSource, release: str) -> str:
    """Tell why a file is not the module that was to be made of ``source``; "" when it may be.

    What its code does nobody can see: an image is believed as a compiler is.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            return f"it has {size >> 20} MB"
        file = ElfFile.open(path)
        known = dict(reversed(modinfo(file)))
        manifest, structure = file.read(SECTION) or b"", file.read(_STRUCTURE) or b""
    except (OSError, DebuginfoError) as error:
        return f"it is no module: {error}"
    name = known.get("name", "")
    if name != source.name:
        return f"it is called '{name}', not '{source.name}'"
    if b"\0" + name.encode() + b"\0" not in structure:
        return f"the kernel would know it by another name than '{name}'"
    if known.get("vermagic", "").partition(" ")[0] != release:
        return f"it is for the kernel {known.get('vermagic', '') or 'of no name'}, not {release}"
    if manifest.rstrip(b"\0") != encode(source.manifest).rstrip(b"\0"):
        return "its manifest is that of another script"
    return ""
