"""Types, enumerators and constants that a script names: casts and their kin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes, view
from stapy.debuginfo.user import search
from stapy.diagnostics import Diagnostic
from stapy.diagnostics.foreign_expressions import array_hint, member_hint
from stapy.diagnostics.suggest import listed
from stapy.elaborate.lower import namedfiles
from stapy.elaborate.lower.chains import Place, is_user
from stapy.elaborate.lower.pending import Pending
from stapy.elaborate.lower.values import finish
from stapy.ir import program as p
from stapy.ir.literals import of_files
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from stapy.diagnostics import Span
    from stapy.elaborate.lower.context import Context
    from stapy.ir.scope import TargetScope


def current_scope(low: Context) -> TargetScope | None:
    """Return the scope that ``$name`` is looked up in, None where the probe has none."""
    scope = low.body.scope
    if scope is not None and low.body.at_entry:
        return scope.entry or scope
    return scope


def enumerator(low: Context, name: str) -> int | None:
    """Find the value of an enumerator, the probed module's before the kernel's; None if unknown."""
    scope = current_scope(low)
    modules = [scope.module] if scope is not None and scope.module != "kernel" else []
    found: int | None = low.services.debuginfo.enumerator(name, modules)
    return found


def modules_of(low: Context, module: str) -> list[str]:
    """List where to look for a type: the modules named, else the probed one and the kernel."""
    if module:
        return [_unit(low, part) for part in of_files(module).split(":") if part]
    scope = low.body.scope
    probed = scope is not None and low.services.at_least("4.3")  # until then always the kernel
    first = [scope.module] if scope is not None and probed and scope.module != "kernel" else []
    return [*first, "kernel"]


def _unit(low: Context, name: str) -> str:
    """Resolve a unit's name: a module or header as it is, a program to its path."""
    if name in ("kernel", "vmlinux") or "<" in name or '"' in name:
        return name
    if "/" not in name and low.services.debuginfo.module_names(name):
        return name
    return search.code_of(name) or name


def _named_type(low: Context, name: str, module: str) -> ctypes.CType | None:
    """Find a type by name, each ``*`` at its end making a pointer; None if it is unknown."""
    bare = name.strip()
    stars = 0
    while bare.endswith("*"):
        bare = bare[:-1].rstrip()
        stars += 1
    found: ctypes.CType | None
    modules = modules_of(low, module)
    if bare == "void":
        found = ctypes.Void()
    elif module and _are_programs(modules) and not _is_of_program(low, bare, modules):
        found = None  # the kernel may have another one of that name
    else:
        found = low.services.debuginfo.type(bare, modules)
    for _ in range(stars):
        found = ctypes.Pointer(found) if found is not None else None
    return found


def _are_programs(modules: list[str]) -> bool:
    return all(name.startswith("/") for name in modules)


def _missing_type(low: Context, name: str, module: str, span: Span) -> p.Expr:
    modules = modules_of(low, module)
    where = ":".join(map(view.shown, modules))
    hint = "look at the spelling; 'struct x', 'union x', 'enum x' and typedefs are known"
    notes, other = namedfiles.problems(low, modules) if module else ([], "")
    if notes:
        text = f"type definition '{name}' not found in '{where}'"
        return low.pending("E0248", text, span, where="unknown type", notes=notes, hint=other)

    def similar(item: Diagnostic) -> None:
        programs = low.services.debuginfo.programs
        bare = [one for one in modules if one.startswith("/") and programs.dwarf_at(one) is None]
        if bare:
            item.notes += [
                f"types of '{view.shown(one)}' need its debug information" for one in bare
            ]
            item.hint = programs.missing_hint(programs.open(bare[0])) or item.hint
            return
        near = low.services.debuginfo.similar_types(name.strip("* "), 2)
        item.hint = f"did you mean {listed(near)}?" if near else item.hint

    text = f"type definition '{name}' not found in '{where}'"
    return low.pending("E0248", text, span, where="unknown type", hint=hint, explain=similar)


def cast_place(low: Context, node: n.Cast) -> Place | p.Expr:
    """Find what a cast's value points to; a `Pending` or error value when the cast is wrong."""
    value = low.expr(node.value)
    if isinstance(value, Pending):
        return value
    type = _named_type(low, node.type, node.module)
    if type is None:
        return _missing_type(low, node.type, node.module, node.span)
    modules = modules_of(low, node.module)
    _warn_of_files(low, modules if node.module else [], node.span)
    user = _is_user_value(low, value) or _is_of_program(low, node.type, modules)
    if isinstance(ctypes.strip(type), (ctypes.Pointer, ctypes.Array)) and not node.type.endswith(
        "*"
    ):
        return Place(
            ctypes.Pointer(type, is_user=user), value, is_user=user, writable=True, modules=modules
        )
    if node.type.rstrip().endswith("*"):
        return Place(type, value, is_user=user, writable=True, modules=modules)
    return Place(
        ctypes.Pointer(type, is_user=user), value, is_user=user, writable=True, modules=modules
    )


def _warn_of_files(low: Context, modules: list[str], span: Span) -> None:
    """Tell of files that a cast names and nobody can read, when its type was found elsewhere."""
    for path in modules:
        why = namedfiles.unfit(low, path) if path.startswith("/") else ""
        if why:
            low.services.diagnostics.warning(
                "W0680", f"a file that is named for types is left out: {why}", span,
                where="the type was found elsewhere", hint=search.near_path(path)
            )  # fmt: skip


