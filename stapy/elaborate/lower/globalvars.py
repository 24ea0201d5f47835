"""``@var``, and ``$name`` where it means a variable of the probed file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import view
from stapy.debuginfo.user import search
from stapy.diagnostics.suggest import listed, nearest
from stapy.elaborate.lower import casts, namedfiles
from stapy.elaborate.lower.chains import Place
from stapy.ir import program as p
from stapy.ir.literals import of_files
from stapy.parse import nodes as n
from stapy.probes.values.programs import of_other_file
from stapy.probes.values.variables import global_variable

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.diagnostics import Diagnostic
    from stapy.elaborate.lower.context import Context
    from stapy.ir.scope import TargetScope


def local_of(low: Context, node: n.AtVar) -> n.Target | None:
    """Return ``$x`` for an ``@var("x")`` that names no unit where the probe has one, else None."""
    scope = casts.current_scope(low)
    if scope is None or "@" in node.name:
        return None
    if node.module and casts.modules_of(low, node.module) != [scope.module]:
        return None
    name = "$" + node.name
    if name in scope.variables or (scope.entry is not None and name in scope.entry.variables):
        return n.Target(node.span, name, node.chain, node.address_of)
    return None


def of_unit(scope: TargetScope, name: str) -> Place | None:
    """Find a global or static variable that the source of the probed function sees, else None."""
    found = scope.outside(name) if scope.outside is not None else None
    if found is None:
        return None
    return Place(found[0], None, found[1], is_user=scope.is_user, writable=True)


def var_place(low: Context, node: n.AtVar) -> Place | p.Expr:
    """Find the variable that an ``@var`` names; a `Pending` error when there is none."""
    info = low.services.debuginfo
    modules = [None if m in ("kernel", "vmlinux") else m for m in
               casts.modules_of(low, node.module)]  # fmt: skip
    scope = casts.current_scope(low)
    if not node.module and "@" not in node.name and scope is not None:
        place = of_unit(scope, node.name)  # of several statics the nearest
        if place is not None:
            return place
    for module in modules:
        if module is not None and module.startswith("/"):
            place = _of_program(low, scope, of_files(node.name), module)
            if place is not None:
                return place
            continue
        found = global_variable(of_files(node.name), module, low.services)
        if found is not None:
            home = [module] if module is not None else []
            return Place(found[0], None, found[1], writable=True, modules=home)
    units = [m for m in modules if m is None or not m.startswith("/")]
    return _missing(low, node, [m for m in units if info.dwarf_of(m) is None], modules)


def _of_program(low: Context, scope: TargetScope | None, name: str, path: str) -> Place | None:
    """Find a variable of a program's file, in the probe's own file by its scope; else None."""
    if scope is None or scope.module != path:
        found = of_other_file(path, name, low.services)
    else:
        found = scope.everywhere(name) if scope.everywhere is not None else None
    if found is None:
        return None
    return Place(found[0], None, found[1], is_user=True, writable=True, modules=[path])


def _missing(
    low: Context, node: n.AtVar, without: list[str | None], modules: list[str | None]
) -> p.Expr:
    name = node.name.partition("@")[0]
    hint = ""
    explain: Callable[[Diagnostic], None] | None = None
    # What the script names is what it means; the kernel is only asked for want of a better one.
    program = next((m for m in modules if m is not None and m.startswith("/")), None)
    if program is not None:
        without = []

    def similar(item: Diagnostic) -> None:
        near = low.services.debuginfo.similar_symbols(name, 2)
        item.hint = f"did you mean {listed(near)}?" if near else ""

    if without:
        owner = f"module '{without[0]}'" if without[0] else "the kernel"
        notes = [f"of {owner} only BTF is known, which has the per-CPU variables; "
                 "all others need DWARF debug information"]  # fmt: skip

        def install(item: Diagnostic) -> None:
            item.hint = low.services.debuginfo.missing_hint("variables")

        explain = install
        if without[0] is None and low.services.debuginfo.symbol_kinds(name) == []:
            # No debug package can know what has no symbol.
            notes = [f"this kernel has no symbol '{name}'"]
            explain = similar
        if without[0] and not low.services.debuginfo.module_names(without[0]):
            notes, hint = namedfiles.no_module(low, without[0])
            explain = None
    elif program is not None:
        notes = _why_not_of_program(low, node, program)
        path = program

        def of_program(item: Diagnostic) -> None:
            item.hint = _hint_of_program(low, name, path)

        explain = of_program
    else:
        owner = " or ".join(f"module '{m}'" if m else "this kernel" for m in modules)
        notes = [f"no variable '{node.name}' has an address of its own in {owner}"]
        near = [found for m in modules for found in _near(low, name, m)][:2]
        hint = f"did you mean {listed(near)}?" if near else ""
        explain = None if near or None not in modules else similar
    return low.pending(
        "E0241",
        f"unable to find global '{name}'",
        node.span,
        where="unknown variable",
        notes=notes,
        hint=hint,
        explain=explain,
    )


def _why_not_of_program(low: Context, node: n.AtVar, path: str) -> list[str]:
    scope = casts.current_scope(low)
    programs = low.services.debuginfo.programs
    why = namedfiles.unfit(low, path)
    if why:
        return [why]
    shown = view.shown(path)
    if programs.dwarf_at(path) is None:
        return [f"variables of '{shown}' need its debug information"]
    if scope is not None and scope.everywhere is None and scope.module == path:
        return [scope.missing]
    name, _, file = node.name.partition("@")
    if file and of_other_file(path, name, low.services) is not None:
        return [f"'{shown}' has a variable '{name}', but none of a file '{file}'"]
    return [f"'{shown}' has no variable '{node.name}' that has an address of its own"]


def _hint_of_program(low: Context, name: str, path: str) -> str:
    """Suggest what the script may have meant by a file or by a variable of it, "" for nothing."""
    programs = low.services.debuginfo.programs
    if namedfiles.unfit(low, path):
        return search.near_path(path)
    if programs.dwarf_at(path) is None:
        return programs.missing_hint(programs.open(path))
    near = near_in_program(low, name, path)
    return f"did you mean {listed(near)}?" if near else ""


def near_in_program(low: Context, name: str, path: str) -> list[str]:
    """List the variables of a program, with debug information, that a name is nearly one of."""
    programs = low.services.debuginfo.programs
    file, dwarf = programs.open(path), programs.dwarf_at(path)
    if dwarf is None:
        return []
    known = {*dwarf.index.variables_like(name), *programs.data(file).names}
    inner = sorted(dwarf.index.variables_within(name))[:6]
    return [row for row in inner + nearest(name, known, 6)
            if of_other_file(path, row, low.services) is not None][:2]  # fmt: skip


def _near(low: Context, name: str, module: str | None) -> list[str]:
    dwarf = low.services.debuginfo.dwarf_of(module)
    return nearest(name, dwarf.index.variables_like(name), 2) if dwarf is not None else []
