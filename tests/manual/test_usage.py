"""Which scripts use a name: calls with as many arguments, points, macros; no comment, no text."""

from __future__ import annotations

import pytest

from stapy.manual.entries import ALIAS, FUNCTION, MACRO, DocArgument, DocEntry
from stapy.manual.usage import Usage, code_of, uses
from stapy.parse.doc_comment import DocComment


def entry(kind: str, name: str, count: int = 0) -> DocEntry:
    arguments = [DocArgument(f"a{at}", "", "") for at in range(count)]
    return DocEntry(kind, name, "x.stp", DocComment([name], ""), arguments=arguments)


@pytest.mark.parametrize(
    ("code", "of", "used"),
    [
        ("probe begin { f() }", entry(FUNCTION, "f"), True),
        ("probe begin { f () }", entry(FUNCTION, "f"), True),
        ("probe begin { f(1) }", entry(FUNCTION, "f"), False),
        ("probe begin { f(1) f() }", entry(FUNCTION, "f"), True),
        ("probe begin { f(g(1, 2), a[3, 4]) }", entry(FUNCTION, "f", 2), True),
        ("probe begin { f(g(1, 2), a[3, 4]) }", entry(FUNCTION, "f", 4), False),
        ('probe begin { f("a,b") }', entry(FUNCTION, "f", 1), True),
        ("probe begin { ff() x->f() @f() $f() }", entry(FUNCTION, "f"), False),
        ('probe begin { println("f()") } # f()\n// f()\n/* f() */', entry(FUNCTION, "f"), False),
        ("function f() { } probe begin { f() }", entry(FUNCTION, "f"), False),
        ("probe vfs.read { }", entry(ALIAS, "vfs.read"), True),
        ("probe vfs.read, vfs.write { }", entry(ALIAS, "vfs.write"), True),
        ("probe vfs.read.return { }", entry(ALIAS, "vfs.read"), False),
        ("probe my.vfs.read { }", entry(ALIAS, "vfs.read"), False),
        ("probe begin { @f(1) }", entry(MACRO, "f"), True),
        ("probe begin { @ff f(1) }", entry(MACRO, "f"), False),
    ],
)
def test_uses(code: str, of: DocEntry, used: bool) -> None:
    assert uses(code_of(code), of) is used


def test_the_gallery() -> None:
    found = Usage().of(entry(ALIAS, "syscall.openat"))
    assert ("opensnoop", "files/opensnoop.stp") in [(one.name, one.place) for one in found]
    assert Usage().of(entry(FUNCTION, "nosuch")) == []
