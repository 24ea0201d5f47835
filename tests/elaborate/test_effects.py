"""Locks, sharing of handlers, what functions do, automatic printing."""

from __future__ import annotations

import pytest

from stapy.ir import program as p
from stapy.ir.dump import dump_program, statement
from stapy.ir.program import Program
from stapy.ir.walk import walk
from tests.elaborate.golden import LIBRARY
from tests.elaborate.support import run


def program(text: str, **options: object) -> Program:
    result = run(text, LIBRARY, **options)
    assert result.program is not None, result.shown()
    return result.program


def locks(text: str) -> list[list[tuple[str, bool]]]:
    return [[(x.var.name, x.for_writing) for x in h.locks] for h in program(text).handlers]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Nobody writes it: no lock.
        ("global a = 1 probe begin { println(a) }", [[]]),
        (
            "global a probe begin { a = 1 } probe end { println(a) }",
            [[("a", True)], [("a", False)]],
        ),
        # Adding to a statistic is shared, reading and deleting it is not.
        (
            "global s probe begin { s <<< 1 } probe end { println(@count(s)) }",
            [[("s", False)], [("s", True)]],
        ),
        (
            "global s probe begin { s <<< 1; delete s } probe end { print(@hist_log(s)) }",
            [[("s", True)], [("s", True)]],
        ),
        # Through a function, in one order for the whole program.
        (
            "global b, a function f() { a[1] = b } probe begin { f(); b++; println(a[1]) }",
            [[("a", True), ("b", True)]],
        ),
        (
            "global a probe begin { foreach (k in a) println(k) } probe end { a[1] = 1 }",
            [[("a", False)], [("a", True)]],
        ),
        # A loop in order sorts the array itself.
        (
            "global a probe begin { foreach (k+ in a) println(k) } probe end { a[1] = 1 }",
            [[("a", True)], [("a", True)]],
        ),
        (
            "global a probe begin { foreach (k in a- limit 3) println(k) } probe end { a[1] = 1 }",
            [[("a", True)], [("a", True)]],
        ),
        (
            "global a probe begin { if (1 in a) println(1) } probe end { a[1] = 1 }",
            [[("a", False)], [("a", True)]],
        ),
    ],
)
def test_locks(text: str, expected: list[list[tuple[str, bool]]]) -> None:
    assert locks(text) == expected


def regions(text: str, **options: object) -> list[str]:
    """List what a handler does under its locks: each region as -p2 would print it."""
    text = "global a, b function pid:long() %{ /* pure */ %} function done() %{ %} " + text
    (handler,) = program(text, guru=True, **options).handlers
    marked = [node for node in walk(handler.body) if isinstance(node, p.Locked)]
    if handler.locks and not marked:
        return ["all"]
    return [
        " ".join(line.strip() for line in statement(node.body, "")) + f" [{_held(node)}]"
        for node in marked
    ]


def _held(node: p.Locked) -> str:
    return " ".join(lock.var.name + ("!" if lock.for_writing else "") for lock in node.locks)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (pid() != 1) next; a = 1; b = a", ["{ a = 1 b = a } [a! b!]"]),
        ("x = pid(); if (x) a = x; else b = x", ["a = x [a!]", "b = x [b!]"]),
        ("if (pid()) { if (pid() > 1) a = 1 }", ["a = 1 [a!]"]),
        ("if (pid()) next; else { x = 3; b = x }", ["b = x [b!]"]),
        # A global in the question, or an effect before the first global: earlier.
        ("if (a) b = 1; a = 2", ["all"]),
        ('x = pid(); println("x", x); a = x', ['{ printf("%s%d\\n", "x", x) a = x } [a!]']),
        ("x = pid(); done(); a = x", ["{ done() a = x } [a!]"]),
        # What follows belongs to it, also a loop and a try block.
        ("x = pid(); a = x; println(x)", ['{ a = x printf("%d\\n", x) } [a!]']),
        ("x = pid(); if (x) a = 1; y = x; println(y)", None),
        ("x = pid(); for (i = 0; i < x; i++) a += i", None),
        ("x = pid(); try { a = 1 / x } catch { println(x) }", None),
        ("a = 1", ["all"]),
        ("println(1)", []),
    ],
)
def test_locks_are_pushed_down(body: str, expected: list[str] | None) -> None:
    found = regions("probe begin { " + body + " }", autoprint=False)
    if expected is None:  # one region that begins behind the first statement
        assert len(found) == 1
        assert found[0] != "all"
        assert "x = pid()" not in found[0]
    else:
        assert found == expected
    kept = regions("probe begin { " + body + " }", autoprint=False, compatible="4.3")
    assert kept == (["all"] if found else [])


