"""Calls and elements that are found out once, and where they must be looked for again."""

from __future__ import annotations

import re

import pytest

from tests.translate.support import handler_of

FIND, GET = r"stapy_map_find\(", r"stapy_map_get_\w+\("
HAS = r"stapy_map_has\("
SLOT, FOUND = r"stapy_map_slot\(", r"stapy_map_delete_found\("
TID, NAME = r"f_tid\(", r"f_execname\("


def counts(body: str, *words: str, before: str = "") -> list[int]:
    """Count how often each of some calls stands in the C of a begin probe."""
    text = handler_of(
        f"global a, b, w%, g = 1, k = 2 {before} probe begin {{ {body} }}"
        ' probe timer.s(1) { g++ a[0] = 1 b["z"] = "z" w[1] = 1 k = 1 }'
    )
    begin = text.split("static void h_timer")[0]
    return [len(re.findall(word, begin)) for word in words]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # find, get, has, slot, delete_found
        ("if (g in a) println(a[g])", [1, 0, 0, 0, 0]),
        ("if (g in a) { println(a[g]); delete a[g] }", [1, 0, 0, 0, 1]),
        ("if (g in a) { a[g]++; a[g] += 2; a[g] = 3 }", [1, 0, 0, 0, 0]),
        ("if (!(g in a)) next; println(a[g])", [1, 0, 0, 0, 0]),
        ("if (g in a && a[g] > 2) println(a[g])", [1, 0, 0, 0, 0]),
        ("if (!(g in a) || a[g] > 2) next; println(a[g])", [1, 0, 0, 0, 0]),
        ("println(g in a ? a[g] : 0)", [1, 0, 0, 0, 0]),
        ("if (tid() in a) println(a[tid()])", [1, 0, 0, 0, 0]),
        ('if ("x" in b) println(b["x"])', [1, 0, 0, 0, 0]),
        ('if ("x" in b) { b["x"] = "y"; println(b["x"]) }', [1, 0, 0, 0, 0]),
        ("if (g in a) { a[g + 1] = 1; println(a[g]) }", [1, 0, 0, 1, 0]),
        ("if (g in w) println(w[g])", [1, 0, 0, 0, 0]),
        ("x = 5 if (x in a) { y = 1 println(a[x], y) }", [1, 0, 0, 0, 0]),
        # Nothing uses what is found, or it is not surely there.
        ("if (g in a) println(1)", [0, 0, 1, 0, 0]),
        ("if (g in a) println(a[g + 1])", [0, 1, 1, 0, 0]),
        ("if (g in a) println(1) else println(a[g])", [0, 1, 1, 0, 0]),
        ("if (g in a) println(1); println(a[g])", [0, 1, 1, 0, 0]),
        ("if (g in a || tid()) println(a[g])", [0, 1, 1, 0, 0]),
        ("println((g in a) + a[g])", [0, 1, 1, 0, 0]),
        ("x = g in a; if (x) println(a[g])", [0, 1, 1, 0, 0]),
        # Taken out, or its place given away, on the way.
        ("if (g in a) { delete a[g]; println(a[g]) }", [1, 1, 0, 0, 1]),
        ("if (g in a) { delete a[g + 1]; println(a[g]) }", [0, 1, 1, 0, 0]),
        ("if (g in a) { delete a; println(a[g]) }", [0, 1, 1, 0, 0]),
        ("if (g in a) { delete a[g]; a[g]++ }", [1, 0, 0, 1, 1]),
        ("if (g in a) { drop(); println(a[g]) }", [0, 1, 1, 0, 0]),
        ("if (g in a) { a[g] = taken() }", [0, 0, 1, 1, 0]),
        ("if (g in w) { w[5] = 1; println(w[g]) }", [0, 1, 1, 1, 0]),
        # The key changes.
        ("if (g in a) { g++; println(a[g]) }", [0, 1, 1, 0, 0]),
        ("if (k in a) { turn(); println(a[k]) }", [0, 1, 1, 0, 0]),
        ("x = 5 if (x in a) { x = 6 println(a[x]) }", [0, 1, 1, 0, 0]),
        ("x = 5 if (x in a) { foreach (x in a) println(x) println(a[x]) }", [0, 1, 1, 0, 0]),
        ("x = 5 if (x++ in a) println(a[x])", [0, 1, 1, 0, 0]),
        # A second turn comes after what the first one does.
        ("x = 5 if (x in a) while (g--) { println(a[x]) x++ }", [0, 1, 1, 0, 0]),
        ("if (g in a) for (i = 0; i < 3; i++) { println(a[g]) delete a[2] }", [0, 1, 1, 0, 0]),
        ("if (g in a) for (i = 0; i < 3; i++) println(a[g])", [1, 0, 0, 0, 0]),
        # What try has done is not known where it was left.
        ("if (g in a) { try { delete a[g] println(1 / g) } catch { println(a[g]) } }", None),
    ],
)  # fmt: skip
def test_elements(body: str, expected: list[int] | None) -> None:
    functions = (
        "function drop() { delete a[7] } function taken() { delete a[1] return 4 }"
        " function turn() { k = 9 }"
    )
    got = counts(body, FIND, GET, HAS, SLOT, FOUND, before=functions)
    assert got == (expected or [1, 1, 0, 0, 1])


@pytest.mark.parametrize(
    ("body", "tids", "names"),
    [
        ("println(tid(), tid(), execname(), execname())", 1, 1),
        ("if (tid() > 1) println(tid())", 1, 0),
        ("if (g) println(tid()) else println(tid())", 2, 0),
        ("if (g) println(tid()); println(tid())", 2, 0),
        ("println(g ? tid() : 1, tid())", 2, 0),
        ("println(g && tid(), tid())", 2, 0),
        ("println(tid()) while (g--) println(tid())", 1, 0),
        ("while (g--) println(tid()) println(tid())", 2, 0),
        ("x = execname() x .= \"y\" println(x, execname())", 0, 1),
        ("try { println(1 / g, tid()) } catch { println(tid()) } println(tid())", 3, 0),
        ("println(twice())", 1, 0),
    ],
)  # fmt: skip
def test_stable_calls(body: str, tids: int, names: int) -> None:
    twice = "function twice() { return tid() + tid() }"
    if "twice" in body:
        from tests.translate.support import c_of

        text = c_of(f"{twice} probe begin {{ {body} }}")
        text = text[text.index("f_twice(struct stapy_context *c)\n") :]
        assert len(re.findall(r"\bf_tid\(c\)", text)) == tids
        return
    assert counts(body, TID, NAME) == [tids, names]
