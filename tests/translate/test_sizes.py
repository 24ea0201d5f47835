"""How long strings of arrays can be: rows of the runtime say what is less than MAXSTRINGLEN."""

from __future__ import annotations

import re
from typing import Any

import pytest

from stapy.translate.tables.sizes import StringSizes
from tests.translate.support import c_of

# A script with array a (of strings by strings, or of numbers); bytes of its key and value, 0: all.
SCRIPTS = [
    ('a["abc"] = 1', 8, 0),
    ('a["abcdefg"] = 1', 8, 0),
    ('a["abcdefgh"] = 1', 16, 0),
    ("a[name()] = 1", 16, 0),
    ("a[name()] = name()", 16, 16),
    ('a[name()] = 1 n = a["a key that is only looked for"]', 32, 0),
    ('a[name()] = 1 if (["a key that is only looked for"] in a) n = 1', 32, 0),
    ('a[name()] = 1 delete a["a key that is only looked for"]', 32, 0),
    ('a[name()] <<< 1 n = @count(a["a key that is only looked for"])', 32, 0),
    ('a["b"] = n if (n) a[name() . ":" . name()]++', 32, 0),
    ('a["b"] = n ? "abcdefgh" : "b"', 8, 16),
    ('t = name() a[t] = 1 t = "another text, by far longer"', 32, 0),
    ('t = "" t .= name() a[t] = 1', 0, 0),
    ('a["x"] = a["x"] . "y"', 8, 0),
    ('a["x"] .= "y"', 8, 0),
    ('a[sprintf("%d:%s", n, name())]++', 48, 0),
    ('a[sprintf("%-40s", name())]++', 48, 0),
    ('a[sprintf("%*s", n, name())]++', 0, 0),
    ('a[sprintf("%80d", n)]++', 88, 0),
    ("a[any()]++", 0, 0),
    ('try { error("x") } catch (t) { a[t]++ }', 0, 0),
    ("a[twice(name())]++", 32, 0),
    ("a[first(name(), n)]++", 16, 0),
    ('a[first("longer than a name of a process", n)]++', 32, 0),
    ("a[kept]++", 16, 0),
    ("a[later]++", 0, 0),
    ("a[given]++", 0, 0),
    ('a[filled("b")]++', 0, 0),
    ('a[set_in_c("b")]++', 0, 0),
    ("a[name()]++ printed()", 16, 0),
    ("a[name()]++ if (n) b = sought()", 0, 0),
    ('foreach (t in b) a[t]++ b["abcdefgh"] = name()', 16, 0),
    ('foreach (w = t in b) a[w]++ b["a key of many letters"] = name()', 16, 0),
    ('foreach (t in b) { t = t . "." a[t]++ } b["abcd"] = "v"', 0, 0),
    ('foreach ([t] in a["a slice that is sought"]) n++ a["b"] = 1', 24, 0),
    ("t = a[name()] = name()", 16, 16),
    ("a[says_two()]++", 40, 0),
    ("a[says_too_much()]++", 0, 0),
    ('foreach (kept in b) n++ b["a key of many letters"] = name() a[kept] = 1', 24, 0),
    ('try { error("x") } catch (kept) { } a[kept] = 1', 0, 0),
    ("a[goes_on(name(), n)]++", 24, 0),
]
AROUND = """
global a, b, kept, later, given = "abc", n
function name:string() %{ /* pure */ /* pragma:bytes:16 */ %}
function any:string() %{ /* pure */ %}
function twice(t) { return t . t }
function first(t, n) { if (n) return t return "" }
function says_two:string() %{ /* pragma:bytes:8 */ /* pragma:bytes:40 */ /* pragma:bytes:16 */ %}
function says_too_much:string() %{ /* pragma:bytes:8 */ /* pragma:bytes:99999999999999999999 */ %}
function goes_on:string(t:string, n) { if (n > 3) next return "y" }
function goes_on:string(t:string, n) { return t . "12345678" }
function printed() %{ /* pragma:read:kept */ STAP_PRINTF("%s", STAP_GLOBAL_GET_kept()); %}
function sought:long() %{ /* pragma:read:a */ STAP_RETVALUE = STAP_GLOBAL_GET_a("anything"); %}
function filled(t:string) { t = "x" %{ strscpy(STAP_ARG_t, "a long text", 99); %} return t }
function set_in_c(t:string) { t = "x" n = %{ (strscpy(STAP_ARG_t, "text", 9), 1) %} return t }
probe begin { kept = name() later = any() n++ BODY }
"""


def row(text: str, name: str) -> str:
    found = re.search(rf'\.name = "{name}",(.*?)\n\t}},', text, re.DOTALL)
    assert found
    return found.group(1)


def sizes(text: str) -> tuple[int, int]:
    found = row(text, "a")
    keys = re.search(r"\.key_bytes = \{ (\d+) \}", found)
    value = re.search(r"\.value_bytes = (\d+)", found)
    return (int(keys[1]) if keys else 0), (int(value[1]) if value else 0)


@pytest.mark.parametrize(("body", "key", "value"), SCRIPTS)
def test_sizes(body: str, key: int, value: int) -> None:
    assert sizes(c_of(AROUND.replace("BODY", body), "-g -G given=x")) == (key, value)


def test_given_length_holds_for_arrays_only() -> None:
    script = AROUND.replace("BODY", 'a[any()] = any() b[name()] = "abc" given = any()')
    text = c_of(script, "-g -G given=x -D MAP_STRING_LENGTH=20")
    assert sizes(text) == (20, 20)
    assert ".key_bytes = { 16 }" in row(text, "b") and ".value_bytes = 8" in row(text, "b")
    assert "g_given[MAXSTRINGLEN]" in text


def test_given_length_is_no_more_than_that_of_all_strings() -> None:
    script = AROUND.replace("BODY", "a[any()] = 1")
    assert sizes(c_of(script, "-g -D MAXSTRINGLEN=64 -D MAP_STRING_LENGTH=100")) == (0, 0)


def test_strings_as_long_as_any_are_looked_at_once_more_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grow = StringSizes._grow
    seen: list[object] = []

    def count(self: StringSizes, *given: Any) -> bool:
        seen.append(given)
        return grow(self, *given)

    monkeypatch.setattr(StringSizes, "_grow", count)
    c_of(AROUND.replace("BODY", 'a[any() . "x"] = 1\n' * 100), "-g -G given=x")
    assert 200 <= len(seen) < 1000
