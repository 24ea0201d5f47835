"""What is being written at a place, told by the text before it."""

from __future__ import annotations

import pytest

from stapy.editor.cursor import CursorContext, components, cursor_at

BODY = 'probe kernel.function("f") { '


@pytest.mark.parametrize(
    ("text", "kind", "word", "point"),
    [
        ("", CursorContext.TOP, "", ""),
        ("pro", CursorContext.TOP, "pro", ""),
        ("global a\npro", CursorContext.TOP, "pro", ""),
        ("probe begin { }\nfun", CursorContext.TOP, "fun", ""),
        ("global a = %( $# > 0 %? $1 %: @# %)\nprobe sys", CursorContext.POINT, "sys", ""),
        ("probe ", CursorContext.POINT, "", ""),
        ("probe sys", CursorContext.POINT, "sys", ""),
        ("probe syscall.op", CursorContext.POINT, "op", "syscall."),
        ("probe begin, sys", CursorContext.POINT, "sys", ""),
        ("probe begin, kernel.", CursorContext.POINT, "", "kernel."),
        ("probe begin ?, end", CursorContext.POINT, "end", ""),
        ("probe mine = kern", CursorContext.POINT, "kern", ""),
        ('probe kernel.function("f").', CursorContext.POINT, "", 'kernel.function("f").'),
        ('probe kernel.function("vfs_', CursorContext.ARGUMENT, "vfs_", "kernel.function("),
        ('probe a, module("x").function("', CursorContext.ARGUMENT, "", 'module("x").function('),
        ("probe timer.s(", CursorContext.POINT, "", "timer.s("),
        (BODY, CursorContext.NAME, "", 'kernel.function("f")'),
        (BODY + "if (a) { pri", CursorContext.NAME, "pri", 'kernel.function("f")'),
        (BODY + "x = $fi", CursorContext.TARGET, "$fi", 'kernel.function("f")'),
        (BODY + "x = $$va", CursorContext.TARGET, "$$va", 'kernel.function("f")'),
        (BODY + "x = $", CursorContext.TARGET, "$", 'kernel.function("f")'),
        (BODY + "y[@co", CursorContext.MACRO, "@co", 'kernel.function("f")'),
        (BODY + 'printf("vfs_', CursorContext.NOTHING, "", ""),
        (BODY + "// pri", CursorContext.NOTHING, "", ""),
        (BODY + "# it's\npri", CursorContext.NAME, "pri", 'kernel.function("f")'),
        (BODY + "/* pri", CursorContext.NOTHING, "", ""),
        (BODY + "%{ ret", CursorContext.NOTHING, "", ""),
        (BODY + '} probe end { x = "}" ; ex', CursorContext.NAME, "ex", "end"),
        ("probe begin, end { ex", CursorContext.NAME, "ex", "end"),
        ("probe mine = syscall.read ? { na", CursorContext.NAME, "na", "syscall.read"),
        (
            'probe process("a,b").mark("m") { $a',
            CursorContext.TARGET,
            "$a",
            'process("a,b").mark("m")',
        ),
        ("function f(a) { ret", CursorContext.NAME, "ret", ""),
        ("function f(a) { return a }\nglo", CursorContext.TOP, "glo", ""),
        ("function f:lo", CursorContext.NAME, "lo", ""),
    ],
)  # fmt: skip
def test_cursor(text: str, kind: CursorContext, word: str, point: str) -> None:
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
    assert (found.kind, found.chain, found.word) == (CursorContext.MEMBER, chain, word)


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
