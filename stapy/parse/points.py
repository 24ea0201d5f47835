"""Actions for probe points, probes and aliases."""

from __future__ import annotations

from stapy.diagnostics import Diagnostics, Label, Span
from stapy.parse import nodes as n
from stapy.parse.tokens import Token

_MAX_POINTS = 4096


class PointActions:
    """The part of `GrammarActions` that deals with probe points; braces are expanded here."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self.diagnostics = diagnostics
        self._histograms: list[n.Histogram] = []

    def error(
        self,
        code: str,
        message: str,
        span: Span,
        where: str = "",
        *,
        labels: list[Label] | None = None,
        hint: str = "",
    ) -> None:
        """Report a parse error."""
        self.diagnostics.error(
            "parse error", code, message, span, where=where, labels=labels, hint=hint
        )

    def step(
        self, name: Token, argument: n.Number | n.String | None, end: Token | None
    ) -> list[n.ProbePoint]:
        """Build ``name`` or ``name(literal)``."""
        span = name.span.to(end.span) if end else name.span
        return [n.ProbePoint(span, [n.PointComponent(span, name.value, argument)])]

    def joined(
        self, left: list[n.ProbePoint], right: list[n.ProbePoint], dot: Token
    ) -> list[n.ProbePoint]:
        """Build ``left.right``, each with each."""
        for point in left:
            if point.optional or point.sufficient or point.condition is not None:
                self.error(
                    "E0160",
                    "'?', '!' or condition must only be specified in suffix",
                    point.span,
                    "this alternative goes on after the brace",
                    labels=[Label(dot.span, "it is continued here")],
                )
        if len(left) * len(right) > _MAX_POINTS:
            self.error(
                "E0161",
                f"more than {_MAX_POINTS} probe points from one brace expansion",
                dot.span,
                "too many combinations",
            )
            return left
        return [
            n.ProbePoint(
                a.span.to(b.span),
                a.components + b.components,
                b.optional,
                b.sufficient,
                b.condition,
            )
            for a in left
            for b in right
        ]

    def marked(
        self, points: list[n.ProbePoint], mark: Token | None, condition: n.Expr | None
    ) -> list[n.ProbePoint]:
        """Build ``point ? if (condition)``; marks inside and behind braces add up."""
        for point in points:
            if mark is not None:
                point.optional = point.optional or mark.type == "QUESTION"
                point.sufficient = point.sufficient or mark.type == "NOT"
                point.span = point.span.to(mark.span)
            if condition is not None:
                old = point.condition
                point.condition = (
                    condition
                    if old is None
                    else n.Logical(old.span.to(condition.span), "&&", old, condition)
                )
        return points

    def probe(self, keyword: Token, points: list[n.ProbePoint], body: n.Stmt) -> list[n.Decl]:
        """Build a probe."""
        self.end_body(in_function=False)
        return [n.ProbeDecl(keyword.span.to(body.span), points, body)]

    def alias(
        self,
        keyword: Token,
        names: list[n.ProbePoint],
        points: list[n.ProbePoint],
        prologue: n.Stmt | None,
        epilogue: n.Stmt | None,
    ) -> list[n.Decl]:
        """Build a probe point alias; exactly one plain name stands before the equals sign."""
        self.end_body(in_function=False)
        if len(names) > 1:
            self.error(
                "E0162",
                "expected probe point specifier",
                names[1].span,
                "an alias has one name",
                labels=[Label(names[0].span, "the first name")],
            )
        name = names[0]
        if name.optional or name.sufficient or name.condition is not None:
            self.error(
                "E0163",
                "probe point alias name cannot be optional nor sufficient",
                name.span,
                "write '?' and '!' where the alias is used",
            )
        for component in name.components:
            if "*" in component.name:
                self.error(
                    "E0164",
                    f"wildcard not allowed in alias name '{component.name}'",
                    component.span,
                    "an alias needs a plain name",
                )
        body = epilogue or prologue
        span = keyword.span.to(body.span) if body else keyword.span
        return [n.AliasDecl(span, name.components, points, prologue, epilogue, self.doc(keyword))]

    def double_epilogue(self, comma: Token) -> None:
        """Report a second block behind ``+=``, which takes one."""
        self.error(
            "E0165",
            "Combined prologue and epilogue cannot be defined with '+='",
            comma.span,
            "a second block",
            hint="use '=' to give both a prologue and an epilogue",
        )

    def end_body(self, *, in_function: bool) -> None:
        """Check a body that ends, as `GrammarActions` does."""
        raise NotImplementedError

    def doc(self, token: Token) -> str:
        """Return the comment before a declaration, as `GrammarActions` does."""
        raise NotImplementedError
