"""What the messages advise: the nearest name, or what else would help, and nothing that lies."""

from __future__ import annotations

from typing import Any

import pytest

from stapy.debuginfo.basic_types import basic_name
from stapy.debuginfo.sites import FunctionSite
from stapy.parse.conditions import ASKED
from tests.elaborate import support as s


class Copies(s.FakeDebuginfo):
    """A kernel with a copy that the compiler made of a function, of which BTF knows nothing."""

    def functions(self, pattern: str, module: str | None = None) -> list[FunctionSite]:
        found = super().functions(pattern, module)
        if pattern in ("vfs_*", "vfs_stat"):
            found.append(FunctionSite("vfs_stat.isra.0", None, None, "symbol table"))
        return found


@pytest.mark.parametrize(
    ("text", "code", "at", "advice"),
    [
        ('kernel.function("vfs_read") { println($return) }', "E0241", "$return", "in .return"),
        ('begin { println(@cast(1, "flie")->f_pos) }', "E0248", "@cast(1, ", "'file'"),
        ('begin { println(@cast(1, "struct taks_struct*")) }', "E0248", "", "'task_struct'"),
        ('begin { println(@enum("MODE_RAED")) }', "E0248", '@enum("MODE_RAED")', "'MODE_READ'"),
        ('begin { println(@var("pid_mx")) }', "E0241", '@var("pid_mx")', "'pid_max'"),
        ('begin { println(@var("pid_mx@kernel/pid.c")) }', "E0241", "", "'pid_max'"),
        ('begin { println(@var("pid_max")) }', "E0241", '@var("pid_max")', "install debuginfo"),
        ('kernel.trace("sched:sched_swich") { println(1) }', "E0232", "", "'sched_switch'"),
        ('kernel.function("{vfs_read,vfs_write}") { println(1) }', "E0231", "",
         '.{function("vfs_read"),function("vfs_write")}'),
        ('module("ext4").function("ext4_*") { println(1) }', "E0231", "", "kernel.function(…)"),
        ('kernel.function("vfs_read") { println($file . "x") }', "E0301", "$file", "$file$ is the"),
        ('kernel.function("vfs_read").return { println($retval) }', "E0241", "", "is $return"),
        ('kernel.function("vfs_read") { println($retval) }', "E0241", "", "$return, at .return"),
        ('kernel.function("vfs_read") { printf("%s", $count) }', "E0301", "$count", "sprint("),
        ('begin { x = "a" x .= "b" if (x == cat) println(x) }', "W0607", "cat", '"cat" is'),
        ('begin { a[1] <<< 2 println(@count(a)) } global a', "E0205", "a", "foreach goes"),
        ('begin { println(1 + "a") }', "E0301", '"a"', "'.' joins"),
        ('begin { x = 1 x += "b" println(x) }', "E0301", '"b"', "'.=' adds"),
        ('kernel.function("vfs_read") { println(file) }', "E0305", "file", "'$file' is"),
        ("vfs_read { println(1) }", "E0230", "vfs_read", 'kernel.function("vfs_read") is'),
        ('begin { println(1 - "a") }', "E0301", '"a"', "strtol("),
        ('begin { printl("x") }', "E0201", 'printl("x")', "'println'"),
        ('begin { if (execname() = "x") println(1) }', "E0254", "", "'==' compares"),
        ("begin { println(1) exit }", "W0604", "exit", "it is exit()"),
        ("begin { if (pid = 1) println(2) }", "W0602", "pid = 1", "'==' compares"),
        ("begin { if (x && (pid = 1)) println(2); x = 1 }", "W0602", "pid = 1", "'==' compares"),
        ("begin { println(1.5) }", "E0301", "1", "count in a smaller unit"),
        ('kernel.function("vfs_read") { println($file.f_flags) }', "E0301", "$file", "->f_flags"),
        ("begin { x++ } probe end { println(x) }", "E0305", "x", "add 'global x' when another"),
        ("begin { total = 1; total++; if (totl) println(total) }", "W0607", "totl", "'total'"),
        ('kernel.function("vfs_read(int)") { println(1) }', "E0231", "", ""),
        ('kernel.* { println(1) }', "E0230", "*", ""),
        ('kernel.function("vfs_read").maxactive(9).return { }', "E0230", "maxactive(9)",
         ".return.maxactive(…)"),
        ('kernel.function("mutex_lock") { println(1) }', "E0231", "", "-g lifts"),
        ('kernel.function("vfs_read").return { println($return . "") }', "E0301", "$return", ""),
    ],
)  # fmt: skip
def test_advice(text: str, code: str, at: str, advice: str) -> None:
    result = s.run(f"probe {text}")
    item = result.diagnostics.items[0]
    assert (result.codes, item.code) == ([code], code)
    assert at in result.services.sources.text(item.span)
    assert advice in item.hint
    if "install" not in advice:
        assert "install" not in item.hint


