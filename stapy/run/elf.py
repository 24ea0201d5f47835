"""Just enough ELF to read a module's description without loading it."""

from __future__ import annotations

import os
import stat
import struct

from .errors import RunError
from .ground.manifest import SECTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from .ground.manifest import Manifest

STRUCTURE = ".gnu.linkonce.this_module"  # where the kernel takes a module's name from
SIGNED = b"~Module signature appended~\n"
MANIFEST_BYTES = 64 << 20  # more is not believed to be one
# The kernel takes no larger file. One that is all holes would take our memory, the keeper's too.
MODULE_BYTES = (1 << 31) - 1
# What these rows of a manifest are; the rest of it is text and numbers that are only shown.
_SHAPES = {
    "build_ids": dict,
    "files": dict,
    "globals": dict,
    "limits": dict,
    "probes": list,
    "script": dict,
}


class Elf:
    """Sections of a 32 or 64 bit file of either byte order."""

    def __init__(self, data: bytes, name: str = "") -> None:
        if data[:4] != b"\x7fELF" or len(data) < 52:
            raise RunError(f"{name or 'the file'} is not a kernel module (no ELF file)")
        self.data = data
        self.order = "<" if data[5] == 1 else ">"
        self.wide = data[4] == 2
        try:
            self._sections = self._read_sections()
        except (struct.error, IndexError, ValueError, OverflowError):
            raise RunError(f"{name or 'the file'} is damaged") from None

    def _read_sections(self) -> "Dict[str, tuple[int, int]]":
        unpack = struct.unpack_from
        if self.wide:
            (offset,) = unpack(self.order + "Q", self.data, 40)
            size, count, names = unpack(self.order + "HHH", self.data, 58)
            row = self.order + "IIQQQQ"
        else:
            (offset,) = unpack(self.order + "I", self.data, 32)
            size, count, names = unpack(self.order + "HHH", self.data, 46)
            row = self.order + "IIIIII"
        rows = [unpack(row, self.data, offset + size * number) for number in range(count)]
        texts = rows[names][4]
        sections = {}
        for fields in rows:
            start = texts + fields[0]
            name = self.data[start : self.data.index(b"\0", start)].decode("ascii", "replace")
            if fields[1] != 8:  # SHT_NOBITS
                sections[name] = (fields[4], fields[5])
        return sections

    def section(self, name: str) -> Optional[bytes]:
        """Return the bytes of a section, None when there is no such section."""
        if name not in self._sections:
            return None
        offset, size = self._sections[name]
        return self.data[offset : offset + size]

    def place(self, name: str) -> "tuple[int, int]":
        """Find where a section is in the file, as (offset, bytes); no bytes when there is none."""
        return self._sections.get(name, (0, 0))

    def build_id(self) -> str:
        """Read the build-id in hexadecimal, "" without one."""
        for name in (".note.gnu.build-id", ".notes"):
            found = build_id(self.section(name) or b"", self.order)
            if found:
                return found
        return ""


def build_id(notes: bytes, order: str = "<") -> str:
    """Find the GNU build-id in a section of notes, in hexadecimal; "" without one."""
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from(order + "III", notes, at)
        name = notes[at + 12 : at + 12 + name_size]
        start = at + 12 + (name_size + 3 & ~3)
        if kind == 3 and name == b"GNU\0":
            return notes[start : start + size].hex()
        at = start + (size + 3 & ~3)
    return ""


