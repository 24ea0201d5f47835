"""Points in interpreted code: what they stand for, and what is refused with the reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.cli import main
from stapy.debuginfo.user import search
from stapy.diagnostics import NOWHERE
from stapy.elaborate.names import interpreted
from stapy.parse import nodes as n
from tests.debuginfo.user.sources import compiled
from tests.elaborate.support import run
from tests.elaborate.test_manuals import LIBRARY


def components(module: str, function: str) -> list[n.PointComponent]:
    """Make a point's components as the parser makes them."""
    steps = ["python3", ("module", module), ("function", function)]
    return [
        n.PointComponent(NOWHERE, step)
        if isinstance(step, str)
        else n.PointComponent(NOWHERE, step[0], n.String(NOWHERE, step[1]))
        for step in steps
    ]


def compared(condition: n.Expr) -> list[tuple[str, str]]:
    """List variables with the expressions that they have to match."""
    if isinstance(condition, n.Logical):
        return compared(condition.left) + compared(condition.right)
    assert isinstance(condition, n.Regex) and condition.op == "!~"
    assert isinstance(condition.left, n.Name)
    return [(condition.left.name, condition.pattern.value)]


@pytest.mark.parametrize(
    ("module", "function", "alias", "meant", "others"),
    [
        ("shop", "sell", "plain", [("/a/shop.py", "sell"), ("shop.py", "sell")],
         [("/a/workshop.py", "sell"), ("/a/shop.pyc", "sell"), ("/a/shop.py", "sells")]),
        ("a.shop", "s*l?", "plain", [("/x/a/shop.py", "sell"), ("a/shop/__init__.py", "sold")],
         [("/x/a.shop.py", "sell"), ("/x/a/shop.py", "resell"), ("/x/shop.py", "sell")]),
        ("*", "Shop.sell", "qualified", [("/x/a.py", "Shop.sell")], [("/x/a.py", "ShopXsell")]),
        ("shop", "f@/a/s*.py", "plain", [("/a/shop.py", "f")], [("/x/a/shop.py", "f")]),
        ("*", "f@/c++/x.py", "plain", [("/c++/x.py", "f")], [("/c/x.py", "f")]),
        ("shop", "<lambda>", "plain", [("shop.py", "<lambda>")], [("shop.py", "lambda")]),
    ],
)  # fmt: skip
def test_which_functions_are_meant(
    module: str, function: str, alias: str,
    meant: list[tuple[str, str]], others: list[tuple[str, str]],
) -> None:  # fmt: skip
    name, statement = interpreted.chosen("__python3.call", components(module, function))
    assert name == f"__python3.call.{alias}"
    assert isinstance(statement, n.IfStmt) and isinstance(statement.then, n.NextStmt)

    def fits(file: str, name: str) -> bool:
        values = {"filename": file, "funcname": name, "qualname": name}
        return all(re.search(text, values[row]) for row, text in compared(statement.cond))

    assert all(fits(*row) for row in meant)
    assert not any(fits(*row) for row in others)


POINT = 'python3.module("a").function("f")'
REFUSED = [
    (f"{POINT} {{ println($x) }}", "E0241", "$x", "would be an object of Python", "filename"),
    (f"{POINT}.return {{ println($$vars) }}", "E0241", "$$vars", "object of Python", "filename"),
    ('python3.module("a").function("f:12") { next }', "E0212", "function(", "lines", "python.line"),
    ('python3.module("a").function("f+1") { next }', "E0212", "function(", "lines", "python.line"),
    ('python3.module("a b|c").function("f") { next }', "E0212", "module(", "'a b|c'", ""),
    ('python3.module("a").function("") { next }', "E0212", "function(", "''", ""),
    ('python3.module("a").function("f@a.py:12") { next }', "E0212", "function(", "lines", ""),
    ('python3.module("t.py").function("f") { next }', "E0212", "module(", "file", '.module("t")'),
    ('python3.module("/a/b.py").function("f") { next }', "E0212", "module(", "file", "@/a/b.py"),
    (f"{POINT}.return {{ println(returnval()) }}", "E0241", "returnval", "functions of C", ""),
    (f"{POINT} {{ println(int_arg(1)) }}", "E0241", "int_arg", "functions of C", "funcname"),
    (f"{POINT}.return {{ println(@entry(1)) }}", "E0247", "@entry", "marks", "global"),
    ('python2.module("a").function("f") { next }', "E0230", "python2", "no marks", "process"),
    ('java("Main").class("Work").method("run(int)").return { next }',
     "E0230", "java", "Byteman", "hotspot.method_entry"),
    ('java(12).class("Work").method("run") { next }',
     "E0230", "java", "Byteman", "ExtendedDTraceProbes"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "at", "why", "hint"), REFUSED)
def test_refused(text: str, code: str, at: str, why: str, hint: str) -> None:
    """One message, at the word that is wrong, with the reason and a way out."""
    result = run(f"probe {text}", LIBRARY)
    (error,) = result.diagnostics.errors
    assert error.code == code
    _, _, column = result.diagnostics.sources.position(error.span)
    assert f"probe {text}"[column - 1 :].startswith(at)
    assert why in " ".join([error.message, *error.notes]) and hint in error.hint


def test_an_interpreter_without_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Name an interpreter that, as 3.13 or another build, has no marks, and what helps then."""
    compiled(tmp_path, "int main(void) { return 0; }", name="python3.13")
    monkeypatch.setattr(search, "library_folders", list)
    monkeypatch.setenv("PATH", str(tmp_path))
    text = 'probe python3.module("m").function("f") { println(1) }'
    assert main(["-p2", "-e", text]) == 1
    told = capsys.readouterr().err
    assert f"'{tmp_path}/python3.13' has no marks" in told
    assert "--with-dtrace" in told and "python3_backtrace()" in told
