"""``debuginfod.process("PATH")``, ``debuginfod.archive("GLOB").process("PATH")``: builds of a path.

Servers tell which builds of the path there are; those of this machine are meant, wherever their
files lie.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo.user import search
from stapy.ir.literals import quote_name
from stapy.parse.nodes import PointComponent, String
from stapy.probes.family import PointError, text_of
from stapy.record import replace

if TYPE_CHECKING:
    from stapy.debuginfo.user.builds import Builds
    from stapy.diagnostics import Span
    from stapy.services import Services

WORD = "debuginfod"
_NAMES = 4  # of archives in a message


class BuildsOfPaths:
    """What servers say of the paths of one command; each is asked for once."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._known: dict[tuple[str, str], Builds] = {}

    def points(self, components: list[PointComponent]) -> list[list[PointComponent]]:
        """Write the point once for each build on this machine, as one of ``process``.

        Raises `PointError` when none is here or servers cannot be asked.
        """
        at = next(i for i, row in enumerate(components) if row.name == "process")
        path, archive = text_of(components[at]), ""
        if at > 1:
            archive = text_of(components[1])
            if not archive:
                raise PointError("E0212", "empty pattern of archives", components[1].span)
        if not path:
            raise PointError("E0212", "empty path", components[at].span)
        known = self._ask(path, archive, components[at].span)
        return [[_process(components[at], file), *components[at + 1 :]] for file in known.here]

    def _ask(self, path: str, archive: str, span: Span) -> Builds:
        known = self._known.get((path, archive))
        if known is None:
            if not _servers():
                raise PointError(
                    "E0231",
                    f"cannot ask which builds of '{path}' there are",
                    span,
                    notes=["DEBUGINFOD_URLS names no server"],
                    hint="set DEBUGINFOD_URLS to the addresses of debuginfod servers",
                )
            known = search.builds_of(path, archive)
            if known.here:
                self._warn(known, path, span)
            self._known[path, archive] = known
        if not known.here:
            raise _nothing(known, path, archive, span)
        return known

    def _warn(self, known: Builds, path: str, span: Span) -> None:
        """Tell what is left out."""
        texts = list(known.problems)
        if known.elsewhere:
            total = len(known.here) + known.elsewhere
            texts.append(
                f"{known.elsewhere} of {total} builds of '{path}' are not on this machine"
                if known.elsewhere > 1
                else f"1 of {total} builds of '{path}' is not on this machine"
            )
        for text in texts:
            self._services.diagnostics.warning("W0695", text, span, where="left out")


def _servers() -> list[str]:
    from stapy.debuginfo.dwarf.files.debuginfod import servers

    return servers()


def _process(component: PointComponent, path: str) -> PointComponent:
    text = path.encode("utf-8", "surrogateescape").decode("latin-1")  # a character for each byte
    made = replace(component, arg=String(component.span, text))
    return made


def _nothing(known: Builds, path: str, archive: str, span: Span) -> PointError:
    """Make the error for a path of which no build is on this machine."""
    if known.elsewhere:
        one = known.elsewhere == 1
        which = "the only build" if one else f"none of {known.elsewhere} builds"
        return PointError(
            "E0231",
            f"{which} of '{path}' that servers know is {'not ' if one else ''}on this machine",
            span,
            notes=[
                *known.problems,
                "no process runs or has loaded one, and neither the path nor $PATH has one",
            ],
            hint="install one, or translate the script on the machine where it is",
        )
    if known.archives:
        more = ", …" if len(known.archives) > _NAMES else ""
        shown = ", ".join(known.archives[:_NAMES])
        notes = [*known.problems, f"builds of the path are in {shown}{more}"]
        text = f"no archive that matches '{archive}' has a build of '{path}'"
        return PointError("E0231", text, span, notes=notes)
    notes = known.problems or [f"asked: {' '.join(_servers())}"]
    if known.problems and len(known.problems) == len(_servers()):
        return PointError(
            "E0231", f"cannot learn which builds of '{path}' there are", span, notes=notes
        )
    return PointError(
        "E0231",
        f"no server knows a build of '{path}'",
        span,
        notes=notes,
        hint=_path_hint(path),
    )


def _path_hint(path: str) -> str:
    if "/" not in path:
        return f"servers know whole paths: {WORD}.process({quote_name('/usr/bin/' + path)})"
    if path.startswith(("/usr/bin/", "/usr/sbin/", "/usr/lib/")):
        return f"packages may still have it as '{path[4:]}'"
    if path.startswith(("/bin/", "/sbin/", "/lib/")):
        return f"packages may have it as '/usr{path}'"
    return "paths are those in packages; * and ? stand for parts between slashes"