@pytest.mark.parametrize(
    ("text", "handlers", "sites"),
    [
        ("probe begin, end { println(1) }", 1, [1, 1]),
        ('probe kernel.function("vfs_*") { println(1) }', 1, [3]),
        ('probe kernel.function("vfs_*") { println($file) }', 1, [3]),
        # $count is the third parameter of two of them and missing in the other.
        (
            'probe kernel.function("vfs_*") { println(@defined($count) ? $count : 0) }',
            2,
            [1, 1, 1],
        ),
        # Texts that only read alike: their errors tell places of their own.
        ("probe begin { println(1) } probe begin { println(1) }", 2, [1, 1]),
        ("probe begin { println(1) } probe begin { println(2) }", 2, [1, 1]),
    ],
)
def test_one_body_is_one_handler(text: str, handlers: int, sites: list[int]) -> None:
    made = program(text)
    assert len(made.handlers) == handlers
    assert [len(x.sites) for x in made.probes] == sites


def test_functions_know_what_they_do() -> None:
    made = program(
        "global a, b function f() { a = b; return g() } function g() { return b }"
        " function r(n) { return n ? r(n - 1) : 0 }"
        " probe begin { b = 1; println(f(), r(3), a) }"
    )
    functions = {x.name: x for x in made.functions}
    assert functions["f"].writes == {"g_a"}
    assert functions["f"].reads == {"g_b"}
    assert functions["g"].reads == {"g_b"}
    assert not functions["f"].is_recursive
    assert functions["r"].is_recursive
    assert made.nesting > 10


def test_recursion_may_go_as_deep_as_in_systemtap() -> None:
    made = program(
        "function r(n) { return n ? r(n - 1) : 0 } function quit() { println(1) }"
        " probe begin { println(r(3)); quit() }"
    )
    assert made.nesting >= 13


def test_nesting_is_the_longest_chain() -> None:
    made = program(
        "function a() { return b() } function b() { return c() } function c() { return 1 }"
        " probe begin { println(a()) }"
    )
    assert made.nesting == 3


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("global a probe begin { a = 1 }", ["a"]),
        ("global a probe begin { a++ }", ["a"]),
        ("global a, b probe begin { a = b++ }", ["a"]),
        ("global a probe begin { a[1] <<< 2 }", ["a"]),
        ("global a probe begin { a = 1; println(a) }", []),
        ("global a probe begin { a[1] = 1; delete a }", []),  # taken away is looked after
        ("global a probe begin { a[1] = 1; delete a[1] }", []),
        ("global a probe begin { a <<< 1; delete a }", []),
        ("global a probe begin { a[1] = 1; foreach (k in a limit 1) println(k) }", []),
        ("global a probe begin { a[1] = 1; foreach (k in a limit 0) println(k) }", ["a"]),
        ("global a probe begin { a[1] = 1; foreach (k+ in a limit 2-3) println(k) }", ["a"]),
        ("global a probe begin { a[1] = 1; if (1 in a) println(1) }", []),
        # Where one side of an operator decides, the other one is not read.
        ("global a probe begin { a[1] = 1; println((1 in a) || 3) }", ["a"]),
        ("global a probe begin { a[1] = 1; println((1 in a) && 0) }", ["a"]),
        ("global a probe begin { a[1] = 1; println((1 in a) * 0) }", ["a"]),
        ("global a probe begin { a[1] = 1; println(0 & (1 in a)) }", ["a"]),
        ("global a probe begin { a[1] = 1; println(0 << a[1]) }", ["a"]),
        ("global a probe begin { a[1] = 1; println(a[1] | -1) }", ["a"]),
        ("global a probe begin { a[1] = 1; println(-1 | a[1]) }", ["a"]),
        ("global a probe begin { a[1] = 1; println(a[1] % 1) }", ["a"]),
        ("global a probe begin { a[1] = 1; println(0 >> a[1]) }", ["a"]),
        ("global a probe begin { a[1] = 1; println(-1 >> a[1]) }", ["a"]),
        ("global a probe begin { a[1] = 1; println(a[1] % -1) }", ["a"]),
        ("global a probe begin { a[1] = 1; println(a[1] < -0x8000000000000000) }", ["a"]),
        ("global a probe begin { a[1] = 1; println(0x7fffffffffffffff >= a[1]) }", ["a"]),
        ("global a probe begin { a[1] = 1; println(a[1] > -0x8000000000000000) }", []),
        ("global a probe begin { a[1] = 1; println(a[1] ^ a[1]) }", []),
        ("global a probe begin { a[1] = 1; println(a[1] ? 1 : 1) }", []),
        ("global a probe begin { a[1] = 1; println(0 / a[1]) }", []),
        ("global a probe begin { a[1] = 1; println(0 % a[1]) }", []),
        ("global a probe begin { a[1] = 1; println(a[1] || 0) }", []),
        ("global a probe begin { a[1] = 1; println(a[1] && 1) }", []),
        ("global a probe begin { a[1] = 1; println(a[1]++ * 0) }", []),
        ("probe begin { share(1) }", []),  # a global of the library is not the user's
    ],
)
def test_automatic_printing(text: str, printed: list[str]) -> None:
    made = program(text)
    assert [x.name for x in made.globals if x.autoprint] == printed
    assert sum(x.written == "end" for x in made.probes) == len(printed)