# Aliases as the library has them: of places that may lack, of tracepoints, of a return.
ALIASES = """
    probe calls.read = inner.read ?, kernel.function("vfs_nosuch").call ? { size = 1 }
    probe inner.read = kernel.function("vfs_read").call ? { }
    probe calls.read.return = kernel.function("vfs_read").return ? { }
    probe net.receive = kernel.trace("sched_switch") { }
    probe whole.read = kernel.function("vfs_read") { }
    """


@pytest.mark.parametrize(
    ("point", "code", "at", "hint", "note"),
    [
        ("calls.read.retrun", "E0236", "retrun", "did you mean 'return'?",
         "behind 'calls.read' may stand: return"),
        ("calls.*.retrun", "E0236", "retrun", "did you mean 'return'?",
         "behind 'calls.read' may stand: return"),
        ("net.receive.retrun", "E0236", "retrun", "", "nothing may follow 'net.receive'"),
        ("whole.read.retrun", "E0236", "retrun", "did you mean 'return'?",
         "behind 'whole.read' may stand: return, call"),
        ('whole.read.return("x")', "E0236", 'return("x")', "write whole.read.return",
         "'return' takes no argument"),
        ("whole.read.return.x", "E0236", "x", "",
         "behind 'whole.read.return' may stand: maxactive"),
        ("whole.read.maxactive(3)", "E0236", "maxactive(3)",
         "maxactive stands behind return: .return.maxactive(…)",
         "behind 'whole.read' may stand: return, call"),
        ("whole.read.inlin", "E0236", "inlin", "did you mean 'inline'?",
         "behind 'whole.read' may stand: return, call, exported"
         "behind 'whole.read' may stand with debug information, which is not here: inline"),
        ("begin.retrun", "E0236", "retrun", "", "nothing may follow 'begin'"),
        ("own.retrun", "E0230", "retrun", "did you mean 'return'?", "'retrun' is not one of the"),
        ("calls.read.retrun ?", "E0238", "", "a script needs at least one probe", ""),
    ],
)  # fmt: skip
def test_a_suffix_that_an_alias_does_not_take_is_told_by_the_names_of_the_script(
    point: str, code: str, at: str, hint: str, note: str
) -> None:
    """What aliases stand for inside them was not written by their user."""
    own = 'probe own.retrun = kernel.function("vfs_read").retrun { }' if "own" in point else ""
    result = s.run(f"{own} probe {point} {{ println(1) }}", library={"calls.stp": ALIASES})
    (error,) = result.diagnostics.errors
    assert (error.code, result.services.sources.text(error.span)) == (code, at)
    assert error.hint.startswith(hint) and bool(hint) == bool(error.hint)
    assert "".join(error.notes).startswith(note)


@pytest.mark.parametrize("optional", ["begin ?", 'kernel.function("vfs_nosuch") ?'])
def test_what_is_optional_inside_an_alias_may_lack_the_suffix_of_another(optional: str) -> None:
    script = f"""
        probe lacks = {optional} {{ }}
        probe both = kernel.function("vfs_read"), lacks {{ }}
        probe both.return {{ println(1) }}
        """
    result = s.run(script)
    assert not result.diagnostics.errors and result.program is not None
    assert [probe.points for probe in result.program.probes] == [
        ['kernel.function("vfs_read").return']
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("probe nfs.proc.read { println(1) }", ["W0616"]),
        ("probe nfs.proc.r* { println(1) }", []),
        ("probe nfs.proc.* { println(1) }", []),
        ("probe never { println(1) }", []),
        ("probe own = never { } probe own { println(1) }", []),
        ("probe own = nfs.proc.read { } probe own { println(1) }", []),
    ],
)
def test_points_that_are_never_hit(text: str, expected: list[str]) -> None:
    """Told where the library has one by the name that was written; a script's own was meant."""
    library = {
        "nfs.stp": "probe nfs.proc.read = never { size = 1 } probe nfs.proc.open = begin { }"
    }
    assert s.run(text, library=library).codes == expected


