"""The names that programs are told for what a print prints."""

from __future__ import annotations

import pytest

from stapy.ir import program as p
from stapy.ir.walk import walk
from tests.translate.support import options_of, program_of

PRINTS = [
    ('printf("%s(%d)\\n", execname(), pid())', ["execname", "pid"]),
    ('x = 1 printf("%d %d", x, x)', ["x", "x_2"]),
    ('printf("%d%%, latency=%d, fd: %d", 1 + pid(), 2, 3)', ["arg1", "latency", "fd"]),
    ('printf("\\"pid\\": %d {%d}", 1, 2)', ["pid", "arg2"]),
    ('x = 2 printf("wide=%*d %d", x, 7, 8)', ["wide", "arg2"]),
    ('a[1] = 2 printf("%d %d", a[1], -1)', ["a", "arg2"]),
    ('s <<< 1 printf("%d %d", @count(s), @avg(s))', ["count_s", "avg_s"]),
    ("s <<< 1 print(@hist_log(s))", ["s"]),
    ('println("x", pid())', ["arg1", "pid"]),
    ('printd(",", pid(), 3)', ["pid", "arg2"]),
    ("print_char(65)", ["arg1"]),
    ("println(a[1]++, ++n)", ["a", "n"]),
    ('x = sprintf("%d", 1) println(x)', ["x"]),
]


def names(text: str, words: str) -> list[str]:
    """Name the fields of the prints of a begin probe, those of globals at the end aside."""
    script = f"global a, s probe begin {{ {text} }}"
    program, _ = program_of(script, options=options_of(words))
    found = []
    for handler in program.handlers:
        for node in walk(handler.body):
            if isinstance(node, p.PrintOp) and node.shows is None:
                found += [piece.name for piece in node.pieces if piece.kind != "text"]
    return [name for name in found if name]


@pytest.mark.parametrize("text, expected", PRINTS, ids=[row[0] for row in PRINTS])
def test_names(text: str, expected: list[str]) -> None:
    assert names(text, "--format=json") == expected


def test_text_has_no_names() -> None:
    assert names('printf("%d", pid())', "") == []


def shown(words: str) -> dict[str, int]:
    """Count the prints of each global at the end."""
    text = "global a, s, n probe begin { a[1] = 2 s <<< 1 n = 3 println(n) }"
    program, _ = program_of(text, options=options_of(words))
    found: dict[str, int] = {}
    for handler in program.handlers:
        for node in walk(handler.body):
            if isinstance(node, p.PrintOp) and node.shows is not None and not node.is_snapshot:
                found[node.shows.name] = found.get(node.shows.name, 0) + 1
    return found


def test_every_global_is_told_at_the_end() -> None:
    # As text, too, where nothing reads it: an empty statistic has one of its own.
    assert shown("--format=json") == {"a": 2, "s": 3, "n": 1}
    assert shown("--format=json --no-global-var-display") == {}
    assert shown("") == {}


def test_snapshots_are_probes_of_their_own() -> None:
    text = "global a, n probe begin { a[1] = 2 n = 3 println(n) }"
    program, _ = program_of(text, options=options_of("--format=json --snapshots=0.5"))
    # Whoever is told of one of them knows what it is, and which global it tells.
    assert [
        (probe.written, probe.points, probe.span.start)
        for probe in program.probes
        if probe.family == "timer"
    ] == [
        ("--snapshots of a", ["--snapshots of a"], text.index("a, n")),
        ("--snapshots of n", ["--snapshots of n"], text.index("n probe")),
    ]
    looks = [
        node
        for handler in program.handlers
        for node in walk(handler.body)
        if isinstance(node, p.PrintOp) and node.is_snapshot
    ]
    assert sorted(node.shows.name for node in looks if node.shows) == ["a", "a", "n"]
    assert shown("--format=json --snapshots=1") == shown("--format=json")


@pytest.mark.parametrize(
    ("declared", "words", "is_sorted"),
    [
        ("a", "", True),
        ("a[4096]", "", True),
        ("a[4097]", "", False),
        ("a", "-DMAXMAPENTRIES=5000", False),
        ("a", "-DMAXMAPENTRIES='(1<<20)'", False),
        ("a[10]", "-DMAXMAPENTRIES=5000", True),
    ],
)
def test_snapshots_of_large_arrays_are_not_sorted(
    declared: str, words: str, is_sorted: bool
) -> None:
    """To sort takes the array from all others; the user is told."""
    text = f"global {declared} probe begin {{ a[1] = 2 }}"
    program, services = program_of(text, options=options_of(f"--format=json --snapshots=1 {words}"))
    loops = [
        node
        for probe in program.probes
        if probe.family == "timer"
        for node in walk(probe.handler.body)
        if isinstance(node, p.Foreach)
    ]
    assert [node.sort_by for node in loops] == ["value" if is_sorted else ""]
    assert all(isinstance(node.limit, p.Const) and node.limit.value == 100 for node in loops)
    told = [one.code for one in services.diagnostics.items]
    assert told == ([] if is_sorted else ["W0615"])
