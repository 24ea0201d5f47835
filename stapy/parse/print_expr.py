"""Expressions as source text, with the parentheses that precedence needs and no others."""

from __future__ import annotations

from collections.abc import Callable

from stapy.parse import nodes as n

# Strength of each form; a weaker one inside a stronger one is put into parentheses.
_ANY, _ASSIGN, _TERNARY, _LOR, _LAND, _PIPE, _CARET, _AMP, _IN = range(9)
_COMPARE, _SHIFT, _CONCAT, _SUM, _PRODUCT, _UNARY, _SUFFIXED, _PRIMARY = range(9, 17)

_LEVELS = {
    "*": _PRODUCT,
    "/": _PRODUCT,
    "%": _PRODUCT,
    "+": _SUM,
    "-": _SUM,
    ".": _CONCAT,
    "<<": _SHIFT,
    ">>": _SHIFT,
    "<": _COMPARE,
    ">": _COMPARE,
    "<=": _COMPARE,
    ">=": _COMPARE,
    "==": _COMPARE,
    "!=": _COMPARE,
    "=~": _COMPARE,
    "!~": _COMPARE,
    "&": _AMP,
    "^": _CARET,
    "|": _PIPE,
    "&&": _LAND,
    "||": _LOR,
}

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\v": "\\v",
    "\f": "\\f",
    "\r": "\\r",
}


def print_expr(expr: n.Expr) -> str:
    """Print an expression as source text."""
    return _at(expr, _ANY)


def quote(value: str) -> str:
    """Quote a string literal; bytes that are no printable UTF-8 become octal escapes."""
    text = value
    if not value.isascii():
        try:
            text = value.encode("latin-1").decode("utf-8")
        except UnicodeError:
            text = value
    raw = text is not value
    return '"' + "".join(_letter(c, raw) for c in text) + '"'


def _letter(char: str, is_raw: bool) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isascii():
        return char if char.isprintable() else f"\\{ord(char):03o}"
    if is_raw:
        if char.isprintable():
            return char
        return "".join(f"\\{byte:03o}" for byte in char.encode())
    return f"\\{ord(char) & 255:03o}"


def print_literal(literal: n.Number | n.String) -> str:
    """Print a literal as it may stand after ``global x =`` or in a probe point."""
    if isinstance(literal, n.String):
        return quote(literal.value)
    return literal.text or str(literal.value)


def print_component(component: n.PointComponent) -> str:
    """Print ``name`` or ``name(literal)``."""
    if component.arg is None:
        return component.name
    return f"{component.name}({print_literal(component.arg)})"


def print_args(args: list[n.Expr]) -> str:
    """Print expressions with commas between them."""
    return ", ".join(print_expr(arg) for arg in args)


def print_keys(keys: list[n.Expr | None]) -> str:
    """Print the keys of an array; None is the wildcard."""
    return ", ".join("*" if key is None else print_expr(key) for key in keys)


def print_array(array: n.Expr) -> str:
    """Print what may stand after ``in``."""
    return print_expr(array)


def _at(expr: n.Expr, needed: int) -> str:
    text, level = _FORMS[type(expr)](expr)
    return f"({text})" if level < needed else text


def _chain(chain: list[n.Component]) -> str:
    text = ""
    for link in chain:
        if isinstance(link, n.MemberAccess):
            text += "->" + link.name
        elif isinstance(link, n.Subscript):
            text += f"[{print_expr(link.index)}]"
        else:
            assert isinstance(link, n.Pretty)
            text += "$" * link.depth
    return text


def _suffixed(text: str, expr: n.Cast | n.AtVar | n.AutoCast | n.Target) -> tuple[str, int]:
    text += _chain(expr.chain)
    return ("&" + text, _UNARY) if expr.address_of else (text, _SUFFIXED)


def _number(e: n.Number) -> tuple[str, int]:
    text = print_literal(e)
    return text, _UNARY if text.startswith("-") else _PRIMARY


def _binary(e: n.Binary | n.Logical) -> tuple[str, int]:
    level = _LEVELS[e.op]
    return f"{_at(e.left, level)} {e.op} {_at(e.right, level + 1)}", level


def _regex(e: n.Regex) -> tuple[str, int]:
    return f"{_at(e.left, _COMPARE)} {e.op} {quote(e.pattern.value)}", _COMPARE


def _array_in(e: n.ArrayIn) -> tuple[str, int]:
    if len(e.keys) == 1 and e.keys[0] is not None:
        return f"{_at(e.keys[0], _IN + 1)} in {print_array(e.array)}", _IN
    return f"[{print_keys(e.keys)}] in {print_array(e.array)}", _IN


