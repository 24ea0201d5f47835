"""Shapes of trees that tables of accepted texts cannot show."""

from __future__ import annotations

import pytest

from stapy.parse import nodes as n
from stapy.parse.printer import dump, print_expr
from tests.parse.helpers import good


def expr_of(text: str) -> n.Expr:
    probe = good("probe begin { x = " + text + " }").decls[0]
    assert isinstance(probe, n.ProbeDecl)
    assert isinstance(probe.body, n.Block)
    (stmt,) = probe.body.body
    assert isinstance(stmt, n.ExprStmt)
    assert isinstance(stmt.expr, n.Assign)
    return stmt.expr.value


def full(e: n.Expr) -> str:
    """Print an expression with all parentheses, to see the grouping."""
    if isinstance(e, (n.Binary, n.Logical)):
        return f"({full(e.left)}{e.op}{full(e.right)})"
    if isinstance(e, n.Ternary):
        return f"({full(e.cond)}?{full(e.yes)}:{full(e.no)})"
    if isinstance(e, n.Unary):
        return f"({e.op}{full(e.operand)})"
    if isinstance(e, n.Assign):
        return f"({full(e.target)}{e.op}{full(e.value)})"
    if isinstance(e, n.ArrayIn):
        keys = ",".join("*" if k is None else full(k) for k in e.keys)
        return f"([{keys}]in {full(e.array)})"
    if isinstance(e, n.Regex):
        return f"({full(e.left)}{e.op}{e.pattern.value})"
    return print_expr(e).replace(" ", "")


@pytest.mark.parametrize(
    ("text", "grouping"),
    [
        ("a + b * c", "(a+(b*c))"),
        ("a . b + c . d", "((a.(b+c)).d)"),
        ("a << b . c", "(a<<(b.c))"),
        ("a < b << c", "(a<(b<<c))"),
        ("a & b in c", "(a&([b]in c))"),
        ("a == b in c", "([(a==b)]in c)"),
        ("a ^ b & c | d", "((a^(b&c))|d)"),
        ("a || b && c", "(a||(b&&c))"),
        ("a ? b : c ? d : e", "(a?b:(c?d:e))"),
        ("a ? b : c = d", "((a?b:c)=d)"),
        ("b = c = d", "(b=(c=d))"),
        ("-a . b", "((-a).b)"),
        ("!a == b", "((!a)==b)"),
        ("a - b - c", "((a-b)-c)"),
        ('a =~ "x" && b', "((a=~x)&&b)"),
        ("[a, *] in b", "([a,*]in b)"),
    ],
)
def test_precedence(text: str, grouping: str) -> None:
    assert full(expr_of(text)) == grouping


@pytest.mark.parametrize(
    ("text", "kind", "links"),
    [
        ("$a->b[1]$", n.Target, ["MemberAccess", "Subscript", "Pretty"]),
        ("$a$$", n.Target, ["Pretty"]),
        ("$a->if", n.Target, ["MemberAccess"]),
        ("foo[1]->b", n.AutoCast, ["MemberAccess"]),
        ("(foo)[1]", n.AutoCast, ["Subscript"]),
        ("($a)->b", n.AutoCast, ["MemberAccess"]),
        ('@cast(p, "t")->b', n.Cast, ["MemberAccess"]),
        ('@var("v")[1]', n.AtVar, ["Subscript"]),
    ],
)
def test_chains(text: str, kind: type, links: list[str]) -> None:
    expr = expr_of(text)
    assert type(expr) is kind
    assert [type(link).__name__ for link in expr.chain] == links  # type: ignore[attr-defined]


def test_address_of_binds_to_the_whole_chain() -> None:
    expr = expr_of("& $p->m[1]")
    assert isinstance(expr, n.Target)
    assert expr.address_of
    assert len(expr.chain) == 2


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ('"a\\n\\t\\\\\\""', 'a\n\t\\"'),
        ('"\\x41\\101\\7"', "AA\x07"),
        ('"\\x0041\\x000\\x41z"', "A\0Az"),
        ('"\\x41b"', "Ab"),  # beyond a byte: two digits
        ('"\\q"', "q"),
        ('"a" "b" /* c */ "c"', "abc"),
        ('"ü"', "\xc3\xbc"),
        ('"a\\\nb"', "a\nb"),
    ],
)
def test_strings(literal: str, value: str) -> None:
    expr = expr_of(literal)
    assert isinstance(expr, n.String)
    assert expr.value == value


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("10", 10),
        ("0x1f", 31),
        ("017", 15),
        ("0", 0),
        ("9223372036854775808", -(1 << 63)),
        ("18446744073709551615", -1),
    ],
)
def test_numbers_wrap(literal: str, value: int) -> None:
    expr = expr_of(literal)
    assert isinstance(expr, n.Number)
    assert expr.value == value


def test_braces_in_points_are_expanded_in_order() -> None:
    (decl,) = good("probe {a,b}.{c,{d,e}}.f ? { }").decls
    assert isinstance(decl, n.ProbeDecl)
    names = [".".join(c.name for c in point.components) for point in decl.points]
    assert names == ["a.c.f", "a.d.f", "a.e.f", "b.c.f", "b.d.f", "b.e.f"]
    assert all(point.optional for point in decl.points)


def test_wildcards_are_letters_in_points_and_operators_in_bodies() -> None:
    (decl,) = good('probe a*b.**.*("x") if (c*d) { e = f*g }').decls
    assert isinstance(decl, n.ProbeDecl)
    (point,) = decl.points
    assert [c.name for c in point.components] == ["a*b", "**", "*"]
    assert isinstance(point.condition, n.Binary)


@pytest.mark.parametrize(
    ("comment", "doc"),
    [
        ("/**\n * One\n *\n *  two\n */\n", "One\n\n two"),
        ("// a\n// b\n", "a\nb"),
        ("# a\n", "a"),
        ("/* far */\n\n", ""),
        ("#! /usr/bin/stap\n", ""),
    ],
)
def test_doc_comments(comment: str, doc: str) -> None:
    for declaration in ("function f() { }", "probe a = b { }"):
        (decl,) = good(comment + declaration).decls
        assert decl.doc == doc  # type: ignore[attr-defined]


def test_dump_has_the_headers_that_scripts_look_for() -> None:
    text = dump([good("global x probe begin { if (x) print(x); else next }")])
    assert text.startswith("# parse tree dump\n# file <input>\nglobal x\nprobe begin {\n")
