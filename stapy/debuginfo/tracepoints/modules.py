"""Which module defines which tracepoint: one small index over all modules of a kernel.

Without it, a wrong tracepoint name would open a thousand modules each time.
"""

from __future__ import annotations

import re

from stapy.cache import Cache, file_identity, key_of
from stapy.debuginfo.btf.reader import Btf
from stapy.debuginfo.elf import ElfFile, map_file
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.sorted_lines import SortedLines
from stapy.debuginfo.tracepoints.events import of_module, shapes
from stapy.kernel.target import Kernel
from stapy.paths import is_file

_VERSION = 3
# The function behind each tracepoint, as its name stands among the symbols of a module
# that defines it.  One that only uses it has an entry ``__SCT__tp_func_…`` and no such name.
_NAME = re.compile(rb"\0__traceiter_(\w+)(?=\0)")


def module_tracepoints(kernel: Kernel, btf: Btf | None, cache: Cache) -> SortedLines:
    """Index all modules of a kernel: lines ``tracepoint module system``, cached.

    The system is missing where the module has no event.
    """
    files = kernel.modules.files()
    if not files:
        return SortedLines(b"")
    folder = kernel.modules_dir
    listing = folder / "modules.dep" if folder is not None else None
    if listing is not None and is_file(listing):
        identity: tuple[object, ...] = file_identity(listing)
    else:
        identity = tuple(str(path) for path in files.values())
    key = key_of("module tracepoints", _VERSION, kernel.release, *identity)
    stored = cache.get_bytes("debuginfo", key)
    if stored is None:
        with cache.lock("debuginfo", key):
            stored = cache.get_bytes("debuginfo", key)
            if stored is None:
                stored = _scan(kernel, btf)
                cache.put_bytes("debuginfo", key, stored)
    return SortedLines(stored)


def _scan(kernel: Kernel, btf: Btf | None) -> bytes:
    shape = shapes(btf) if btf is not None else None
    lines: set[bytes] = set()
    for module, path in kernel.modules.files().items():
        try:
            data = map_file(path)
            names = {found[1] for found in _NAME.finditer(data)}
            if not names:
                continue
            rows = of_module(ElfFile(data, str(path)), shape) if shape is not None else ()
            systems = dict(row.split(b" ") for row in rows)
        except DebuginfoError:
            continue  # the message comes when that very module is asked for
        for name in names:
            system = systems.get(name)
            lines.add(b" ".join([name, module.encode()] + ([system] if system else [])))
    return SortedLines.encode(lines)
