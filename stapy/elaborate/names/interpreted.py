"""Points in programs of other languages: functions of Python, and what is not so in those of Go.

``python3.module("M").function("P")`` stands for an alias of the library, in front of whose handler
the module and the function are compared with what the mark tells.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.debuginfo.user.golang import is_go
from stapy.elaborate.names.syntax import walk
from stapy.parse import nodes as n
from stapy.patterns import compiled_when_used
from stapy.probes.family import Form, Match, PointError, forms

if TYPE_CHECKING:
    from stapy.diagnostics import Span

# The aliases of `tapsets/user/python_functions.stp`; those of qualified names read the frame, too.
FORMS: dict[str, list[Form]] = {
    "__python3.call": forms(
        "python3.module(string).function(string)",
        "python3.module(string).function(string).call",
    ),
    "__python3.return": forms("python3.module(string).function(string).return"),
}
_BY_NUMBER = compiled_when_used(
    "(set_)?((u?(int|long|longlong)|[su](32|64)|pointer)_arg|user_string_arg)"
)
_LINE = compiled_when_used(
    r"^[^@]*[:+]|[:+][\d*]+(-\d+)?$"
)  # behind a function, or behind its file
_RESULT = compiled_when_used("returnval|returnstr|return_str")
_WILD = {"*": ".*", "?": "."}

# Names that SystemTap's users may write, and must not take for their own mistake.
REFUSED = {
    "python2": (
        "Python 2 has no marks that tell of calls, and is not to be had with Debian 12",
        'probe the interpreter\'s own functions by process("python2").function(…)',
    ),
    "java": (
        "SystemTap has java() probes done by Byteman, a program that changes the classes of the "
        "running JVM; stapy changes no program",
        "hotspot.method_entry and hotspot.method_return tell of all methods, as class, method and "
        "sig, when java is started with -XX:+ExtendedDTraceProbes",
    ),
}


def is_argument(name: str) -> bool:
    """Tell whether a function of that name reads arguments by number."""
    return _BY_NUMBER().fullmatch(name) is not None


def _pattern(text: str) -> str:
    """Convert a wildcard pattern to a regular expression."""
    return "".join(
        _WILD.get(char) or (char if char.isalnum() or char in "_/<>-" else f"\\{char}")
        for char in text
    )


def _checked(text: str, what: str, span: Span) -> str:
    """Return a pattern that names can match; raise `PointError` for any other."""
    if not text or any(char in "\\[]{}()|^$\"'" or not char.isprintable() for char in text):
        raise PointError(
            "E0212",
            f"'{text}' is not a pattern of Python's {what}",
            span,
            notes=["it is made of a name and the wildcards * and ?"],
        )
    return text


def _refuse_file(module: str, span: Span) -> None:
    """Raise `PointError` for a file where a module's name belongs: no suffix, dots for folders."""
    if not module.endswith(".py") and "/" not in module:
        return
    name = module.removesuffix(".py").removesuffix("/__init__").strip("./").replace("/", ".")
    raise PointError(
        "E0212",
        f"'{module}' is the name of a file, not of a module",
        span,
        notes=["a module is named as `import` has it"],
        hint=f'use .module("{name}"), or .module("*").function("NAME@{module}") for the file',
    )


def chosen(alias: str, components: list[n.PointComponent]) -> tuple[str, n.Stmt]:
    """Choose the alias of a point; return it and the statement that skips other functions."""
    module, function = components[1], components[2]
    assert isinstance(module.arg, n.String) and isinstance(function.arg, n.String)
    _refuse_file(module.arg.value, module.span)
    path = _checked(module.arg.value, "modules", module.span).replace(".", "/")
    name, at, file = function.arg.value.partition("@")
    if _LINE().search(function.arg.value):
        raise PointError(
            "E0212",
            "lines of Python's functions are no probe points",
            function.span,
            notes=["python.line tells of every line, as filename, funcname and lineno"],
            hint=f'use .function("{re.split("[:+]", name)[0]}"), or python.line with a condition',
        )
    _checked(name, "functions", function.span)
    tests = [("filename", rf"(^|/){_pattern(path)}(/__init__)?\.py$")]
    if at:
        start = "^" if file.startswith("/") else "(^|/)"
        tests.append(("filename", f"{start}{_pattern(_checked(file, 'files', function.span))}$"))
    qualified = "." in name
    tests.append(("qualname" if qualified else "funcname", f"^{_pattern(name)}$"))
    condition: n.Expr | None = None
    for variable, expression in tests:
        span = function.span if "name" in variable else module.span
        one: n.Expr = n.Regex(span, "!~", n.Name(span, variable), n.String(span, expression))
        condition = one if condition is None else n.Logical(span, "||", condition, one)
    assert condition is not None
    span = components[0].span
    statement = n.IfStmt(span, condition, n.NextStmt(span))
    return alias + (".qualified" if qualified else ".plain"), statement


def silence(point: n.ProbePoint) -> str:
    """Tell what to do where no interpreter reports calls, "" for points of no interpreter."""
    if point.components[0].name != "python3":
        return ""
    return (
        "Python tells of calls by marks: up to 3.12, where it was built with them "
        "(./configure --with-dtrace, as Debian's is); without them, python3_backtrace() in any "
        "other probe tells what 3.9 to 3.14 run"
    )


def refuse_variables(body: n.Stmt) -> None:
    """Raise `PointError` where a body reads variables of a Python function: they are objects."""
    for node in walk(body):
        if isinstance(node, n.Entry):
            raise PointError(
                "E0247",
                "@entry needs the call of the same function, which a return of Python's has not",
                node.span,
                notes=["its two marks know nothing of each other"],
                hint="keep the value in a global: "
                "probe ….function(…) { kept[tid(), funcname] = … }, and read it in .return",
            )
        if isinstance(node, n.Call) and (_RESULT().fullmatch(node.name) or is_argument(node.name)):
            raise PointError(
                "E0241",
                f"'{node.name}' is about functions of C: here it would be of the interpreter",
                node.span,
                notes=["arguments and results of Python's functions are objects of Python"],
                hint="filename, funcname and lineno tell of the function",
            )
        if isinstance(node, n.Target | n.AtVar):
            raise PointError(
                "E0241",
                f"'{node.name}' cannot be read: it would be an object of Python",
                node.span,
                notes=[
                    "SystemTap has them told by a module of its own that is loaded into the program"
                ],
                hint="filename, funcname and lineno tell of the function, "
                "python_sprint_backtrace() of its callers",
            )


def refuse_arguments(matches: list[Match], body: n.Stmt) -> None:
    """Raise `PointError` where a body reads arguments by number of code that Go made."""
    for node in walk(body):
        if isinstance(node, n.Call) and is_argument(node.name):
            for match in matches:
                file = getattr(match.site, "file", None)
                if file is not None and is_go(file.elf):
                    raise PointError(
                        "E0231",
                        "no match",
                        node.span,
                        notes=[
                            f"'{node.name}' reads arguments where C has them: "
                            f"'{file.path}' was made by Go"
                        ],
                        hint="Go has whole numbers and pointers, and the parts of strings and "
                        'slices, one after the other in register("rax"), rbx, rcx, rdi, rsi, '
                        "r8, r9, r10, r11",
                    )
