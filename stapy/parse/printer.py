"""Trees as canonical source text; parsing the text gives the same tree."""

from __future__ import annotations

from stapy.parse import nodes as n
from stapy.parse.print_expr import (
    print_array,
    print_component,
    print_expr,
    print_keys,
    print_literal,
)

__all__ = ["dump", "print_component", "print_expr", "print_point", "print_script", "print_stmt"]

_INDENT = "    "


def dump(scripts: list[n.Script]) -> str:
    """Print scripts as -p1 shows them."""
    parts = ["# parse tree dump\n"]
    for script in scripts:
        parts.append(f"# file {script.path}\n")
        parts.append(print_script(script))
    return "".join(parts)


def print_script(script: n.Script) -> str:
    """Print all declarations in their order."""
    return "".join(print_decl(decl) for decl in script.decls)


# --- declarations -----------------------------------------------------------


def print_decl(decl: n.Decl) -> str:
    """Print one declaration, with its line break."""
    if isinstance(decl, n.GlobalDecl):
        return _global(decl)
    if isinstance(decl, n.FunctionDecl):
        return _function(decl)
    if isinstance(decl, n.ProbeDecl):
        return f"probe {_points(decl.points)} {_block(decl.body)}\n"
    if isinstance(decl, n.AliasDecl):
        return _alias(decl)
    assert isinstance(decl, n.EmbeddedDecl), decl
    return f"%{{{decl.code}%}}\n"


def _global(decl: n.GlobalDecl) -> str:
    text = ("private " if decl.is_private else "") + "global " + decl.name
    if decl.wraps:
        text += "%"
    if decl.size is not None:
        text += f"[{decl.size}]"
    if decl.init is not None:
        text += " = " + print_literal(decl.init)
    return text + "\n"


def _function(decl: n.FunctionDecl) -> str:
    params = ", ".join(p.name + (f":{p.type}" if p.type else "") for p in decl.params)
    text = _doc(decl.doc)
    text += ("private " if decl.is_private else "") + "function " + decl.name
    text += f":{decl.type}" if decl.type else ""
    text += f"({params})"
    text += f" : {decl.priority}" if decl.priority is not None else ""
    if decl.code is not None:
        return f"{text} %{{{decl.code}%}}\n"
    return f"{text} {_block(decl.body)}\n"


def _alias(decl: n.AliasDecl) -> str:
    name = ".".join(print_component(component) for component in decl.name)
    text = f"{_doc(decl.doc)}probe {name} "
    if decl.prologue is None:
        return f"{text}+= {_points(decl.points)} {_block(decl.epilogue)}\n"
    text += f"= {_points(decl.points)} {_block(decl.prologue)}"
    return text + (f", {_block(decl.epilogue)}\n" if decl.epilogue is not None else "\n")


def _doc(doc: str) -> str:
    if not doc:
        return ""
    lines = doc.split("\n")
    if "*/" in doc:
        return "".join(f"# {line}".rstrip() + "\n" for line in lines)
    return "/**\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def _points(points: list[n.ProbePoint]) -> str:
    return ", ".join(print_point(point) for point in points)


def print_point(point: n.ProbePoint) -> str:
    """Print one probe point with its marks and condition."""
    text = ".".join(print_component(component) for component in point.components)
    text += " !" if point.sufficient else " ?" if point.optional else ""
    return text + (f" if ({print_expr(point.condition)})" if point.condition is not None else "")


# --- statements -------------------------------------------------------------


def _block(body: n.Stmt | None, depth: int = 0) -> str:
    assert isinstance(body, n.Block), body
    if not body.body:
        return "{ }"
    inner = "".join(
        _INDENT * (depth + 1) + print_stmt(stmt, depth + 1) + "\n" for stmt in body.body
    )
    return "{\n" + inner + _INDENT * depth + "}"


def print_stmt(stmt: n.Stmt, depth: int = 0) -> str:
    """Print a statement without the indent of its first line and the line break at its end."""
    if isinstance(stmt, n.Block):
        return _block(stmt, depth)
    if isinstance(stmt, n.ExprStmt):
        return print_expr(stmt.expr) + ";"
    if isinstance(stmt, n.EmptyStmt):
        return ";"
    if isinstance(stmt, n.IfStmt):
        return _if(stmt, depth)
    if isinstance(stmt, n.WhileStmt):
        return f"while ({print_expr(stmt.cond)})" + _under(stmt.body, depth)
    if isinstance(stmt, n.ForStmt):
        parts = [print_expr(e) if e is not None else "" for e in (stmt.init, stmt.cond, stmt.step)]
        return f"for ({parts[0]}; {parts[1]}; {parts[2]})" + _under(stmt.body, depth)
    if isinstance(stmt, n.ForeachStmt):
        return f"foreach ({_foreach_head(stmt)})" + _under(stmt.body, depth)
    if isinstance(stmt, n.TryStmt):
        variable = f" ({stmt.variable})" if stmt.variable is not None else ""
        return f"try {_block(stmt.body, depth)} catch{variable} {_block(stmt.handler, depth)}"
    if isinstance(stmt, n.ReturnStmt):
        return f"return {print_expr(stmt.value)};" if stmt.value is not None else "return;"
    if isinstance(stmt, n.DeleteStmt):
        return f"delete {print_expr(stmt.target)};"
    if isinstance(stmt, n.EmbeddedStmt):
        return f"%{{{stmt.code}%}};"
    return {n.BreakStmt: "break;", n.ContinueStmt: "continue;", n.NextStmt: "next;"}[type(stmt)]


def _under(body: n.Stmt, depth: int) -> str:
    if isinstance(body, n.Block):
        return " " + _block(body, depth)
    if isinstance(body, n.EmptyStmt):
        return " ;"
    return "\n" + _INDENT * (depth + 1) + print_stmt(body, depth + 1)


def _if(stmt: n.IfStmt, depth: int) -> str:
    text = f"if ({print_expr(stmt.cond)})" + _under(stmt.then, depth)
    if stmt.otherwise is None:
        return text
    text += " else" if isinstance(stmt.then, n.Block) else "\n" + _INDENT * depth + "else"
    if isinstance(stmt.otherwise, n.IfStmt):
        return f"{text} {print_stmt(stmt.otherwise, depth)}"
    return text + _under(stmt.otherwise, depth)


def _foreach_head(stmt: n.ForeachStmt) -> str:
    keys = ", ".join(_foreach_key(key) for key in stmt.keys)
    text = f"{_foreach_key(stmt.value)} = " if stmt.value is not None else ""
    text += f"[{keys}]" if len(stmt.keys) > 1 else keys
    text += " in " + print_array(stmt.array)
    if stmt.slice is not None:
        text += f"[{print_keys(stmt.slice)}]"
    text += f" @{stmt.sort_op} " if stmt.sort_op else ""
    text += _sort_mark(stmt.sort)
    return text + (f" limit {print_expr(stmt.limit)}" if stmt.limit is not None else "")


def _foreach_key(key: n.ForeachKey) -> str:
    return key.name + _sort_mark(key.sort)


def _sort_mark(sort: int) -> str:
    return "+" if sort > 0 else "-" if sort < 0 else ""
