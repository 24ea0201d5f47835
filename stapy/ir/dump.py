"""A `Program` as text: what -p2 prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir import program as p
from stapy.ir.literals import quote

if TYPE_CHECKING:
    from collections.abc import Callable

INDENT = "  "


def dump_program(program: p.Program, with_bodies: bool = False) -> str:
    """Write a program as -p2 prints it; ``with_bodies`` shows the code as well."""
    lines: list[str] = []
    if program.embedded:
        lines.append("# global embedded code")
        lines += [f"%{{{code}%}}" for code in program.embedded]
    if program.globals:
        lines.append("# globals")
        lines += [_global(var, with_bodies) for var in program.globals]
    if program.functions:
        lines.append("# functions")
        for function in sorted(program.functions, key=lambda f: f.name):
            lines += _function(function, with_bodies)
    if program.probes:
        lines.append("# probes")
        for probe in program.probes:
            lines += _probe(probe, with_bodies)
    return "".join(line + "\n" for line in lines)


def _result(kind: p.Type) -> str:
    return "unknown" if kind == p.VOID else str(kind)


def _global(var: p.Global, with_value: bool) -> str:
    text = var.name
    if var.wraps:
        text += "%"
    if var.size_set:
        text += f"[{var.size}]"
    text += f":{var.type}"
    if var.keys:
        text += f" [{', '.join(map(str, var.keys))}]"
    if var.init is not None and with_value:
        text += f" = {quote(var.init) if isinstance(var.init, str) else var.init}"
    return text


def _function(function: p.Function, with_bodies: bool) -> list[str]:
    params = ", ".join(f"{v.name}:{v.type}" for v in function.params)
    lines = [f"{function.name}:{_result(function.type)} ({params})"]
    if function.locals:
        lines.append(INDENT + "# locals")
        lines += [f"{INDENT}{v.name}:{v.type}" for v in function.locals]
    if with_bodies:
        if function.body is not None:
            lines += statement(function.body, "")
        else:
            lines.append(f"%{{{function.code}%}}")
    return lines


def _probe(probe: p.DerivedProbe, with_bodies: bool) -> list[str]:
    lines: list[str] = []
    condition = f" if ({expression(probe.condition.test)})" if probe.condition is not None else ""
    names = [*reversed(probe.chain), probe.written]
    if len(names) > 1 and names[-1] == names[-2]:  # the script names the alias itself
        names.pop()
    trail = " <- ".join(names)
    for point in probe.points:
        lines.append(f"{point}{condition} /* <- {trail} */")
        if probe.handler.locals:
            lines.append(INDENT + "# locals")
            lines += [f"{INDENT}{v.name}:{v.type}" for v in probe.handler.locals]
        if with_bodies:
            if probe.entry is not None:
                lines.append(INDENT + "# at entry")
                lines += statement(probe.entry.body, "")
            lines += statement(probe.handler.body, "")
    return lines


# --- statements -----------------------------------------------------------------


def statement(node: p.Stmt, indent: str) -> list[str]:
    """Format a statement as lines, indented by ``indent``."""
    printer = _STATEMENTS[type(node)]
    return printer(node, indent)


def _block(node: p.Block, indent: str) -> list[str]:
    lines = [indent + "{"]
    for item in node.body:
        inside = [item]
        if isinstance(item, p.Locked) and isinstance(item.body, p.Block):
            inside = item.body.body  # the script has no braces there
        for inner in inside:
            lines += statement(inner, indent + INDENT)
    return [*lines, indent + "}"]


def _if(node: p.If, indent: str) -> list[str]:
    lines = [f"{indent}if ({expression(node.cond)})", *statement(node.then, indent + INDENT)]
    if node.otherwise is not None:
        lines += [indent + "else", *statement(node.otherwise, indent + INDENT)]
    return lines


def _loop(node: p.Loop, indent: str) -> list[str]:
    cond = expression(node.cond) if node.cond is not None else "1"
    step = expression(node.step) if node.step is not None else ""
    return [f"{indent}for (; {cond}; {step})", *statement(node.body, indent + INDENT)]


def _foreach(node: p.Foreach, indent: str) -> list[str]:
    mark = "-" if node.is_descending else "+"
    keys = [
        key.name + (mark if node.sort_by == "key" and node.sort_index == number else "")
        for number, key in enumerate(node.keys)
    ]
    text = f"[{', '.join(keys)}] in {node.var.name}"
    if node.value is not None:
        text = f"{node.value.name} = {text}"
    if node.slice is not None:
        text += _keys(node.slice)
    if node.sort_by == "value":
        text += (f" @{node.sort_op}" if node.sort_op else "") + mark
    if node.limit is not None:
        text += f" limit {expression(node.limit)}"
    return [f"{indent}foreach ({text})", *statement(node.body, indent + INDENT)]


def _foreach_bucket(node: p.ForeachBucket, indent: str) -> list[str]:
    text = f"[{node.bucket.name}] in @hist({expression(node.stat)})"
    if node.value is not None:
        text = f"{node.value.name} = {text}"
    if node.limit is not None:
        text += f" limit {expression(node.limit)}"
    return [f"{indent}foreach ({text})", *statement(node.body, indent + INDENT)]


def _try(node: p.Try, indent: str) -> list[str]:
    variable = f" ({node.variable.name})" if node.variable is not None else ""
    return [
        indent + "try",
        *statement(node.body, indent + INDENT),
        f"{indent}catch{variable}",
        *statement(node.handler, indent + INDENT),
    ]


def _return(node: p.Return, indent: str) -> list[str]:
    value = " " + expression(node.value) if node.value is not None else ""
    return [f"{indent}return{value}"]


_STATEMENTS: dict[type, Callable[..., list[str]]] = {
    p.Block: _block,
    p.Evaluate: lambda node, indent: [indent + expression(node.expr)],
    p.If: _if,
    p.Loop: _loop,
    p.Foreach: _foreach,
    p.ForeachBucket: _foreach_bucket,
    p.Break: lambda node, indent: [indent + "break"],
    p.Continue: lambda node, indent: [indent + "continue"],
    p.Next: lambda node, indent: [indent + "next"],
    p.Return: _return,
    p.Locked: lambda node, indent: statement(node.body, indent),
    p.Delete: lambda node, indent: [f"{indent}delete {expression(node.target)}"],
    p.Try: _try,
    p.EmbeddedC: lambda node, indent: [f"{indent}%{{{node.code}%}}"],
    p.SaveEntry: lambda node, indent: [f"{indent}__slot{node.slot} = {expression(node.value)}"],
}


# --- expressions ------------------------------------------------------------------


def expression(node: p.Expr) -> str:
    """Format an expression as text."""
    return _EXPRESSIONS[type(node)](node)


def _operand(node: p.Expr) -> str:
    text = expression(node)
    simple = (p.Const, p.Text, p.LocalRef, p.GlobalRef, p.ElementRef, p.CallOp, p.StatRead)
    return text if isinstance(node, simple) else f"({text})"


def _keys(keys: list[p.Expr | None]) -> str:
    return "[" + ", ".join("*" if k is None else expression(k) for k in keys) + "]"


def format_text(pieces: list[p.FormatPiece]) -> str:
    """Put the pieces of a format together as the quoted string printf would have."""
    text = ""
    for piece in pieces:
        if piece.kind == "text":
            text += piece.text.replace("%", "%%")
            continue
        width = "" if piece.width is None else str(piece.width)
        precision = "" if piece.precision is None else f".{piece.precision}"
        text += f"%{piece.flags}{width}{precision}{piece.kind}"
    return quote(text)


def _print(node: p.PrintOp | p.PrettyPrint) -> str:
    if isinstance(node, p.PrettyPrint):
        name = "pretty"
    else:
        name = "sprintf" if node.type == p.STRING else "printf"
    return f"{name}({', '.join([format_text(node.pieces), *map(expression, node.args)])})"


def _memory(node: p.MemoryRead) -> str:
    name = "user" if node.is_user else "kernel"
    bits = f", bits {node.shift}+{node.bits}" if node.bits else ""
    sign = "s" if node.signed else "u"
    return f"@{name}_{sign}{node.size * 8}({expression(node.address)}{bits})"


def _context(node: p.ContextValue) -> str:
    sign = "s" if node.signed else "u"
    return f"@{node.name}({node.index}):{sign}{node.size * 8}"


def _increment(node: p.IncrementOp) -> str:
    target = expression(node.target)
    return node.op + target if node.is_prefix else target + node.op


def _histogram(node: p.HistogramRef) -> str:
    return f"@hist({expression(node.stat)})"


def _stat(node: p.StatRead) -> str:
    shift = f", {node.shift}" if node.shift else ""
    return f"@{node.op}({expression(node.stat)}{shift})"


_EXPRESSIONS: dict[type, Callable[..., str]] = {
    p.Const: lambda n: str(n.value),
    p.Text: lambda n: quote(n.value),
    p.LocalRef: lambda n: str(n.name),
    p.GlobalRef: lambda n: str(n.var.name),
    p.ElementRef: lambda n: n.var.name + _keys(n.keys),
    p.BinaryOp: lambda n: f"{_operand(n.left)} {n.op} {_operand(n.right)}",
    p.UnaryOp: lambda n: n.op + _operand(n.operand),
    p.LogicalOp: lambda n: f"{_operand(n.left)} {n.op} {_operand(n.right)}",
    p.Conditional: lambda n: f"{_operand(n.cond)} ? {_operand(n.yes)} : {_operand(n.no)}",
    p.AssignOp: lambda n: f"{expression(n.target)} {n.op} {expression(n.value)}",
    p.IncrementOp: _increment,
    p.InArray: lambda n: f"{_keys(n.keys)} in {n.var.name}",
    p.CallOp: lambda n: f"{n.function.name}({', '.join(map(expression, n.args))})",
    p.PrintOp: _print,
    p.PrettyPrint: _print,
    p.HistogramRef: _histogram,
    p.StatRead: _stat,
    p.BucketRead: lambda n: f"@hist({expression(n.stat)})[{expression(n.bucket)}]",
    p.BucketIn: lambda n: f"[{expression(n.bucket)}] in @hist({expression(n.stat)})",
    p.RegexMatch: lambda n: (
        f"{_operand(n.left)} {'!~' if n.is_negated else '=~'} {quote(n.pattern)}"
    ),
    p.MemoryRead: _memory,
    p.ContextValue: _context,
    p.SavedEntry: lambda n: f"__slot{n.slot}",
    p.NotKnown: lambda n: f"@error({quote(n.why)})",
    p.EntryRegister: lambda n: f"@entry_arg({n.register}, {n.function.symbol})",
    p.ModuleAddress: lambda n: f"&{n.module}:{n.symbol}+{n.offset}",
    p.FileImage: lambda n: f"&{n.path}+{n.code:#x}",
    p.EmbeddedValue: lambda n: f"%{{{n.code}%}}",
}
