"""The formatter: what it makes of scripts, and that it never changes what they mean."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stapy.diagnostics import Bug, Diagnostics, SourceMap
from stapy.parse import parse_script
from stapy.parse.format import layout
from stapy.parse.format.layout import formatted
from stapy.parse.lexer import tokenize
from stapy.parse.library import Library
from stapy.record import same
from tests.elaborate.grammar import SCRIPT
from tests.parse.helpers import facts, parse

ROOT = Path(__file__).resolve().parents[2]


def fmt(text: str, indent: str = "    ") -> str:
    """Format a text, and check that formatting does not change it again."""
    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    result = formatted(text, sources.add("x", text), diagnostics, indent)
    assert result is not None, [item.message for item in diagnostics.items]
    assert formatted(result, 0, diagnostics, indent) == result
    return result


LINES = [
    ("global a,b%,c[10]", "global a, b%, c[10]"),
    ("global  big=1", "global big = 1"),
    ("probe syscall.{open,close} , foo*.bar ?{}", "probe syscall.{open, close}, foo*.bar ? {}"),
    ("probe a.b( 1 ).c  !,d{x=1}", "probe a.b(1).c !, d { x = 1 }"),
    ("probe a=b if(c>1){ }", "probe a=b if(c > 1) { }"),
    ("function f:long  (x:long,y){return -x}", "function f:long (x:long, y) { return -x }"),
    ("x = a- b+-c*  -  -d", "x = a - b + -c * - -d"),
    ("x = ! ~a . \"b\"", 'x = ! ~a . "b"'),
    ("y = a % (b)", "y = a % (b)"),
    ("y=a %(b==1%?c%:d%)", "y = a %( b == 1 %? c %: d %)"),
    ("if(a)b++ ;else--c", "if (a) b++; else --c"),
    ("for(i=0;;i++)f( i )", "for (i = 0;; i++) f(i)"),
    ("foreach([a+,b]in c-  limit 3)x<<<a", "foreach ([a+, b] in c- limit 3) x <<< a"),
    ("$p->q [0] =1?2:3", "$p->q [0] = 1 ? 2 : 3"),
    ("x=@cast( p,\"t\")->m&&y", 'x = @cast(p, "t")->m && y'),
    ("@define m(a)%( @a+1 %)", "@define m(a) %( @a+1 %)"),
    ("x = 1   /* why */ + 2    # trailing  ", "x = 1   /* why */ + 2    # trailing"),
    ("try{x()}catch(e){ }", "try { x() } catch (e) { }"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), LINES)
def test_a_line(text: str, wanted: str) -> None:
    assert fmt(text) == wanted + "\n"


FILES = {
    "controls": (
        """
probe x{
if(a)
{
b
}
else if (c)
d
else
for(;;)
while (e)
f()
g
if (h)
if (i)
j
else k
l = 1
+ 2
m
}""",
        """\
probe x {
    if (a)
    {
        b
    }
    else if (c)
        d
    else
        for (;;)
            while (e)
                f()
    g
    if (h)
        if (i)
            j
        else k
    l = 1
        + 2
    m
}
""",
    ),
    "comments": (
        """\
#!/usr/bin/env stapy



/* first
     second */
  // of the probe
probe x { # behind
/**
* doc
*/
a( 1,
# of two
2 )
b // last

# before the brace
}
# end


""",
        """\
#!/usr/bin/env stapy

/* first
     second */
// of the probe
probe x { # behind
    /**
     * doc
     */
    a(1,
        # of two
        2)
    b // last

    # before the brace
}
# end
""",
    ),
    "embedded": (
        """\
function f() %{ /* pure */
	if (1)   {  x( 1 );
  }
%}
probe x {
%{ y( ); %}
z }
""",
        """\
function f() %{ /* pure */
	if (1)   {  x( 1 );
  }
%}
probe x {
    %{ y( ); %}
    z }
