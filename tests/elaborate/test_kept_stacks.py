"""Addresses that were kept are named where other processes run: a warning, and nowhere else."""

from __future__ import annotations

import pytest

from stapy.paths import data_dir
from tests.elaborate import support as s

LIBRARY = {"symbols.stp": (data_dir("tapsets") / "user/symbols.stp").read_text()} | {
    "context.stp": "function tid:long() %{ %}\n",
    "stack.stp": "function ubacktrace:string() %{ /* pragma:user_stacks */ %}\n",
}
KEEPS = """global st, at, n, last
probe kernel.function("vfs_read") { st[ubacktrace()] <<< 1; at = 7; n++; last[tid()] = 8 }
"""


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("probe end { foreach (s in st) print_usyms(s) }", ["print_usyms(s)"]),
        ("probe end { foreach (s+ in st) { t = s; u = t; println(sprint_usyms(u)) } }",
         ["sprint_usyms(u)"]),
        ("probe error { println(usymname(at + 4)) println(usymdata(at)) }",
         ["usymname(at + 4)", "usymdata(at)"]),
        ("probe timer.s(1) { foreach (s in st) print_ustack(s) }", ["print_ustack(s)"]),
        ('probe procfs("x").read { $value = usymfile(at) }', ["usymfile(at)"]),
        ("function show(s) { print_usyms(s) } probe end { foreach (s in st) show(s) }",
         ["show(s)"]),
        ("function all() { foreach (s in st) print_usyms(s) } probe end { all() }",
         ["print_usyms(s)"]),
        ('probe end { print_usyms(n ? "" : sprintf("%x", at)) }',
         ['print_usyms(n ? "" : sprintf("%x", at))']),
        ("function kept() { return at } probe end { println(usymname(kept())) }",
         ["usymname(kept())"]),
        ("function one() { return at } function two() { return one() + 1 } "
         "probe end { println(usymname(two())) }", ["usymname(two())"]),
        ("probe timer.profile { println(usymname(at)) }", ["usymname(at)"]),
        ("probe process.end { foreach (s in st) print_usyms(s) }", ["print_usyms(s)"]),
        ("probe process.thread.end { println(usymname(at)) }", ["usymname(at)"]),
        ("probe process.begin { println(usymname(at)) }", []),
        # Of the one that runs.
        ("probe timer.s(1) { if (tid() in last) println(usymname(last[tid()])) }", []),
        # In the process itself; what only chooses; other functions.
        ('probe kernel.function("vfs_read") { foreach (s in st) print_usyms(s) }', []),
        ("probe timer.s(1) { print_usyms(ubacktrace()) }", []),
        ('probe timer.s(1) { print_usyms(n > 3 ? ubacktrace() : "") }', []),
        ("function show(s) { print_usyms(s) } probe timer.s(1) { if (n) show(ubacktrace()) }", []),
        ("probe end { foreach (s in st) println(s) }", []),
    ],
)  # fmt: skip
def test_where_kept_addresses_are_named(text: str, marked: list[str]) -> None:
    result = s.run(KEEPS + text, LIBRARY)
    assert result.program is not None, result.shown()
    shown = [row.rpartition(" @ ")[2] for row in result.shown() if row.startswith("W0698")]
    assert shown == marked
