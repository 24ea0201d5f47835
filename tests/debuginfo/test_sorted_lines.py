from __future__ import annotations

import fnmatch

from hypothesis import given
from hypothesis import strategies as st

from stapy.debuginfo.glob import has_wildcard, literal_prefix, matcher, matching
from stapy.debuginfo.sorted_lines import SortedLines

NAMES = st.text("ab_1", min_size=1, max_size=5)


@given(st.lists(st.tuples(NAMES, st.sampled_from("tTd"))), NAMES, st.binary(max_size=9))
def test_questions_agree_with_a_plain_search(
    rows: list[tuple[str, str]], name: str, around: bytes
) -> None:
    lines = sorted(f"{key} {kind}".encode() for key, kind in rows)
    text = SortedLines.encode(lines)
    sorted_lines = SortedLines(around + text + around, len(around), len(around) + len(text))
    assert sorted_lines.text() == text
    assert bool(sorted_lines) == bool(rows)
    expected = sorted(kind.encode() for key, kind in rows if key == name)
    assert sorted_lines.get(name.encode()) == expected
    wanted = [line[len(name) :] for line in lines if line.startswith(name.encode())]
    assert list(sorted_lines.with_prefix(name.encode())) == wanted


@given(st.text("ab*?[]!-", max_size=6), st.text("ab", max_size=4))
def test_patterns_agree_with_fnmatch(pattern: str, name: str) -> None:
    found = matcher(pattern)(name)
    assert found == (
        fnmatch.fnmatchcase(name, pattern) if has_wildcard(pattern) else name == pattern
    )
    if found:
        assert name.startswith(literal_prefix(pattern))


@given(st.text("ab*?[]!-", max_size=6), st.lists(st.text("ab", max_size=4)))
def test_many_names_are_matched_like_each(pattern: str, names: list[str]) -> None:
    test = matcher(pattern)
    assert matching(pattern, names) == [row for row, name in enumerate(names) if test(name)]


def test_only_newlines_end_a_line() -> None:
    """A damaged name may hold any other byte."""
    rows = [b"f a\rb 1", b"f c\x0bd\x1c 2"]
    lines = SortedLines(SortedLines.encode(rows))
    assert list(lines.with_prefix(b"f ")) == [row[2:] for row in rows]
    assert list(SortedLines(b"").with_prefix(b"")) == []
