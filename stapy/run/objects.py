"""Tables of programs and libraries for user stacks: which the module needs, made, kept, sent.

What a process maps is an object: the frames of its code and, for scripts that name addresses,
its functions.  Tables are made here, on the machine where the programs are, and kept by build-id.
"""

from __future__ import annotations

import errno
import os
import struct

from . import frames, usersymbols
from .control import Channel
from .target import words_of
from .userfile import NoUserFile, UserFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

# magic, version, base, what makes an address of an offset, bytes of memory; then how many of each:
# first rows, rows, rules, names, bytes of names.  runtime/user/objects.c has the same.
_HEAD = struct.Struct("<4sIQqQIIIIII")
_MAGIC, _VERSION = b"STUO", 1
_LIBRARIES = (
    *("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"),
    *("/lib", "/usr/lib"),
)
_MOST_OBJECTS = 512  # that are sent before the session begins


def table(file: UserFile, with_names: bool) -> bytes:
    """The table of a file as the module reads it."""
    base, first, low, chosen, rules = frames.packed(frames.rows_of(file))
    count, numbers, texts = 0, b"", b""
    if with_names:
        rows = usersymbols.functions(file)
        if not first and rows:
            base = rows[0][0] & ~0xFFFF
        count, numbers, texts = usersymbols.packed(rows, base)
    head = _HEAD.pack(
        _MAGIC, _VERSION, base, file.delta, file.span,
        len(first) // 4, len(low) // 2, len(rules) // 8, count, len(texts), 0,
    )  # fmt: skip
    body = first + low + chosen
    return head + body + b"\0" * (-len(body) % 4) + rules + numbers + texts


