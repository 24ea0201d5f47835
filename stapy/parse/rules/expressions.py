"""Expressions."""

# The docstrings are productions, so they cannot be sentences.
from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.parse import nodes as n
from stapy.parse.tokens import ASSIGNMENTS, AT_WORDS, PRINTERS

if TYPE_CHECKING:
    from stapy.parse.production import Production

# From loose to tight.  NOSEMI and TERNARY are no tokens: they give a rule's
# precedence where it must lose against every token that could go on.
precedence = (
    ("nonassoc", "NOSEMI"),
    (
        # What may begin an expression after a bare `return`, and what ends a statement early.
        "nonassoc",
        "SEMI",
        "ELSE",
        "IDENT",
        "NUMBER",
        "STRING",
        "TARGET",
        "EMBED",
        *sorted(set(PRINTERS.values())),
        *sorted(set(AT_WORDS.values()) - {"DEFINE"}),
    ),
    ("right", *ASSIGNMENTS),
    ("right", "QUESTION", "TERNARY"),
    ("left", "LOR"),
    ("left", "LAND"),
    ("left", "PIPE"),
    ("left", "CARET"),
    ("left", "AMP"),
    ("nonassoc", "IN"),
    ("left", "LT", "GT", "LE", "GE", "EQ", "NE", "MATCH", "NOMATCH"),
    ("left", "LSHIFT", "RSHIFT"),
    ("left", "DOT"),
    ("left", "PLUS", "MINUS"),
    ("left", "STAR", "SLASH", "PERCENT"),
    ("right", "UNARY", "NOT", "TILDE"),
    ("nonassoc", "NOSUFFIX"),
    ("nonassoc", "INCR", "DECR", "ARROW", "LBRACK", "DOLLARS", "LPAREN"),
)


def p_expr_binary(p: Production) -> None:
    """expr : expr STAR expr
    | expr SLASH expr
    | expr PERCENT expr
    | expr PLUS expr
    | expr MINUS expr
    | expr DOT expr
    | expr LSHIFT expr
    | expr RSHIFT expr
    | expr LT expr
    | expr GT expr
    | expr LE expr
    | expr GE expr
    | expr EQ expr
    | expr NE expr
    | expr AMP expr
    | expr CARET expr
    | expr PIPE expr"""
    op = p.slice[2]
    whole = p[1].span.to(p[3].span)
    p[0] = n.Binary(whole, p[2], p[1], p[3], op.start if op.source == whole.source else -1)


def p_expr_logical(p: Production) -> None:
    """expr : expr LAND expr
    | expr LOR expr"""
    p[0] = n.Logical(p[1].span.to(p[3].span), p[2], p[1], p[3])


def p_expr_regex(p: Production) -> None:
    """expr : expr MATCH string
    | expr NOMATCH string"""
    p[0] = n.Regex(p[1].span.to(p[3].span), p[2], p[1], p[3])


def p_expr_in(p: Production) -> None:
    """expr : expr IN array"""
    p[0] = n.ArrayIn(p[1].span.to(p[3].span), [p[1]], p[3])


def p_expr_keys_in(p: Production) -> None:
    """expr : LBRACK keys RBRACK IN array"""
    p[0] = n.ArrayIn(p.slice[1].span.to(p[5].span), p[2], p[5])


def p_expr_assign(p: Production) -> None:
    """expr : expr ASSIGN expr
    | expr STATSET expr
    | expr PLUSSET expr
    | expr MINUSSET expr
    | expr TIMESSET expr
    | expr DIVSET expr
    | expr MODSET expr
    | expr LSHIFTSET expr
    | expr RSHIFTSET expr
    | expr ANDSET expr
    | expr XORSET expr
    | expr ORSET expr
    | expr CATSET expr"""
    p[0] = p.parser.actions.assign(p.slice[2], p[1], p[3])


def p_expr_ternary(p: Production) -> None:
    """expr : expr QUESTION expr COLON expr %prec TERNARY"""
    p[0] = n.Ternary(p[1].span.to(p[5].span), p[1], p[3], p[5])


def p_expr_unary(p: Production) -> None:
    """expr : MINUS expr %prec UNARY
    | PLUS expr %prec UNARY
    | NOT expr
    | TILDE expr"""
    p[0] = n.Unary(p.slice[1].span.to(p[2].span), p[1], p[2])


def p_expr_prefix(p: Production) -> None:
    """expr : INCR suffixed %prec NOSUFFIX
    | DECR suffixed %prec NOSUFFIX"""
    p[0] = n.Increment(p.slice[1].span.to(p[2].span), p[1], p[2], True)


def p_expr_postfix(p: Production) -> None:
    """expr : suffixed INCR
    | suffixed DECR"""
    p[0] = n.Increment(p[1].span.to(p.slice[2].span), p[2], p[1], False)


def p_expr_address(p: Production) -> None:
    """expr : AMP suffixed %prec UNARY"""
    p[0] = p.parser.actions.address_of(p.slice[1], p[2])


def p_expr_suffixed(p: Production) -> None:
    """expr : suffixed %prec NOSUFFIX"""
    p[0] = p[1]


# --- what may be followed by "->", "[…]" and "$" ---------------------------


