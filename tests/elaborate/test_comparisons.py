"""Comparisons of texts that have the same result at every hit are warned of, and no others."""

from __future__ import annotations

import pytest

from tests.elaborate import support as s

LIBRARY = {
    "library.stp": """
    function user_string:string(addr:long) %{ /* pure */ %}
    function user_string_quoted:string(addr:long) %{ /* pure */ /* pragma:quoted */ %}
    function execname:string() %{ /* pure */ /* pragma:sized:16 */ %}
    function anything:string() %{ /* pure */ %}
    function opened:string() { return execname() }
    function again:string(n:long) { if (n) return again(n - 1); return execname() }
    probe call.open = kernel.function("vfs_read") {
        name = "open"
        filename = user_string_quoted($buf)
        filename_unquoted = user_string($buf)
        path = $count ? user_string_quoted($buf) : ""
        either = $count ? user_string_quoted($buf) : anything()
    }
    probe call.close = kernel.function("vfs_write") {
        name = "close"
        filename = anything()
        path = user_string_quoted($buf)
    }
    """
}
LONG = '"a-very-long-name-of-a-program"'
CUT = 'compare with the first 15: "a-very-long-nam"'


@pytest.mark.parametrize(
    ("test", "message", "hint"),
    [
        (f"execname() == {LONG}", "never true: execname() has at most 15 characters", CUT),
        (f"{LONG} == execname()", "never true: execname() has at most 15 characters", CUT),
        (f"execname() != {LONG}", "always true: execname() has at most 15 characters", CUT),
        (f"opened() == {LONG}", "never true: opened() has at most 15 characters", CUT),
        ('execname() == "sixteen-letters!"', "never true: execname() has at most 15", ""),
        ('execname() == "fifteen-letters"', "", ""),
        ('execname() == "äääääääx"', "", ""),
        ('execname() == "ääääääää"', "never true: execname() has at most 15 bytes", ""),
        (f"execname() =~ {LONG}", "", ""),
        (f"anything() == {LONG}", "", ""),
        (f"again(2) == {LONG}", "", ""),
        (f"execname() . anything() == {LONG}", "", ""),
        ("execname() == anything()", "", ""),
        ('filename == "/etc/passwd"', "never true: 'filename' begins with a double quote",
         "'filename_unquoted' is the text without quotes"),
        ('filename != "/etc/passwd"', "always true: 'filename' begins", "'filename_unquoted'"),
        ('filename =~ "^/etc"', "never true: 'filename' begins", "'filename_unquoted'"),
        ('filename !~ "^[a-z]+"', "always true: 'filename' begins", "'filename_unquoted'"),
        ('path == "/etc/passwd"', "never true: 'path' begins",
         'with its quotes it is "\\"/etc/passwd\\""'),
        ('path =~ "^/etc"', "never true: 'path' begins", 'begin the pattern with ^\\"'),
        ('filename =~ "\\.log$"', "never true: 'filename' ends with", "'filename_unquoted' is"),
        ('path !~ "[l-w]+$"', "always true: 'path' ends with", 'end the pattern with \\"$'),
        ('filename =~ "passwd$"', "", ""),
        ('filename =~ "\\.log\\"$"', "", ""),
        ('filename =~ "\\.log\\"?$"', "", ""),
        ('filename =~ "/log.*$"', "", ""),
        ('filename =~ "[.]+$"', "", ""),
        ('user_string_quoted($buf) == "a"', "never true: user_string_quoted() begins",
         "user_string() is the text without quotes"),
        ('filename == "\\"/etc/passwd\\""', "", ""),
        ('filename == "0xffff"', "", ""),
        ('filename == ""', "", ""),
        ('filename =~ "/etc"', "", ""),
        ('filename =~ "^\\"/etc"', "", ""),
        ('filename =~ "^.*/etc"', "", ""),
        ('filename =~ "^[^/]*etc"', "", ""),
        ('filename =~ "^(/etc|x)"', "", ""),
        ('filename =~ "^0x"', "", ""),
        ('filename =~ "^(/?etc)+"', "", ""),
        ('filename =~ "^x?"', "", ""),
        ('filename =~ "^"', "", ""),
        ('filename =~ "^/etc|passwd"', "", ""),
        ('filename_unquoted == "/etc/passwd"', "", ""),
        ('either == "/etc/passwd"', "", ""),
        ('name == "close"', "", ""),
        ('filename < "/etc/passwd"', "", ""),
    ],
)  # fmt: skip
def test_a_comparison_with_one_result(test: str, message: str, hint: str) -> None:
    result = s.run(f"probe call.open {{ if ({test}) println(1) }}", LIBRARY)
    assert result.program is not None, result.shown()
    items = [item for item in result.diagnostics.items if item.code == "W0617"]
    assert len(items) == len(result.codes) == bool(message)
    for item in items:
        assert item.message.startswith("comparison is " + message)
        assert hint in item.hint
        assert result.services.sources.text(item.span) == test


@pytest.mark.parametrize(
    ("script", "count"),
    [
        ('probe call.open { f = filename; if (f == "/etc") println(1) }', 1),
        ('probe call.open { f = filename; if (f == "/etc") println(1); f = "/" . f; log(f) }', 0),
        ('probe call.open { filename = "x"; if (filename == "/etc") println(1) }', 0),
        ('global g probe call.open { foreach (f in g) if (f == "/e") println(1); g[path] = 1 }', 0),
        ('global g probe call.open { g = filename } probe end { if (g == "/etc") println(1) }', 0),
        ('function f(t) { return t == "/etc" } probe call.open { println(f(filename)) }', 0),
        (f"function f() {{ return execname() == {LONG} }} probe call.open {{ println(f()) }}", 1),
        # What only begins with a quote may end with anything.
        ('probe call.open { f = path == "0" ? filename : "\\"z"; if (f =~ "z$") println(1) }', 0),
        # Several handlers of one body: it tells something in one of them, or in none.
        ('probe call.* { if (filename == "/etc") println(1) }', 0),
        ('probe call.* { if (path == "/etc") println(1) }', 1),
        ('probe call.* { if (name == "open") println(1) }', 0),
    ],
)  # fmt: skip
def test_what_a_variable_may_have(script: str, count: int) -> None:
    assert (
        s.run(script, {**LIBRARY, "log.stp": "function log(t) { println(t) }"}).codes
        == ["W0617"] * count
    )


def test_the_library_and_messages_of_systemtap_are_left_alone() -> None:
    script = f"probe call.open {{ if (execname() == {LONG}) println(1) }}"
    assert s.run(script, LIBRARY).codes == ["W0617"]
    assert s.run(script, LIBRARY, message_format="systemtap").codes == []
    inner = {"own.stp": f"function own() {{ return execname() == {LONG} }}"}
    assert s.run("probe call.open { println(own()) }", {**LIBRARY, **inner}).codes == []