def test_other_parameters_are_told() -> None:
    result = s.run('probe kernel.function("vfs_read(int)") { println(1) }')
    (note,) = result.diagnostics.items[0].notes
    assert "ssize_t vfs_read(struct file *, char *, size_t)" in note


@pytest.mark.parametrize(
    ("point", "note"),
    [
        ("nosuch*", "no name matches 'nosuch*': there are "),
        ("beg*.nosuch", ""),
        ("perf.ty*", "of the names under 'perf' that match none is a whole probe point: type"),
        ("perf.type(1)", "the point goes on behind 'perf.type(1)': config"),
        ('netfilter.hook("x")', """the point goes on behind 'netfilter.hook("x")': pf"""),
    ],
)
def test_what_could_stand_where_nothing_matches(point: str, note: str) -> None:
    (error,) = s.run(f"probe {point} {{ println(1) }}").diagnostics.items
    assert error.code == "E0230" or not note
    assert "".join(error.notes).startswith(note)
    assert "__" not in "".join(error.notes)


def test_the_way_to_a_list_of_names_is_found_by_the_first_that_there_is() -> None:
    """All files of the library would be read and all functions looked for: seconds of it."""
    library = {f"{at}.stp": f"probe many.of_{at} = begin {{ x{at} = 1 }}" for at in range(40)}
    result = s.run("probe many.fo_3 { println(1) }", library)
    (error,) = result.diagnostics.items
    assert "stapy -l 'many.*' lists them" in error.notes
    shelf = result.services.library
    assert isinstance(shelf, s.TextLibrary)
    assert len(shelf.loads) == 1


def test_what_follows_from_a_mistake_is_not_told() -> None:
    result = s.run('probe begin { x = @var("pid_mx"); y = x->next; println(y->next) }')
    assert result.codes == ["E0241"]


def points(text: str, **options: Any) -> list[str]:
    """List the points of the probes of a script that passes."""
    result = s.run(f"probe {text}", debuginfo=Copies(), **options)
    assert result.program is not None, result.shown()
    return sorted(point for probe in result.program.probes for point in probe.points)


def test_copies_by_the_compiler() -> None:
    """They belong to a wildcard, unless it is their variables that the script wants."""
    copy = 'kernel.function("vfs_stat.isra.0")'
    assert copy in points('kernel.function("vfs_*") { println(1) }')
    assert copy in points('kernel.function("vfs_*") { println($$parms) }')
    assert copy in points('kernel.function("vfs_*") { println(@defined($file)) }')
    assert copy not in points('kernel.function("vfs_*") { println($file) }')
    assert copy + ".return" in points('kernel.function("vfs_*").return { println($$return) }')
    assert copy + ".return" not in points('kernel.function("vfs_*").return { println($return) }')
    assert points('kernel.function("vfs_stat") { println(1) }') == [copy]
    alone = s.run('probe kernel.function("vfs_stat") { println($file) }', debuginfo=Copies())
    assert alone.codes == ["E0241"]
    told = s.run(
        'probe kernel.function("vfs_*") { println($file) }', debuginfo=Copies(), verbose=[1] * 5
    )
    assert told.codes == ["W0642"]
    assert "vfs_stat.isra.0" in told.diagnostics.items[0].message