class Store:
    """Tables that were made before, in the user's cache; a file that others could write is none.

    Any file can say that it has libc's build-id, so that alone is nobody's name here.
    """

    def __init__(self) -> None:
        base = os.environ.get("SYSTEMTAP_DIR", "")
        folder = f"{base}/cache" if base else os.environ.get("XDG_CACHE_HOME", "")
        if not folder:
            folder = os.path.expanduser("~/.cache")
        self.folder = f"{folder}/stapy/objects"

    def _path(self, ident: str, with_names: bool) -> str:
        return f"{self.folder}/{ident}.{_VERSION}{'n' if with_names else 'f'}"

    def get(self, ident: str, with_names: bool) -> bytes:
        """A table, b"" when there is none."""
        try:
            fd = os.open(self._path(ident, with_names), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return b""
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(fd)
            if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
                return b""
            data = file.read()
        if len(data) < _HEAD.size + 4 or data[:4] != _MAGIC:
            return b""
        import zlib

        (checksum,) = struct.unpack("<I", data[-4:])
        return data[:-4] if zlib.crc32(data[:-4]) == checksum else b""

    def put(self, ident: str, with_names: bool, data: bytes) -> None:
        """Keep a table; where that cannot be done it is made again."""
        import zlib

        place = self._path(ident, with_names)
        fresh = f"{place}.{os.getpid()}"
        try:
            os.makedirs(self.folder, 0o700, exist_ok=True)
            fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(data + struct.pack("<I", zlib.crc32(data)))
            os.rename(fresh, place)
        except OSError:
            try:
                os.unlink(fresh)
            except OSError:
                pass


class Supplier:
    """Sends the tables that a session needs: those it may need at first, others when asked."""

    def __init__(
        self, channel: Channel, wanted: Dict[str, Any], note: "Callable[[str], None]"
    ) -> None:
        self._channel = channel
        self._names = bool(wanted.get("names"))
        self._wanted = wanted
        self._note = note
        self._store = Store()
        self._sent: Set[Tuple[int, ...]] = set()
        self._full = False

    # --- what is sent first ----------------------------------------------

    def begin(self, files: "List[str]", command: str, pid: int) -> None:
        """Send what the first hits will need: the script's programs, the target, with libraries."""
        self._send_vdso()
        roots = [(path, True) for path in files]
        closure_too = bool(self._wanted.get("closure"))
        roots += [(path, closure_too) for path in self._wanted.get("files", ())]
        if command:
            program = _program(words_of(command)[:1])
            if program:
                roots.append((program, True))
        for path, whole in roots:
            for name in closure(path) if whole else [os.path.realpath(path)]:
                self._send_path(name, name)
        programs = {os.path.realpath(path) for path, _ in roots}
        for one in _processes():
            if one == pid or _link(f"/proc/{one}/exe") in programs:
                self._send_maps(one)

    def _send_vdso(self) -> None:
        """Our own is that of all 64-bit processes."""
        try:
            for start, end, name, _ in _maps("self"):
                if name == "[vdso]":
                    with open("/proc/self/mem", "rb") as memory:
                        memory.seek(start)
                        data = memory.read(end - start)
                    self._write(-1, "[vdso]", table(UserFile(data), self._names))
        except (OSError, ValueError):
            pass

    def _send_path(self, path: str, shown: str) -> bool:
        if not os.path.isfile(path):  # opening a device may do something
            return False
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return False
        try:
            return self._send(fd, shown)
        finally:
            os.close(fd)

    def _send_maps(self, pid: int) -> None:
        try:
            for start, end, name, _ in _maps(str(pid)):
                if name.startswith("/") and len(self._sent) < _MOST_OBJECTS:
                    self._send_path(f"/proc/{pid}/map_files/{start:x}-{end:x}", name)
        except OSError:
            pass  # it has ended

    # --- what is asked for -----------------------------------------------

    def answer(self, text: str) -> None:
        """Send what a process maps that the module does not know; it may have ended meanwhile."""
        try:
            fd = self._channel.fetch(int(text))
        except (OSError, ValueError):
            return  # it was asked for twice
        try:
            self._send(fd, _link(f"/proc/self/fd/{fd}"))
        except OSError:
            pass
        finally:
            os.close(fd)

    # --- sending ---------------------------------------------------------

    def _send(self, fd: int, shown: str) -> bool:
        status = os.fstat(fd)
        key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        if key in self._sent or self._full:
            return False
        self._sent.add(key)
        try:
            file = UserFile.open(fd)
        except (NoUserFile, OSError, ValueError):
            return self._write(fd, shown, _HEAD.pack(_MAGIC, _VERSION, *(0,) * 9))
        data = b""
        ident = file.build_id()
        try:
            if ident:
                ident = f"{ident[:40]}-{file.digest()[:32]}"
                data = self._store.get(ident, self._names)
            data = data or table(file, self._names)
        except (ValueError, IndexError, struct.error, OverflowError, MemoryError):
            data = data or _HEAD.pack(_MAGIC, _VERSION, *(0,) * 9)
            ident = ""
        # Others' files do not fill our disk.
        if ident and status.st_uid in (0, os.geteuid()):
            self._store.put(ident, self._names, data)
        return self._write(fd, shown, data)

    def _write(self, fd: int, shown: str, data: bytes) -> bool:
        if self._full:
            return False
        name = os.fsencode(shown).replace(b"\n", b"?")
        try:
            self._channel.write(b"object %d %s\n" % (fd, name) + data)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                self._full = True
                self._note(f"no room for the table of {shown}: -D STAPY_OBJECT_MEMORY=MIB")
            else:
                self._note(f"the table of {shown} was refused: {error.strerror}")
            return False
        return True


def _program(words: "List[str]") -> str:
    """The file that a command starts."""
    if not words:
        return ""
    if "/" in words[0]:
        return words[0]
    for folder in os.environ.get("PATH", "/usr/bin:/bin").split(":"):
        path = f"{folder or '.'}/{words[0]}"
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _processes() -> "Iterator[int]":
    for name in os.listdir("/proc"):
        if name.isdigit():
            yield int(name)


def _maps(pid: str) -> "Iterator[Tuple[int, int, str, str]]":
    """Start, end, name and rights of what a process maps to run it."""
    with open(f"/proc/{pid}/maps", "rb") as file:
        for line in file:
            fields = line.split(None, 5)
            if len(fields) == 6 and b"x" in fields[1]:
                start, _, end = fields[0].partition(b"-")
                name = os.fsdecode(fields[5].rstrip(b"\n"))
                yield int(start, 16), int(end, 16), name, fields[1].decode()


def closure(path: str) -> "List[str]":
    """A program or library, what it is linked with, and what that is, where the loader has it.

    By the names in the files and the loader's cache; nothing is run.
    """
    found: Dict[str, None] = {}
    queue = [path]
    cache: Optional[Dict[str, str]] = None
    while queue and len(found) < _MOST_OBJECTS:
        one = os.path.realpath(queue.pop(0))
        if one in found:
            continue
        try:
            fd = os.open(one, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            continue
        found[one] = None
        try:
            names, folders, interpreter = UserFile.open(fd).needed()
        except (NoUserFile, OSError, ValueError, struct.error):
            continue
        finally:
            os.close(fd)
        # Whatever it names is opened, and a device may take that for an order.
        if interpreter and os.path.isfile(interpreter):
            queue.append(interpreter)
        for name in names:
            if cache is None:
                cache = loader_cache()
            origin = os.path.dirname(one)
            places = [f.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for f in folders]
            places += os.environ.get("LD_LIBRARY_PATH", "").split(":")
            candidates = [f"{place}/{name}" for place in places if place]
            candidates += [cache[name]] if name in cache else []
            candidates += [f"{place}/{name}" for place in _LIBRARIES]
            if "/" in name:
                candidates = [name]
            for candidate in candidates:
                if os.path.isfile(candidate):
                    queue.append(candidate)
                    break
    return list(found)


def loader_cache(path: str = "/etc/ld.so.cache") -> "Dict[str, str]":
    """Libraries by name, as the loader's cache has them for this machine."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return {}
    start = data.find(b"glibc-ld.so.cache1.1")
    found: Dict[str, str] = {}
    try:
        (count,) = struct.unpack_from("<I", data, start + 20)
        for number in range(count if start >= 0 else 0):
            flags, key, value = struct.unpack_from("<iII", data, start + 48 + 24 * number)
            if flags & 0xFF00 == 0x0300:  # of x86-64
                name = os.fsdecode(data[start + key : data.index(b"\0", start + key)])
                place = os.fsdecode(data[start + value : data.index(b"\0", start + value)])
                found.setdefault(name, place)
    except (struct.error, ValueError):
        pass
    return found
