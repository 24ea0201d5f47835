"""What single statements become: order of evaluation, short circuits, copies, checks."""

from __future__ import annotations

import re

import pytest

from stapy.translate.lower.body import MAX_C_LOCALS
from tests.translate.support import c_of, handler_of


def flat(text: str) -> str:
    """Return C without comments, with single spaces."""
    return " ".join(re.sub(r"/\*.*?\*/", "", text, flags=re.S).split())


# body of a begin probe, pieces of C in their order
BODIES = [
    ("x = 1 y = x + 2 println(y)", ["x = 1;", "y = x + 2;"]),
    ("x = 3 println(x * (x + 1) - x)", ["x * (x + 1) - x"]),
    ("x = 3 println((x < 2) + x)", ["(x < 2) + x"]),
    ("x = 3 println(x & x == 1)", ["x & (x == 1)"]),
    ("x = 3 println(x << 2, x >> x)", ["x << 2", "x >> (x & 63)"]),
    ("x = 3 println(x / 7, x % 8)", ["x / 7", "x % 8"]),
    ("x = 3 println(7 / x)", ["if (!stapy_divide(c, 7, x, &quotient, at_", "goto out;"]),
    ("x = 3 println(x / -1)", ["stapy_divide(c, x, -1, "]),
    ("x = 3 x /= x println(x)", ["stapy_divide(c, x, x, &x, at_"]),
    ("x = 3 x <<= 70 println(x)", ["x <<= 6;"]),
    ("x = 3 println(- -x, ~x, !x)", ["-(-x)", "~x", "!x"]),
    ("x = 1 println(x + x++)", ["x_2 = x;", "old = x++;", "x_2 + old"]),
    ("x = 1 println(x++ + ++x)", ["old = x++;", "x++;", "old + x"]),
    ("x = 1 println(x && x > 2 || !x)", ["(x && x > 2) || !x"]),
    (
        "x = 1 println(x && x++)",
        ["both = x != 0;", "if (both) {", "old = x++;", "both = old != 0;"],
    ),
    ("x = 1 println(x ? x++ : 0)", ["if (x) {", "chosen = old;", "} else {", "chosen = 0;"]),
    ('t = "a" println(t == "b", t < "c")', ['stapy_compare(l->t, "b") == 0', ") < 0"]),
    ('t = "a" t = t . "b" . t println(t)', ['stapy_concat(l->text, l->t, "b"', "stapy_copy(l->t"]),
    ('t = "a" t = t . "b" println(t)', ['stapy_concat(l->t, l->t, "b", sizeof(l->t));']),
    ('t = "a" t .= t println(t)', ["stapy_copy(l->text, l->t", "stapy_concat(l->t, l->t, l->text"]),
    ('t = "a" println(t . (t = "b"))', ["stapy_copy(l->text, l->t", 'stapy_copy(l->t, "b"']),
    ("if (1 > 2) println(1) else println(2)", ['stapy_out_text(out, "2\\n", 2);']),
    ("a[1] = 2 a[1] += 3 println(a[1])", ["*slot = 2;", "*slot += 3;", "stapy_map_get_long"]),
    ("x = a[1]++ println(x)", ["old = (*slot)++;", "x = old;"]),
    ("x = ++a[1] println(x)", ["(*slot)++;", "x = *slot;"]),
    ("a[a[1]] = a[2] println(a[3])", ["keys[0].n = 1;", "keys[0].n = a;", "*slot = a_2;"]),
    ('b["k"] = b["l"] println(b["m"])', ["stapy_copy(l->text, b, ", "stapy_map_set_string"]),
    ("if ([1] in a) delete a[2]", ["stapy_map_has(g_a, keys)", "stapy_map_delete(g_a, keys);"]),
    (
        "if ([1] in a) delete a[1]",
        ["found = stapy_map_find(g_a, keys);", "if (found)", "stapy_map_delete_found(g_a, found);"],
    ),
    ("s <<< 1 println(@count(s))", ["stapy_stat_add(g_s, 1);", "STAPY_COUNT"]),
    (
        "s <<< 1 println(@max(s))",
        ["stat = stapy_stat_read(g_s);", "if (!stapy_stat_value(c, stat, STAPY_MAX"],
    ),
    (
        "s <<< 1 println(@min(s) + @max(s) + @sum(s))",
        ["stat = stapy_stat_read(g_s);", "STAPY_MIN", "STAPY_MAX", "STAPY_SUM", "min + max + sum"],
    ),
    (
        "m[1] <<< 1 print(@hist_log(m[g++]))",
        ["old = g_g++;", "stat = stapy_map_stat(g_m, keys);", "stapy_out_histogram(c, out, stat,"],
    ),
    (
        "try { println(1 / g) } catch (e) { println(e) }",
        ["goto caught_1;", "caught_1:", "stapy_is_fatal(c)", "stapy_caught(c);"],
    ),
    ('printf("%s|%5d\\n", "x", 3)', ['stapy_out_text(out, "x|", 2);', "3, 'd', 0, 5, -1"]),
    ('printf("%-*.*s", 5, 2, sprint(g))', ["STAPY_F_LEFT, 5, 2"]),
    ('printf("%c%4b", g, g)', ["stapy_out_char(out, g_g", "stapy_out_binary(out, g_g, 0, 4, -1"]),
    ("print_char(g)", ["stapy_out_char(out, g_g, 0, 0);"]),
    ('printf("%*.*b", g, 2, 3)', ["stapy_out_binary(out, 3, 0, stapy_width(g_g), 2);"]),
    ("foreach (k in a- limit 2) println(k)", ["&iter, g_a, 1, 0, true, 2, NULL, NULL"]),
    ("foreach (k+ in a limit g) println(k)", ["max_t(s64, g_g, 0)"]),
    ("while (g) { if (g == 2) continue g-- }", ["while (g_g) {", "continue;", "g_g--;"]),
    ("for (i = 0; i < 3; i++) println(i)", ["for (; i < 3; i++) {"]),
    ("for (;;) { break }", ["for (;;) {", "break;"]),
    ('if ("abc" . sprint(g) =~ "b+") println(1)', ["if (stapy_regex_search(&regex_1, l->"]),
]


