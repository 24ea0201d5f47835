"""The one worklist of pass 2: probes to handlers, calls to functions, until nothing is new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.debuginfo import ctypes
from stapy.diagnostics import Label
from stapy.diagnostics.habits import function_hint
from stapy.diagnostics.suggest import nearest
from stapy.elaborate.lower import permission
from stapy.elaborate.lower.body import EntrySlots, FunctionBody, LoweringState
from stapy.elaborate.lower.context import Context
from stapy.elaborate.lower.lowered import Lowered, LoweredProbe
from stapy.elaborate.lower.lowerer import Lowerer
from stapy.elaborate.lower.pending import warn_of
from stapy.elaborate.lower.ruledout import RuledOut
from stapy.elaborate.lower.value_types import ValueTypes, common
from stapy.elaborate.names import privilege, syntax
from stapy.elaborate.names.points import ConditionPiece, Derived, Points
from stapy.elaborate.names.select import FunctionSource, SymbolTable
from stapy.elaborate.typevars import TypeTable
from stapy.ir import program as p
from stapy.ir.walk import walk
from stapy.parse import nodes as n
from stapy.parse.tokens import PRINTERS
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.debuginfo.ctypes import CType
    from stapy.diagnostics import Span
    from stapy.elaborate.names.select import FileScope
    from stapy.ir.scope import TargetScope
    from stapy.services import Services

MAX_SHOWN = 5
POINTER = "pointer:"


class Traits(Record):
    """What copies of a function depend on."""

    uses_context: bool = False
    uses_ctypes: bool = False


class Resolver:
    """State of pass 2's first half."""

    def __init__(
        self,
        services: Services,
        *,
        only_names: bool = False,
        known: dict[str, CType] | None = None,
    ) -> None:
        self.services = services
        self.types = TypeTable()
        self.names = SymbolTable(services, self.types)
        self.points = Points(self.names, services, only_names=only_names)
        self.probes: list[LoweredProbe] = []
        self.functions: list[FunctionBody] = []
        self._made: dict[Any, p.Function] = {}
        self._bodies: dict[str, FunctionBody] = {}
        self._traits: dict[int, Traits] = {}
        self.ruled_out: list[tuple[n.Stmt | n.Expr, LoweringState]] = []
        self.unreachable: set[int] = set()  # overloads that were warned of, by id(decl)
        # Before 1.8 embedded C had the arguments under the names that the script gives them.
        self._plain_names = not services.at_least("1.8")
        self.values = ValueTypes(known)

    # --- the worklist -----------------------------------------------------

    def run(self, scripts: list[n.Script]) -> Lowered:
        """Resolve everything that the scripts need."""
        for script in scripts:
            self.names.add(script)
        at = 0
        while at < len(self.names.probes):
            source = self.names.probes[at]
            at += 1
            for derived in self.points.derive(source):
                self._derive(derived)
        self._uncalled()
        return Lowered(
            self.probes,
            list(self.functions),
            self.names,
            self.types,
            self.values,
            self.points.tree,
            self.unreachable,
            RuledOut(self.ruled_out, self.functions, self),
        )

    def _uncalled(self) -> None:
        """Lower the user's functions that nobody calls.

        SystemTap does not even look up their names: mistakes in them are warnings.
        """
        if self.services.options.unoptimized:
            self._lower_uncalled()
            return
        with self.services.diagnostics.quiet() as heard:
            self._lower_uncalled()
        warn_of(heard.errors, self.services.diagnostics)

    def _lower_uncalled(self) -> None:
        lowered = {id(item.source.decl) for item in self.functions}
        tables = [self.names.functions, *(file.functions for file in self.names.files)]
        for function in [source for table in tables for row in table.values() for source in row]:
            if id(function.decl) not in lowered and not function.file.script.is_library:
                self._function(function, LoweringState(function.file, None, {}), [])

    def _derive(self, derived: Derived) -> None:
        context = self._needs_context(derived)
        if not context and self._repeats(derived):
            self.probes[-1].matches += derived.matches
            return
        groups: dict[str, tuple[TargetScope | None, list[Any]]] = {}
        for match in derived.matches:
            scope = derived.family.scope(match.site, self.services) if context else None
            key = scope.key if scope is not None else ""
            groups.setdefault(key, (scope, []))[1].append(match)
        for scope, matches in groups.values():
            raw = self._handler(derived, scope, matches)
            raw.means_the_same_everywhere = not context and not derived.conditions
            self.probes.append(raw)

    def _repeats(self, derived: Derived) -> bool:
        """Tell whether the probe before is the same but for its places.

        An alias for a system call stands for two or three functions.
        """
        if not self.probes or not self.probes[-1].means_the_same_everywhere or derived.conditions:
            return False
        last = self.probes[-1].derived
        return (
            len(last.pieces) == len(derived.pieces)
            and all(
                one.body is other.body and one.file is other.file
                for one, other in zip(last.pieces, derived.pieces)
            )
            and last.own is derived.own
            and (last.family.name, last.written, last.alias, last.chain, last.span, last.use)
            == (
                derived.family.name,
                derived.written,
                derived.alias,
                derived.chain,
                derived.span,
                derived.use,
            )
        )

    def _needs_context(self, derived: Derived) -> bool:
        for piece in derived.pieces:
            if syntax.uses_context(piece.body) or self._calls(piece.body, piece.file).uses_context:
                return True
        if any(_is_in_unit(match.site) for match in derived.matches):
            # A cast without a module asks the probed module, or program, first.
            return any(
                isinstance(item, n.Cast) and not item.module
                for piece in derived.pieces
                for item in syntax.walk(piece.body)
            )
        return False

    def _handler(
        self, derived: Derived, scope: TargetScope | None, matches: list[Any]
    ) -> LoweredProbe:
        slots = EntrySlots() if scope is not None and scope.is_return else None
        body = LoweringState(derived.pieces[0].file, scope, {}, entry=slots)
        body.point, body.own, body.use = matches[0].point, derived.own, derived.use
        parts: list[p.Stmt] = []
        for piece in derived.pieces:
            body.file = piece.file
            parts.append(Lowerer(self, body).stmt(piece.body))
        whole = parts[0] if len(parts) == 1 else p.Block(derived.span, parts)
        condition = self._condition(derived.conditions) if derived.conditions else None
        return LoweredProbe(derived, matches, whole, body.locals, slots, condition)

    def _condition(self, pieces: list[ConditionPiece]) -> p.Expr | None:
        """Lower all conditions of a point, joined by ``&&``; None when it has none."""
        result: p.Expr | None = None
        for piece in pieces:
            if not self._condition_allowed(piece):
                continue
            body = LoweringState(piece.file, None, {})
            value = Lowerer(self, body).expr(piece.expr)
            if result is None:
                result = value
            else:
                result = p.LogicalOp(result.span, p.LONG, "&&", result, value)
        return result

    def _condition_allowed(self, piece: ConditionPiece) -> bool:
        for item in syntax.walk(piece.expr):
            if isinstance(item, n.Name) and self.names.find_global(item.name, piece.file) is None:
                self._condition_error("reference undeclared global", item.span)
                return False
            if isinstance(item, (n.Assign, n.Increment)):
                self._condition_error("modify any variables", item.span)
                return False
            if isinstance(item, n.Call):
                self._condition_error("include any function calls", item.span)
                return False
            if isinstance(item, (n.Target, n.Cast, n.AutoCast, n.AtVar, n.Entry)):
                self._condition_error("reference target variables", item.span)
                return False
        return True

    def _condition_error(self, what: str, span: Span) -> None:
        self.services.diagnostics.error(
            "semantic error",
            "E0237",
            f"probe condition must not {what}",
            span,
            hint="a condition may only read global variables",
        )

    # --- functions ----------------------------------------------------------

    def request(self, low: Context, node: n.Call, args: list[p.Expr]) -> p.Function | None:
        """Find the function that a call means; None (reported) when there is none."""
        sources = self.names.find_functions(node.name, low.body.file)
        if not sources:
            self._unknown_function(low, node)
            return None
        fitting = [s for s in sources if len(s.decl.params) == len(node.args)]
        if not fitting:
            self._wrong_count(node, sources)
            return None
        permission.check_call(low, node, fitting)
        return self._chain(fitting, low.body, args, node.span)

    def library_call(
        self, low: Context, name: str, args: list[p.Expr], span: Span
    ) -> p.Expr | None:
        """Build a call of a library function by name; None when the library does not have it."""
        sources = self.names.find_functions(name, low.body.file)
        fitting = [s for s in sources if len(s.decl.params) == len(args)]
        if not fitting:
            return None
        function = self._chain(fitting, low.body, args, span)
        return p.CallOp(span, function.type, function, args)

    def _chain(
        self, sources: list[FunctionSource], body: LoweringState, args: list[p.Expr], use: Span
    ) -> p.Function:
        first, rest = sources[0], sources[1:]
        privilege.check_function(self.services, first.decl, use)
        function = self._function(first, body, args)
        if rest and not syntax.has_next(first.decl):
            self._warn_unreachable(rest[0], first)
        elif rest and function.next is None:
            function.next = self._chain(rest, body, args, use)
            following = function.next
            kinds = [(function.type, following.type)]
            kinds += [(a.type, b.type) for a, b in zip(function.params, following.params)]
            for mine, other in kinds:
                if not self.types.unify(mine, other, function.span):
                    self._overloads_differ(function, following, mine, other)
        return function

    def _overloads_differ(
        self, first: p.Function, later: p.Function, mine: p.Type, other: p.Type
    ) -> None:
        """Report an overload whose type differs: one call goes from overload to overload."""
        expected, found = self.types.find(mine), self.types.find(other)
        self.services.diagnostics.error(
            "semantic error",
            "E0301",
            f"type mismatch: expected {expected} but found {found}",
            later.span,
            where=f"this overload of '{later.name}' has a {found}",
            labels=[Label(first.span, f"the one before it has a {expected}")],
        )

    def _warn_unreachable(self, later: FunctionSource, first: FunctionSource) -> None:
        if later.file.script.is_library:
            return
        self.unreachable.add(id(later.decl))
        self.services.diagnostics.warning(
            "W0608",
            f"unreachable overload of function '{later.decl.name}'",
            later.decl.span,
            where="no call gets here",
            labels=[Label(first.decl.span, "this one takes every call: it has no 'next'")],
        )

    def _function(
        self, source: FunctionSource, body: LoweringState, args: list[p.Expr]
    ) -> p.Function:
        traits = self._traits_of(source)
        known = [self.values.ctype(arg) for arg in args]
        key: Any = (
            id(source.decl),
            # Slots are numbered per probe, so a function that saves some is its own.
            (body.scope.key if body.scope is not None else "", body.at_entry, id(body.entry))
            if traits.uses_context
            else None,
            tuple(ctypes.c_name(t) if t is not None else "" for t in known)
            if traits.uses_ctypes
            else None,
        )
        function = self._made.get(key)
        if function is not None:
            return function
        function = self._declare(source)
        self._made[key] = function
        inner = LoweringState(
            source.file,
            body.scope if traits.uses_context else None,
            {v.name: v for v in function.params},
            function=function,
            entry=body.entry if traits.uses_context else None,
            at_entry=body.at_entry if traits.uses_context else False,
        )
        inner.point, inner.use = body.point, body.use
        if traits.uses_ctypes:  # made for arguments of these types
            for variable, type in zip(function.params, known):
                inner.ctypes[variable.name] = type
        record = FunctionBody(function, source, inner.locals)
        self.functions.append(record)
        self._bodies[function.c_name] = record
        if source.decl.body is not None:
            function.body = Lowerer(self, inner).stmt(source.decl.body)
            record.returns = self._return_ctypes(function.body)
        return function

    def _declare(self, source: FunctionSource) -> p.Function:
        decl = source.decl
        c_name = self.names.unique("f_", decl.name)
        # Without a type in the end the function is void.
        kind = p.WRITTEN[decl.type] if decl.type else self.types.new()
        params = []
        for param in decl.params:
            open_kind = self.types.new()
            if param.type:
                self.types.unify(open_kind, p.WRITTEN[param.type], param.span)
            params.append(p.Variable(param.name, open_kind))
        marks = syntax.markers(decl.code) if decl.code is not None else set()
        marks |= privilege.asserted(self.services, marks)
        if self._plain_names:
            marks.add("unmangled")
        return p.Function(
            decl.name, c_name, kind, params, code=decl.code, markers=marks, span=decl.span
        )

    def _traits_of(self, source: FunctionSource) -> Traits:
        known = self._traits.get(id(source.decl))
        if known is not None:
            return known
        traits = Traits()
        self._traits[id(source.decl)] = traits
        decl = source.decl
        if decl.body is not None:
            below = self._calls(decl.body, source.file)
            traits.uses_context = syntax.uses_context(decl.body) or below.uses_context
            traits.uses_ctypes = below.uses_ctypes or any(
                isinstance(item, n.AutoCast) for item in syntax.walk(decl.body)
            )
        return traits

    def _calls(self, node: n.Node, file: FileScope) -> Traits:
        """Find what the functions called below a tree depend on."""
        result = Traits()
        for name in sorted(syntax.called(node)):
            for source in self.names.find_functions(name, file):
                below = self._traits_of(source)
                result.uses_context = result.uses_context or below.uses_context
                result.uses_ctypes = result.uses_ctypes or below.uses_ctypes
        return result

    def _unknown_function(self, low: Context, node: n.Call) -> None:
        names = sorted({*self.names.function_names(low.body.file), *PRINTERS})
        near = nearest(node.name, names, MAX_SHOWN)
        text = f"unresolved function {node.name}"
        if near:
            text += f" (similar: {', '.join(near)})"
        low.error(
            "E0201",
            text,
            node.span,
            where="no function of this name",
            hint=function_hint(node.name) or (f"did you mean '{near[0]}'?" if near else ""),
        )

    def _wrong_count(self, node: n.Call, sources: list[FunctionSource]) -> None:
        first = sources[0].decl
        counts = sorted({len(s.decl.params) for s in sources})
        takes = " or ".join(str(count) for count in counts)
        self.services.diagnostics.error(
            "semantic error",
            "E0206",
            f"arity mismatch found (function '{node.name}' takes {takes} args)",
            node.span,
            where=f"{len(node.args)} given",
            labels=[Label(first.span, f"'{node.name}' is defined here")],
        )

    def result_ctype(self, function: p.Function) -> CType | None:
        """Find the C type of what a function returns, None when it is not known.

        Embedded C says to which structure of the kernel it points: ``/* pointer:NAME */``.
        """
        for mark in function.markers:
            if mark.startswith(POINTER):
                type = self.services.debuginfo.type(mark[len(POINTER) :], ["kernel"])
                return ctypes.Pointer(type) if type is not None else None
        record = self._bodies.get(function.c_name)
        returns = record.returns if record is not None else []
        return common([type for type in returns if type is not None])

    def _return_ctypes(self, body: p.Stmt) -> list[CType | None]:
        return [
            self.values.ctype(item.value)
            for item in walk(body)
            if isinstance(item, p.Return)
            and item.value is not None
            and not isinstance(item.value, p.Const)
        ]


def _is_in_unit(site: Any) -> bool:
    """Tell whether a place is in a module or a program, which has types of its own."""
    return bool(getattr(site, "module", None) or getattr(site, "user_files", None))
