"""What is being written at a place, told by the text before it."""

from __future__ import annotations

import pytest

from stapy.editor.cursor import Kind, components, cursor_at

BODY = 'probe kernel.function("f") { '


@pytest.mark.parametrize(
    ("text", "kind", "word", "point"),
    [
        ("", Kind.TOP, "", ""),
        ("pro", Kind.TOP, "pro", ""),
        ("global a\npro", Kind.TOP, "pro", ""),
        ("probe begin { }\nfun", Kind.TOP, "fun", ""),
        ("probe ", Kind.POINT, "", ""),
        ("probe sys", Kind.POINT, "sys", ""),
        ("probe syscall.op", Kind.POINT, "op", "syscall."),
        ("probe begin, sys", Kind.POINT, "sys", ""),
        ("probe begin, kernel.", Kind.POINT, "", "kernel."),
        ("probe begin ?, end", Kind.POINT, "end", ""),
        ("probe mine = kern", Kind.POINT, "kern", ""),
        ('probe kernel.function("f").', Kind.POINT, "", 'kernel.function("f").'),
        ('probe kernel.function("vfs_', Kind.ARGUMENT, "vfs_", "kernel.function("),
        ('probe a, module("x").function("', Kind.ARGUMENT, "", 'module("x").function('),
        ("probe timer.s(", Kind.POINT, "", "timer.s("),
        (BODY, Kind.NAME, "", 'kernel.function("f")'),
        (BODY + "if (a) { pri", Kind.NAME, "pri", 'kernel.function("f")'),
        (BODY + "x = $fi", Kind.TARGET, "$fi", 'kernel.function("f")'),
        (BODY + "x = $$va", Kind.TARGET, "$$va", 'kernel.function("f")'),
        (BODY + "x = $", Kind.TARGET, "$", 'kernel.function("f")'),
        (BODY + "y[@co", Kind.MACRO, "@co", 'kernel.function("f")'),
        (BODY + 'printf("vfs_', Kind.NOTHING, "", ""),
        (BODY + "// pri", Kind.NOTHING, "", ""),
        (BODY + "# it's\npri", Kind.NAME, "pri", 'kernel.function("f")'),
        (BODY + "/* pri", Kind.NOTHING, "", ""),
        (BODY + "%{ ret", Kind.NOTHING, "", ""),
        (BODY + '} probe end { x = "}" ; ex', Kind.NAME, "ex", "end"),
        ("probe begin, end { ex", Kind.NAME, "ex", "end"),
        ("probe mine = syscall.read ? { na", Kind.NAME, "na", "syscall.read"),
        ('probe process("a,b").mark("m") { $a', Kind.TARGET, "$a", 'process("a,b").mark("m")'),
        ("function f(a) { ret", Kind.NAME, "ret", ""),
        ("function f(a) { return a }\nglo", Kind.TOP, "glo", ""),
        ("function f:lo", Kind.NAME, "lo", ""),
    ],
)  # fmt: skip
def test_cursor(text: str, kind: Kind, word: str, point: str) -> None:
    found = cursor_at(text + "garbage behind it", len(text))
    assert (found.kind, found.word, found.point) == (kind, word, point)


@pytest.mark.parametrize(
    ("text", "chain", "word"),
    [
        ("$file->", "$file->", ""),
        ("x = $file->f_pa", "$file->", "f_pa"),
        ("$file->f_path->dentry->d_", "$file->f_path->dentry->", "d_"),
        ("$a[i + 1]->b[2]->c", "$a[i + 1]->b[2]->", "c"),
    ],
)
def test_members(text: str, chain: str, word: str) -> None:
    found = cursor_at(BODY + text, len(BODY + text))
    assert (found.kind, found.chain, found.word) == (Kind.MEMBER, chain, word)


def test_time_grows_with_the_text() -> None:
    """No run of words makes a pattern try all ways to read it."""
    for piece in ("$a->", "a.", '"', "/*", "{", "$a[", "probe a, "):
        text = "probe x { " + piece * 20_000
        cursor_at(text, len(text))


@pytest.mark.parametrize(
    ("point", "found"),
    [
        ("kernel.", [("kernel", "")]),
        ('kernel.function("a.b").', [("kernel", ""), ("function", '"a.b"')]),
        ("timer.s(1)", [("timer", ""), ("s", "1")]),
        ("", []),
        ("kernel.function(", [("kernel", ""), ("function", "")]),
    ],
)
def test_components(point: str, found: list[tuple[str, str]]) -> None:
    assert components(point) == found
