"""Opens the type information and symbols of one kernel and its modules, through the cache.

The sources for a kernel, cheapest first: the cache, ``/sys/kernel/btf`` and
``/proc/kallsyms`` when it runs, its packed image in ``/boot``, an unpacked
``vmlinux`` with BTF in its build tree or in the debug package's folder.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from stapy.cache import Cache, file_identity, key_of
from stapy.debuginfo import pack
from stapy.debuginfo.btf.reader import Btf, BtfIndex
from stapy.debuginfo.dwarf.files.paths import folders as debug_folders
from stapy.debuginfo.elf import Buffer, ElfFile, build_id_of, parse_notes
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.keeping import KIND, kept, stored
from stapy.debuginfo.sorted_lines import SortedLines
from stapy.debuginfo.symbols.kallsyms import Kallsyms
from stapy.debuginfo.symbols.kallsyms_layout import Layout
from stapy.debuginfo.symbols.table import (
    LineSymbols,
    PackedSymbols,
    Symbols,
    elf_lines,
    proc_lines,
)
from stapy.debuginfo.vmlinuz import read_image
from stapy.kernel.target import Kernel
from stapy.paths import exists, is_file

_VERSION = 6  # of everything that is cached here
_SYSFS = Path("/sys/kernel/btf")
_PROC = Path("/proc/kallsyms")
_BTF_MAGIC = b"\x9f\xeb"  # of a copy of what sysfs has


class Loaded(NamedTuple):
    """What is known of one kernel or module; ``origin`` is for messages.

    ``has_dwarf`` is True for a module that was not stripped.  ``key`` tells what it was
    read from apart from everything else, "" when nothing does.
    """

    btf: Btf | None
    symbols: Symbols | None
    build_id: str
    origin: str
    problems: list[str]
    has_dwarf: bool = False
    key: str = ""


def load_kernel(kernel: Kernel, cache: Cache) -> Loaded:
    """Open the kernel itself; what is wrong with its files is listed in ``problems``."""
    if kernel.is_running and exists(_SYSFS / "vmlinux"):
        loaded = _load_running(kernel, cache)
        if loaded is not None:
            return loaded
    problems: list[str] = []
    best: Loaded | None = None
    for path in image_places(kernel):
        try:
            loaded = _load_image(kernel, path, cache)
        except (DebuginfoError, OSError) as error:
            problems.append(str(error))
            continue
        if loaded.btf is not None:
            if best is not None and best.symbols is not None and loaded.symbols is None:
                loaded = loaded._replace(symbols=best.symbols, key=best.key + loaded.key)
            return loaded._replace(problems=problems)
        best = best or loaded
    if best is not None:
        return best._replace(problems=[*problems, f"{best.origin} has no BTF"])
    return Loaded(None, None, "", "", problems)


def image_places(kernel: Kernel) -> list[Path]:
    """List the files that may hold this kernel's BTF, the best first."""
    places = [kernel.image] if kernel.image is not None else []
    for folder in (kernel.build_dir, kernel.modules_dir):
        if folder is not None:
            places.append(folder / "vmlinux")
    release = kernel.release
    names = [f"boot/vmlinux-{release}"]
    names += [f"{usr}lib/modules/{release}/vmlinux" for usr in ("", "usr/")]
    places += [folder / name for folder in debug_folders(kernel.root) for name in names]
    return [place for place in dict.fromkeys(places) if is_file(place)]


def packed_symbols(kernel: Kernel, cache: Cache) -> PackedSymbols | None:
    """Open the symbols in a kernel's image, with link addresses; None without an image."""
    for path in image_places(kernel):
        try:
            symbols = _load_image(kernel, path, cache).symbols
        except (DebuginfoError, OSError):
            continue
        if isinstance(symbols, PackedSymbols):
            return symbols
    return None


# --- one file ---------------------------------------------------------------


def _load_image(kernel: Kernel, path: Path, cache: Cache) -> Loaded:
    key = key_of("image", _VERSION, *file_identity(path))
    return _opened(cache, key, str(path), None, lambda: _read_image_parts(path))


def _opened(
    cache: Cache, key: str, name: str, base: Btf | None, make: Callable[[], dict[str, bytes]]
) -> Loaded:
    """Open what the cache keeps of a kernel or module; made anew once when it is damaged."""

    def data() -> Buffer:
        return kept(cache, key, lambda: pack.encode(make()))

    content = data()
    try:
        return _from_pack(content, name, base, cache, key)
    except DebuginfoError:
        # Perhaps what is kept was written damaged: its check sum is right.
        cache.path(KIND, key).unlink(missing_ok=True)
    return _from_pack(data(), name, base, cache, key)


def _read_image_parts(path: Path) -> dict[str, bytes]:
    with path.open("rb") as file:
        start = file.read(4)
    if start[:2] == _BTF_MAGIC:
        return _with_index({"btf": path.read_bytes()}, str(path), None)
    if start == b"\x7fELF":
        elf = ElfFile.open(path)
        return _with_index(
            {
                "build_id": elf.build_id().encode(),
                "btf": elf.read(".BTF") or b"",
                "lines": elf_lines(elf),
            },
            str(path),
            None,
        )
    image = read_image(path)
    parts = {"build_id": image.build_id.encode(), "btf": image.btf}
    if image.layout is not None:
        numbers = [getattr(image.layout, field) for field in Layout.fields]
        parts["layout"] = array("q", numbers).tobytes()
        parts["symbols"] = image.symbols
    return _with_index(parts, str(path), None)