def test_no_automatic_printing_when_switched_off() -> None:
    made = program("global a probe begin { a = 1 }", autoprint=False)
    assert len(made.probes) == 1


def test_features() -> None:
    made = program('global s probe begin { s[1] <<< 1; if ("a" =~ "b") println(matched(0)) }')
    assert made.features >= {"stats", "maps", "regex", "tagged_dfa"}
    regex = [x for h in made.handlers for x in _walk(h.body) if isinstance(x, p.RegexMatch)]
    assert regex[0].keeps_groups


def _walk(node: p.Stmt) -> list[object]:
    from stapy.ir.walk import walk

    return walk(node)


def test_overloads_fall_through_only_with_next() -> None:
    made = program(
        "function f(x) { if (x) next; return 1 } function f(x) { return 2 }"
        " function g(x) { return 1 } function g(x) { return 2 }"
        " probe begin { println(f(1), g(1)) }"
    )
    named = {x.name: x for x in made.functions if x.next is not None}
    assert list(named) == ["f"]
    assert len(made.functions) == 3


def test_a_user_function_comes_before_the_library() -> None:
    made = program('function pp() { return "mine" } probe begin { println(pp()) }')
    assert [x.code for x in made.functions] == [None]


def test_library_files_are_read_only_when_needed() -> None:
    result = run("probe begin { println(1) }", LIBRARY)
    assert result.services.library.loads == []


def test_entry_slots_that_nobody_reads_are_dropped() -> None:
    made = program(
        'probe kernel.function("vfs_read").return'
        " { unused = @entry($file); println(@entry($count)) }"
    )
    probe = made.probes[0]
    assert probe.slots == [p.LONG]
    assert probe.entry is not None


def test_options_settable_globals_stay() -> None:
    result = run("global a = 1 probe begin { println(2) }", globals={"a": "5"})
    assert result.program is not None
    assert [x.name for x in result.program.globals] == ["a"]
    assert result.program.globals[0].settable


def test_bad_variables_can_be_skipped() -> None:
    result = run('probe kernel.function("vfs_read") { println($nope) }', skip_badvars=True)
    assert result.program is not None
    assert result.codes == ["W0640"]


@pytest.mark.parametrize(
    ("body", "codes", "shown"),
    [
        ("if (@defined($nope)) $nope = 1; println(2)", [], 'printf("%d\\n", 2)'),
        ("$nope = 1; $nope++; println($nope->a->b)", ["W0640"] * 3, 'printf("%d\\n", 0)'),
        ("x = $nope; println(2)", ["W0602"], 'printf("%d\\n", 2)'),
        ("println(@defined($nope) ? $nope : 3)", [], 'printf("%d\\n", 3)'),
    ],
)
def test_skipped_variables(body: str, codes: list[str], shown: str) -> None:
    text = 'probe kernel.function("vfs_read") { ' + body + " }"
    result = run(text, LIBRARY, skip_badvars=True, guru=True)
    assert result.codes == codes
    assert result.program is not None
    assert shown in dump_program(result.program, True)


def test_library_code_does_not_see_the_users_globals() -> None:
    made = program("global name = 7, fd probe syscall.read { println(name); fd = 1 }")
    assert [x.name for x in made.globals] == ["name", "fd"]
    # The alias's own `name` is another variable, and as nobody reads it, it is gone.
    assert made.globals[0].type == p.LONG
    assert made.handlers[0].locals == []


def test_a_user_global_may_have_the_name_of_a_library_one() -> None:
    made = program('global shared probe begin { shared = "a"; share(2); println(shared) }')
    assert sorted((x.name, str(x.type)) for x in made.globals) == [
        ("shared", "long"),
        ("shared", "string"),
    ]


def test_return_probes_of_one_function_have_their_own_slots() -> None:
    made = program(
        'function f() { return @entry($count) } probe kernel.function("vfs_read").return'
        ' { println(@entry($file), f()) } probe kernel.function("vfs_read").return { println(f()) }'
    )
    assert [len(x.slots) for x in made.probes] == [2, 1]


def test_initial_values_and_bodies_are_for_verbose() -> None:
    program = run('global g = 3, s = "x" probe begin { println(g, s) }').program
    assert program is not None
    short = "# globals\ng:long\ns:string\n# probes\nbegin /* <- begin */\n"
    assert dump_program(program) == short
    assert 'g:long = 3\ns:string = "x"\n' in dump_program(program, True)
