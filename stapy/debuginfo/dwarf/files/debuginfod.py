"""Debug files by build-id from servers, as ``debuginfod`` has them.

The environment is that of elfutils' client (debuginfod_find(3)): nothing is
fetched unless ``DEBUGINFOD_URLS`` names servers, ``DEBUGINFOD_TIMEOUT`` is in
seconds, ``DEBUGINFOD_MAXSIZE`` in bytes, ``DEBUGINFOD_PROGRESS`` asks for lines
about it where standard error is no terminal (a terminal has them unasked), and
files are kept where that client keeps them, so that what one tool fetched serves
all.
"""

from __future__ import annotations

import math
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from stapy.debuginfo import looked
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.errors import DebuginfoError
from stapy.paths import cache_dir, is_file
from stapy.trust import why_untrusted

if TYPE_CHECKING:
    from email.message import Message

TIMEOUT = 90.0
_MISS_SECONDS = 600  # so long a server is not asked again for what none had
_PIECE = 1 << 18
_LINE_SECONDS = 5.0  # between lines about progress in a file
_SCHEMES = ("http://", "https://", "file://")
_BUILD_ID = re.compile(r"[0-9a-f]{4,128}")


class ServerAnswer(Protocol):
    """What a server, or a file, answers: `urlopen` has a class for each scheme."""

    headers: Message
    url: str

    def read(self, size: int = -1, /) -> bytes:
        """Read that many bytes, fewer at the end."""


def servers() -> list[str]:
    """List the servers of ``$DEBUGINFOD_URLS``; none when it is not set."""
    words = os.environ.get("DEBUGINFOD_URLS", "").split()
    return [word.rstrip("/") for word in words if word.startswith(_SCHEMES)]


def fetch(build_id: str, what: str, notice: Callable[[str], None]) -> tuple[Path | None, list[str]]:
    """Get a build's debug file from the cache or a server, and list what went wrong.

    ``what`` names it in the messages ("the kernel"). None without problems: no
    server is named, or none has it.
    """
    urls = servers()
    if not urls or not _BUILD_ID.fullmatch(build_id):
        return None, []
    path = _place(build_id)
    if is_kept(build_id):
        looked.note([path])
        return path, []
    end = _missed_until(path)
    if end > time.time():
        looked.note_missing(build_id, end)
        return None, []
    problems: list[str] = []
    missing = 0
    for url in urls:
        address = _address(url, build_id)
        try:
            if _download(address, path, build_id, what, notice):
                looked.note([path])
                return path, problems
            missing += 1
        except (OSError, ValueError, DebuginfoError) as error:
            problems.append(f"{address}: {reason_of(error)}")
    if missing == len(urls):
        _remember_miss(path)
    # Another server, or this one, may answer then.
    looked.note_missing(build_id, time.time() + _MISS_SECONDS)
    return None, problems


def is_kept(build_id: str) -> bool:
    """Tell whether a build's file was fetched; an empty one stands for what no server had."""
    path = _place(build_id)
    try:
        return is_file(path) and path.stat().st_size > 0
    except OSError:  # it has just gone
        return False


def is_still_missing(build_id: str) -> bool:
    """Ask the servers again for what none had, unless that was done a moment ago; fetch nothing.

    False as soon as one has it, or does not answer.
    """
    path = _place(build_id)
    if _missed_until(path) > time.time():
        return True
    urls = servers()
    try:
        if not urls or any(_is_there(_address(url, build_id)) for url in urls):
            return False
    except (OSError, ValueError):
        return False
    _remember_miss(path)
    return True


def _place(build_id: str) -> Path:
    return _folder() / build_id / "debuginfo"


def _address(url: str, build_id: str) -> str:
    return f"{url}/buildid/{build_id}/debuginfo"


def _folder() -> Path:
    """Choose the client's cache; ours when others could put files or links into theirs."""
    named = os.environ.get("DEBUGINFOD_CACHE_PATH")
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "debuginfod_client"
    wanted = Path(named) if named else folder
    return cache_dir() / "debuginfod_client" if why_untrusted(wanted) else wanted


def _missed_until(path: Path) -> float:
    """Tell until when servers are not asked again for what they had not; 0 when they may be."""
    try:
        marked = path.stat().st_mtime
    except OSError:
        return 0.0
    return marked + _MISS_SECONDS if marked <= time.time() + _MISS_SECONDS else 0.0  # set back


def _remember_miss(path: Path) -> None:
    now = time.time()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
        os.utime(path, (now, now))  # by the clock that it is compared with
    except OSError:
        pass


