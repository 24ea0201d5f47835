"""The small parts: folding, type variables, formats, regular expressions, marks."""

from __future__ import annotations

import pytest

from stapy.diagnostics import NOWHERE, Span
from stapy.elaborate.lower.fold import constant, fold, wrap
from stapy.elaborate.lower.printing import FormatError, parse_format, wants
from stapy.elaborate.names.syntax import markers
from stapy.elaborate.typevars import TypeTable
from stapy.ir import program as p
from stapy.ir.walk import fingerprint, walk

HIGH = 2**63 - 1
LOW = -(2**63)


def number(value: int) -> p.Const:
    return p.Const(NOWHERE, p.LONG, value)


@pytest.mark.parametrize(
    ("op", "a", "b", "expected"),
    [
        ("+", HIGH, 1, LOW),
        ("-", LOW, 1, HIGH),
        ("*", HIGH, 2, -2),
        ("/", 7, 2, 3),
        ("/", -7, 2, -3),
        ("/", LOW, -1, LOW),
        ("%", -7, 3, -1),
        ("%", 7, -3, 1),
        ("%", LOW, -1, 0),
        ("/", 1, 0, None),
        ("%", 1, 0, None),
        ("<<", 1, 64, 1),
        ("<<", 1, 63, LOW),
        (">>", -1, 60, -1),
        ("&", 12, 10, 8),
        ("|", 12, 10, 14),
        ("^", 12, 10, 6),
        ("<", -1, 0, 1),
        (">=", 3, 3, 1),
        ("!=", 3, 3, 0),
    ],
)
def test_arithmetic_wraps_as_on_the_target(op: str, a: int, b: int, expected: int | None) -> None:
    node = p.BinaryOp(NOWHERE, p.LONG, op, number(a), number(b))
    assert constant(node) == expected


def test_wrap() -> None:
    assert wrap(2**64 - 1) == -1
    assert wrap(LOW - 1) == HIGH


def test_fold_keeps_what_is_not_known() -> None:
    local = p.LocalRef(NOWHERE, p.LONG, "x")
    sum_ = p.BinaryOp(NOWHERE, p.LONG, "+", local, number(0))
    assert fold(sum_) is local
    nested = p.BinaryOp(
        NOWHERE, p.LONG, "+", p.BinaryOp(NOWHERE, p.LONG, "+", local, number(3)), number(4)
    )
    folded = fold(nested)
    assert isinstance(folded, p.BinaryOp)
    assert constant(folded.right) == 7


def test_type_variables_join() -> None:
    types = TypeTable()
    a, b, c = types.new(), types.new(), types.new()
    place = Span(0, 1, 2)
    assert types.unify(a, b, NOWHERE)
    assert types.unify(b, p.STRING, place)
    assert types.find(a) == p.STRING
    assert types.origin(a) == place
    assert types.unify(c, p.LONG, NOWHERE)
    assert not types.unify(a, c, NOWHERE)


@pytest.mark.parametrize(
    ("text", "kinds", "arguments"),
    [
        ("", [], []),
        ("plain", ["text"], []),
        ("%d", ["d"], [p.LONG]),
        ("100%%", ["text"], []),
        ("%s: %-5d\n", ["s", "text", "d", "text"], [p.STRING, p.LONG]),
        ("%*.*s", ["s"], [p.LONG, p.LONG, p.STRING]),
        ("%4b%b", ["b", "b"], [p.LONG, p.LONG]),
        ("%llu", ["u"], [p.LONG]),
        ("%#p %m %M %c", ["p", "text", "m", "text", "M", "text", "c"], [p.LONG] * 4),
    ],
)
def test_formats(text: str, kinds: list[str], arguments: list[str]) -> None:
    pieces = parse_format(text)
    assert [piece.kind for piece in pieces] == kinds
    assert [kind for piece in pieces for kind in wants(piece)] == arguments


def test_binary_sizes() -> None:
    found = [parse_format(text)[0] for text in ("%b", "%4b", "%*b", "%*.*b", "%-8.4b", "%3b")]
    assert [(piece.flags, piece.width, piece.precision) for piece in found] == [
        ("", None, None),
        ("", 4, None),
        ("", "*", None),
        ("", "*", "*"),
        ("-", 8, 4),
        ("", 3, None),
    ]


@pytest.mark.parametrize("text", ["%", "%z", "%5", "%-"])
def test_bad_formats(text: str) -> None:
    with pytest.raises(FormatError):
        parse_format(text)


def test_markers() -> None:
    code = " /* pure */ /* unprivileged */ /* pragma:read:x */ /* a longer comment, no mark */ "
    assert {"pure", "unprivileged", "pragma:read:x"} <= markers(code)
    assert not any("longer" in mark for mark in markers(code))


def test_walk_is_in_the_order_of_the_text() -> None:
    node = p.BinaryOp(
        NOWHERE, p.LONG, "+", number(1), p.BinaryOp(NOWHERE, p.LONG, "*", number(2), number(3))
    )
    assert [x.value for x in walk(node) if isinstance(x, p.Const)] == [1, 2, 3]


def test_fingerprints_ignore_places() -> None:
    here = p.Const(Span(0, 1, 2), p.LONG, 5)
    there = p.Const(Span(0, 7, 8), p.LONG, 5)
    assert fingerprint(here) == fingerprint(there)
    assert fingerprint(here) != fingerprint(number(6))