""",
    ),
    "conditionals": (
        """\
%( kernel_v>="6.1"%?
probe a {
b
%( guru_mode==1 %?
c
%:
d
%)
}
%)
@define m %(
x
%)
""",
        """\
%( kernel_v >= "6.1" %?
probe a {
    b
    %( guru_mode == 1 %?
    c
    %:
    d
    %)
}
%)
@define m %(
    x
%)
""",
    ),
    "arrays that wrap": (
        """\
global a, b%
probe x { c = d %
e }
private global f%
# of two
global g%
function h() { }
""",
        """\
global a, b%
probe x { c = d %
    e }
private global f%
# of two
global g%
function h() { }
""",
    ),
    "headings": (
        """\
probe a,
b
{
c
}
probe d = e.{f,
g}.h
{
}
function i:string
(j)
{
return "a"
"b"
}
""",
        """\
probe a,
    b
{
    c
}
probe d = e.{f,
    g}.h
{
}
function i:string
    (j)
{
    return "a"
        "b"
}
""",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file(name: str) -> None:
    text, wanted = FILES[name]
    assert fmt(text) == wanted


def test_other_indents() -> None:
    assert fmt("probe x {\na }", "\t") == "probe x {\n\ta }\n"


def test_what_is_empty_stays_so() -> None:
    assert fmt("") == fmt("\n \n") == ""
    assert fmt("# a") == "# a\n"


def test_what_cannot_be_read_is_refused() -> None:
    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    assert formatted('probe x { "a }', sources.add("x", ""), diagnostics) is None
    assert [item.code for item in diagnostics.errors] == ["E0101"]


@pytest.mark.parametrize("broken", [" ", "*"])
def test_a_mistake_of_ours_is_told(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """Whatever the rules say, what has other words or names is not written."""
    monkeypatch.setattr(layout, "gap", lambda *words: broken)
    with pytest.raises(Bug):
        fmt("probe foo*.bar { }")


# --- nothing means anything else ------------------------------------------------


def scripts() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "*.stp", "*.stpm"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in done.stdout.splitlines()]


def tokens(text: str) -> list[tuple[str, str]]:
    return [(t.type, t.value) for t in tokenize(text, 0, Diagnostics(SourceMap()))]


@pytest.mark.slow
def test_all_scripts_of_the_repository_have_the_same_trees() -> None:
    sources = SourceMap()
    given = facts(*["begin"] * 9, guru=True)
    library = Library(
        [str(ROOT / "tapsets" / name) for name in ("core", "kernel", "user", "syscalls")],
        given, None, sources, Diagnostics(sources),
    )  # fmt: skip
    trees = 0
    for path in scripts():
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        result = fmt(text)
        assert tokens(result) == tokens(text), path
        found = [
            parse_script(
                str(path), one, given, library, library.sources, library.diagnostics,
                is_library=True,
            )
            for one in (text, result)
        ]  # fmt: skip
        assert (found[0] is None) == (found[1] is None), path
        assert found[0] is None or same(*found), path
        trees += found[0] is not None
    assert trees > 250


BLANKS = st.sampled_from(["", " ", "  ", "\n", "\n\n\n", "\t", " # c\n", "/* c\n d */", "\n// e\n"])


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCRIPT, st.data())
def test_generated_scripts_have_the_same_trees(text: str, data: st.DataObject) -> None:
    """Scripts of the grammar, with any blanks and comments where there are some."""
    words = text.split(" ")
    mixed = words[0] + "".join((data.draw(BLANKS) or " ") + word for word in words[1:])
    sources = SourceMap()
    try:
        result = fmt(mixed)
    except AssertionError:
        assert formatted(mixed, sources.add("x", mixed), Diagnostics(sources)) is None
        return
    found = [parse(one, facts(guru=True))[0] for one in (mixed, result)]
    assert (found[0] is None) == (found[1] is None)
    assert found[0] is None or same(*found)