def number_in(name: str, default: float) -> float:
    """Read a variable of the environment; the default when it has no number of 0 or more."""
    try:
        number = float(os.environ.get(name, ""))
    except ValueError:
        return default
    return number if 0 <= number < math.inf else default


def patience() -> float:
    """Return the seconds that a server may be silent; a socket can wait for 24 days at most."""
    return min(number_in("DEBUGINFOD_TIMEOUT", TIMEOUT), 1e6)


def reason_of(error: Exception) -> str:
    """Say in a few words what kept a server from answering."""
    inner = getattr(error, "reason", error)
    return str(getattr(inner, "strerror", None) or inner or type(error).__name__)


def _download(
    address: str, path: Path, build_id: str, what: str, notice: Callable[[str], None]
) -> bool:
    """Fetch one file; return False when the server does not have it."""

    def keep(answer: ServerAnswer) -> None:
        _keep(answer, path, build_id, what, notice)

    return _asked(address, keep)


def _is_there(address: str) -> bool:
    """Tell whether a server has a file; of what it sends then nothing is read."""
    return _asked(address, lambda answer: None)


def _asked(address: str, then: Callable[[ServerAnswer], None]) -> bool:
    """Ask a server for a file and hand over what it answers; False when it does not have it."""
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    request = Request(address, headers={"User-Agent": "stapy"})  # schemes: servers()
    try:
        with urlopen(request, timeout=patience()) as answer:
            then(answer)
    except HTTPError as error:
        if error.code in (404, 410):
            return False
        raise OSError(f"the server says {error.code} {error.reason}") from None
    except URLError as error:
        if isinstance(error.reason, FileNotFoundError):  # file:// without the file
            return False
        raise
    except HTTPException as error:
        raise OSError(f"broken answer: {type(error).__name__}") from None
    return True


def _keep(
    answer: ServerAnswer, path: Path, build_id: str, what: str, notice: Callable[[str], None]
) -> None:
    """Write an answer beside its place, check it and move it there."""
    total = int(answer.headers.get("Content-Length") or 0)
    limit = int(number_in("DEBUGINFOD_MAXSIZE", 0))
    if limit and total > limit:
        raise DebuginfoError(f"it has {total} bytes, more than DEBUGINFOD_MAXSIZE")
    size = f", {total / 1e6:.0f} MB" if total else ""
    begun = f"fetching the debug information of {what} from {answer.url}{size}"
    notice(begun)
    progress = _Progress(total)
    progress.begin(begun)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            done = _copy(answer, file, limit, progress)
        if total and done != total:
            raise DebuginfoError(f"the answer ends after {done} of {total} bytes")
        found = ElfFile.open(temporary).build_id()
        if found != build_id:
            raise DebuginfoError(f"the file has build-id '{found}', asked for was {build_id}")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _copy(answer: ServerAnswer, file: BinaryIO, limit: int, progress: _Progress) -> int:
    done = 0
    while piece := answer.read(_PIECE):
        done += len(piece)
        if limit and done > limit:
            raise DebuginfoError(f"it has more than DEBUGINFOD_MAXSIZE ({limit}) bytes")
        file.write(piece)
        progress.tell(done)
    progress.end(done)
    return done


class _Progress:
    """Tells on standard error how much of a file has come.

    A terminal has one line that changes.  Elsewhere nothing is written unless
    ``DEBUGINFOD_PROGRESS`` is set, to whatever it may be: then a line now and then.
    """

    def __init__(self, total: int) -> None:
        self._of = f" of {total / 1e6:.0f}" if total else ""
        self._changes = sys.stderr.isatty()
        self._lines = not self._changes and "DEBUGINFOD_PROGRESS" in os.environ
        self._every = 0.2 if self._changes else _LINE_SECONDS
        self._told = time.monotonic()

    def begin(self, text: str) -> None:
        """Say in a line of its own what is fetched; a terminal has been told."""
        if self._lines:
            print(f"stapy: {text}", file=sys.stderr, flush=True)

    def tell(self, done: int) -> None:
        """Tell how many bytes have come, unless that was told a moment ago."""
        if not (self._changes or self._lines) or time.monotonic() - self._told < self._every:
            return
        self._told = time.monotonic()
        start, end = ("\r", " ") if self._changes else ("", "\n")
        line = f"{start}stapy: {done / 1e6:.0f}{self._of} MB{end}"
        print(line, end="", file=sys.stderr, flush=True)

    def end(self, done: int) -> None:
        """Erase the line, or tell that all has come."""
        if self._changes:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        if self._lines:
            print(f"stapy: {done / 1e6:.0f} MB fetched", file=sys.stderr, flush=True)
