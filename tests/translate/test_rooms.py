"""What strings have in the frame of a handler: as many bytes as can come there, never fewer than
what is written there by a call.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from stapy.diagnostics import Bug
from tests.elaborate.support import TextLibrary
from tests.translate.support import c_of

ALL = "MAXSTRINGLEN"
TAPSETS = Path(__file__).resolve().parents[2] / "tapsets"

AROUND = """
global a, b, kept, given = "abc", n
function sized:string() %{ /* pure */ /* pragma:sized:16 */ STAP_RETVALUE[0] = 0; %}
function odd:string() %{ /* pure */ /* pragma:sized:11 */ STAP_RETURN("odd"); %}
function stable:string() %{ /* stable */ /* pure */ /* pragma:sized:16 */ STAP_RETVALUE[0] = 0; %}
function told:string() %{ /* pure */ /* pragma:bytes:16 */ STAP_RETVALUE[0] = 0; %}
function named:string() %{ /* pure */ /* pragma:sized:16 */
	stapy_copy(STAP_RETVALUE, "", MAXSTRINGLEN);
%}
function hidden:string() %{ /* pure */ /* pragma:sized:16 */ FILL(STAP_RETVALUE); %}
function runtimes:string() %{ /* pure */ /* pragma:sized:16 */ STAPY_TEXT(); %}
function any:string() %{ /* pure */ STAP_RETVALUE[0] = 0; %}
function seven() { return "abcdefg" }
function eight() { return "abcdefgh" }
function passed() { return sized() }
function passed_any() { return told() }
function joined() { return sized() . ":" . sized() }
function either(k) { if (k) return "ab" return sized() }
function same(t) { return t }
function longer(t) { t .= "x" return t }
function marked(t) { t = "<" . t return t . ">" }
function deep(k) { if (k) return deep(k - 1) . "x" return "" }
function over:string(k:long) { if (k) next return "short" }
function over:string(k:long) { return "by far longer than the first" }
function from_c:string(k:long) { if (k) next return "short" }
function from_c:string(k:long) %{ STAP_RETVALUE[0] = 0; %}
function set_in_c(t:string) { t = "x" n = %{ (strscpy(STAP_ARG_t, "text", 9), 1) %} return t }
function filled(t:string) { t = "x" %{ strscpy(STAP_ARG_t, "a text", 99); %} return t }
%{
#define FILL(to) memset(to, 'x', 512)
%}
probe begin { n++ BODY }
probe end { kept = sized() }
"""

# What a handler does, and the bytes of its variable t.
VARIABLES = [
    ('t = "abcdefg"', "8"),
    ('t = "abcdefgh"', "16"),
    ('t = "ab" t = "abcdefghijklmnop"', "24"),
    ("t = sized()", "16"),
    ("t = odd()", "16"),
    ("t = told()", ALL),  # its C may write more than the text has
    ('t = told() . "x"', "24"),  # which is cut if the C has not told the truth
    ("t = named()", ALL),
    ("t = hidden()", ALL),
    ("t = runtimes()", ALL),
    ("t = any()", ALL),
    ("t = any() . sized()", ALL),
    ("t = seven()", "8"),
    ("t = eight()", "16"),
    ("t = passed()", "16"),
    ("t = passed_any()", ALL),
    ("t = joined()", "32"),
    ("t = either(n)", "16"),
    ("t = same(eight())", "16"),
    ("t = same(any())", ALL),
    ('t = longer("1234567")', ALL),  # a parameter that grows by itself
    ('t = marked("12345")', ALL),
    ("t = deep(3)", ALL),
    ("t = over(n)", "32"),
    ("t = from_c(n)", ALL),
    ('t = filled("x")', ALL),
    ('t = "" t .= "x"', ALL),
    ('t = sprintf("%d", n)', "32"),
    ('t = sprintf("%d %s", n, sized())', "48"),
    ('t = sprintf("%*d", n, n)', ALL),
    ('t = sprintf("%s", any())', ALL),
    ('t = sprintf("%m", n)', ALL),
    ('t = n ? "abcdefgh" : "b"', "16"),
    ("t = kept", "16"),
    ("t = given", ALL),
    ('t = "a" u = "abcdefgh" t = u', "16"),
    ('t = u = "abcdefgh"', "16"),
    ('a["abcdefgh"] = 1 foreach (t in a) n++', "16"),
    ('b["x"] = "abcdefgh" foreach (t = k in b) n++', "16"),
    ("b[n] = any() t = b[n]", ALL),
    ('b[n] = "abcdefgh" t = b[n]', "16"),
    ('try { n++ error("x") } catch (t) { print(t) }', ALL),
    ('t = set_in_c("x")', ALL),
    ('t = "x" delete t', "8"),
    ('t = "x" try { error("x") t = eight() } catch { n++ }', "16"),
]


def frame_of(text: str, function: str) -> dict[str, str]:
    """Map the strings in the frame of a function of C to their sizes."""
    body = text[text.index(f"\nstatic void {function}(struct stapy_context *c") :]
    body = body[body.index("\n{") : body.index("\n}")]
    return dict(re.findall(r"\bchar (\w+)\[(\w+)\];", body))


def translated(body: str, args: str = "") -> str:
    return c_of(AROUND.replace("BODY", body), f"-g -G given=x {args}")


@pytest.mark.parametrize(("body", "size"), VARIABLES)
def test_variables(body: str, size: str) -> None:
    assert frame_of(translated(f"{body} print(t)"), "h_begin")["t"] == size


# A handler, and the sizes of the strings that it keeps between its steps, in order.
TEMPORARIES = [
    ("print(sized())", ["16"]),
    ("print(sized(), odd())", ["16", "16"]),
    ("print(joined())", ["32"]),
    ("print(told())", [ALL]),
    ("print(any())", [ALL]),
    ('print(sized() . ":")', ["16", "32"]),
    ("print(same(sized()))", ["16", "16"]),
    ("print(sized()) print(joined()) print(any())", [ALL]),  # one after the other
    ("print(any()) print(sized(), joined())", [ALL, "16", "32"]),
    ("print(stable(), stable())", ["16"]),
    ('if (sprintf("%d", n) == sized()) n++', ["32", "16"]),
    ('b["x"] = "abc" b["x"] .= sized()', ["16", ALL]),
    ("a[sized()] = 1 foreach (k in a[odd()]) n++", ["16", "16", "16"]),
]


@pytest.mark.parametrize(("body", "sizes"), TEMPORARIES)
def test_temporaries(body: str, sizes: list[str]) -> None:
    assert list(frame_of(translated(body), "h_begin").values()) == sizes


# A function that returns text, and what its callers have for that.
RESULTS = [
    ("sized", "16"),
    ("odd", "16"),
    ("told", ALL),
    ("named", ALL),
    ("hidden", ALL),
    ("any", ALL),
    ("seven", "8"),
    ("eight", "16"),
    ("passed", "16"),
    ("passed_any", ALL),
    ("joined", "32"),
    ("over", "32"),
    ("over_2", "32"),
    ("from_c", ALL),
    ("from_c_2", ALL),
]


def test_results() -> None:
    calls_ = " ".join(f"print({name}())" for name, _ in RESULTS if name[-1] not in "c2r")
    text = translated(f"{calls_} print(over(n), from_c(n))")
    for name, size in RESULTS:
        result = "char *ret" if size == ALL else f"char ret[static {size}]"
        assert f"static void f_{name}(struct stapy_context *c, {result}" in text
        body = text[text.index(f"\nstatic void f_{name}(", text.index("/* function ")) :]
        body = body[: body.index("\n}")]
        assert f"(*(char (*)[{size}])ret)" in body or "STAP_RETVALUE" not in body
        for copied in re.findall(r"stapy_(?:copy|concat)\(ret, .*, (\w+)\);", body):
            assert copied == size
    assert "stapy_copy(ret, (v), 16)" in text  # what STAP_RETURN() does


def test_a_call_never_gets_less_than_it_may_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the sizes of variables and results out of step, no module would be made."""
    monkeypatch.setattr(
        "stapy.translate.tables.sizes.StringSizes.result", lambda self, function: 1 << 20
    )
    with pytest.raises(Bug, match="may write 1048576 bytes where there are"):
        translated("print(sized())")