def _unary(e: n.Unary) -> tuple[str, int]:
    inside = _at(e.operand, _UNARY)
    # "- -x" must not become "--x", nor "!(~x)" the operator "!~".
    if e.op == "!" and inside[0] == "~":
        return f"!({inside})", _UNARY
    return (f"{e.op} {inside}" if inside[0] == e.op else e.op + inside), _UNARY


def _increment(e: n.Increment) -> tuple[str, int]:
    inside = _at(e.operand, _SUFFIXED)
    return (e.op + inside if e.is_prefix else inside + e.op), _UNARY


def _assign(e: n.Assign) -> tuple[str, int]:
    return f"{_at(e.target, _TERNARY + 1)} {e.op} {_at(e.value, _ASSIGN)}", _ASSIGN


def _ternary(e: n.Ternary) -> tuple[str, int]:
    return f"{_at(e.cond, _LOR)} ? {_at(e.yes, _ANY)} : {_at(e.no, _TERNARY)}", _TERNARY


def _index(e: n.Index) -> tuple[str, int]:
    return f"{print_array(e.base)}[{print_keys(e.keys)}]", _PRIMARY


def _print(e: n.Print) -> tuple[str, int]:
    args = ([quote(e.format.value)] if e.format is not None else []) + [
        print_expr(arg) for arg in e.args
    ]
    return f"{e.name}({', '.join(args)})", _PRIMARY


def _histogram(e: n.Histogram) -> tuple[str, int]:
    return f"@hist_{e.kind}({print_args([e.stat, *e.params])})", _PRIMARY


def _cast(e: n.Cast) -> tuple[str, int]:
    module = f", {quote(e.module)}" if e.module else ""
    return _suffixed(f"@cast({print_expr(e.value)}, {quote(e.type)}{module})", e)


def _at_var(e: n.AtVar) -> tuple[str, int]:
    module = f", {quote(e.module)}" if e.module else ""
    return _suffixed(f"@var({quote(e.name)}{module})", e)


def _auto_cast(e: n.AutoCast) -> tuple[str, int]:
    value = _at(e.value, _PRIMARY)
    if isinstance(e.value, n.Name) and e.chain and not isinstance(e.chain[0], n.MemberAccess):
        value = f"({value})"  # `name[…]` is an array's element, `name$` another name
    return _suffixed(value, e)


def _enum_name(e: n.AtEnumName) -> tuple[str, int]:
    parts = [print_expr(e.value)]
    if e.type or e.module:
        parts.append(quote(e.type))
    if e.module:
        parts.append(quote(e.module))
    return f"@enumname({', '.join(parts)})", _PRIMARY


def _function(name: str) -> Callable[..., tuple[str, int]]:
    return lambda e: (f"@{name}({print_expr(e.operand)})", _PRIMARY)


_FORMS: dict[type, Callable[..., tuple[str, int]]] = {
    n.Number: _number,
    n.String: lambda e: (quote(e.value), _PRIMARY),
    n.Name: lambda e: (e.name, _PRIMARY),
    n.Index: _index,
    n.Binary: _binary,
    n.Logical: _binary,
    n.Regex: _regex,
    n.ArrayIn: _array_in,
    n.Unary: _unary,
    n.Increment: _increment,
    n.Assign: _assign,
    n.Ternary: _ternary,
    n.Call: lambda e: (f"{e.name}({print_args(e.args)})", _PRIMARY),
    n.Print: _print,
    n.Histogram: _histogram,
    n.StatOp: lambda e: (f"@{e.op}({print_args([e.stat, *e.params])})", _PRIMARY),
    n.Target: lambda e: _suffixed(e.name, e),
    n.AtVar: _at_var,
    n.Cast: _cast,
    n.AutoCast: _auto_cast,
    n.Defined: _function("defined"),
    n.Entry: _function("entry"),
    n.ProbeWrite: _function("probewrite"),
    n.Perf: lambda e: (f"@perf({quote(e.name)})", _PRIMARY),
    n.AtConst: lambda e: (f"@const({quote(e.text)})", _PRIMARY),
    n.AtEnum: lambda e: (f"@enum({quote(e.name)})", _PRIMARY),
    n.AtEnumName: _enum_name,
    n.AtRegister: lambda e: (
        f"@{'u' if e.is_user else 'k'}register({print_expr(e.number)})",
        _PRIMARY,
    ),
    n.AtDeref: lambda e: (
        f"@{'u' if e.is_user else 'k'}deref({print_expr(e.size)}, {print_expr(e.address)})",
        _PRIMARY,
    ),
    n.EmbeddedExpr: lambda e: (f"%{{{e.code}%}}", _PRIMARY),
}