@pytest.mark.parametrize(("body", "pieces"), BODIES, ids=[body for body, _ in BODIES])
def test_statements(body: str, pieces: list[str]) -> None:
    text = flat(
        handler_of(
            f"global a, b, s, m, g = 1 probe begin {{ {body} }}"
            ' probe timer.s(1) { g++ a[0] = 1 b["z"] = "z" }'
        )
    )
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        assert found >= 0, f"{piece!r} is not behind character {at} of:\n{text}"
        at = found + len(piece)


def test_what_embedded_c_writes_is_read_before_it() -> None:
    value = "%{ /* pragma:write:g */ (STAP_SET_GLOBAL_g(5), 3) %}"
    text = flat(handler_of(f"global g = 1 probe begin {{ println(g + {value}) }}", "-g"))
    before, _, after = text.partition("STAP_SET_GLOBAL_g(5)")
    assert "g_2 = g_g;" in before and "g_2 + embedded" in after, text


def test_snapshots_are_not_charged() -> None:
    """They have a bound of their own: MAXACTION is for what the script does."""
    text = handler_of(
        "global a, n probe begin { a[1] = 2 n++ a[n] = n }",
        "--format=json --snapshots=1 -DMAXACTION=1",
    )
    begin, *others = text.split("static void ")[1:]
    looks = [one for one in others if one.startswith("h_snapshots")]
    assert len(looks) == 2 and "stapy_act" in begin
    assert all("stapy_act" not in one and "stapy_typed_begin" in one for one in looks)


def test_a_bounded_handler_is_not_charged() -> None:
    body = "a = 1 if (a) b = 2 println(a, b)"
    assert "stapy_act" not in handler_of(f"probe begin {{ {body} }}")
    assert "stapy_act" in handler_of(f"probe begin {{ {body} }}", "-DMAXACTION=3")
    assert "stapy_act" in handler_of("probe begin { while (1) {} }")
    assert "stapy_act" not in handler_of(
        "probe begin { while (1) {} }", "-g --suppress-time-limits"
    )


def test_a_function_without_loops_is_paid_by_its_caller() -> None:
    text = c_of("function f(x) { x++ x++ return x } probe begin { while (1) println(f(1)) }")
    charges = re.findall(r"stapy_act\(c, (\d+), \w+\)", text)
    assert charges == ["1", "5"]  # the loop itself; each turn: 1, println and three in f


def test_only_calls_that_can_fail_are_checked() -> None:
    text = handler_of("probe begin { println(pid()) } probe end { error(execname()) print(1) }")
    begin, end = text.split("static void h_end")
    assert "c->error" not in begin
    assert end.count("c->error") == 1


def test_a_last_call_that_can_fail_is_a_plain_call() -> None:
    text = handler_of(
        "global a probe begin { if (pid() > 1) a[pid()] <<< 1 } probe end { println(@count(a[1])) }"
    )
    begin = text.split("static void h_end")[0]
    assert "\t\tstapy_map_add(c, g_a, keys, 1, " in begin
    assert "\t\t\treturn;" in begin  # the lock was not taken: nothing to undo
    assert "goto" not in begin


def test_frames_are_added_up_along_calls() -> None:
    text = c_of(
        'function f:string(s:string) { s .= "x" return s } probe begin { s = f("a") println(s) }'
    )
    size = re.search(r"\.frame_bytes = (\d+)", text)
    assert size is not None and int(size[1]) >= 2 * 512


