"""Regular expressions: the tables find what a slow and simple search finds."""

from __future__ import annotations

import random
import re

import pytest

from stapy.ir.regex import RegexError
from stapy.translate.tables.automaton import Automaton, search
from stapy.translate.tables.regex import build

# pattern, text, borders of the match and of each group (None: no match)
FOUND = [
    ("abc", "xxabcx", [(2, 5)]),
    ("abc", "xxabx", None),
    ("^foo$", "foo", [(0, 3)]),
    ("^foo$", "xfoo", None),
    ("^foo$", "foox", None),
    ("a|b", "xxb", [(2, 3)]),
    ("a.c", "a\nc", [(0, 3)]),
    ("x*", "aaa", [(0, 0)]),
    ("a+", "baaa", [(1, 4)]),
    ("a?b", "aab", [(1, 3)]),
    ("a{2,3}", "baaaa", [(1, 4)]),
    ("a{2}b", "aaab", [(1, 4)]),
    ("a{2,}", "xaaaa", [(1, 5)]),
    ("a)", "xa)", [(1, 2)]),
    ("(a))", "xa)", [(1, 2), (1, 2)]),
    (r"[\[:alpha:]+", "q[:p", [(1, 4)]),
    (r"[\]x]+", "y]x", [(1, 3)]),
    (r"[a\-z]+", "ba-z", [(1, 4)]),
    (r"[\a]+", "\\a", [(1, 2)]),
    ("[a-c]+", "xxabcd", [(2, 5)]),
    ("[^a-c]+", "abxyc", [(2, 4)]),
    ("[]a]+", "x]a]", [(1, 4)]),
    ("[a-]+", "xa-a", [(1, 4)]),
    ("[[:digit:]]+", "ab123", [(2, 5)]),
    ("[[:alpha:][:space:]]+", "1a b2", [(1, 4)]),
    (r"\.", "a.b", [(1, 2)]),
    (r"\*\(", "x*(", [(1, 3)]),
    ("", "abc", [(0, 0)]),
    ("a|", "b", [(0, 0)]),
    ("$", "abc", [(3, 3)]),
    ("(a)|(b)", "cb", [(1, 2), (-1, -1), (1, 2)]),
    ("a(b*)c", "xxabbbcc", [(2, 7), (3, 6)]),
    ("(a|b)+", "zzabab", [(2, 6), (5, 6)]),
    ("(^a|b)c", "abc", [(1, 3), (1, 2)]),
    ("(foo|foobar)baz|foo", "xfoobarbaz", [(1, 10), (1, 7)]),
    ("((a)(b))c", "abc", [(0, 3), (0, 2), (0, 1), (1, 2)]),
    ("a$|b", "ab", [(1, 2)]),
    ("é", "caf\xc3\xa9".encode("latin-1").decode("latin-1"), None),
    ("\xc3\xa9", "caf\xc3\xa9", [(3, 5)]),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), FOUND)
def test_search(pattern: str, text: str, expected: list[tuple[int, int]] | None) -> None:
    assert search(build(pattern, True), text) == expected
    assert bool(search(build(pattern, False), text)) == (expected is not None)


WRONG = [
    ("(ab", "expected ), found end of regex", 0),
    ("(a", "expected ), found end of regex", 0),
    ("(", "expected ), found end of regex", 0),
    ("((a)", "expected ), found end of regex", 0),
    ("ab))", "unbalanced ')'", 2),
    ("a)b", "unbalanced ')'", 1),
    ("a)|b", "unbalanced ')'", 1),
    ("[", "unclosed character class", 0),
    ("[ab", "unclosed character class", 0),
    ("[a-", "unclosed character class", 0),
    ("[]", "unclosed character class", 0),
    ("[^]", "unclosed character class", 0),
    (r"[\]", "unclosed character class", 0),
    ("[[:alpha:]", "unclosed character class", 0),
    ("[[:alpha", "unclosed character class", 1),
    ("a[[:no:]]", "unknown character class 'no'", 2),
    ("[z-a]", "inverted character range z-a", 1),
    ("*a", "unexpected '*', nothing to repeat", 0),
    ("(+a)", "unexpected '+', nothing to repeat", 1),
    ("a|?", "unexpected '?', nothing to repeat", 2),
    ("{2}", "unexpected '{', nothing to repeat", 0),
    ("^*", "'*' repeats an anchor", 1),
    ("a{3,2}", "wrong order", 1),
    ("a{999}", "above 255", 1),
    ("a{", "expected a number or a range", 1),
    ("a{x}", "expected a number or a range", 1),
    ("a{,2}", "expected a number or a range", 1),
    ("a{1²}", "expected a number or a range", 1),
    ("ab\\", "unexpected end of regex", 2),
]


@pytest.mark.parametrize(("pattern", "message", "offset"), WRONG)
def test_bad_patterns(pattern: str, message: str, offset: int) -> None:
    with pytest.raises(RegexError, match=re.escape(message)) as caught:
        build(pattern, False)
    assert caught.value.offset == offset


def test_a_pattern_that_explodes_is_refused() -> None:
    with pytest.raises(RegexError, match=r"states|too large"):
        build("(a|b)*a(a|b){200}", False)


def _pattern(rng: random.Random, depth: int = 0) -> str:
    kind = rng.random()
    if depth > 3 or kind < 0.4:
        return rng.choice(["a", "b", "c", ".", "[ab]", "[^a]"])
    if kind < 0.6:
        return _pattern(rng, depth + 1) + _pattern(rng, depth + 1)
    if kind < 0.75:
        return f"({_pattern(rng, depth + 1)}|{_pattern(rng, depth + 1)})"
    repeat = rng.choice(["*", "+", "?", ""])
    return f"({_pattern(rng, depth + 1)}){repeat}"


def _leftmost_longest(pattern: str, text: str) -> tuple[int, int] | None:
    compiled = re.compile("(?s)" + pattern.replace("$", r"\Z"))
    for start in range(len(text) + 1):
        for end in range(len(text), start - 1, -1):
            if pattern.endswith("$") and end < len(text):
                continue
            if compiled.fullmatch(text, start, end) and not (pattern[0] == "^" and start):
                return start, end
    return None


def test_random_patterns_find_the_leftmost_longest_match() -> None:
    rng = random.Random(7)
    for _ in range(400):
        pattern = rng.choice(["", "^"]) + _pattern(rng) + rng.choice(["", "$"])
        text = "".join(rng.choice("abc") for _ in range(rng.randint(0, 8)))
        expected = _leftmost_longest(pattern, text)
        found = search(build(pattern, True), text)
        assert (found[0] if isinstance(found, list) else None) == expected, (pattern, text)
        assert bool(search(build(pattern, False), text)) == (expected is not None)


def test_tables_fit_their_c_types() -> None:
    automaton: Automaton = build("([a-z]+)=([0-9]+|x{1,20})(;|$)", True)
    assert max(automaton.next) <= 0xFFFF
    assert max(automaton.commands) <= 0xFF
    assert len(automaton.classes) == 256
    text = automaton.c_text("regex_1")
    assert max(len(line.expandtabs()) for line in text.splitlines()) <= 100
