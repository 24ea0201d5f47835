"""What servers know about paths: which builds of a file there are.

The query is that of debuginfod(8) since elfutils 0.192, ``/metadata?key=…&value=…``.
"""

from __future__ import annotations

import json
import re
import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from stapy.debuginfo.dwarf.files.debuginfod import patience, reason_of, servers
from stapy.debuginfo.errors import DebuginfoError
from stapy.record import Record, new

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedIOBase

_MOST = 32 << 20  # bytes of an answer: some 200,000 builds
_PIECE = 1 << 18
_TOO_OLD = (400, 404, 405, 410, 501, 503)  # what servers say that do not know the question
_BUILD_ID = re.compile(r"[0-9a-f]{8,128}")
_WILDCARDS = "*?["


class KnownBuilds(Record):
    """What all servers together know: archives by build-id ("" for a file in none).

    ``problems`` are of servers that did not answer, or not with all they know.
    """

    builds: dict[str, set[str]] = new(dict)
    problems: list[str] = new(list)


def builds(path: str) -> KnownBuilds:
    """Ask each server for the programs and libraries that a path or a pattern of paths means."""
    found = KnownBuilds()
    for url in servers():
        try:
            _add(found, url, path)
        except (OSError, ValueError, DebuginfoError) as error:
            found.problems.append(f"{url}: {reason_of(error)}")
    return found


def of_archives(known: KnownBuilds, pattern: str) -> dict[str, set[str]]:
    """Select the builds with an archive that a pattern means: a whole path or last part."""

    def fits(archive: str) -> bool:
        name = archive if "/" in pattern else archive.rpartition("/")[2]
        return bool(archive) and fnmatchcase(name, pattern)

    return {name: rows for name, rows in known.builds.items() if any(map(fits, rows))}


def _add(found: KnownBuilds, url: str, path: str) -> None:
    if url.startswith("file:"):
        raise DebuginfoError("files cannot be asked which builds there are")
    key = "glob" if any(char in path for char in _WILDCARDS) else "file"
    rows, is_complete = _decoded(_fetched(url, key, path))
    for build_id, archive in _builds(rows):
        found.builds.setdefault(build_id, set()).add(archive)
    if not is_complete:
        found.problems.append(f"{url}: its answer is not complete")


def _fetched(url: str, key: str, path: str) -> bytes:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.parse import urlencode
    from urllib.request import Request, urlopen

    value = path.encode("utf-8", "surrogateescape")
    query = urlencode({"key": key, "value": value})
    request = Request(f"{url}/metadata?{query}", headers={"User-Agent": "stapy"})
    try:
        with urlopen(request, timeout=patience()) as answer:
            return _whole(answer, time.monotonic() + patience())
    except HTTPError as error:
        with error:
            old = ", as debuginfod does before elfutils 0.192" if error.code in _TOO_OLD else ""
            text = f"to questions for builds the server says {error.code} {error.reason}{old}"
        raise OSError(text) from None
    except HTTPException as error:
        raise OSError(f"broken answer: {type(error).__name__}") from None


def _whole(answer: BufferedIOBase, end: float) -> bytes:
    """Read all of an answer; raises `DebuginfoError` when it is too large or too slow.

    ``end`` is a time of `time.monotonic`.
    """
    data = bytearray()
    while piece := answer.read1(_PIECE):
        data += piece
        if len(data) > _MOST:
            raise DebuginfoError(f"its answer has more than {_MOST >> 20} MB: name fewer files")
        if time.monotonic() > end:
            raise DebuginfoError("its answer did not come in DEBUGINFOD_TIMEOUT seconds")
    return bytes(data)


def _decoded(data: bytes) -> tuple[list[object], bool]:
    """Return the rows of an answer, and whether those are all; `DebuginfoError` for others."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise DebuginfoError("its answer is no JSON") from None
    if not isinstance(found, dict) or not isinstance(found.get("results"), list):
        raise DebuginfoError("its answer is not one about builds")
    return found["results"], found.get("complete") is True


def _builds(rows: list[object]) -> Iterator[tuple[str, str]]:
    """Yield build-id and archive of each program or library; rows of another form are skipped."""
    for row in rows:
        if not isinstance(row, dict) or row.get("type") != "executable":
            continue
        build_id, archive = row.get("buildid"), row.get("archive", "")
        if isinstance(build_id, str) and _BUILD_ID.fullmatch(build_id) and len(build_id) % 2 == 0:
            yield build_id, archive if isinstance(archive, str) else ""