def test_deep_expressions_do_not_fill_the_kernels_stack() -> None:
    deep = "x"
    for number in range(200):
        deep = f"(f(x) ^ {number}) - ({deep})"
    text = c_of(f"function f(x) {{ return x / 3 }} probe begin {{ x = pid() println({deep}) }}")
    handler = text[text.index("static void h_begin") :]
    on_stack = re.search(r"\n\ts64 ((?:[^;]|\n)*?);\n\n", handler)
    assert on_stack is not None
    assert on_stack[1].count(",") < 2 * MAX_C_LOCALS
    assert handler.count("\t\ts64 f_") > 100


@pytest.mark.parametrize(("calls", "more"), [(1, False), (12, True)])
def test_long_chains_of_calls_ask_for_their_stack(calls: int, more: bool) -> None:
    locals_ = " ".join(f"v{number} = x * {number} + pid();" for number in range(20))
    used = " + ".join(f"v{number}" for number in range(20))
    functions = "".join(
        f"function f{n}(x) {{ {locals_} return f{n + 1}(x) + {used} }} " for n in range(calls)
    )
    text = c_of(
        f"{functions} function f{calls}(x) {{ return x }} probe begin {{ println(f0(pid())) }}"
    )
    assert bool(re.search(r"\.stack_bytes = \d{4,},", text)) is more


def test_recursion_needs_frames_for_all_its_levels() -> None:
    text = c_of(
        'function f:string(n) { if (n) return f(n - 1) . "x" return "" }'
        " probe begin { println(f(3)) }",
        "-DMAXNESTING=20",
    )
    size = re.search(r"\.frame_bytes = (\d+)", text)
    assert size is not None and int(size[1]) >= 20 * 512
    assert "if (!stapy_nest(c, stapy_at_call" in text


def test_settable_globals_become_parameters() -> None:
    text = c_of(
        'global level = 3, who = "x" probe begin { println(level, who) }',
        "-G level=4 -G who=me",
    )
    assert "module_param_cb(level, &long_parameter, &g_level, 0);" in text
    assert "module_param_cb(who, &text_parameter, &g_who_text, 0);" in text


def test_one_handler_serves_many_sites() -> None:
    text = c_of('global n probe kernel.function("vfs_*").call { n++ println(n) }')
    assert text.count("static void h_") == 1
    assert text.count('.symbol = "vfs_') >= 3


def test_terse_leaves_script_lines_out() -> None:
    script = "probe begin {\n\tprintln(1)\n}"
    assert "test.stp:2: println(1)" in c_of(script)
    assert "test.stp:2: println(1)" not in c_of(script, "--terse")


def test_same_script_same_text() -> None:
    script = 'global a, b probe begin { a[1] = 2 b["x"] = 3 println(a[1], b["x"]) }'
    assert c_of(script) == c_of(script)


def test_lines_fit_and_are_indented_with_tabs() -> None:
    text = c_of(
        "global a probe begin { a[1, 2] = 1 foreach ([x, y] in a) "
        'printf("%d %d %d %d\\n", x, y, a[x, y], a[x + 1, y + 1]) }'
    )
    for line in text.splitlines():
        assert len(line.expandtabs(8)) <= 100 or '"' in line, line
        assert not line.startswith(" ") or line.startswith(" *"), line
        assert line == line.rstrip()


def test_directives_of_embedded_code_name_the_real_lines() -> None:
    script = 'probe begin {\n\tprintln(%{ /* pure */ jiffies %})\n%{\n\tSTAP_PRINTF("x");\n%}\n}'
    text = c_of(script, "-g")
    lines = text.splitlines()
    for at, line in enumerate(lines, 1):
        match = re.fullmatch(r'#line (\d+) "test\.c"', line)
        if match:
            assert int(match[1]) == at + 1
    assert '#line 3 "test.stp"' in text


def test_a_packets_verdict_is_read_before_it_is_changed() -> None:
    point = 'netfilter.hook("NF_INET_LOCAL_IN").pf("NFPROTO_IPV4")'
    text = flat(c_of(f'probe {point} {{ printf("%d %d", $verdict, $verdict = 0) }}', "-g"))
    kept = text.index("= (s32)((unsigned long *)c->data)[4];")
    assert kept < text.index("((unsigned long *)c->data)[4] = (s32)0;")


def test_variables_of_a_librarys_c_hide_no_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.translate import support

    function = "function f:long(x:long) %{ /* pure */ int x = STAP_ARG_x; STAP_RETVALUE = x; %}"
    monkeypatch.setattr(support, "LIBRARY", support.LIBRARY + function)
    text = c_of("probe begin { println(f(1)) }")
    name = re.search(r"#define STAP_ARG_x (\w+)", text)
    assert name is not None and name[1] != "x"
    assert f"s64 {name[1]})" in text