class Twins(s.FakeDebuginfo):
    """A kernel with two functions of one name, of which BTF knows one, or so it seems."""

    def functions(self, pattern: str, module: str | None = None) -> list[FunctionSite]:
        found = super().functions(pattern, module)
        for site in found:
            site.ambiguity = "there are two"
        return found


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('kernel.function("vfs_read") { println($count) }', ["W0643"]),
        ('kernel.function("vfs_read").return { println(@entry($count)) }', ["W0643"]),
        ('kernel.function("vfs_read").return { println($return) }', ["W0643"]),
        ('kernel.function("vfs_read") { println($nosuch) }', ["E0241"]),
        ('kernel.function("vfs_read") { println(1) }', []),
        ('kernel.function("vfs_*") { println($file) }', []),
    ],
)
def test_functions_of_one_name(text: str, codes: list[str]) -> None:
    result = s.run(f"probe {text}", debuginfo=Twins())
    assert result.codes == codes, result.shown()
    assert all("there are two" in item.notes for item in result.diagnostics.items)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("long", "long int"),
        ("unsigned", "unsigned int"),
        ("unsigned long long", "long long unsigned int"),
        ("long unsigned int", "long unsigned int"),
        ("short", "short int"),
        ("signed char", "signed char"),
        ("char", "char"),
        ("int signed", "int"),
        ("struct long", ""),
        ("u32", ""),
        ("", ""),
    ],
)
def test_names_of_basic_types(written: str, name: str) -> None:
    assert basic_name(written) == name


@pytest.mark.parametrize(
    ("text", "why", "hint"),
    [
        ('kernel.function("vfs_read").return { $count = 1 }', "a copy that was saved", ""),
        ('kernel.function("vfs_read").return { $file = 1 }', "a copy that was saved", "a member"),
        ('kernel.trace("sched_switch") { $next = 1 }', "does not look at it again", "a member"),
    ],
)
def test_why_a_variable_cannot_be_changed(text: str, why: str, hint: str) -> None:
    item = s.run(f"probe {text}", guru=True).diagnostics.items[-1]
    assert item.code == "E0245"
    assert why in item.where
    assert hint in item.hint and bool(hint) == bool(item.hint)


ENTRY = """probe calls.read = kernel.function("vfs_read") {
        size = $count & 0xff
        half = size >> 1
        shown = sprint(half, " bytes of a text that is rather long, and so on and so on")
    }
    probe calls.read.return = kernel.function("vfs_read").return { result = $return }
    """


@pytest.mark.parametrize(
    ("body", "code", "advice"),
    [
        ("println(size)", "E0305", "write @entry($count & 0xff) to have it here"),
        ("println(half + result)", "W0607", "write @entry(($count & 0xff) >> 1) to have it here"),
        ("println(shown)", "E0305", "in a global: probe calls.read { kept[tid()] = shown }"),
        ("println(@entry(size))", "E0305", "write @entry($count & 0xff) to have it here"),
    ],
)
def test_a_variable_of_the_entry_that_the_return_does_not_have(
    body: str, code: str, advice: str
) -> None:
    result = s.run(ENTRY + "probe calls.read.return { " + body + " }")
    (item,) = [item for item in result.diagnostics.items if item.code == code]
    assert item.where == ("it belongs to the entry: calls.read sets it, calls.read.return does not")
    assert advice in item.hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("probe timer.s { }", "such as timer.s(5)"),
        ('probe timer.s("x") { }', "such as timer.s(5)"),
        ("probe kernel.function { }", 'such as kernel.function("NAME")'),
        ("probe end.what { }", ""),
        ('probe timer.profile("x") { }', "write timer.profile"),
        ("global a probe begin { a = 1; println(@avg(a)) }",
         "a statistic is filled with '<<<', not with '='"),
        ('global a probe begin { a <<< 1; a = "x" }',
         "a statistic is filled with '<<<', not with '='"),
    ],
)  # fmt: skip
def test_an_argument_and_a_statistic_are_shown_how_they_are_written(text: str, hint: str) -> None:
    assert s.run(text).diagnostics.errors[0].hint == hint


def test_a_variable_that_nothing_has_is_no_matter_of_the_entry() -> None:
    result = s.run(ENTRY + "probe calls.read.return { println(nothing_has) }")
    (item,) = result.diagnostics.errors
    assert (item.code, "entry" in item.where) == ("E0305", False)


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("println(szie)", "did you mean 'size'?"),
        ("println(other)", "calls.read sets half, shown, size"),
        ("println(x)", "calls.read sets half, shown, size"),
    ],
)
def test_a_wrong_name_may_mean_what_the_alias_sets(body: str, hint: str) -> None:
    """Although nobody reads that, so that the program does not have it any more."""
    (item,) = s.run(ENTRY + "probe calls.read { " + body + " }").diagnostics.errors
    assert (item.code, item.hint) == ("E0305", hint)


