"""To which system ("sched", "block", …) a tracepoint belongs.

BTF knows the tracepoints and their parameters, but not the system.  The text of
the trace headers says it.  They are scanned, not compiled: macros that a header
defines on top of the event macros are expanded by their templates.  Headers
that lie beside the code and are not installed are not missed: the kernel's
image has their events (`image_systems`).
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path

from stapy.arch import architecture
from stapy.cache import Cache, file_identity, key_of
from stapy.debuginfo.btf.reader import Btf
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.loading import image_places
from stapy.debuginfo.tracepoints.events import of_image, shapes
from stapy.kernel.target import Kernel
from stapy.paths import exists, is_dir

_VERSION = 2
_TRACEFS = (Path("/sys/kernel/tracing/events"), Path("/sys/kernel/debug/tracing/events"))

# What one pass over a header looks at, in order of place.
_ITEM = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+TRACE_SYSTEM[ \t]+(?P<system>\w+)"
    rb"|^[ \t]*#[ \t]*define[ \t]+(?P<macro>\w+)\((?P<formals>[^)]*)\)"
    rb"(?P<body>(?:[^\n]*\\\n)*[^\n]*)"
    rb"|^[ \t]*(?P<call>[A-Z]\w*)[ \t]*\(\s*(?P<first>\w+)\s*(?:,\s*(?P<second>\w+))?",
    re.M,
)
# An event macro inside of a macro's body, with possibly pasted arguments.
_INNER = re.compile(
    rb"\b(?P<call>\w*(?:EVENT|TRACE)\w*)[ \t\\\n]*\([\s\\]*(?P<first>[\w#]+)"
    rb"(?:[\s\\]*,[\s\\]*(?P<second>[\w#]+))?"
)
_BY_FIRST = re.compile(rb"(?:TRACE_EVENT\w*|DECLARE_TRACE\w*)\Z")
_BY_SECOND = re.compile(rb"DEFINE_EVENT\w*\Z")
_NO_EVENT = re.compile(rb".*(?:CLASS|FLAGS|PERF|_FIELD)\w*\Z")


def trace_systems(kernel: Kernel, cache: Cache) -> dict[str, str]:
    """Map tracepoints to systems, from the kernel's headers or its tracefs; cached."""
    headers, stamps = _headers(kernel)
    key = key_of("systems", _VERSION, *stamps, _boot_id() if kernel.is_running else "")
    stored = cache.get_bytes("debuginfo", key)
    if stored is None:
        found: dict[str, str] = {}
        for path in headers:
            try:
                text = path.read_bytes()
            except OSError:
                continue
            for name, system in scan(text):
                found.setdefault(name, system)
        if kernel.is_running:
            found.update(_from_tracefs())
        stored = "".join(f"{name} {system}\n" for name, system in sorted(found.items())).encode()
        cache.put_bytes("debuginfo", key, stored)
    return dict(line.split(" ", 1) for line in stored.decode().splitlines())


def trace_headers(kernel: Kernel, cache: Cache) -> dict[str, Path]:
    """Map tracepoints to the headers that declare them; cached."""
    headers, stamps = _headers(kernel)
    key = key_of("trace headers", _VERSION, *stamps)
    stored = cache.get_bytes("debuginfo", key)
    if stored is None:
        found: dict[str, int] = {}
        for number, path in enumerate(headers):
            try:
                text = path.read_bytes()
            except OSError:
                continue
            for name, _ in scan(text):
                found.setdefault(name, number)
        stored = "".join(f"{name} {number}\n" for name, number in sorted(found.items())).encode()
        cache.put_bytes("debuginfo", key, stored)
    rows = (line.split(" ", 1) for line in stored.decode().splitlines())
    return {name: headers[int(number)] for name, number in rows}


def image_systems(kernel: Kernel, btf: Btf, cache: Cache) -> dict[str, str]:
    """Read the system of every tracepoint with an event from the kernel's image; none without."""
    for path in image_places(kernel):
        key = key_of("image systems", _VERSION, *file_identity(path))
        stored = cache.get_bytes("debuginfo", key)
        if stored is None:
            shape = shapes(btf)
            try:
                rows = sorted(of_image(path, shape)) if shape is not None else []
            except (DebuginfoError, OSError):
                continue  # what is wrong with it was told when its BTF was read
            stored = b"".join(row + b"\n" for row in rows)
            cache.put_bytes("debuginfo", key, stored)
        if stored:
            return dict(line.split(" ", 1) for line in stored.decode().splitlines())
    return {}


def _headers(kernel: Kernel) -> tuple[list[Path], list[tuple[str, int, int]]]:
    """List the trace headers, in order, and what tells another state of each.

    In a tree of anybody's there may be links to nowhere, and pipes, which nobody writes to.
    """
    folder = kernel.source_dir
    if folder is None:
        return [], []
    known = architecture(kernel.arch)
    arch = known.source if known is not None else kernel.arch
    patterns = (
        "include/trace/events/*.h",
        "include/ras/*.h",
        f"arch/{arch}/include/asm/trace/*.h",
        f"arch/{arch}/include/asm/*trace*.h",
    )
    headers, stamps = [], []
    for path in sorted({path for pattern in patterns for path in folder.glob(pattern)}):
        try:
            status = path.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            headers.append(path)
            stamps.append((str(path), status.st_size, status.st_mtime_ns))
    return headers, stamps


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except OSError:
        return ""


def tracefs() -> list[Path]:
    """List the folders of the running kernel's tracepoints by system; none without a tracefs."""
    for folder in _TRACEFS:
        try:
            return [path for path in folder.iterdir() if is_dir(path)]
        except OSError:
            continue
    return []


def _from_tracefs() -> Iterator[tuple[str, str]]:
    for system in tracefs():
        for event in system.iterdir():
            if exists(event / "format"):
                yield event.name, system.name


def scan(text: bytes) -> Iterator[tuple[str, str]]:
    """Yield ``(tracepoint, system)`` for each event that a trace header defines."""
    system = b""
    macros: dict[bytes, tuple[list[bytes], list[bytes]]] = {}
    for item in _ITEM.finditer(text):
        if item["system"]:
            system = item["system"]
        elif item["macro"]:
            names = list(_event_names(_INNER.finditer(item["body"])))
            formals = [formal.strip() for formal in item["formals"].split(b",")]
            if names:
                macros[item["macro"]] = (formals, names)
        elif item["call"] in macros:
            formals, names = macros[item["call"]]
            actuals = dict(zip(formals, (item["first"], item["second"] or b"")))
            for name in names:
                parts = [actuals.get(part, part) for part in name.split(b"##")]
                yield b"".join(parts).decode(), system.decode()
        else:
            for name in _event_names(iter((item,))):
                yield name.decode(), system.decode()


def _event_names(calls: Iterator[re.Match[bytes]]) -> Iterator[bytes]:
    for call in calls:
        macro = call["call"]
        if _NO_EVENT.match(macro):
            continue
        if _BY_FIRST.match(macro):
            yield call["first"]
        elif _BY_SECOND.match(macro) and call["second"]:
            yield call["second"]
