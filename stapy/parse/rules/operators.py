"""Operators that look like functions: the print family, statistics, ``@defined`` and kin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.parse import nodes as n

if TYPE_CHECKING:
    from stapy.diagnostics import Span
    from stapy.parse.production import Production


def _whole(p: Production) -> Span:
    return p.slice[1].span.to(p.slice[len(p) - 1].span)


# --- print ------------------------------------------------------------------


def p_print(p: Production) -> None:
    """print : PRINT LPAREN args RPAREN"""
    p[0] = n.Print(_whole(p), p[1], None, p.parser.actions.print_args(p[3]))


def p_print_empty(p: Production) -> None:
    """print : PRINT LPAREN RPAREN"""
    if not p[1].endswith("ln"):
        p.parser.actions.empty_print(p.slice[1], p.slice[3])
    p[0] = n.Print(_whole(p), p[1], None, [])


def p_print_delimited(p: Production) -> None:
    """print : PRINTD LPAREN string COMMA args RPAREN"""
    if len(p[5]) < 2:
        p.parser.actions.short_printd(p.slice[1], p.slice[6])
    p[0] = n.Print(_whole(p), p[1], p[3], p[5])


def p_print_format(p: Production) -> None:
    """print : PRINTF LPAREN string RPAREN
    | PRINTF LPAREN string COMMA args RPAREN"""
    p.parser.actions.check_format(p[3])
    p[0] = n.Print(_whole(p), p[1], p[3], p[5] if len(p) > 5 else [])


# --- statistics -------------------------------------------------------------


def p_operator_stat(p: Production) -> None:
    """operator : AT_STAT LPAREN expr RPAREN
    | AT_STAT LPAREN expr COMMA signed RPAREN"""
    params = [p[5]] if len(p) > 5 else []
    p[0] = p.parser.actions.statistic(p.slice[1], _whole(p), p[3], params)


def p_histogram_log(p: Production) -> None:
    """histogram : AT_HIST_LOG LPAREN expr RPAREN"""
    p[0] = n.Histogram(_whole(p), "log", p[3])


def p_histogram_linear(p: Production) -> None:
    """histogram : AT_HIST_LINEAR LPAREN expr COMMA signed COMMA signed COMMA signed RPAREN"""
    p[0] = n.Histogram(_whole(p), "linear", p[3], [p[5], p[7], p[9]])


# --- the context ------------------------------------------------------------


def p_operator_defined(p: Production) -> None:
    """operator : AT_DEFINED LPAREN expr RPAREN"""
    p[0] = n.Defined(_whole(p), p[3])


def p_operator_entry(p: Production) -> None:
    """operator : AT_ENTRY LPAREN expr RPAREN"""
    p[0] = n.Entry(_whole(p), p[3])


def p_operator_probewrite(p: Production) -> None:
    """operator : AT_PROBEWRITE LPAREN expr RPAREN"""
    p[0] = n.ProbeWrite(_whole(p), p[3])


def p_operator_perf(p: Production) -> None:
    """operator : AT_PERF LPAREN text RPAREN"""
    p[0] = n.Perf(_whole(p), p[3])


def p_operator_const(p: Production) -> None:
    """operator : AT_CONST LPAREN text RPAREN"""
    p.parser.actions.need_guru(p.slice[1])
    p[0] = n.AtConst(_whole(p), p[3])


def p_operator_enum(p: Production) -> None:
    """operator : AT_ENUM LPAREN text RPAREN"""
    p[0] = n.AtEnum(_whole(p), p[3])


def p_operator_enumname(p: Production) -> None:
    """operator : AT_ENUMNAME LPAREN expr RPAREN
    | AT_ENUMNAME LPAREN expr COMMA text RPAREN
    | AT_ENUMNAME LPAREN expr COMMA text COMMA text RPAREN"""
    p[0] = n.AtEnumName(_whole(p), p[3], p[5] if len(p) > 5 else "", p[7] if len(p) > 7 else "")


def p_operator_register(p: Production) -> None:
    """operator : AT_REGISTER LPAREN expr RPAREN"""
    p.parser.actions.need_guru(p.slice[1])
    p[0] = n.AtRegister(_whole(p), p[3], p[1] == "@uregister")


def p_operator_deref(p: Production) -> None:
    """operator : AT_DEREF LPAREN expr COMMA expr RPAREN"""
    p.parser.actions.need_guru(p.slice[1])
    p[0] = n.AtDeref(_whole(p), p[3], p[5], p[1] == "@uderef")
