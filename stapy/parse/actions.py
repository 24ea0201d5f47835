"""What the grammar's actions do beyond putting nodes together: the checks of pass 1."""

from __future__ import annotations

import re

from stapy.diagnostics import Diagnostics, Label, Span
from stapy.parse import nodes as n
from stapy.parse.comments import doc_before
from stapy.parse.facts import PreprocessFacts
from stapy.parse.numbers import parse_number, wrap
from stapy.parse.points import PointActions
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

# What -> and [ may follow.
Chained = n.Target | n.AtVar | n.Cast | n.AutoCast

_NEEDS_GURU = "add option -g (guru mode), which allows code that can harm the system"

# One conversion of a printf format, or a percent sign that begins none.
_CONVERSION = re.compile(
    r"%(?:[-+ 0#]*(?:\*|\d+)?(?:\.(?:\*|\d*))?(?:ll?)?[dioxXucspmMnb%]|)", re.ASCII
)


class GrammarActions(PointActions):
    """One run of the grammar over one text."""

    def __init__(
        self, diagnostics: Diagnostics, facts: PreprocessFacts, source: int, *, is_library: bool
    ) -> None:
        super().__init__(diagnostics)
        self.facts = facts
        self.source = source
        self.is_library = is_library
        self.privileged = is_library or facts.guru
        self._returns: list[Span] = []
        self._closed: list[n.Ternary] = []  # those in parentheses, where it matters
        self._globals: dict[str, n.GlobalDecl] = {}

    # --- expressions --------------------------------------------------------

    def parenthesised(self, value: n.Expr) -> n.Expr:
        """Return what stands in parentheses; note a ternary, for `assign`."""
        if isinstance(value, n.Ternary) and not self.facts.at_least("4.0"):
            self._closed.append(value)
        return value

    def assign(self, op: Token, target: n.Expr, value: n.Expr) -> n.Expr:
        """Build ``target op value``.

        Up to 3.3 of the language an assignment after ``a ? b :`` is the third operand of the
        ternary; since then the ternary is what is assigned to, as in C, which no rule allows.
        """
        old = isinstance(target, n.Ternary) and not self.facts.at_least("4.0")
        if isinstance(target, n.Ternary) and old and all(c is not target for c in self._closed):
            target.no = self.assign(op, target.no, value)
            target.span = target.span.to(value.span)
            return target
        return n.Assign(target.span.to(value.span), op.value, target, value)

    def number(self, token: Token, minus: Token | None = None) -> n.Number:
        """Build a literal, with its sign where the grammar allows one inside the literal."""
        value = parse_number(token.value)
        if value is not None and minus is not None and value < 0 and value != -(1 << 63):
            value = None  # with its sign it needs 65 bits
        if value is None:
            glued = token.value[:1].isdigit() and not token.value.isdigit()
            self.error(
                "E0104",
                "number invalid or out of range",
                token.span,
                "letters are glued to this number"
                if glued and token.value[:2].lower() != "0x"
                else "not a number of at most 64 bits",
                hint="numbers are decimal, octal (0…) or hexadecimal (0x…), "
                "up to 18446744073709551615",
            )
            value = 0
        if minus is None:
            return n.Number(token.span, value, token.value)
        return n.Number(minus.span.to(token.span), wrap(-value), "-" + token.value)

    def address_of(self, amp: Token, operand: n.Expr) -> n.Expr:
        """Build ``&`` before a target variable or a cast; anything else becomes an autocast."""
        if not isinstance(operand, (n.Target, n.AtVar, n.Cast, n.AutoCast)):
            operand = n.AutoCast(operand.span, operand, [])
        elif operand.address_of:
            self.error("E0142", "address taken twice", amp.span, "of an address")
        operand.address_of = True
        operand.span = amp.span.to(operand.span)
        return operand

    def target(self, token: Token) -> n.Target:
        """Build ``$name``, with the dollars at its end split off."""
        name = token.value
        chain: list[n.Component] = []
        bare = name.rstrip("$")
        if len(bare) < len(name):
            chain.append(self._pretty(token, len(name) - len(bare)))
        return n.Target(token.span, bare, chain)

    def _pretty(self, token: Token, depth: int) -> n.Pretty:
        if depth > 2:
            self.error(
                "E0143",
                f"too many '$' at the end of '{token.value}'",
                token.span,
                "'$' shows one level, '$$' shows two",
            )
        return n.Pretty(Span(token.source, token.end - depth, token.end), min(depth, 2))

    def pretty(self, token: Token) -> list[n.Component]:
        """Build the chain of ``$`` or ``$$`` alone, after a bracket."""
        return [self._pretty(token, len(token.value))]

    def member(self, arrow: Token, name: Token) -> list[n.Component]:
        """Build ``->name``, with the dollars at its end split off."""
        bare = name.value.rstrip("$")
        depth = len(name.value) - len(bare)
        links: list[n.Component] = [n.MemberAccess(arrow.span.to(name.span), bare)]
        if depth:
            links.append(self._pretty(name, depth))
        return links

    def auto_cast(self, value: n.Expr, links: list[n.Component]) -> n.Expr:
        """Build a chain after something that is neither ``$x`` nor a cast."""
        if not self.facts.at_least("2.6"):
            self.error(
                "E0144",
                f"a value cannot be dereferenced with --compatible={self.facts.compatible}",
                links[0].span,
                "needs version 2.6 of the language or newer",
                hint="write '@cast(value, \"type\")->member'",
            )
        return n.AutoCast(value.span.to(links[-1].span), value, list(links))

    def extend(self, base: Chained, links: list[n.Component]) -> n.Expr:
        """Add one more step to a chain."""
        if base.chain and isinstance(base.chain[-1], n.Pretty):
            self.error(
                "E0145",
                "-> and [ are not accepted for a pretty-printing variable",
                links[0].span,
                "nothing can follow the '$' that asks for pretty printing",
                labels=[Label(base.chain[-1].span, "pretty printing asked for here")],
            )
            return base
        base.chain.extend(links)
        base.span = base.span.to(links[-1].span)
        return base

    def statistic(self, token: Token, span: Span, stat: n.Expr, params: list[n.Expr]) -> n.Expr:
        """Build ``@count(x)`` and its kin; only ``@variance`` takes a shift."""
        if params and token.value != "@variance":
            self.error(
                "E0105", "expected ')'", params[0].span, f"'{token.value}' takes one operand"
            )
        return n.StatOp(span, token.value[1:], stat, params)

    def bare_histogram(self, histogram: n.Histogram) -> n.Expr:
        """Note a histogram where a value is expected; `print` takes it as a whole."""
        self._histograms.append(histogram)
        return histogram

    def need_guru(self, token: Token) -> None:
        """Report an operator that can read or compute anything, unless guru mode allows it."""
        if not self.privileged:
            self.error(
                "E0131",
                f"using {token.value} operator not permitted; need stap -g",
                token.span,
                "allowed in guru mode and in the tapset library only",
                hint=_NEEDS_GURU,
            )

    def _need_guru_code(self, token: Token, what: str) -> None:
        if not self.privileged:
            self.error(
                "E0130",
                f"embedded {what}code in unprivileged script; need stap -g",
                token.span,
                "C code may stand in guru mode and in the tapset library only",
                hint=_NEEDS_GURU,
            )

    def embedded_expression(self, token: Token) -> n.EmbeddedExpr:
        """Build ``%{ C %}`` as a value."""
        self._need_guru_code(token, "expression ")
        return n.EmbeddedExpr(token.span, token.value)

    # --- print --------------------------------------------------------------

    def print_args(self, args: list[n.Expr]) -> list[n.Expr]:
        """Accept a histogram when it is the only thing to print; return the arguments."""
        if len(args) == 1 and self._histograms and self._histograms[-1] is args[0]:
            self._histograms.pop()
        return args

    def empty_print(self, name: Token, closing: Token) -> None:
        """Report ``print()``, which prints nothing."""
        self.error(
            "E0105",
            "expected literal string or number",
            closing.span,
            f"'{name.value}' needs at least one value",
            hint=f"'{name.value}ln()' prints a line break" if "f" not in name.value else "",
        )

    def short_printd(self, name: Token, closing: Token) -> None:
        """Report a delimiter that does not have two values to separate."""
        self.error(
            "E0105",
            "expected literal string or number",
            closing.span,
            f"'{name.value}' needs a delimiter and at least two values",
        )

    def check_format(self, string: n.String) -> None:
        """Report a percent sign of a format that begins no conversion."""
        text = string.value
        bad = next((f.group() for f in _CONVERSION.finditer(text) if len(f.group()) < 2), None)
        if bad is not None:
            self.error(
                "E0108",
                "invalid or missing conversion specifier",
                string.span,
                "a '%' in this format begins no conversion",
                hint="write '%%' for a percent sign; conversions end in one of "
                "b c d i m M n o p s u x X",
            )

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
        self._need_guru_code(token, "")
        return [n.EmbeddedDecl(token.span, token.value)]

    def embedded_body(self, token: Token) -> str:
        """Return the C of a function's body; report it without guru mode."""
        self._need_guru_code(token, "")
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
