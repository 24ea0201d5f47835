"""Statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.parse import nodes as n

if TYPE_CHECKING:
    from stapy.parse.production import Production


def p_block(p: Production) -> None:
    """block : LBRACE statements RBRACE
    | LBRACE statements error RBRACE"""
    p[0] = n.Block(p.slice[1].span.to(p.slice[len(p) - 1].span), p[2])


def p_statements(p: Production) -> None:
    """statements :
    | statements statement"""
    if len(p) == 1:
        p[0] = []
    else:
        if p[2] is not None:
            p[1].append(p[2])
        p[0] = p[1]


def p_statement_error(p: Production) -> None:
    """statement : error SEMI"""
    p[0] = None


def p_statement_block(p: Production) -> None:
    """statement : block"""
    p[0] = p[1]


def p_statement_empty(p: Production) -> None:
    """statement : SEMI"""
    p[0] = n.EmptyStmt(p.slice[1].span)


def p_end(p: Production) -> None:
    """end : %prec NOSEMI
    | SEMI"""
    p[0] = len(p) > 1


def p_statement_expr(p: Production) -> None:
    """statement : expr end"""
    p[0] = p.parser.actions.expression_statement(p[1])


def p_statement_if(p: Production) -> None:
    """statement : IF LPAREN expr RPAREN statement %prec NOSEMI
    | IF LPAREN expr RPAREN statement ELSE statement"""
    actions = p.parser.actions
    then = actions.statement(p[5], p.slice[4])
    otherwise = actions.statement(p[7], p.slice[6]) if len(p) > 6 else None
    p[0] = n.IfStmt(p.slice[1].span.to((otherwise or then).span), p[3], then, otherwise)


def p_statement_while(p: Production) -> None:
    """statement : WHILE LPAREN expr RPAREN statement"""
    body = p.parser.actions.statement(p[5], p.slice[4])
    p[0] = n.WhileStmt(p.slice[1].span.to(body.span), p[3], body)


def p_statement_for(p: Production) -> None:
    """statement : FOR LPAREN maybe SEMI maybe SEMI maybe RPAREN statement"""
    body = p.parser.actions.statement(p[9], p.slice[8])
    p[0] = n.ForStmt(p.slice[1].span.to(body.span), p[3], p[5], p[7], body)


def p_statement_wrong_head(p: Production) -> None:
    """statement : IF LPAREN error RPAREN statement %prec NOSEMI
    | IF LPAREN error RPAREN statement ELSE statement
    | WHILE LPAREN error RPAREN statement
    | FOR LPAREN error RPAREN statement
    | FOREACH LPAREN error RPAREN statement"""
    p[0] = None


def p_maybe(p: Production) -> None:
    """maybe :
    | expr"""
    p[0] = p[1] if len(p) > 1 else None


def p_statement_foreach(p: Production) -> None:
    """statement : FOREACH LPAREN foreach_head RPAREN statement"""
    actions = p.parser.actions
    p[0] = actions.foreach(p.slice[1], p[3], actions.statement(p[5], p.slice[4]))


def p_foreach_head(p: Production) -> None:
    """foreach_head : foreach_keys IN array foreach_slice foreach_sort foreach_limit"""
    p[0] = (None, p[1], p[3], p[4], p[5], p[6])


def p_foreach_head_value(p: Production) -> None:
    """foreach_head : foreach_key ASSIGN foreach_keys IN array foreach_slice foreach_sort foreach_limit"""  # noqa: E501
    p[0] = (p[1], p[3], p[5], p[6], p[7], p[8])


def p_foreach_keys_one(p: Production) -> None:
    """foreach_keys : foreach_key"""
    p[0] = [p[1]]


def p_foreach_keys_many(p: Production) -> None:
    """foreach_keys : LBRACK foreach_list RBRACK"""
    p[0] = p[2]


def p_foreach_list(p: Production) -> None:
    """foreach_list : foreach_key
    | foreach_list COMMA foreach_key"""
    if len(p) == 2:
        p[0] = [p[1]]
    else:
        p[1].append(p[3])
        p[0] = p[1]


def p_foreach_key(p: Production) -> None:
    """foreach_key : IDENT direction"""
    p[0] = p.parser.actions.foreach_key(p.slice[1], p[2])


def p_direction(p: Production) -> None:
    """direction :
    | PLUS
    | MINUS"""
    p[0] = p.slice[1] if len(p) > 1 else None


def p_foreach_slice(p: Production) -> None:
    """foreach_slice :
    | LBRACK keys RBRACK"""
    p[0] = p[2] if len(p) > 1 else None


def p_foreach_sort(p: Production) -> None:
    """foreach_sort : direction
    | AT_STAT PLUS
    | AT_STAT MINUS"""
    p[0] = (None, p[1]) if len(p) == 2 else (p.slice[1], p.slice[2])


def p_foreach_limit(p: Production) -> None:
    """foreach_limit :
    | LIMIT expr"""
    p[0] = p[2] if len(p) > 1 else None


def p_statement_jump(p: Production) -> None:
    """statement : BREAK end
    | CONTINUE end
    | NEXT end"""
    p[0] = p.parser.actions.jump(p.slice[1])


def p_statement_return(p: Production) -> None:
    """statement : RETURN end
    | RETURN expr end"""
    actions = p.parser.actions
    if len(p) == 3 and not p[2]:
        actions.nothing_returned(p.lexer.tokens[p.lexer.at - 1])
    p[0] = actions.return_statement(p.slice[1], p[2] if len(p) > 3 else None)


def p_statement_delete(p: Production) -> None:
    """statement : DELETE expr end"""
    p[0] = n.DeleteStmt(p.slice[1].span.to(p[2].span), p[2])


def p_statement_try(p: Production) -> None:
    """statement : TRY block CATCH block
    | TRY block CATCH LPAREN IDENT RPAREN block"""
    variable = p[5] if len(p) > 5 else None
    handler = p[len(p) - 1]
    p[0] = n.TryStmt(p.slice[1].span.to(handler.span), p[2], variable, handler)