def _with_index(parts: dict[str, bytes], name: str, base: Btf | None) -> dict[str, bytes]:
    """Add the index of the BTF part; damaged BTF is left out."""
    if parts.get("btf"):
        try:
            btf = Btf(parts["btf"], name, base)
        except DebuginfoError:
            if base is None:
                raise
            parts["btf"] = b""
            return parts
        parts["positions"] = btf.index.positions.tobytes()
        parts["names"] = btf.index.names.text()
    return parts


def _from_pack(data: Buffer, name: str, base: Btf | None, cache: Cache, key: str) -> Loaded:
    parts = pack.decode(data)

    def part(part_name: str) -> bytes:
        start, end = parts.get(part_name, (0, 0))
        return bytes(data[start:end])

    btf: Btf | None = None
    start, end = parts.get("btf", (0, 0))
    if end > start:
        positions = pack.numbers("I", part("positions"))
        names = SortedLines(data, *parts.get("names", (0, 0)))
        index = BtfIndex(positions, names)
        btf = Btf(data, name, base, index, (start, end), cache.path(KIND, key))
    symbols: Symbols | None = None
    if "layout" in parts:
        numbers = pack.numbers("q", part("layout"))
        if len(numbers) != len(Layout.fields):
            raise DebuginfoError("damaged index")
        tables = Kallsyms(part("symbols"), Layout(*numbers))
        symbols = PackedSymbols(tables, lambda: _expanded(tables, cache, key))
    else:
        low, high = parts.get("lines", (0, 0))
        if high > low:
            symbols = LineSymbols(SortedLines(data, low, high))
    build_id, has_dwarf = part("build_id").decode("latin-1"), bool(part("has_dwarf"))
    return Loaded(btf, symbols, build_id, name, [], has_dwarf, key)


def _expanded(tables: Kallsyms, cache: Cache, image_key: str) -> SortedLines:
    key = key_of("symbols", _VERSION, image_key)
    data = stored(cache, key)
    if data is None:
        data = tables.text()
        cache.put_bytes(KIND, key, data)
    return SortedLines(data)


# --- the running kernel -----------------------------------------------------


def _load_running(kernel: Kernel, cache: Cache) -> Loaded | None:
    try:
        build_id = build_id_of(parse_notes(Path("/sys/kernel/notes").read_bytes()))
        key = key_of("running", _VERSION, build_id, kernel.release)
        name = str(_SYSFS / "vmlinux")

        def parts() -> dict[str, bytes]:
            btf = (_SYSFS / "vmlinux").read_bytes()
            return _with_index({"build_id": build_id.encode(), "btf": btf}, name, None)

        loaded = _opened(cache, key, name, None, parts)
    except (OSError, DebuginfoError):
        return None
    # Others than root may see no addresses.
    return loaded._replace(symbols=_running_symbols(cache, key), key=f"{key}:{os.geteuid()}")


def _running_symbols(cache: Cache, kernel_key: str) -> Symbols | None:
    """Read ``/proc/kallsyms``; cached, since the kernel's own symbols never change.

    Returns None when it cannot be read.
    """
    key = key_of("proc-kallsyms", _VERSION, kernel_key, os.geteuid())
    data = stored(cache, key)
    if data is None:
        try:
            data = proc_lines(_PROC.read_bytes())
        except (OSError, ValueError):
            return None
        if len(data) == 0:
            return None
        cache.put_bytes(KIND, key, data)
    return LineSymbols(SortedLines(data))


# --- modules ----------------------------------------------------------------


def load_module(kernel: Kernel, name: str, base: Btf | None, cache: Cache) -> Loaded | None:
    """Open one module, from its file or, when it has none and is loaded, from sysfs.

    None when there is no such module.
    """
    path = kernel.modules.path(name)
    base_key = f"{len(base.index.positions)}:{base.text_end}" if base is not None else ""
    try:
        if path is not None:
            key = key_of("module", _VERSION, *file_identity(path), base_key)
            return _opened(cache, key, str(path), base, lambda: _read_module_parts(path, base))
        sysfs = _SYSFS / name.replace("-", "_")
        if kernel.is_running and base is not None and is_file(sysfs):
            btf = Btf(sysfs.read_bytes(), str(sysfs), base)
            return Loaded(btf, None, _running_build_id(sysfs.name), str(sysfs), [])
    except (OSError, DebuginfoError) as error:
        return Loaded(None, None, "", str(path or name), [str(error)])
    return None


def _running_build_id(module: str) -> str:
    """Read the build-id of a loaded module as hex, "" when it has none."""
    try:
        notes = Path(f"/sys/module/{module}/notes/.note.gnu.build-id").read_bytes()
    except OSError:
        return ""
    return build_id_of(parse_notes(notes))


def _read_module_parts(path: Path, base: Btf | None) -> dict[str, bytes]:
    elf = ElfFile.open(path)
    btf = elf.read(".BTF") or b""
    # A module built outside of the tree may bring a base of its own, which numbers types
    # differently; without the kernel's BTF a split one means nothing.
    if base is None or elf.section(".BTF.base") is not None:
        btf = b""
    parts = {"build_id": elf.build_id().encode(), "btf": btf, "lines": elf_lines(elf)}
    parts["has_dwarf"] = b"1" if elf.section(".debug_info") is not None else b""
    return _with_index(parts, str(path), base)
