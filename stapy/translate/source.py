"""What pass 3 hands to pass 4: C texts and the manifest that travels in the module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.translate.manifest import Manifest


class ModuleSource(Record):
    """The C of one module.

    ``files`` are names without a folder; every ``.c`` is one unit of
    translation and finds nothing but ``stapy.h`` and its sisters in ``files``.
    ``blobs`` are files of bytes that the texts include (``.incbin``).
    ``features`` names the pieces of runtime that the program uses, for
    messages.  ``kbuild_flags`` are the words of ``-B``; ``defines`` are macros
    for the compiler's command line, on top of what the texts define.
    """

    name: str
    files: dict[str, str]
    manifest: Manifest
    features: set[str] = new(set)
    kbuild_flags: list[str] = new(list)
    defines: dict[str, str] = new(dict)
    blobs: dict[str, bytes] = new(dict)

    def text(self) -> str:
        """Join all files, several below a line with the name of each: what ``-p3`` prints."""
        if len(self.files) == 1:
            return next(iter(self.files.values()))
        return "".join(f"/* {name} */\n{text}" for name, text in self.files.items())
