"""Near misses."""

from __future__ import annotations

import pytest

from stapy.diagnostics.suggest import did_you_mean, distance, nearest


@pytest.mark.parametrize(
    ("a", "b", "cost"),
    [("open", "open", 0), ("opne", "open", 1), ("opn", "open", 1), ("kitten", "sitting", 3)],
)
def test_distance(a: str, b: str, cost: int) -> None:
    assert distance(a, b, 5) == cost
    assert distance(b, a, 5) == cost


def test_distance_gives_up_at_the_limit() -> None:
    assert distance("abcdef", "uvwxyz", 2) == 3


@pytest.mark.parametrize(
    ("word", "names", "found"),
    [
        ("opne", ["open", "openat", "close", "pipe"], ["open"]),
        ("wirte", ["write", "writev", "read"], ["write", "writev"]),
        ("EXIT", ["exit"], ["exit"]),
        ("zzz", ["open", "close"], []),
        ("vfs_", ["vfs_read", "vfs_write", "xfs_read"], ["vfs_read", "vfs_write"]),
        ("open", ["open"], []),
        (
            "sys_open",
            ["seq_open", "do_sys_open", "__x64_sys_open", "sys_opened"],
            ["do_sys_open", "__x64_sys_open", "sys_opened"],
        ),
        ("printn", ["printf", "println", "print", "sprint"], ["println", "printf", "print"]),
        ("printl", ["printf", "println"], ["println", "printf"]),
        ("mem_alloc", ["mem_flags", "mem_alloc_noprof"], ["mem_alloc_noprof"]),
    ],
)
def test_nearest(word: str, names: list[str], found: list[str]) -> None:
    assert nearest(word, names) == found


def test_at_most_three() -> None:
    assert len(nearest("aaa", ["aab", "aac", "aad", "aae"])) == 3


def test_hint() -> None:
    assert did_you_mean("opne", ["open"]) == "did you mean 'open'?"
    assert did_you_mean("aaa", ["aab", "aac"]) == "did you mean 'aab' or 'aac'?"
    assert did_you_mean("aaa", ["xyz"]) == ""