class ModuleFile:
    """A module's file: its modinfo and its manifest.

    The file is opened once and stays open, so that what is loaded by ``fd`` is
    what was read, whatever its name stands for by then.  ``fd`` is a file that is open already.
    """

    def __init__(self, path: str, fd: int = -1) -> None:
        self.path = path
        self._manifest: Optional[Manifest] = None
        try:
            if fd < 0:
                # A pipe in its place must not make us wait.
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            else:
                os.lseek(fd, 0, os.SEEK_SET)  # where it stands belongs to whoever sent it as well
            self._file = os.fdopen(fd, "rb")
            self._status = os.fstat(self._file.fileno())
            if not stat.S_ISREG(self._status.st_mode):
                raise RunError(f"'{path}' is not a kernel module (no regular file)")
            if self._status.st_size > MODULE_BYTES:
                raise RunError(f"'{path}' is not a kernel module (too large to be one)")
            # Not to its end, which a file system of a user's own need not have.
            data = self._file.read(self._status.st_size)
        except OSError as error:
            raise RunError(f"cannot read '{path}': {error.strerror}") from None
        self.elf = Elf(data, path)
        self.signed = data.endswith(SIGNED)
        rows = (self.elf.section(".modinfo") or b"").split(b"\0")
        pairs = [row.decode("utf-8", "replace").partition("=") for row in rows if row]
        self.info: Dict[str, str] = {}
        self.parameters: Dict[str, str] = {}
        for key, _, value in pairs:
            if key in ("parm", "parmtype"):
                name, _, text = value.partition(":")
                self.parameters.setdefault(name, text)
            else:
                self.info.setdefault(key, value)
        file_name = path.rpartition("/")[2].partition(".")[0].replace("-", "_")
        self.name = self.info.get("name", file_name)

    @property
    def fd(self) -> int:
        """The open file."""
        return self._file.fileno()

    def is_fixed(self) -> bool:
        """Tell whether only root and this user can have changed the open file meanwhile."""
        mode = self._status.st_mode
        kept = stat.S_ISREG(mode) and not mode & (stat.S_IWGRP | stat.S_IWOTH)
        return kept and self._status.st_uid in (0, os.geteuid())

    def is_named(self) -> bool:
        """Tell whether the kernel will know the module by the name of its modinfo."""
        structure = self.elf.section(STRUCTURE)
        return structure is None or self.name.encode("utf-8", "replace") + b"\0" in structure

    @property
    def release(self) -> str:
        """The kernel release that the module was built for, "" when it does not say."""
        return self.info.get("vermagic", "").partition(" ")[0]

    def manifest(self) -> Manifest:
        """Read what stapy wrote into the module; empty for a foreign one.

        `RunError` when that cannot be read: all that is to be checked stands there.
        """
        if self._manifest is None:
            data = self.elf.section(SECTION)
            self._manifest = {} if data is None else self._read_manifest(data)
        return self._manifest

    def _read_manifest(self, data: bytes) -> Manifest:
        what = f"module '{self.path}' is damaged: what stapy wrote into it cannot be read"
        try:
            if data[:1] != b"{":
                import zlib

                data = zlib.decompressobj().decompress(data, MANIFEST_BYTES)
            manifest: Manifest = _from_json(data.rstrip(b"\0").decode())
        except ImportError:
            raise RunError(
                f"module '{self.path}' cannot be read: this Python is built without zlib; "
                "any Python of Debian has it: apt-get install python3-minimal"
            ) from None
        except Exception:  # zlib's errors are of no class that is known without it
            raise RunError(what) from None
        if not isinstance(manifest, dict) or not all(
            isinstance(manifest.get(row) or kind(), kind) for row, kind in _SHAPES.items()
        ):
            raise RunError(what)
        return manifest

    def is_ours(self) -> bool:
        """Tell whether stapy built the module."""
        return self.elf.section(SECTION) is not None


class _Reading:
    """How the scanner of Python's `json` reads: as ``json.loads()`` does by itself."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def _from_json(text: str) -> Any:
    """Read JSON without `re` and the enumerations that `json` imports, a third of the start.

    The scanner in C, to which `json` leaves the work, needs neither.  It is nobody's interface: in
    a Python that has none, as Debian's `python3-minimal`, or one that asks for more than `_Reading`
    has, we read ourselves, as we do what the scanner does not like.
    """
    try:
        from _json import make_scanner

        scanner: Callable[..., Callable[[str, int], Tuple[object, int]]] = make_scanner
        # It takes whatever has these fields
        value, end = scanner(_Reading)(text, 0)
        if not text[end:].strip():
            return value
    except Exception:
        pass
    from .jsontext import read

    return read(text)


def describe(module: ModuleFile) -> List[str]:
    """List the lines of ``--info``."""
    manifest = module.manifest()
    script = manifest.get("script") or {}
    rows = [
        ("module", module.name),
        ("file", module.path),
        ("made by", f"stapy {manifest['stapy']}" if manifest.get("stapy") else "something else"),
        ("kernel", manifest.get("release") or module.release),
        ("version magic", module.info.get("vermagic", "")),
        ("signed", "yes" if module.signed else "no"),
        ("script", script.get("name", "")),
    ]
    lines = [f"{key + ':':<15} {value}" for key, value in rows if value]
    for name, value in sorted((manifest.get("build_ids") or {}).items()):
        lines.append(f"{'build-id:':<15} {name} {value}")
    for name, most in sorted((manifest.get("limits") or {}).items()):
        lines.append(f"{'limit:':<15} {name} = {most}")
    for name, value in sorted((manifest.get("globals") or {}).items()):
        lines.append(f"{'can be set:':<15} {name} ({value})")
    for probe in manifest.get("probes") or []:
        place = f" ({probe['place']})" if probe.get("place") else ""
        lines.append(f"{'probe:':<15} {probe.get('written', '')}{place}")
        for point in probe.get("points") or []:
            if point != probe.get("written"):
                lines.append(f"{'':<15}   {point}")
    if script.get("text"):
        lines += ["", script["text"].rstrip("\n")]
    return lines
