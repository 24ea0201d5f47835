"""What -l and the --dump options print; `described.py` has what -L does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.elaborate.names.points import Points
from stapy.elaborate.names.pointtree import built_in, is_internal, spellings
from stapy.elaborate.names.privilege import STAPUSR
from stapy.elaborate.names.select import SymbolTable
from stapy.elaborate.names.syntax import markers
from stapy.elaborate.typevars import TypeTable
from stapy.parse import nodes as n
from stapy.probes.family import is_unprivileged

if TYPE_CHECKING:
    from stapy.parse.nodes import FunctionDecl, Script
    from stapy.services import Services


def list_points(scripts: list[Script], services: Services, with_variables: bool) -> list[str]:
    """List the points that the scripts' probes stand for, sorted; with their variables for -L.

    An alias is listed under its own name, everything else as it was resolved.
    With -v the variables are followed by the source that told of them, and by what the comment
    of an alias says it is.
    """
    if with_variables:
        # A list without variables lowers nothing: it is spared what that takes.
        from stapy.elaborate.described import described_lines

        lines = described_lines(scripts, services)
    else:
        lines = _names(scripts, services)
    return sorted(dict.fromkeys(lines))  # most are in order: that is quicker than from a set


def _names(scripts: list[Script], services: Services) -> list[str]:
    names = SymbolTable(services, TypeTable())
    points = Points(names, services, only_names=True)
    for script in scripts:
        names.add(script)
    lines: list[str] = []
    for source in list(names.probes):
        for derived in points.derive(source):
            if derived.chain:
                lines.append(derived.alias)
            else:
                lines += [match.point for match in derived.matches]
    return lines


# --- --dump-… -------------------------------------------------------------------


def dump(what: str, services: Services) -> list[str]:
    """List what ``--dump-WHAT`` shows for ``probe-types``, ``probe-aliases`` or ``functions``."""
    if what == "probe-types":
        everything = services.options.privilege != STAPUSR
        return sorted(
            point
            for point, node in spellings(built_in())
            if everything or (node.family is not None and is_unprivileged(node.family))
        )
    if what == "probe-aliases":
        names = {".".join(parts) for parts, _ in services.library.alias_names()}
        return sorted(name for name in names if not is_internal(name))
    return _functions(services)


def _functions(services: Services) -> list[str]:
    lines: list[str] = []
    library = services.library
    names = library.function_names()
    for path in sorted({path for name in names for path in library.files_with_function(name)}):
        script = library.load(path)
        if script is None:
            continue
        lines += [
            _signature(decl)
            for decl in script.decls
            if isinstance(decl, n.FunctionDecl)
            and not decl.is_private
            and not decl.name.startswith("_")
        ]
    return sorted(lines)


def _signature(decl: FunctionDecl) -> str:
    params = ", ".join(f"{x.name}:{x.type or 'unknown'}" for x in decl.params)
    text = f"{decl.name}:{decl.type or 'unknown'} ({params})"
    for mark in sorted(markers(decl.code or "")):
        text += f" /* {mark} */"
    return text