def test_a_shared_body_has_room_for_all() -> None:
    """That of the first handler alone would be cut in those from the tenth on."""
    probes = "\n".join(f'probe begin({n}) {{ t = "letter{n}" print(t, t) }}' for n in range(60))
    text = c_of(probes)
    assert text.count("char t[") == 1 and "char t[16];" in text


def test_small_limit() -> None:
    text = translated('t = sized() u = "abcdefghijklmnopq" print(t, u)', "-D MAXSTRINGLEN=16")
    assert frame_of(text, "h_begin") == {"t": ALL, "u": ALL}
    assert "f_sized(struct stapy_context *c, char *ret)" in text


def functions_with(mark: str) -> list[tuple[str, str]]:
    """List the C functions of the library that have a mark: name and C."""
    found = []
    for path in sorted(TAPSETS.rglob("*.stp")):
        text = path.read_text(encoding="latin-1")
        for name, code in re.findall(
            r"^(?:private )?function (\w+)[^{}\n]*\n%\{(.*?)%\}", text, re.M | re.S
        ):
            if mark in code:
                found.append((name, code))
    return found


SIZED = functions_with("pragma:sized:")


@pytest.mark.parametrize(("name", "code"), SIZED, ids=[name for name, _ in SIZED])
def test_library_keeps_to_its_promise(name: str, code: str) -> None:
    """Each statement that writes the result is told its size, or writes its first byte."""
    assert "MAXSTRINGLEN" not in code
    for statement in code.split(";"):
        rest = re.sub(r"STAP_RETVALUE\[0\]", "", statement)
        used = rest.count("STAP_RETVALUE")
        assert used == 2 * len(re.findall(r"sizeof\(STAP_RETVALUE\)", rest)), statement


