"""What lowering any construct may ask: messages, variables, and the worklist of pass 2."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol

from stapy.diagnostics import Diagnostic, Label, Span, used_at
from stapy.diagnostics.foreign_expressions import array_hint
from stapy.diagnostics.suggest import nearest
from stapy.elaborate.lower.body import LoweringState
from stapy.elaborate.lower.pending import Pending
from stapy.ir import program as p
from stapy.parse import nodes as n
from stapy.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.debuginfo.ctypes import CType
    from stapy.elaborate.lower.value_types import ValueTypes
    from stapy.elaborate.names.select import SymbolTable
    from stapy.elaborate.typevars import TypeTable
    from stapy.services import Services


class Worklist(Protocol):
    """What a body that is being lowered asks of the loop around it."""

    services: Services
    names: SymbolTable
    types: TypeTable
    values: ValueTypes
    ruled_out: list[tuple[n.Stmt | n.Expr, LoweringState]]

    def request(self, low: Context, node: n.Call, args: list[p.Expr]) -> p.Function | None:
        """Find the function that a call means; None (reported) when there is none."""

    def library_call(
        self, low: Context, name: str, args: list[p.Expr], span: Span
    ) -> p.Expr | None:
        """Build a call of a library function by name; None when the library does not have it."""

    def result_ctype(self, function: p.Function) -> CType | None:
        """Find the C type of what a function returns, None when it is not known."""


class Context(ABC):
    """One body as all constructs see it; expressions go back to who knows them all."""

    def __init__(self, worklist: Worklist, body: LoweringState) -> None:
        self.worklist = worklist
        self.services = worklist.services
        self.names = worklist.names
        self.types = worklist.types
        self.values = worklist.values
        self.body = body

    def error(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        where: str = "",
        labels: list[Label] | None = None,
        notes: list[str] | None = None,
        hint: str = "",
    ) -> p.Expr:
        """Report a mistake; the result is a value that goes on without further complaints."""
        self.services.diagnostics.error(
            "semantic error",
            code,
            message,
            span,
            where=where,
            labels=labels,
            notes=notes,
            hint=hint,
        )
        return p.Const(span, self.types.new(), 0)

    def pending(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        where: str = "",
        notes: list[str] | None = None,
        hint: str = "",
        explain: Callable[[Diagnostic], None] | None = None,
    ) -> Pending:
        """Make the `Pending` of a mistake that only counts when the value is used."""
        labels = used_at(span, self.body.use, "for this probe point")
        kind = "semantic error"
        item = Diagnostic(
            Diagnostic.ERROR, kind, code, message, span, where, labels, notes or [], hint
        )
        return Pending(span, self.types.new(), item, self.body.point, explain)

    def local(self, name: str, kind: p.Type | None = None) -> p.Variable:
        """Find the local variable of that name; make it on first use."""
        found = self.body.locals.get(name)
        if found is None:
            found = p.Variable(name, kind or self.types.new())
            self.body.locals[name] = found
        return found

    def hidden(self, hint: str, kind: p.Type | None = None) -> p.Variable:
        """Make a local variable that no script can name."""
        self.body.hidden += 1
        return self.local(f"__{hint}{self.body.hidden}", kind)

    def is_parameter(self, name: str) -> bool:
        """Tell whether a name is a parameter of the function being lowered: it hides a global."""
        function = self.body.function
        return function is not None and any(v.name == name for v in function.params)

    def global_(self, name: str) -> p.Global | None:
        """Find the global that a name means here, None for a local."""
        if self.is_parameter(name):
            return None
        return self.names.find_global(name, self.body.file)

    def rule_out(self, node: n.Stmt | n.Expr | None) -> None:
        """Remember a branch of the user's that ``@defined`` leaves out, for its types."""
        body = self.body
        if node is not None and not body.file.script.is_library:
            self.worklist.ruled_out.append((node, replace(body)))

    def array(self, node: n.Name, arity: int) -> p.Global | None:
        """Find the global array of that name with ``arity`` keys; None (reported) if none is."""
        var = self.global_(node.name)
        if var is None:
            self.missing_array(node.name, arity, node.span)
            return None
        return var if self.names.note_arity(var, arity, node.span) else None

    def missing_array(self, name: str, arity: int, span: Span) -> p.Expr:
        """Report an array that is not declared."""
        near = nearest(name, self.names.global_names(self.body.file), 3)
        notes = [f"globals with similar names: {', '.join(near)}"] if near else []
        return self.error(
            "E0202",
            f"unresolved arity-{arity} global array {name}, missing global declaration?",
            span,
            notes=notes,
            hint=array_hint(name) or f"add 'global {name}' at the top level",
        )

    @abstractmethod
    def expr(self, node: n.Expr) -> p.Expr:
        """Lower an expression."""