@pytest.mark.parametrize(
    "body",
    [
        "for (f = $file; f->f_flags; f = $file->f_path->dentry) println(1)",
        "f = $file; while (f) { println(f->f_flags); f = $file->f_path->dentry }",
        "f = $file; while (f->f_flags) f = $file->f_path->dentry",
        "f = $file; foreach (i in kept) { println(f->f_flags); f = $file->f_path->dentry }",
        "f = $file; foreach (f in kept) println(f->f_flags)",
        "f = $file; f = $file->f_path->dentry; println(f->f_flags)",
    ],
)
def test_a_value_of_two_types_has_none(body: str) -> None:
    """Whatever the round of the loop in which the second one comes."""
    text = 'global kept probe kernel.function("vfs_read") { ' + body + " kept[1] = 1 }"
    result = s.run(text)
    assert (result.program, set(result.codes) - {"W0602"}) == (None, {"E0249"})


@pytest.mark.parametrize(
    "body",
    [
        "for (d = $file->f_path->dentry; d; d = $file->f_path->dentry) println(d->d_name->len)",
        "t = $file->table; f = $file; println((t)[1], f->f_flags, (t)[0])",
        "d = $file->f_path->dentry; n = d->d_iname; println((n)[0], d->d_name->len)",
        "f = $file; f++; println(f->f_flags)",
        "f = 1 + 1; f = $file; f += 8; println(f->f_flags)",
        "for (i = 0; i < 2; i++) { if (i) println(f->f_flags); f = $file }",
    ],
)
def test_a_type_is_kept_through_loops_and_arrays(body: str) -> None:
    result = s.run('probe kernel.function("vfs_read") { ' + body + " }")
    assert result.codes == []


@pytest.mark.parametrize(
    "text",
    [
        "probe F { println(held->f_flags) } probe F { held = $file }",
        "probe F { held = 5; held = $file; held++ } probe F { println(held->f_path->dentry) }",
        "probe F { d = held->f_path->dentry; other = d } probe F { println(other->d_name->len) }"
        "probe F { held = $file } global other",
        "probe F { held = other = $file } probe F { println(held->f_flags + other->f_flags) }"
        "global other",
        "function set(f) { held = f->f_path->dentry } probe F { set($file) }"
        "probe F { println(held->d_name->len) }",
        "function one(f) { if (f) return f->f_path->dentry; return f + 1 }"
        "probe F { held = one($file) } probe F { println(held->d_name->len) }",
    ],
)
def test_a_type_is_kept_in_globals(text: str) -> None:
    """Whichever handler comes first, and when one global's type hangs on another's."""
    result = s.run("global held " + text.replace("F", 'kernel.function("vfs_read")'))
    assert result.codes == []


@pytest.mark.parametrize(
    "text",
    [
        "probe F { held = $file } probe F { held = $file->f_path->dentry; println(held->f_flags) }",
        "function same(x) { return x } probe F { held = same($file) println(held->f_flags) }",
        "probe F { held[1] = $file println(held[1]->f_flags) }",
    ],
)
def test_what_has_no_type_in_globals(text: str) -> None:
    """Two types; what a function only hands on, whose callers may differ; elements."""
    result = s.run("global held " + text.replace("F", 'kernel.function("vfs_read")'))
    assert "E0249" in result.codes


def test_a_type_is_kept_from_the_entry_to_the_return() -> None:
    text = """probe kernel.function("vfs_read").return {
        f = @entry($file)
        d = @entry($file->f_path->dentry)
        println(f->f_flags, f->f_path->dentry->d_name->len, d->d_name->len, (f->table)[1])
    }"""
    assert s.run(text).codes == []


