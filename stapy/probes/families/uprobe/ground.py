"""One file of a program as the ground of points that DWARF places.

Addresses are those of linking. Where an instruction begins is proven for each of them, whatever
the debug information says.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from stapy.debuginfo.dwarf.index.reader import file_matcher
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.sites import DWARF, FunctionSite
from stapy.diagnostics.suggest import nearest
from stapy.probes import armable, programs
from stapy.probes.code.ground import address_of, place_text
from stapy.probes.families.uprobe.site import printed_parts, site_at
from stapy.probes.family import Match, PointError, number_of, only_lines, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.debuginfo.dwarf.index.reader import FunctionRow
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.callees import Callee, Elsewhere
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.sites import FunctionSites
    from stapy.debuginfo.user.symbols import FunctionTable
    from stapy.diagnostics import Span
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.probes.programs import Head
    from stapy.services import Services

_WILDCARDS = "*?["


class ProgramGround:
    """A file that a point means."""

    def __init__(
        self, point: ProbePoint, head: Head, services: Services, *, download: bool = True
    ) -> None:
        self.point = point
        self.services = services
        self.found = {component.name: component for component in point.components}
        self._head = head
        self._download = download
        self._refused: list[str] = []  # by the kernel, and harmless
        self._paths: dict[tuple[str, str], str] = {}  # of sources, by folder and name
        self._proven: set[int] = set()  # addresses of instructions, if many are asked for
        self._sound: set[int] = set()  # those that the kernel puts breakpoints on
        self.placed: set[int] = set()  # beginnings of functions that were matched

    @cached_property
    def _dwarf(self) -> DwarfFile | None:
        known = self.services.debuginfo.programs
        return known.dwarf(self._head.file, download=self._download)

    @cached_property
    def table(self) -> FunctionTable:
        """The functions of the file by its tables of symbols."""
        return self.services.debuginfo.programs.functions(self._head.file)

    @property
    def target(self) -> PointComponent:
        """The component that says which places."""
        return self.found.get("statement") or self.found["function"]

    @property
    def files(self) -> list[DwarfFile]:
        """The debug file, if there is one."""
        return [self._dwarf] if self._dwarf is not None else []

    def places(
        self, text: str, *, allow_nearest: bool = False, lines_as_functions: bool = False
    ) -> FunctionSites:
        """Find all places that a pattern means."""
        known, file = self.services.debuginfo.programs, self._head.file
        found = known.places(
            file,
            text,
            allow_nearest=allow_nearest,
            lines_as_functions=lines_as_functions,
            download=self._download,
        )
        path = text.partition("@")[2]
        if path.startswith("/"):  # of files that the index knows by the ends of their paths
            fits = file_matcher(path.partition(":")[0].partition("+")[0])
            found.sites = [
                site
                for site in found.sites
                if site.place is not None and fits(self._path_of(site.place))
            ]
        if self._dwarf is not None and 2 * len(found.sites) > self._dwarf.index.sites:
            self._proven, self._sound = known.proven(file, self._dwarf)
        return found

    def file_of(self, place: CodePlace) -> DwarfFile | None:
        """Return the debug file that told of a place."""
        return self._dwarf

    def site_at(self, place: CodePlace) -> FunctionSite:
        """Describe a place; DWARF is all that tells of it."""
        return FunctionSite(place.function, None, None, DWARF, place=place)

    def refusal(self, site: FunctionSite) -> str:
        """Say why a place must not be probed, "" when it may."""
        place, file = site.place, self._head.file
        assert place is not None
        why = "" if place.address in self._proven else self._no_boundary(place)
        if why:
            return why
        if "return" in self.found:
            reason = armable.unreturnable(place.address, self.table, file)
            if reason:
                return reason
        if place.address in self._sound:
            return ""
        why, harmful = armable.instruction(file, place.address)
        if why and not harmful:
            self._refused.append(site.name)
            return why if self.is_pattern else ""
        return why

    @cached_property
    def _no_boundary(self) -> Callable[[CodePlace], str]:
        """What says why no instruction is known to begin at a place, "" where one does."""
        from stapy.debuginfo.user import boundaries

        file, table, decoded = self._head.file, self.table, boundaries.Instructions(self._head.file)

        def why(place: CodePlace) -> str:
            try:
                boundaries.check(
                    file, table, place.address, lambda _: self._start_of(place), decoded
                )
            except boundaries.NoBoundary as error:
                return str(error)
            return ""

        return why

    def _start_of(self, place: CodePlace) -> int | None:
        """Find where the function out of line begins that a place is in, or None."""
        if place.is_exact or self._dwarf is None:
            return place.address if place.is_exact else None
        found = self.services.debuginfo.safe(None, self._dwarf.entrance_address, place)
        return found if found is not None and found <= place.address else None

    @property
    def is_pattern(self) -> bool:
        """True for a point that may mean several functions."""
        names = [self.target, *(self.found[n] for n in ("label", "callee") if n in self.found)]
        wild = any(char in text_of(row) for row in names for char in _WILDCARDS)
        return wild or "callees" in self.found

    def warn(self) -> None:
        """Tell of instructions that the kernel refuses."""
        if self._refused:
            names = list(dict.fromkeys(self._refused))
            pattern = self.is_pattern
            armable.warn_of(names, self._head.file, self.target, self.services, is_pattern=pattern)

    def refusal_hint(self, refusal: str) -> str:
        """Say what can be done about a refusal, "" when nothing is known."""
        return "probe the function without .return" if "return" in self.found else ""

    def exports(self, site: FunctionSite) -> bool:
        """Tell whether other files can link to a function."""
        place = site.place
        if place is None or not place.is_exact:
            return False
        names = self.table.aliases(place.address)
        rows = [row for name in names for row in self.table.named(name)]
        return any(row.is_exported and row.address == place.address for row in rows)

    def written(self, place: CodePlace | FunctionRow) -> str:
        """Write ``name@file:line`` with the file's whole path, as SystemTap does."""
        return place_text(place, self._path_of(place))

    def _path_of(self, place: CodePlace | FunctionRow) -> str:
        if not place.file or self._dwarf is None:
            return place.file
        try:
            folder = self._dwarf.folder_of(place.entry)
        except DebuginfoError:  # which is told of
            folder = self.services.debuginfo.safe("", self._dwarf.folder_of, place.entry)
        known = self._paths.get((folder, place.file))
        if known is None:
            known = self._paths[folder, place.file] = _joined(folder, place.file)
        return known

    @cached_property
    def _printed(self) -> list[tuple[str, str]]:
        """The names of the point's components, and how each is printed."""
        return printed_parts(self.point, self._head)

    def match(
        self, site: FunctionSite, texts: dict[str, str], callers: list[int] | None = None
    ) -> Match:
        """Make a match of a place; ``texts`` stand for the components of those names."""
        place = site.place
        assert place is not None
        text = ".".join([texts.get(name) or printed for name, printed in self._printed])
        known = place.address in self._proven
        if not known and self._head.file.code_offset(place.address) is None:
            return Match(text, None)  # `refusal` says why
        if not place.inlined:
            self.placed.add(place.address)
        if only_lines(self.services):
            return Match(text, None)
        # A statement, or a label, that is where the function begins is an instruction.
        is_entry = place.is_exact and self.target.name == "function" and "label" not in self.found
        made = site_at(
            self.point, self._head, place.function, place.address, place, callers, is_entry=is_entry
        )
        return Match(text, made)

    def elsewhere(self, name: str) -> Elsewhere | None:
        """Return None: the loader finds functions of other files, at a call."""
        return None

    def outside(self, call: Callee) -> FunctionSite | None:
        """Return None: the loader finds functions of other files, at a call."""
        return None

    def frames(self, call: Callee) -> list[int] | None:
        """List the calls that must be on the stack; None when that cannot be told."""
        from stapy.probes.families.uprobe.callers import frames

        return self.services.debuginfo.safe(None, frames, call, self.services.machine)

    def missing(self, what: str, span: Span) -> PointError:
        """Make the error for missing debug information."""

        def tell(error: PointError) -> None:
            known = self.services.debuginfo.programs
            error.hint = programs.missing_hint(known, self._head.file)

        notes = [f"{what} needs debug information of '{self._head.file.path}'"]
        return PointError("E0233", "no match", span, notes=notes, explain=tell)

    def no_code(self, component: PointComponent) -> PointError:
        """Make the error for an address of no function."""
        notes = [
            f"{address_of(component):#x} lies in no function of '{self._head.file.path}' that is "
            "known"
        ]
        if not self.table.complete and not self.table.is_damaged:
            notes.append(f"only names from {self.table.source} are known")
        hint = "addresses are those that the file was linked with, as nm and objdump print them"
        return PointError("E0231", "no match", component.span, notes=notes, hint=hint)

    def not_exported(self, component: PointComponent, name: str) -> PointError:
        """Make the error for an address whose function others cannot link to."""
        notes = [f"{number_of(component):#x} lies in '{name}', which is not exported"]
        return PointError("E0231", "no match", component.span, notes=notes)

    def other_names(self, name: str) -> list[str]:
        """List the names that debug information has at a symbol's address.

        Such as an alias.
        """
        if self._dwarf is None:
            return []
        found = dict.fromkeys(
            other for row in self.table.named(name) for other in self.table.aliases(row.address)
        )
        known = self._dwarf.index
        return [other for other in found if other != name and any(known.functions(other))]

    def similar(self, name: str) -> list[str]:
        """Suggest the nearest names of functions, at most two."""
        if self._dwarf is None:
            return self.table.nearest(name, 2)
        return nearest(name, self._dwarf.index.similar(name), 2) or self.table.nearest(name, 2)


def _joined(folder: str, file: str) -> str:
    """Put a path behind its folder, as `PurePath` does; most need nothing of what that is for."""
    if not folder or file.startswith("/"):
        return str(PurePath(folder, file))
    path = f"{folder}/{file}"
    if "/./" not in path and "//" not in path and not path.startswith("./"):
        return path if not path.endswith(("/", "/.")) else str(PurePath(path))
    if path.startswith("//"):
        return str(PurePath(path))
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(parts) if parts else str(PurePath(path))
