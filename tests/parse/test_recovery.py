"""Several mistakes, several messages: behind a syntax error the rest of the text is read."""

from __future__ import annotations

import pytest

from tests.parse.helpers import parse

# One mistake each, as a statement or the beginning of one.
MISTAKES = [
    'println("x"', "x = = 3;", "x = ;", "f(1 2);", "a b ] c;", "y = 1 + ;", "foo(", "x] = 1;",
    "f(1));", "if (1 x;", "x = (1;", "else x;", "a[1 = 2;", 'string s = "a";', "println(x",
    "for (i = 0; i < = 3; i++) f(i);", "foreach (k of a) f(k);", "while (1 { g() }",
    "if (x = = 1) { g(); h() } else h()", "if (x y) g(); else h();", "while 1 { g(); h() }",
    "for (i = 0; i ] 3; i++) { g(); h() }", "fro (i = 0; i < 3; i++) { g() }",
    "switch (x) { case 1: g(); break; default: h() }", "try { g( } catch { h() }",
    "if (x) { g( } else { h() }", "x = {1, 2};", 'printf("%d" 1)', "if (1)", "while (1)",
]  # fmt: skip
# Where a statement may stand.
PLACES = [
    "%s", "if (1) %s", "while (1) %s", "for (;;) %s", "foreach (k in a) %s", "{ %s }",
    "if (1) { %s }", "if (1) { g() } else %s", "if (1) { g() } else { %s }",
    "try { %s } catch { g() }", "try { g() } catch { %s }", "if (1) while (2) %s",
    "while (1) { if (2) %s }", "if (1) if (2) { %s } else g()",
]  # fmt: skip


def places(text: str) -> list[tuple[int, int]]:
    _, diagnostics = parse(text)
    spans = [item.span for item in diagnostics.errors]
    return [diagnostics.sources.position(span)[1:] for span in spans]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_other_declarations_are_told(place: str, mistake: str) -> None:
    text = f"probe begin {{\n {place % mistake}\n}}\nprobe end {{ z = = 4 }}\nfunction g() {{ x( }}"
    found = places(text)
    assert found[1:] == [(4, 17), (5, 19)]


@pytest.mark.parametrize("mistake", [one for one in MISTAKES if one[-2:] != "1)"])
def test_mistakes_of_the_same_block_are_told(mistake: str) -> None:
    end = "" if mistake.endswith(";") or mistake.endswith("}") else ";"
    found = places(f"probe begin {{ if (2) {{ {mistake}{end}\n f(); g(); z = = 4 }} }}")
    assert found[1:] == [(2, 16)]


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ('probe begin {\n if (1) println("x"\n}\nprobe end { println("y" }', 2),
        ("probe begin { x = $a->probe + = 3; y = = 4; }", 2),
        ("probe begin { x = = 3\nprobe end { y = = 4; }", 3),
        ("probe begin { if (1) x = = 3\nprobe end { y = = 4; }", 3),
        ("probe begin { if (1) { x = = 3\nprobe end { y = = 4; }", 3),
        ("probe begin { if (1) { x = 3\nprobe end { y = = 4; }", 2),
        ("probe begin { if (1)\nprobe end { y = = 4; }", 2),
        ("probe begin { if (1\nprobe end { y = = 4; }", 2),
        ("probe begin { if (1) {\n g(\n}\nprobe end { y = = 4; }", 3),
        ("probe begin { if (x y) g(); else h(); z = = 3; }", 2),
        ("probe begin { if (x y) { g() } else { h( } z = = 3; }", 3),
        ("probe begin { if (1 { g() } else { h() } z = = 3; }", 2),
        ("probe begin { if (1 { g( } else { h( } z = = 3; }", 4),
        ("probe begin { if () { g( } else { h( } z = = 3; }", 4),
        ("probe begin { if (f(1 2)) { g( } z = = 3; }", 3),
        ("probe begin { while (x y) while (x y) g( }\nprobe end { ] }", 4),
        ("probe begin { while (1; z = = 3; }\nprobe end { ] }", 3),
        ("probe begin { while (1 }\nprobe end { ] }", 2),
        ("probe begin { foreach (k of a) { g( } z = = 3; }", 3),
        ("probe begin { for (i = 0; i ] 3; i++) { g( } z = = 3; }", 3),
        ("probe begin { for (i = 0; i < 3) { g( } z = = 3; }", 3),
        ("probe begin { for (i = 0; i < 3 { g( } z = = 3; }", 3),
        ("probe begin { if x == 1 { g() } else { h() } z = = 3; }", 2),
        ("private probe begin { ] }\nprobe end { ] }", 3),
        ("probe begin { if (1) function f() { } }", 1),
        ("probe begin { { function f() { } } } probe end { ] }", 2),
        ("probe begin { x = ; y = ; }", 2),
        ("probe begin { if (1) x = ; y = ; }", 2),
        ("function f() { if (1) return ] }\nfunction g() { if (1) return ] }", 2),
        ("function f() { if (1) return x y }\nprobe begin { a b ( }", 1),
        ("probe begin { if (1) } probe end { if (1) }", 2),
        ("probe begin { { if (1) } } probe end { { while (1) } }", 2),
        ("probe begin { try { if (1) } catch { while (1) } } probe end { ] }", 3),
        ("probe begin { if (1) { if (2) } else g() }  probe end { ] }", 2),
        ("probe begin { if (1) { if (2) } y = = 3; }  probe end { ] }", 3),
        ("probe a = begin { if (1) }, { if (2) }\nprobe end { ] }", 3),
        ("probe begin { if (1) x = {1, 2}; y = = 2; } probe end { ] }", 3),
        ("probe begin { switch (x) { case 1: f(); default: f() } z = = 3 } probe end { ] }", 3),
    ],
)
def test_each_mistake_has_one_message(text: str, messages: int) -> None:
    assert len(places(text)) == messages
