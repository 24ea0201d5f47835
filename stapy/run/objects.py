"""Tables of programs and libraries for user stacks: which the module needs, made and kept.

What a process maps is an object: the frames of its code and, for scripts that name addresses,
its functions.  Tables are made here, on the machine where the programs are, and kept by build-id.
The files may be anybody's: all this is done in a process of its own (`maker`).
"""

from __future__ import annotations

import os
import stat
import struct

from . import frames, lines, usersymbols
from .ground import linker_cache
from .inside import is_regular, open_path, resolver
from .inside import shown as shown_inside
from .regular import open_place, open_regular
from .target import words_of
from .userfile import NoUserFile, UserFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, Iterator, List, Optional, Set, Tuple

    from .ground.manifest import TableDemand

    # Takes a table: of which file (-1: of what the kernel maps), its name, the bytes.
    Taker = Callable[[int, str, bytes], None]

# magic, version, base, what makes an address of an offset, bytes of memory; then how many of each:
# first rows, rows, rules, names, bytes of names, of lines.  runtime/user/objects.c has the same.
_HEAD = struct.Struct("<4sIQqQIIIIII")
_MAGIC, _VERSION = b"STUO", 3
_MOST_OBJECTS = 512  # that are sent before the session begins
NOTHING = _HEAD.pack(_MAGIC, _VERSION, *(0,) * 9)  # of a file of which nothing is known


def table(file: UserFile, with_names: bool, source: "Optional[lines.LineSource]" = None) -> bytes:
    """Make the table of a file as the module reads it, with source lines where they are told."""
    base, first, low, chosen, rules = frames.packed(frames.rows_of(file))
    count, numbers, texts, told = 0, b"", b"", b""
    if with_names:
        rows = usersymbols.functions(file)
        if not first and rows:
            base = rows[0][0] & ~0xFFFF
        count, numbers, texts = usersymbols.packed(rows, base)
    if source:
        try:
            told = lines.packed(*lines.rows_of(file, source), base)
        except (ValueError, IndexError, struct.error, OverflowError, MemoryError):
            pass  # frames and names are good without
        texts += b"\0" * (-len(texts) % 4)  # numbers follow
    head = _HEAD.pack(
        _MAGIC, _VERSION, base, file.delta, file.span,
        len(first) // 4, len(low) // 2, len(rules) // 8, count, len(texts), len(told),
    )  # fmt: skip
    body = first + low + chosen
    return head + body + b"\0" * (-len(body) % 4) + rules + numbers + texts + told


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
        return f"{self.folder}/{ident}.{_VERSION}{'names' if with_names else ''}"

    def get(self, ident: str, with_names: bool) -> bytes:
        """Read a table, b"" when there is none that can be trusted."""
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


_EAGER = 16  # programs of a script, or of a command, whose tables are made whether they run or not
_WORDS = 256  # of a command that may be a program's name
_APART = str.maketrans(dict.fromkeys("\"'`|;&(){}\n", " ; "))
# What stands before a command.
_LEADING = frozenset((
    "env", "timeout", "nice", "ionice", "taskset", "sudo", "exec", "nohup", "setsid", "time",
    "stdbuf", "xargs", "eval", "if", "then", "elif", "else", "while", "until", "do", "!",
))  # fmt: skip


class Tables:
    """Makes the tables that a session needs: those it may need at first, others when asked."""

    def __init__(
        self, wanted: TableDemand, take: Taker, begin_file: "Callable[[str], None]"
    ) -> None:
        self._names = bool(wanted.get("names"))
        self._lines = bool(wanted.get("lines"))
        self._wanted = wanted
        self._take = take
        self._begin_file = begin_file
        self._store = Store()
        self._made: Set[Tuple[int, ...]] = set()

    def first(self, files: "List[str]", command: str, pid: int) -> None:
        """Make what the first hits will need: the script's programs, the target, with libraries."""
        self._make_vdso()
        # Of a pattern of programs hundreds may match, most of which will never run meanwhile.
        roots = [(path, True) for path in files] if len(files) <= _EAGER else []
        closure_too = bool(self._wanted.get("closure"))
        roots += [(path, closure_too) for path in self._wanted.get("files", ())]
        roots += [(path, True) for path in programs_of(command)]
        for path, whole in roots:
            self._begin_file(path)
            for name in closure(path) if whole else [os.path.realpath(path)]:
                self._make_path(name, shown_inside(name))
        # By what they are: names of another mount namespace may mean others here.
        programs = {_file(path) for path in [*files, *(path for path, _ in roots)]} - {None}
        for one in _processes():
            if one == pid or _file(f"/proc/{one}/exe") in programs:
                self._make_maps(one)

    def _make_vdso(self) -> None:
        """Make the table of our own vdso: that of all 64-bit processes."""
        try:
            for start, end, name, _ in _maps("self"):
                if name == "[vdso]":
                    with open("/proc/self/mem", "rb") as memory:
                        memory.seek(start)
                        data = memory.read(end - start)
                    self._take(-1, "[vdso]", table(UserFile(data), self._names))
        except (OSError, ValueError):
            pass

    def _make_maps(self, pid: int) -> None:
        try:
            for start, end, name, _ in _maps(str(pid)):
                if name.startswith("/") and len(self._made) < _MOST_OBJECTS:
                    self._make_path(f"/proc/{pid}/map_files/{start:x}-{end:x}", name)
        except OSError:
            pass  # it has ended

    def _make_path(self, path: str, shown: str) -> None:
        self._begin_file(shown)
        try:
            place = open_path(path)
        except OSError:
            return
        try:
            self.make(place, shown)
        finally:
            os.close(place)

    def make(self, place: int, shown: str, trusted: bool = True) -> None:
        """Make the table of a file; ``place`` stands for it and is not open yet.

        A file that says it is root's is so when it is ``trusted``.
        """
        status = os.fstat(place)
        if not stat.S_ISREG(status.st_mode):  # opening a device may do something
            return
        key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        if key in self._made:
            return
        self._made.add(key)
        try:
            fd = open_place(place)
        except OSError:
            return
        try:
            data = self._table_of(fd, trusted and status.st_uid in (0, os.geteuid()))
        finally:
            os.close(fd)
        self._take(place, shown, data)

    def _table_of(self, fd: int, is_kept: bool) -> bytes:
        data, ident = b"", ""
        try:
            file = UserFile.open(fd)
            ident = file.build_id()
            source = lines.LineSource.of(file) if self._lines else None
            if ident:
                ident = f"{ident[:40]}-{file.digest()[:32]}"
                ident += f"-{source.digest()[:32]}" if source else ""
                data = self._store.get(ident, self._names)
            data = data or table(file, self._names, source)
        except (OSError, ValueError, IndexError, struct.error, OverflowError, MemoryError):
            return NOTHING
        # Others' files do not fill our disk.
        if ident and is_kept:
            self._store.put(ident, self._names, data)
        return data


