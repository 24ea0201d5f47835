"""Checks of expressions and prints, and the nodes that they become."""

from __future__ import annotations

import re

from stapy.diagnostics import Diagnostics, Label, Span
from stapy.diagnostics.foreign_expressions import conversion_hint
from stapy.parse import nodes as n
from stapy.parse.facts import PreprocessFacts
from stapy.parse.numbers import parse_number, wrap
from stapy.parse.points import PointActions
from stapy.parse.tokens import Token
from stapy.patterns import compiled_when_used

# What -> and [ may follow.
Chained = n.Target | n.AtVar | n.Cast | n.AutoCast

_NEEDS_GURU = "add option -g (guru mode), which allows code that can harm the system"

# One conversion of a printf format, or a percent sign that begins none.
_CONVERSION = compiled_when_used(
    r"%(?:[-+ 0#]*(?:\*|\d+)?(?:\.(?:\*|\d*))?(?:ll?)?[dioxXucspmMnb%]|)", re.ASCII
)


class ExpressionActions(PointActions):
    """The part of `GrammarActions` that deals with expressions."""

    def __init__(
        self, diagnostics: Diagnostics, facts: PreprocessFacts, *, is_library: bool
    ) -> None:
        super().__init__(diagnostics)
        self.facts = facts
        self.privileged = is_library or facts.guru
        self._closed: list[n.Ternary] = []  # those in parentheses, where it matters

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

    def need_guru_code(self, token: Token, what: str) -> None:
        """Report C code, unless guru mode allows it; ``what`` says which, for the message."""
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
        self.need_guru_code(token, "expression ")
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
        bad = next((f.end() for f in _CONVERSION().finditer(text) if len(f.group()) < 2), None)
        if bad is not None:
            self.error(
                "E0108",
                "invalid or missing conversion specifier",
                string.span,
                "a '%' in this format begins no conversion",
                hint=conversion_hint(text[bad : bad + 1])
                or "write '%%' for a percent sign; conversions end in one of "
                "b c d i m M n o p s u x X",
            )
