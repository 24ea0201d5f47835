"""What the grammar's actions do beyond putting nodes together: the checks of pass 1."""

from __future__ import annotations

from stapy.diagnostics import Diagnostics, Label, Span
from stapy.parse import nodes as n
from stapy.parse.comments import doc_before
from stapy.parse.expressions import ExpressionActions
from stapy.parse.facts import PreprocessFacts
from stapy.parse.tokens import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    # What rules of the grammar hand on: a loop variable with its sort mark; what stands between the
    # parentheses of a foreach (value, keys, array, slice, operator and sort mark, limit); what a
    # global begins with; a function (name, type, parameters, priority, body or C).
    SortedKey = tuple[n.ForeachKey, Token | None]
    ForeachHead = tuple[
        SortedKey | None,
        list[SortedKey],
        n.Expr,
        list[n.Expr | None] | None,
        tuple[Token | None, Token | None],
        n.Expr | None,
    ]
    Initial = tuple[Token, n.Number | n.String]
    FunctionRest = tuple[Token, str, list[n.Param], int | None, n.Stmt | str]


class GrammarActions(ExpressionActions):
    """One run of the grammar over one text: expressions, statements and declarations."""

    def __init__(
        self, diagnostics: Diagnostics, facts: PreprocessFacts, source: int, *, is_library: bool
    ) -> None:
        super().__init__(diagnostics, facts, is_library=is_library)
        self.source = source
        self.is_library = is_library
        self._returns: list[Span] = []
        self._globals: dict[str, n.GlobalDecl] = {}

    # --- statements ---------------------------------------------------------

    def statement(self, node: n.Stmt | None, before: Token) -> n.Stmt:
        """Return a statement that must be there, an empty one for one lost to a parse error."""
        return node if node is not None else n.EmptyStmt(before.span)

    def expression_statement(self, expr: n.Expr) -> n.Stmt:
        """Build an expression on its own; C code alone is a statement of its own kind."""
        if isinstance(expr, n.EmbeddedExpr):
            return n.EmbeddedStmt(expr.span, expr.code)
        return n.ExprStmt(expr.span, expr)

    def foreach_key(self, name: Token, direction: Token | None) -> SortedKey:
        """Build one loop variable; return it and the sort mark behind it."""
        sort = 0 if direction is None else 1 if direction.value == "+" else -1
        span = name.span.to(direction.span) if direction else name.span
        return n.ForeachKey(span, name.value, sort), direction

    def foreach(self, keyword: Token, head: ForeachHead, body: n.Stmt) -> n.ForeachStmt:
        """Put a loop together; report more than one thing to sort by."""
        value, keys, array, indexes, (operator, mark), limit = head
        marks = [m for _, m in ([value] if value else []) + keys if m] + ([mark] if mark else [])
        if len(marks) > 1:
            self.error(
                "E0146",
                "multiple sort directives",
                marks[1].span,
                "a second sort mark",
                labels=[Label(marks[0].span, "the loop is already sorted by this")],
            )
        sort = 0 if mark is None else 1 if mark.value == "+" else -1
        return n.ForeachStmt(
            keyword.span.to(body.span),
            [key for key, _ in keys],
            value[0] if value else None,
            array,
            indexes,
            sort,
            operator.value[1:] if operator else "",
            limit,
            body,
        )

    def jump(self, token: Token) -> n.Stmt:
        """Build ``break``, ``continue`` or ``next``."""
        kinds: dict[str, type[n.Stmt]] = {
            "BREAK": n.BreakStmt,
            "CONTINUE": n.ContinueStmt,
            "NEXT": n.NextStmt,
        }
        return kinds[token.type](token.span)

    def nothing_returned(self, following: Token) -> None:
        """Report a ``return`` without value unless ``}`` follows: one may be in the next line."""
        if following.type != "RBRACE":
            self.error(
                "E0105",
                "expected literal string or number",
                following.span,
                f"found {following.describe()} where 'return' has its value",
                hint="write 'return;' to return nothing",
            )

    def return_statement(self, token: Token, value: n.Expr | None) -> n.ReturnStmt:
        """Build ``return`` and note its place; a probe's body has nobody to return to."""
        self._returns.append(token.span)
        return n.ReturnStmt(token.span.to(value.span) if value else token.span, value)

    # --- declarations -------------------------------------------------------

    def end_body(self, *, in_function: bool) -> None:
        """Report what the completed body of a declaration may not hold, and forget it."""
        if not in_function:
            for span in self._returns:
                self.error(
                    "E0148",
                    "found 'return' not in function context",
                    span,
                    "a probe has nobody to return to",
                    hint="use 'next' to leave a probe's handler",
                )
        for histogram in self._histograms:
            self.error(
                "E0151",
                "base histogram operator where expression expected",
                histogram.span,
                "a histogram is not a value",
                hint="print it, ask for one bucket with '[…]', or go over it with 'foreach'",
            )
        self._returns, self._histograms, self._closed = [], [], []

    def forget_body(self) -> None:
        """Forget what a parse error left unfinished."""
        self._returns, self._histograms, self._closed = [], [], []

    def embedded_declaration(self, token: Token) -> list[n.Decl]:
        """Build ``%{ C %}`` between declarations."""
        self.need_guru_code(token, "")
        return [n.EmbeddedDecl(token.span, token.value)]

    def embedded_body(self, token: Token) -> str:
        """Return the C of a function's body; report it without guru mode."""
        self.need_guru_code(token, "")
        return token.value

    def global_item(
        self, name: Token, wraps: bool, size: n.Number | None, value: Initial | None
    ) -> n.GlobalDecl:
        """Build one variable of a ``global`` list."""
        if size is not None and not 0 < size.value < 1 << 31:
            self.error("E0152", "array size out of range", size.span, "must be 1 to 2147483647")
        if size is not None and value is not None:
            self.error(
                "E0153",
                "only scalar globals can be initialized",
                value[0].span,
                "an array cannot begin with a value",
                hint="assign the elements in 'probe begin'",
            )
        node = n.GlobalDecl(
            name.span,
            name.value,
            False,
            value[1] if value else None,
            size.value if size else None,
            wraps,
        )
        first = self._globals.get(name.value)
        if first is not None:
            self.error(
                "E0154",
                "duplicate global name",
                name.span,
                "declared a second time",
                labels=[Label(first.span, "first declared here")],
            )
        else:
            self._globals[name.value] = node
        return node

    def param(self, name: Token, kind: str) -> n.Param:
        """Build one parameter of a function."""
        return n.Param(name.span, name.value, kind)

    def priority(self, number: n.Number) -> int:
        """Return the order among overloads; smaller is tried first."""
        if number.value <= 0:
            self.error("E0155", "specified priority must be > 0", number.span, "use 1 or more")
        return number.value

    def function(self, keyword: Token, is_private: bool, rest: FunctionRest) -> list[n.Decl]:
        """Build a function, written in script or in C."""
        name, kind, params, priority, body = rest
        seen: dict[str, n.Param] = {}
        for param in params:
            if param.name in seen:
                self.error(
                    "E0156",
                    "duplicate parameter names",
                    param.span,
                    "a second parameter of this name",
                    labels=[Label(seen[param.name].span, "the first one")],
                )
            seen[param.name] = param
        self.end_body(in_function=True)
        code = body if isinstance(body, str) else None
        return [
            n.FunctionDecl(
                name.span,
                name.value,
                params,
                kind,
                None if isinstance(body, str) else body,
                code,
                is_private,
                priority,
                self.doc(keyword),
            )
        ]

    def doc(self, token: Token) -> str:
        """Return the comment that stands directly before a declaration, "" without one."""
        source = self.diagnostics.sources.source(token.span)
        return doc_before(source.text, token.start) if source else ""