def programs_of(command: str) -> "List[str]":
    """List the files that a command line starts, as far as its words name them.

    The first may be a shell, or a program that starts the one that is meant: what stands where a
    shell looks for a command counts, and what stands behind ``env``, ``timeout`` and their like.
    """
    found: List[str] = []
    is_command = True
    for word in [*words_of(command)[:1], ";", *command.translate(_APART).split()[:_WORDS]]:
        if word == ";":
            is_command = True
        elif is_command and not (word[0] in "-0123456789" or "=" in word):
            path = _program(word)
            if path and path not in found and len(found) < _EAGER:
                found.append(path)
            is_command = word.rpartition("/")[2] in _LEADING
    return found


def _program(word: str) -> str:
    """Find the file that a word starts as a command, "" when there is none."""
    folders = os.environ.get("PATH", "/usr/bin:/bin").split(":")
    for path in [word] if "/" in word else [f"{folder or '.'}/{word}" for folder in folders]:
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return ""


def _file(path: str) -> "Optional[Tuple[int, int]]":
    """Tell by device and inode what a path leads to, None for nothing."""
    try:
        place = open_path(path)
    except OSError:
        return None
    status = os.fstat(place)
    os.close(place)
    return status.st_dev, status.st_ino


def _processes() -> "Iterator[int]":
    for name in os.listdir("/proc"):
        if name.isdigit():
            yield int(name)


def _maps(pid: str) -> "Iterator[Tuple[int, int, str, str]]":
    """Yield start, end, name and rights of what a process maps to run it."""
    with open(f"/proc/{pid}/maps", "rb") as file:
        for line in file:
            fields = line.split(None, 5)
            if len(fields) == 6 and b"x" in fields[1]:
                start, _, end = fields[0].partition(b"-")
                name = os.fsdecode(fields[5].rstrip(b"\n"))
                yield int(start, 16), int(end, 16), name, fields[1].decode()


def closure(path: str) -> "List[str]":
    """List a program or library and all that it is linked with, where the loader has it.

    By the names in the files and the loader's cache; nothing is run.
    """
    found: Dict[str, None] = {}
    queue = [path]
    real = resolver(path)
    cache: Optional[Dict[str, str]] = None
    while queue and len(found) < _MOST_OBJECTS:
        one = real(queue.pop(0))
        if one in found:
            continue
        try:
            fd = open_regular(one)
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
        if interpreter and is_regular(real(interpreter)):
            queue.append(interpreter)
        for name in names:
            if cache is None:
                cache = _libraries(real(linker_cache.CACHE))
            origin = os.path.dirname(one)
            places = [f.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for f in folders]
            places += os.environ.get("LD_LIBRARY_PATH", "").split(":")
            candidates = [f"{place}/{name}" for place in places if place]
            candidates += [cache[name]] if name in cache else []
            candidates += [f"{place}/{name}" for place in linker_cache.FOLDERS]
            if "/" in name:
                candidates = [name]
            for candidate in candidates:
                if is_regular(real(candidate)):
                    queue.append(candidate)
                    break
    return list(found)


def _libraries(path: str) -> "Dict[str, str]":
    try:
        with open(open_regular(path), "rb") as file:
            return linker_cache.libraries(file.read(linker_cache.MOST))
    except OSError:
        return {}