def test_the_library_promises() -> None:
    assert {"execname", "pexecname", "ctime", "format_ipaddr"} <= {name for name, _ in SIZED}
    assert not functions_with("pragma:bytes:")


@pytest.mark.parametrize(
    ("function", "place"),
    [
        ("function f(s:string) %{ memset(STAP_ARG_s, 65, MAXSTRINGLEN); %}", "(l->s)"),
        ("function f(s:string) { %{ memset(STAP_ARG_s, 65, MAXSTRINGLEN); %} }", "(l->s)"),
        ("function f(s:string) { n = %{ (memset(STAP_ARG_s, 65, 9), 1) %} }", "(l->s)"),
        ("function f(s:string) %{ /* unmangled */ memset(THIS->s, 65, 99); %}", ".s = l->s"),
    ],
)
def test_arguments_that_c_may_fill_are_copies(function: str, place: str) -> None:
    """The caller's variable is as long as its text; SystemTap's arguments have MAXSTRINGLEN."""
    text = c_of(f'global n = 1 {function} probe begin {{ x = "ab" f(x) print(x, n) }}', "-g")
    assert frame_of(text, "h_begin")["x"] == "8"
    assert re.search(r"char s(_2)?\[MAXSTRINGLEN\]", text)
    assert place in text and re.search(r"stapy_copy\(l->s(_2)?, s", text)


def test_arguments_of_others_tapsets_are_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing says that the C of -I leaves them alone, as ours does."""
    script = 'probe begin { error("x") }'
    text = c_of(script)
    assert "char msg[MAXSTRINGLEN]" in text and "stapy_copy(l->msg, msg, sizeof(l->msg))" in text

    def ours(texts: dict[str, str], *rest: Any) -> TextLibrary:
        return TextLibrary({f"{TAPSETS}/library.stp": texts["library.stp"]}, *rest)

    monkeypatch.setattr("tests.translate.support.TextLibrary", ours)
    assert "char msg[MAXSTRINGLEN]" not in c_of(script)
