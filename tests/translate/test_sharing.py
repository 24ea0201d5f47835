"""Handlers that differ only in their texts: one body in C, and what each has of its own."""

from __future__ import annotations

import re

from stapy.diagnostics import NOWHERE, Span
from stapy.ir import program as p
from stapy.translate.model import MANY_HANDLERS
from stapy.translate.sharing import share
from tests.translate.support import source_of

MANY = MANY_HANDLERS + 2
DIVIDES = "function no() { return pid() * 0 }"


def c_of(script: str, args: str = "") -> str:
    """Translate a script; return its C."""
    return "".join(source_of(script, args=args).files.values())


def probes(body: str, count: int = MANY) -> str:
    """Write that many probes; ``{}`` stands for the number of each."""
    return "\n".join(f"probe begin({at}) {{{body.format(at)}}}" for at in range(count))


def bodies(text: str) -> list[str]:
    """List the shared bodies of a module."""
    return re.findall(r"^static noinline void (body_\w+)\(", text, re.M)


def test_a_body_is_written_once() -> None:
    """Each handler has its text, and a place where the division stands."""
    text = c_of(DIVIDES + "\n" + probes(' println("t{}", 1 / no()) '))
    assert len(bodies(text)) == 1
    assert text.count("stapy_divide(") == 1
    assert "stapy_divide(c, 1, no, &quotient, own->at_1)" in text
    for at in range(MANY):
        assert f'.text_1 = "t{at}",' in text
        assert text.count(f".at_1 = at_{at + 2}_") == 1


def test_few_handlers_have_bodies_of_their_own() -> None:
    """A hit of a few probes is not made slower for the compiler's sake."""
    assert not bodies(c_of(probes(' println("t{}") ', MANY_HANDLERS)))


def test_texts_that_agree_stay() -> None:
    """A member is made only for what differs, and one for what differs alike."""
    text = c_of(probes(' println("same", "t{0}", "t{0}", "u{0}") '))
    assert len(bodies(text)) == 1
    assert '"same"' in text
    assert ".text_2 = " in text
    assert ".text_3 = " not in text


def test_what_else_differs_keeps_handlers_apart() -> None:
    """Numbers, globals and locks, other statements."""
    ends = 'probe end { println(a["t1"], b["t1"]) }'
    script = "global a, b\n" + probes(' a["t{}"]++ ', 30) + probes(' b["t{}"]++ ', 25)
    assert len(bodies(c_of(script + ends))) == 2
    assert not bodies(c_of(probes(" println({}) ")))


def test_a_place_that_is_two_elsewhere() -> None:
    """What errors name must be told from a place of the first handler alone."""

    def handler(name: str, *spans: Span) -> p.Handler:
        texts = [p.Text(span, p.STRING, name) for span in spans]
        return p.Handler(name, [], p.Block(NOWHERE, [p.Evaluate(NOWHERE, text) for text in texts]))

    first, second = Span(0, 1, 2), Span(0, 3, 4)
    one_place = [handler("a", first, first), handler("b", second, second)]
    two_places = handler("c", first, second)
    (shared,) = share([*one_place, two_places], lambda _: "", 512)
    assert shared.members == one_place
    assert shared.places(first) == [first, second]


def test_texts_that_are_too_long_for_a_string() -> None:
    """What is printed is not cut, and what is kept is: such handlers keep their bodies."""
    text = c_of(probes(' println("{:0>99}") '), "-DMAXSTRINGLEN=64")
    assert not bodies(text)
    assert text.count("0" * 97) == MANY


def test_conditions_that_a_body_judges() -> None:
    """They are judged by all handlers, and their texts are none of these."""
    body = ' if (pid() >= 0) {{ seen["a{0}"]++ on = "b{0}" }} else {{ seen["c{0}"]++ s = "d{0}" }} '
    ends = 'probe timer.profile if (on == "yes") { println(s) } probe end { println(seen["x"]) }'
    text = c_of(f'global on = "on", seen, s\n{probes(body)}\n{ends}')
    assert len(bodies(text)) == 1
    assert text.count("stapy_judge(c, &conditions[0]);") == 1
    for at in range(MANY):
        row = re.search(rf'(?:\.text_\d = "[abcd]{at}",\s+){{4}}', text)
        assert row is not None
        assert re.findall(r'"([abcd])', row[0]) == ["a", "b", "c", "d"]
    for member, kind in (("text_1", "a"), ("text_2", "b"), ("text_3", "c"), ("text_4", "d")):
        assert f'.{member} = "{kind}7",' in text


def test_programs_are_told_of_each_print() -> None:
    """With --format a print has a record of its texts and its place: nothing is shared."""
    assert not bodies(c_of(probes(' println("t{}") '), "--format=json"))
