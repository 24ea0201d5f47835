"""Declarations and probe points; ``script`` is the start symbol."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stapy.parse.production import Production


def p_script(p: Production) -> None:
    """script : declarations"""
    p[0] = p[1]


def p_declarations(p: Production) -> None:
    """declarations :
    | declarations declaration
    | declarations error"""
    if len(p) == 1:
        p[0] = []
    else:
        if p.slice[2].type == "declaration":
            p[1].extend(p[2])
        p[0] = p[1]


def p_declaration(p: Production) -> None:
    """declaration : probe
    | alias
    | function"""
    p[0] = p[1]


def p_declaration_globals(p: Production) -> None:
    """declaration : globals end"""
    p[0] = p[1]


def p_declaration_embedded(p: Production) -> None:
    """declaration : EMBED"""
    p[0] = p.parser.actions.embedded_declaration(p.slice[1])


# --- globals ----------------------------------------------------------------


def p_globals(p: Production) -> None:
    """globals : GLOBAL global_list"""
    p[0] = p[2]


def p_globals_private(p: Production) -> None:
    """globals : PRIVATE GLOBAL global_list
    | PRIVATE global_list"""
    p[0] = p[len(p) - 1]
    for item in p[0]:
        item.is_private = True


def p_global_list(p: Production) -> None:
    """global_list : global_item
    | global_list COMMA global_item"""
    if len(p) == 2:
        p[0] = [p[1]]
    else:
        p[1].append(p[3])
        p[0] = p[1]


def p_global_item(p: Production) -> None:
    """global_item : IDENT global_wrap global_size global_value"""
    p[0] = p.parser.actions.global_item(p.slice[1], p[2], p[3], p[4])


def p_global_wrap(p: Production) -> None:
    """global_wrap :
    | PERCENT"""
    p[0] = len(p) > 1


def p_global_size(p: Production) -> None:
    """global_size :
    | LBRACK signed RBRACK"""
    p[0] = p[2] if len(p) > 1 else None


def p_global_value(p: Production) -> None:
    """global_value :
    | ASSIGN literal"""
    p[0] = (p.slice[1], p[2]) if len(p) > 1 else None


# --- functions --------------------------------------------------------------


def p_function(p: Production) -> None:
    """function : FUNCTION function_rest"""
    p[0] = p.parser.actions.function(p.slice[1], False, p[2])


def p_function_private(p: Production) -> None:
    """function : PRIVATE FUNCTION function_rest"""
    p[0] = p.parser.actions.function(p.slice[1], True, p[3])


def p_function_rest(p: Production) -> None:
    """function_rest : IDENT type LPAREN params RPAREN priority body"""
    p[0] = (p.slice[1], p[2], p[4], p[6], p[7])


def p_type(p: Production) -> None:
    """type :
    | COLON LONG
    | COLON STRING_TYPE"""
    p[0] = p[2] if len(p) > 1 else ""


def p_params(p: Production) -> None:
    """params :
    | param_list"""
    p[0] = p[1] if len(p) > 1 else []


def p_param_list(p: Production) -> None:
    """param_list : param
    | param_list COMMA param"""
    if len(p) == 2:
        p[0] = [p[1]]
    else:
        p[1].append(p[3])
        p[0] = p[1]


def p_param(p: Production) -> None:
    """param : IDENT type"""
    p[0] = p.parser.actions.param(p.slice[1], p[2])


def p_priority(p: Production) -> None:
    """priority :
    | COLON signed"""
    p[0] = p.parser.actions.priority(p[2]) if len(p) > 1 else None


def p_body_block(p: Production) -> None:
    """body : block"""
    p[0] = p[1]


def p_body_embedded(p: Production) -> None:
    """body : EMBED"""
    p[0] = p.parser.actions.embedded_body(p.slice[1])


# --- probes -----------------------------------------------------------------


def p_probe(p: Production) -> None:
    """probe : PROBE points block"""
    p[0] = p.parser.actions.probe(p.slice[1], p[2], p[3])


def p_alias_prologue(p: Production) -> None:
    """alias : PROBE points ASSIGN points block"""
    p[0] = p.parser.actions.alias(p.slice[1], p[2], p[4], p[5], None)


def p_alias_both(p: Production) -> None:
    """alias : PROBE points ASSIGN points block COMMA block"""
    p[0] = p.parser.actions.alias(p.slice[1], p[2], p[4], p[5], p[7])


def p_alias_epilogue(p: Production) -> None:
    """alias : PROBE points PLUSSET points block"""
    p[0] = p.parser.actions.alias(p.slice[1], p[2], p[4], None, p[5])


def p_alias_bad(p: Production) -> None:
    """alias : PROBE points PLUSSET points block COMMA block"""
    p.parser.actions.double_epilogue(p.slice[6])
    p[0] = p.parser.actions.alias(p.slice[1], p[2], p[4], p[5], p[7])


def p_points(p: Production) -> None:
    """points : point
    | points COMMA point"""
    p[0] = p[1] if len(p) == 2 else p[1] + p[3]


def p_point(p: Production) -> None:
    """point : path mark condition"""
    p[0] = p.parser.actions.marked(p[1], p[2], p[3])


def p_mark(p: Production) -> None:
    """mark :
    | QUESTION
    | NOT"""
    p[0] = p.slice[1] if len(p) > 1 else None


def p_condition(p: Production) -> None:
    """condition :
    | IF LPAREN expr RPAREN"""
    p[0] = p[3] if len(p) > 1 else None


def p_path(p: Production) -> None:
    """path : step
    | path DOT step"""
    p[0] = p[1] if len(p) == 2 else p.parser.actions.joined(p[1], p[3], p.slice[2])


def p_step(p: Production) -> None:
    """step : COMPONENT"""
    p[0] = p.parser.actions.step(p.slice[1], None, None)


def p_step_argument(p: Production) -> None:
    """step : COMPONENT LPAREN literal RPAREN"""
    p[0] = p.parser.actions.step(p.slice[1], p[3], p.slice[4])


def p_step_group(p: Production) -> None:
    """step : LBRACE points RBRACE"""
    p[0] = p[2]


def p_member_name(p: Production) -> None:
    """member_name : IDENT
    | PRINT
    | PRINTD
    | PRINTF
    | PROBE
    | GLOBAL
    | PRIVATE
    | FUNCTION
    | IF
    | ELSE
    | FOR
    | FOREACH
    | IN
    | LIMIT
    | RETURN
    | DELETE
    | WHILE
    | BREAK
    | CONTINUE
    | NEXT
    | STRING_TYPE
    | LONG
    | TRY
    | CATCH"""
    p[0] = p.slice[1]
