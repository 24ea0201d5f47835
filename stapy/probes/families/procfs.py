"""``procfs("PATH").read`` and ``.write``: files of the script in /proc/systemtap/MODULE.

Forms, modes and messages are those of SystemTap 4.8 and 5.6 (stapprobes(3stap), PROCFS).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes as c
from stapy.diagnostics import NOWHERE, Label
from stapy.ir.literals import CText
from stapy.ir.program import STRING, ContextValue
from stapy.ir.scope import TargetScope, TargetVariable
from stapy.probes.family import (
    Form,
    Match,
    PointError,
    Row,
    forms,
    number_of,
    print_point,
    text_of,
)
from stapy.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stapy.diagnostics import Span
    from stapy.ir.program import DerivedProbe
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.probes.family import Reviewed
    from stapy.services import Services

DEFAULT_PATH = "command"
STDIN_PATH = "__stdin"  # the consumer writes its standard input there, for all who want it
READ_MODE, WRITE_MODE = 0o444, 0o222
DEFAULT_UMASK = 0o077
OWNER_MODE = 0o700
MAX_NAME = 255  # bytes of a name in /proc; the kernel warns of longer ones with a stack
MAX_BYTES = 1 << 30  # of what is read at once: an allocation of 2 GiB is a warning of the kernel


class ProcfsSite(Record):
    """One direction of one file; ``bytes`` of text are kept for a reader, 0: as a string has."""

    path: str
    is_read: bool
    mode: int
    bytes: int = 0

    @property
    def is_stdin(self) -> bool:
        """Whether what the consumer reads comes here."""
        return self.path == STDIN_PATH and not self.is_read


class ProcfsFamily:
    """The family of the script's own files."""

    name = "procfs"
    forms: list[Form] = forms(
        *(
            f"procfs{path}{umask}.{way}"
            for path in ("", "(string)")
            for umask in ("", ".umask(number)")
            for way in ("read", "read.maxsize(number)", "write")
        )
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Make the one site; a path is taken as it is written, without wildcards.

        Raises `PointError` for a bad path or size.
        """
        found = {component.name: component for component in point.components}
        first = found["procfs"]
        path = text_of(first) if first.arg is not None else DEFAULT_PATH
        _check_path(path, first)
        umask = number_of(found["umask"]) if "umask" in found else DEFAULT_UMASK
        is_read = "read" in found
        all_may = READ_MODE if is_read else WRITE_MODE
        # A mode of 0 would mean "all may read" to the kernel; root may always.
        site = ProcfsSite(path, is_read, all_may & ~(umask or 0) or all_may & OWNER_MODE)
        if "maxsize" in found:
            site.bytes = _size(found["maxsize"])
        return [Match(print_point(point), site)]

    @staticmethod
    def review(probes: Sequence[Reviewed], services: Services) -> None:
        """Refuse a second probe of one kind for a file, and files that are folders as well.

        Standard input may have several readers.
        """
        seen: dict[tuple[str, bool], Span] = {}
        for probe in probes:
            for site in probe.sites:
                key = (site.path, site.is_read)
                if key in seen and not site.is_stdin:
                    way = "read" if site.is_read else "write"
                    services.diagnostics.error(
                        "semantic error",
                        "E0263",
                        f'only one {way} procfs probe can exist for procfs path "{site.path}"',
                        probe.span,
                        labels=[Label(seen[key], "the first one")],
                    )
                seen.setdefault(key, probe.span)
        for (path, _), span in seen.items():
            inside = next((p for p, _ in seen if p.startswith(path + "/")), None)
            if inside is not None:
                services.diagnostics.error(
                    "semantic error",
                    "E0263",
                    f'procfs path "{path}" cannot be a file and a folder',
                    span,
                    notes=[f'"{inside}" of this script is a file in it'],
                )

    def scope(self, site: ProcfsSite, services: Services) -> TargetScope | None:
        """Describe ``$value``: what is read is set, what was written is told."""
        text = c.Pointer(c.Int("char", 1, True, "char"))
        value = ContextValue(NOWHERE, STRING, "value")
        return TargetScope(
            "procfs",
            {
                "$value": TargetVariable(
                    "$value",
                    text,
                    value,
                    is_text=True,
                    writable=site.is_read,
                    readable=not site.is_read,
                )
            },
            unknown="invalid target symbol for procfs probe, $value expected",
            key=f"procfs {site.is_read}",
        )

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of ``struct stapy_procfs_row``."""
        return [
            {
                "point": point,
                "path": site.path,
                "mode": CText(f"{site.mode:#05o}".replace("0o", "0")),
                "is_read": site.is_read,
                "bytes": site.bytes or None,
            }
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


def _check_path(path: str, component: PointComponent) -> None:
    """Refuse what can be no file below the module's folder, in SystemTap's words."""
    parts = path.split("/")
    why, notes = "", []
    if path.startswith("/"):
        why = "procfs path cannot start with a '/'"
        notes = ["it is relative to /proc/systemtap/MODULE"]
    elif "\0" in path:
        why = "procfs path cannot contain NUL"
    elif not parts[-1]:
        why = "procfs path cannot end with a '/'"
    elif not all(parts):
        why = "procfs path component cannot be empty"
    elif "." in parts or ".." in parts:
        why = "procfs path cannot be relative (and contain '.' or '..')"
    elif any(len(part.encode("utf-8", "surrogateescape")) > MAX_NAME for part in parts):
        why = f"procfs path component cannot be longer than {MAX_NAME} bytes"
    if why:
        raise PointError("E0263", why, component.span, notes=notes)


def _size(component: PointComponent) -> int:
    size = number_of(component) or 0
    if size <= 0:
        raise PointError("E0212", "maxsize must be greater than 0", component.span)
    if size > MAX_BYTES:
        raise PointError(
            "E0212",
            f"maxsize must not be greater than {MAX_BYTES}",
            component.span,
            notes=["that much memory is taken whenever somebody opens the file"],
        )
    return size


FAMILY = ProcfsFamily()