def test_why_an_alias_of_optional_places_matches_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was said of each place, once."""
    monkeypatch.setenv("PATH", "/nowhere")
    text = """probe mine = process("nosuch*").mark("x") ?, process("nosuch*").mark("y") ?,
        process("nothing*").mark("x") ? { }
    probe mine { println(1) }"""
    result = s.run(text)
    assert result.codes == ["E0231"]
    assert result.diagnostics.items[0].notes == [
        "no program matches 'nosuch*'",
        "no program matches 'nothing*'",
    ]


@pytest.mark.parametrize(
    ("point", "code"),
    [
        ('kernel.function("vfs_read")', "E0241"),
        ("timer.s(1)", "E0240"),
        ('procfs("a").read', "E0241"),
    ],
)
def test_a_variable_of_an_alias_has_no_dollar(point: str, code: str) -> None:
    """No debug package helps; a variable that the alias sets behind the body is not known there."""
    text = "probe mine = {point} {{ {body} }} probe mine {{ println($size) }}"
    item = s.run(text.format(point=point, body="size = 1")).diagnostics.errors[0]
    assert (item.code, item.hint, item.notes) == (
        code,
        "'size' is a variable that the alias sets: write it without '$'",
        [],
    )
    behind = text.replace(" =", " +=", 1).format(point=point, body="size = 1")
    for other in (behind, text.format(point=point, body="other = 1")):
        assert "alias" not in s.run(other).diagnostics.errors[0].hint


@pytest.mark.parametrize(
    ("body", "code", "hint"),
    [
        ("println(clock - 5)", "W0607", "a function is called with parentheses: clock()"),
        ("println(clock)", "E0305", "a function is called with parentheses: clock()"),
        (
            "t = clock println(t)",
            "E0305",
            "'clock': a function is called with parentheses: clock()",
        ),
        ("println(far - 5)", "W0607", "a function is called with parentheses: far(address, size)"),
        ("println(private_one - 5)", "W0607", "add 'global private_one'"),
        ("println(pid - 5)", "W0607", "in SystemTap's language it is pid()"),
    ],
)
def test_functions_without_their_parentheses(body: str, code: str, hint: str) -> None:
    library = {
        "clock.stp": "function clock:long() { return 5 } function far:long(address, size) "
        "{ return address + size } private function private_one:long() { return 1 }",
    }
    result = s.run(f"probe begin {{ {body} }}", library)
    (item,) = result.diagnostics.items
    assert item.code == code
    assert item.hint.startswith(hint)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("println({})", "E0305"),
        ("println({}())", "E0201"),
        ('if ({} == "x") println(1)', "W0607"),
        ("println(1) {}", "W0604"),
    ],
)
@pytest.mark.parametrize("word", [*ASKED, "CONFIG_SMP"])
def test_words_of_conditions(body: str, code: str, word: str) -> None:
    """What they are compared with can be pasted."""
    result = s.run(f"probe begin {{ {body.format(word)} }}")
    (item,) = [one for one in result.diagnostics.items if one.code == code]
    start, condition = item.hint.split(" only: ")
    assert start == f"'{word}' is known in conditions of the preprocessor"
    taken = condition.replace("…", "println(1)", 1).replace("…", "println(2)")
    assert not s.run(f"probe begin {{ {taken} }}").diagnostics.items


def test_variables_are_not_taken_for_words_of_conditions() -> None:
    assert not s.run("global arch probe begin { arch = 1 println(arch) }").diagnostics.items


def test_a_near_variable_does_not_hide_what_brings_the_others() -> None:
    result = s.run('probe kernel.function("vfs_read") { println($fiel) }')
    (error,) = result.diagnostics.errors
    assert error.hint == "did you mean '$file'?"
    assert "install debuginfo (locals)" in error.notes


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("print_ubacktrace", "sprint_ubacktrace() has the text that it prints, ubacktrace()"),
        ("print_ubacktrace_brief", "sprint_ubacktrace() has the text"),
        ("print_backtrace", "sprint_backtrace() has the text"),
        ("print_stack", "sprint_stack() has the text that it prints"),
        ("print_regs", "a statement of its own"),
    ],
)
def test_what_only_prints_has_no_value(name: str, advice: str) -> None:
    """Nobody is told to give a function of the library a type."""
    result = s.run(f"probe begin {{ println({name}()) }}", {"x.stp": f"function {name}() %{{ %}}"})
    (item,) = result.diagnostics.errors
    assert item.code == "E0304"
    assert advice in item.hint