def p_suffixed(p: Production) -> None:
    """suffixed : primary %prec NOSUFFIX
    | chained %prec NOSUFFIX"""
    p[0] = p[1]


def p_chained_start(p: Production) -> None:
    """chained : target
    | cast
    | atvar"""
    p[0] = p[1]


def p_chained_auto(p: Production) -> None:
    """chained : primary link"""
    p[0] = p.parser.actions.auto_cast(p[1], p[2])


def p_chained_more(p: Production) -> None:
    """chained : chained link"""
    p[0] = p.parser.actions.extend(p[1], p[2])


def p_link_member(p: Production) -> None:
    """link : ARROW member_name"""
    p[0] = p.parser.actions.member(p.slice[1], p[2])


def p_link_subscript(p: Production) -> None:
    """link : LBRACK expr RBRACK"""
    p[0] = [n.Subscript(p.slice[1].span.to(p.slice[3].span), p[2])]


def p_link_pretty(p: Production) -> None:
    """link : DOLLARS"""
    p[0] = p.parser.actions.pretty(p.slice[1])


def p_target(p: Production) -> None:
    """target : TARGET"""
    p[0] = p.parser.actions.target(p.slice[1])


def p_target_dollars(p: Production) -> None:
    """target : DOLLARS"""
    p[0] = n.Target(p.slice[1].span, p[1])


def p_cast(p: Production) -> None:
    """cast : AT_CAST LPAREN expr COMMA text RPAREN
    | AT_CAST LPAREN expr COMMA text COMMA text RPAREN"""
    module = p[7] if len(p) > 7 else ""
    p[0] = n.Cast(p.slice[1].span.to(p.slice[len(p) - 1].span), p[3], p[5], module)


def p_atvar(p: Production) -> None:
    """atvar : AT_VAR LPAREN text RPAREN
    | AT_VAR LPAREN text COMMA text RPAREN"""
    module = p[5] if len(p) > 5 else ""
    p[0] = n.AtVar(p.slice[1].span.to(p.slice[len(p) - 1].span), p[3], module)


# --- primaries --------------------------------------------------------------


def p_primary_literal(p: Production) -> None:
    """primary : number
    | string
    | call
    | print
    | operator"""
    p[0] = p[1]


def p_primary_name(p: Production) -> None:
    """primary : IDENT %prec NOSUFFIX"""
    p[0] = n.Name(p.slice[1].span, p[1])


def p_primary_index(p: Production) -> None:
    """primary : IDENT LBRACK keys RBRACK"""
    whole = p.slice[1].span.to(p.slice[4].span)
    p[0] = n.Index(whole, n.Name(p.slice[1].span, p[1]), p[3])


def p_primary_bucket(p: Production) -> None:
    """primary : histogram LBRACK expr RBRACK"""
    p[0] = n.Index(p[1].span.to(p.slice[4].span), p[1], [p[3]])


def p_primary_histogram(p: Production) -> None:
    """primary : histogram %prec NOSUFFIX"""
    p[0] = p.parser.actions.bare_histogram(p[1])


def p_primary_paren(p: Production) -> None:
    """primary : LPAREN expr RPAREN"""
    p[0] = p.parser.actions.parenthesised(p[2])


def p_primary_embedded(p: Production) -> None:
    """primary : EMBED"""
    p[0] = p.parser.actions.embedded_expression(p.slice[1])


def p_call(p: Production) -> None:
    """call : IDENT LPAREN RPAREN
    | IDENT LPAREN args RPAREN"""
    p[0] = n.Call(p.slice[1].span.to(p.slice[len(p) - 1].span), p[1], p[3] if len(p) > 4 else [])


def p_args(p: Production) -> None:
    """args : expr
    | args COMMA expr"""
    if len(p) == 2:
        p[0] = [p[1]]
    else:
        p[1].append(p[3])
        p[0] = p[1]


def p_keys(p: Production) -> None:
    """keys : key
    | keys COMMA key"""
    if len(p) == 2:
        p[0] = [p[1]]
    else:
        p[1].append(p[3])
        p[0] = p[1]


def p_key(p: Production) -> None:
    """key : expr"""
    p[0] = p[1]


def p_key_any(p: Production) -> None:
    """key : STAR"""
    p[0] = None


def p_array(p: Production) -> None:
    """array : IDENT"""
    p[0] = n.Name(p.slice[1].span, p[1])


def p_array_histogram(p: Production) -> None:
    """array : histogram"""
    p[0] = p[1]


# --- literals ---------------------------------------------------------------


def p_number(p: Production) -> None:
    """number : NUMBER"""
    p[0] = p.parser.actions.number(p.slice[1])


def p_string(p: Production) -> None:
    """string : STRING"""
    p[0] = n.String(p.slice[1].span, p[1])


def p_text(p: Production) -> None:
    """text : STRING"""
    p[0] = p[1]


def p_signed(p: Production) -> None:
    """signed : NUMBER
    | MINUS NUMBER"""
    minus = p.slice[1] if len(p) == 3 else None
    p[0] = p.parser.actions.number(p.slice[len(p) - 1], minus)


def p_literal(p: Production) -> None:
    """literal : signed
    | string"""
    p[0] = p[1]