def _is_of_program(low: Context, name: str, modules: list[str]) -> bool:
    """Tell whether a user program's file gives a type: its values are in that memory."""
    bare = name.strip().rstrip("* ")
    info = low.services.debuginfo
    for path in modules:
        dwarf = info.programs.dwarf_at(path) if path.startswith("/") else None
        if dwarf is not None and info.safe(None, dwarf.type, bare) is not None:
            return True
    return False


def _is_user_value(low: Context, value: p.Expr) -> bool:
    type = low.values.ctype(value)
    return type is not None and is_user(type)


def cast(low: Context, node: n.Cast) -> p.Expr:
    """Lower ``@cast(value, "type", "module")`` with its chain."""
    place = cast_place(low, node)
    if not isinstance(place, Place):
        return place
    # A cast stands for what the pointer points to: its address is the pointer.
    take_address = node.address_of and bool(node.chain)
    result = finish(low, place, node.chain, node.span, take_address)
    if not node.chain:
        result = p.BinaryOp(node.span, p.LONG, "+", result, p.Const(node.span, p.LONG, 0))
        low.values.remember(result, place.type)
    return result


def autocast(low: Context, node: n.AutoCast) -> p.Expr:
    """Lower ``value->member``, where the type is what is known of the value.

    Mistakes and faults are told at the first ``->``, as SystemTap does: the value may be long.
    """
    value = low.expr(node.value)
    if isinstance(value, Pending):
        return value
    type = low.values.ctype(value)
    span = node.chain[0].span if node.chain else node.span
    if type is None:
        low.values.want(low.body, value)
        cause = low.body.causes.get(value.name) if isinstance(value, p.LocalRef) else None
        if cause is not None:  # one message for what follows from one mistake
            why, point, explain = cause.diagnostic, cause.point, cause.explain
            return Pending(span, low.types.new(), why, point, explain, value)
        unknown = low.pending(
            "E0249",
            "unknown type in dereference",
            span,
            where="the C type of the value is not known",
            hint=foreign(node) or 'write @cast(value, "struct name")->member',
        )
        unknown.of = value
        return unknown
    place = Place(type, value, writable=True)
    return finish(low, place, node.chain, span, node.address_of)


def foreign(node: n.Expr) -> str:
    """Tell how a member of a variable of another tracer is written here; else ""."""
    if not isinstance(node, n.AutoCast):
        return ""
    value, first = node.value, node.chain[0] if node.chain else None
    if isinstance(value, n.Index) and isinstance(value.base, n.Name):
        return array_hint(value.base.name)
    if isinstance(value, n.Name) and isinstance(first, n.MemberAccess):
        return member_hint(value.name, first.name)
    return ""


def at_const(low: Context, node: n.AtConst) -> p.Expr:
    """Lower ``@const("C expression")``: a number, an enumerator, or what the compiler says."""
    text = node.text.strip()
    if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)", text):
        return p.Const(node.span, p.LONG, int(text, 0))
    value = enumerator(low, text)
    if value is not None:
        return p.Const(node.span, p.LONG, value)
    if not re.fullmatch(r"[\w\s()+\-*/%|&^~<>=!?:,.\"']+", text):
        return low.error("E0257", f"@const: '{text}' is not a constant expression", node.span)
    # The initialiser of a static variable has to be a constant: no call, no side effect.
    code = f"({{ static const int64_t _value = (int64_t)({text}); _value; }})"
    return p.EmbeddedValue(node.span, p.LONG, code, {"pure", "unprivileged", "const"})


def at_enum(low: Context, node: n.AtEnum) -> p.Expr:
    """Lower ``@enum("NAME")`` to its value; a `Pending` error when no enumeration has it."""
    value = enumerator(low, node.name)
    if value is not None:
        return p.Const(node.span, p.LONG, value)

    def similar(item: Diagnostic) -> None:
        near = low.services.debuginfo.similar_enumerators(node.name, 2)
        item.hint = f"did you mean {listed(near)}?" if near else ""

    text = f"enumerator '{node.name}' not found"
    return low.pending("E0248", text, node.span, where="unknown enumerator", explain=similar)


def at_enum_name(low: Context, node: n.AtEnumName) -> p.Expr:
    """Lower ``@enumname(value[, "type"])``, the name of a value, to a chain of conditions."""
    value = low.expr(node.value)
    type = None
    if node.type:
        bare = node.type if node.type.startswith("enum ") else f"enum {node.type}"
        type = _named_type(low, bare, node.module) or _named_type(low, node.type, node.module)
        if type is None:
            return _missing_type(low, node.type, node.module, node.span)
    else:
        type = low.values.ctype(value)
    enum = ctypes.strip(type) if type is not None else None
    if not isinstance(enum, ctypes.Enum):
        return low.pending(
            "E0248",
            "@enumname: the value is of no enumeration type",
            node.span,
            hint='name the type: @enumname(value, "enum name")',
        )
    if isinstance(value, Pending):
        return value
    number = p.FormatPiece("d")
    result: p.Expr = p.PrintOp(node.span, p.STRING, [number], [value])
    seen: set[int] = set()
    for item in reversed(enum.values):
        if item.value in seen:
            continue
        seen.add(item.value)
        same = p.BinaryOp(node.span, p.LONG, "==", value, p.Const(node.span, p.LONG, item.value))
        name = p.Text(node.span, p.STRING, item.name)
        result = p.Conditional(node.span, p.STRING, same, name, result)
    return result
