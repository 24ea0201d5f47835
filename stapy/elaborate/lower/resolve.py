"""The one worklist of pass 2: probes to handlers, calls to functions, until nothing is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.elaborate.lower.body import EntrySlots, LoweringState
from stapy.elaborate.lower.functions import CalledFunctions
from stapy.elaborate.lower.lowered import Lowered, LoweredProbe
from stapy.elaborate.lower.lowerer import Lowerer
from stapy.elaborate.lower.pending import warn_of
from stapy.elaborate.lower.ruledout import RuledOut
from stapy.elaborate.lower.value_types import ValueTypes
from stapy.elaborate.names import syntax
from stapy.elaborate.names.derived import ConditionPiece, Derived, ScopedBody
from stapy.elaborate.names.points import Points
from stapy.elaborate.names.select import SymbolTable
from stapy.elaborate.typevars import TypeTable
from stapy.ir import program as p
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from stapy.debuginfo.ctypes import CType
    from stapy.diagnostics import Span
    from stapy.ir.scope import TargetScope
    from stapy.probes.family import Match
    from stapy.services import Services


class Resolver:
    """The first half of pass 2: each probe of the scripts becomes handlers."""

    def __init__(
        self,
        services: Services,
        *,
        known: dict[str, CType] | None = None,
    ) -> None:
        self.services = services
        self.types = TypeTable()
        self.names = SymbolTable(services, self.types)
        self.points = Points(self.names, services)
        self.probes: list[LoweredProbe] = []
        self.values = ValueTypes(known)
        self.functions = CalledFunctions(services, self.names, self.types, self.values)
        self._in_context: dict[tuple[int, int], bool] = {}  # by the identity of body and file

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
            list(self.functions.bodies),
            self.names,
            self.types,
            self.values,
            self.points.tree,
            self.functions.unreachable,
            RuledOut(self.functions.ruled_out, self.functions.bodies, self.functions),
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
        lowered = {id(item.source.decl) for item in self.functions.bodies}
        tables = [self.names.functions, *(file.functions for file in self.names.files)]
        for function in [source for table in tables for row in table.values() for source in row]:
            if id(function.decl) not in lowered and not function.file.script.is_library:
                self.functions.copy(function, LoweringState(function.file, None, {}), [])

    def _derive(self, derived: Derived) -> None:
        context = self._needs_context(derived)
        if not context and self._repeats(derived):
            self.probes[-1].matches += derived.matches
            return
        groups: dict[str, tuple[TargetScope | None, list[Match]]] = {}
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
        if any(self._piece_needs_context(piece) for piece in derived.pieces):
            return True
        if any(_is_in_unit(match.site) for match in derived.matches):
            # What names a type or an enumerator without a module asks the probed one, or program.
            return any(
                isinstance(item, n.AtEnum)
                or (isinstance(item, (n.Cast, n.AtEnumName)) and not item.module)
                for piece in derived.pieces
                for item in syntax.walk(piece.body)
            )
        return False

    def _piece_needs_context(self, piece: ScopedBody) -> bool:
        """Tell whether a body reads variables of the probed code; each is looked at once."""
        key = id(piece.body), id(piece.file)
        if key not in self._in_context:
            self._in_context[key] = (
                syntax.uses_context(piece.body)
                or self.functions.traits_below(piece.body, piece.file).uses_context
            )
        return self._in_context[key]

    def _handler(
        self, derived: Derived, scope: TargetScope | None, matches: list[Match]
    ) -> LoweredProbe:
        slots = EntrySlots() if scope is not None and scope.is_return else None
        body = LoweringState(derived.pieces[0].file, scope, {}, entry=slots)
        body.point, body.own, body.use = matches[0].point, derived.own, derived.use
        parts: list[p.Stmt] = []
        for piece in derived.pieces:
            body.file = piece.file
            parts.append(Lowerer(self.functions, body).stmt(piece.body))
            body.before.append(piece.body)
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
            value = Lowerer(self.functions, body).expr(piece.expr)
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


def _is_in_unit(site: object) -> bool:
    """Tell whether a place is in a module or a program, which has types of its own."""
    return bool(getattr(site, "module", None) or getattr(site, "user_files", None))
