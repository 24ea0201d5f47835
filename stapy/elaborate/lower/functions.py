"""Functions that are called: which one a call means, and one copy for each use that differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes
from stapy.diagnostics import Label
from stapy.diagnostics.habits import function_hint
from stapy.diagnostics.suggest import nearest
from stapy.elaborate.lower import permission
from stapy.elaborate.lower.body import FunctionBody, LoweringState
from stapy.elaborate.lower.context import Context
from stapy.elaborate.lower.lowerer import Lowerer
from stapy.elaborate.lower.value_types import ValueTypes, common
from stapy.elaborate.names import privilege, syntax
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
    from stapy.services import Services

MAX_SHOWN = 5
_WITH_PARENTHESES = ("if", "while", "for", "foreach", "return", "delete", "catch")
POINTER = "pointer:"


class Traits(Record):
    """What copies of a function depend on."""

    uses_context: bool = False
    uses_ctypes: bool = False

    def add(self, below: Traits) -> None:
        """Take in those of a function that is called."""
        self.uses_context = self.uses_context or below.uses_context
        self.uses_ctypes = self.uses_ctypes or below.uses_ctypes


# A declaration; what it depends on of the probe that it is called from; the C types of arguments.
CopyKey = tuple[int, "tuple[str, bool, int] | None", "tuple[str, ...] | None"]


class CalledFunctions:
    """All copies of functions; what they, and handlers, ask while they are lowered (`Worklist`)."""

    def __init__(
        self,
        services: Services,
        names: SymbolTable,
        types: TypeTable,
        values: ValueTypes,
    ) -> None:
        self.services = services
        self.names = names
        self.types = types
        self.values = values
        self.bodies: list[FunctionBody] = []
        self.ruled_out: list[tuple[n.Stmt | n.Expr, LoweringState]] = []
        self.unreachable: set[int] = set()  # overloads that were warned of, by id(decl)
        self._made: dict[CopyKey, p.Function] = {}
        self._by_name: dict[str, FunctionBody] = {}
        self._traits: dict[int, Traits] = {}
        self._near: dict[tuple[str, int], list[str]] = {}  # of wrong names, each file's
        # Before 1.8 embedded C had the arguments under the names that the script gives them.
        self._plain_names = not services.at_least("1.8")

    def request(self, low: Context, node: n.Call, args: list[p.Expr]) -> p.Function | None:
        """Find the function that a call means; None (reported) when there is none."""
        sources = self.names.find_functions(node.name, low.body.file)
        if not sources:
            self._unknown_function(low, node)
            return None
        fitting = _taking(len(node.args), sources)
        if not fitting:
            self._wrong_count(node, sources)
            return None
        permission.check_call(low, node, fitting)
        return self._chain(fitting, low.body, args, node.span)

    def library_call(
        self, low: Context, name: str, args: list[p.Expr], span: Span
    ) -> p.Expr | None:
        """Build a call of a library function by name; None when the library does not have it."""
        fitting = _taking(len(args), self.names.find_functions(name, low.body.file))
        if not fitting:
            return None
        function = self._chain(fitting, low.body, args, span)
        return p.CallOp(span, function.type, function, args)

    def _chain(
        self, sources: list[FunctionSource], body: LoweringState, args: list[p.Expr], use: Span
    ) -> p.Function:
        first, rest = sources[0], sources[1:]
        privilege.check_function(self.services, first.decl, use)
        function = self.copy(first, body, args)
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

    def copy(self, source: FunctionSource, body: LoweringState, args: list[p.Expr]) -> p.Function:
        """Return the copy of a function for a call from this body; it is lowered when it is new."""
        traits = self._traits_of(source)
        known = [self.values.ctype(arg) for arg in args]
        key: CopyKey = (
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
        self.bodies.append(record)
        self._by_name[function.c_name] = record
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
            traits.uses_context = syntax.uses_context(decl.body)
            traits.uses_ctypes = any(
                isinstance(item, n.AutoCast) for item in syntax.walk(decl.body)
            )
            traits.add(self.traits_below(decl.body, source.file))
        return traits

    def traits_below(self, node: n.Node, file: FileScope) -> Traits:
        """Find what the functions called below a tree depend on."""
        result = Traits()
        for name in sorted(syntax.called(node)):
            for source in self.names.find_functions(name, file):
                result.add(self._traits_of(source))
        return result

    def _unknown_function(self, low: Context, node: n.Call) -> None:
        near = self._similar(node.name, low.body.file)
        text = f"unresolved function {node.name}"
        if near:
            text += f" (similar: {', '.join(near)})"
        low.error(
            "E0201",
            text,
            node.span,
            where="no function of this name",
            hint=function_hint(node.name) or _near_hint(node.name, near),
        )

    def _similar(self, name: str, file: FileScope) -> list[str]:
        """Find functions of names like a wrong one; once, however often a file calls it."""
        asked = (name, id(file))
        found = self._near.get(asked)
        if found is None:
            names = sorted({*self.names.function_names(file), *PRINTERS})
            found = self._near[asked] = nearest(name, names, MAX_SHOWN)
        return found

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
            hint=function_hint(node.name),
        )

    def result_ctype(self, function: p.Function) -> CType | None:
        """Find the C type of what a function returns, None when it is not known.

        Embedded C says to which structure of the kernel it points: ``/* pointer:NAME */``.
        """
        for mark in function.markers:
            if mark.startswith(POINTER):
                type = self.services.debuginfo.type(mark[len(POINTER) :], ["kernel"])
                return ctypes.Pointer(type) if type is not None else None
        record = self._by_name.get(function.c_name)
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


def _taking(count: int, sources: list[FunctionSource]) -> list[FunctionSource]:
    """List the overloads that take so many arguments."""
    return [source for source in sources if len(source.decl.params) == count]


def _near_hint(name: str, near: list[str]) -> str:
    """Suggest a keyword such as ``while`` for a mistyped one, or a function; "" for neither."""
    words = [word for word in _WITH_PARENTHESES if len(word) > 3 or sorted(word) == sorted(name)]
    keywords = nearest(name, words, 1)
    best = nearest(name, [*near[:1], *keywords], 1)
    return f"did you mean '{best[0]}'?" if best else ""
