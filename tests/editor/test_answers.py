"""Completion, descriptions, declarations and renaming, without an editor."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.editor.bench import Bench
from stapy.editor.complete import MOST, CompletionAnswers, candidates
from stapy.editor.describe import declaration, description
from stapy.editor.kept import KeptAnswers
from stapy.editor.rename import NotRenamed, occurrences, renamed
from stapy.kernel import find_kernel
from stapy.options import Options
from stapy.paths import data_dir
from tests.editor.support import make_tapset, make_tree

READ = 'probe kernel.function("vfs_read") { '


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("editor")
    options = Options(tapset_dirs=[str(make_tapset(folder))])
    kernel = find_kernel(f"{make_tree(folder)}/", Diagnostics(SourceMap()))
    return Bench(kernel, options)


def words(bench: CompletionAnswers, text: str) -> list[str]:
    return [one.text for one in candidates(bench, text, len(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pro", ["probe"]),
        ("probe kern", ["kernel"]),
        ("probe kernel.f", ["function(", 'function("']),
        ('probe kernel.function("vfs_read").r', ["return"]),
        ('probe kernel.function("vfs_', ["vfs_read", "vfs_readv"]),
        ('probe kernel.function("vfs_read', ["vfs_readv"]),
        ('probe kernel.function("nothing', []),
        (READ + 'x = @cast($file, "struct file")->f_', ["f_flags", "f_path"]),
        (READ + 'x = @cast(y[1], "file", "kernel")->f_path->', ["dentry", "mnt"]),
        (READ + 'x = @cast(0, "struct nothing")->', []),
        (READ + 'x = @var("nothing")->', []),
        (READ + "x = f(1)->", []),
        ('probe kernel.function("vfs_read").return { x = @entry($file)->f_', ["f_flags", "f_path"]),
        ('probe kernel.function("vfs_read").return { x = @entry($file->f_path)->m', ["mnt"]),
        ("probe begin { %( kernel_", ["kernel_v", "kernel_vr"]),
        ("%( arch == \"x86_64\" && CONFIG_X86_", ["CONFIG_X86_64"]),
        ("%( 1 == 1 %? prob", ["probe"]),
        ("@define m %( kernel_", []),
        ("probe syscall.{openat", ["openat2"]),
        ("probe syscall.{open,openat", ["openat2"]),
        ("probe syscall.{open, close}.ret", ["return"]),
        ('probe kernel.{function("vfs_read"), function("vfs_', ["vfs_read", "vfs_readv"]),
        ("probe timer.profil", ["profile"]),
        ("probe timer.s", ["s(", "sec("]),
        ("probe syscall.openat", ["openat2"]),
        ("probe syscall.openat.ret", ["return"]),
        ("probe nothing.", []),
        (READ + "x = $co", ["$count"]),
        (READ + "x = $f", ["$file"]),
        (READ + "x = $file->f_", ["f_flags", "f_path"]),
        (READ + "x = $file->f_path->", ["dentry", "mnt"]),
        (READ + "x = $count->", []),
        (READ + "x = @hist_l", ["@hist_linear", "@hist_log"]),
        (READ + "execn", ["execname"]),
        (READ + "fore", ["foreach"]),
        (READ + 'printf("exec', []),
        ("probe sample.read { file", ["filename"]),
        ("global counts, countries\nprobe end { count", ["countries", "counts"]),
        ("function mine() { return 1 }\nprobe end { min", ["mine"]),
        ("probe end { total = 1; tot", ["total"]),
        ("function f(first, second) { return fi", ["first"]),
        ("probe end { foreach ([one, other] in a) { o", ["one", "other"]),
        ("probe end { try { } catch (message) { mess", ["message"]),
        ("@define mine %( 1 %)\nprobe end { @mi", ["@min", "@mine"]),
        ('probe kernel.function("', []),
        ('probe kernel.function("vfs_*") { x = $co', ["$count"]),
    ],
)  # fmt: skip
def test_candidates(bench: Bench, text: str, expected: list[str]) -> None:
    assert words(bench, text) == expected


def test_candidates_have_types(bench: Bench) -> None:
    text = READ + "x = $"
    found = {one.text: one.detail for one in candidates(bench, text, len(text))}
    assert found["$file"] == "struct file *" and found["$count"] == "unsigned long"
    text = "probe sample.read { "
    found = {one.text: one.detail for one in candidates(bench, text, len(text))}
    assert found["filename"] == "string" and found["size"] == "long"


def test_what_others_keep_to_themselves_is_offered_when_it_is_asked_for(bench: Bench) -> None:
    assert not [word for word in words(bench, "probe ") if word.startswith("_")]
    assert [word for word in words(bench, "probe __") if word.startswith("__")]
    assert not [word for word in words(bench, READ + "x = @") if word.startswith("@_")]


def test_paths_of_programs(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "mine").write_text("")
    (folder / "mine").chmod(0o755)
    (folder / "mine.so.1").write_text("")
    (folder / "mine.txt").write_text("")
    (folder / "mines").mkdir()
    head = f'probe process("{folder}/'
    assert words(bench, head + "mi") == [f"{folder}/{x}" for x in ("mine", "mine.so.1", "mines/")]
    assert words(bench, f'probe process("{tmp_path}/') == [f"{folder}/"]
    monkeypatch.setenv("PATH", f"{folder}:{tmp_path}/nothing")
    assert words(bench, 'probe process("mi') == ["mine", "mine.so.1"]
    assert words(bench, f'probe process("/x").library("{folder}/mine.s') == [f"{folder}/mine.so.1"]


def test_names_of_functions_of_a_program(bench: Bench) -> None:
    found = words(bench, 'probe process("/bin/bash").function("readl')
    assert "readline" in found


def test_an_answer_has_an_end(bench: Bench) -> None:
    text = "probe syscall."
    assert 300 < len(words(bench, text)) <= MOST


@pytest.mark.parametrize(
    ("text", "code", "comment"),
    [
        ("probe end { execname| }", "function execname:string()", "command name"),
        (READ + "x = $file| }", "$file: struct file *", ""),
        (READ + "x = $file->f_flags| }", "unsigned long f_flags", ""),
        ("probe sample.read { println(file|name) }", "filename:string", "sample.read"),
        ("probe sample.re|ad { }", "probe sample.read", "a call of read"),
        ("function twice(x) { return 2 * x }\nprobe end { twi|ce(1) }", "function twice(x)", ""),
        ("global a\nprobe end { a| = 1 }", "global a", ""),
        ("probe end { } # exec|name", None, ""),
        ("# Twice.\nprobe mine.two = end { }\nprobe mine.t|wo { ", "probe mine.two", "Twice."),
        ("# Twice.\nprobe mine.t|wo = end { }", "probe mine.two", "Twice."),
        (
            "# One.\n@define one(x) %( @x %)\nprobe end { @on|e(1) }",
            "@define one(x) %( @x %)",
            "One.",
        ),
        ("probe end { @const|able(1) }", None, ""),
        ("probe end { count = 1; println(co|unt) }", "count", "A local variable, used 2 times"),
        ("function f(one) { return on|e }", "one", "A parameter of this function"),
        (
            "# F.\nfunction f:long (one)\n{ return 1 } probe end { f|( ",
            "function f:long (one)",
            "F.",
        ),
        ("probe syscall.op|en { }", "probe syscall.open", "filename:string"),
        ("probe vfs.re|ad { }", "probe vfs.read", "a file is read\n\nname:string"),
        (
            "probe end { @container|_of(1, 2, 3) }",
            "@define container_of(pointer, type, member)",
            'Example:\n    probe kernel.trace("workqueue_execute_start") {\n'
            "        println(@container_of(",
        ),
        ("probe end { nosuch|name }", None, ""),
        ('probe kernel.func|tion("vfs_read").return { }', "probe kernel.function", "maxactive"),
        (
            'probe kernel.function("vfs_read").ret|urn { }',
            'probe kernel.function("vfs_read").return',
            "maxactive",
        ),
        ("probe begin, ti|mer.s(5) { }", "probe timer", "randomize"),
        ('probe process("/bin/ls").mark("x|") { }', None, ""),
        ("probe kernel.nosu|ch { }", None, ""),
        ("global a\nprobe end { fore|ach (k in a) println(k) }", "foreach", "limit"),
        ("global a\nprobe end { println(@cou|nt(a)) }", "@count", "Statistics"),
        ("pro|be end { }", "probe", "Probes"),
        ("probe end { print|ln(1) }", "println", "Printing"),
    ],
)
def test_descriptions(bench: Bench, text: str, code: str | None, comment: str) -> None:
    at = text.index("|")
    text = text.replace("|", "")
    found = description(bench, text, at)
    assert (found.code if found else None) == code
    assert found is None or comment in found.comment
    assert found is None or found.start <= at <= found.end


def test_declarations(bench: Bench) -> None:
    def place(text: str) -> tuple[str, int] | None:
        found = declaration(bench, "x.stp", text.replace("|", ""), text.index("|"))
        return found[:2] if found else None

    assert place("global a\nprobe end { a| = 1 }") == ("x.stp", 1)
    assert place("probe end { f|(1) }\nfunction f(x) { return x }") == ("x.stp", 2)
    found = place("probe end { println(exec|name()) }")
    assert found is not None and found[0] == str(data_dir("tapsets") / "core/context.stp")
    line = Path(found[0]).read_text().splitlines()[found[1] - 1]
    assert line.startswith("function execname")
    found = place("probe vm.page|fault { }")
    assert found is not None and found[0].endswith(".stp")
    assert place("probe end { nosuch|name }") is None
    assert place("probe end { nosuch|name(1); nosuchname(1) }") is None
    assert place("probe end {\n x = 1\n y = x| }") == ("x.stp", 2)
    assert place("function f(x,\ny) {\n return y| }") == ("x.stp", 2)
    assert place("\nprobe mine.a = end { }\nprobe mi|ne.a { ) }") == ("x.stp", 2)
    assert place("\n@define m %( 1 %)\nprobe end { @m| ) }") == ("x.stp", 2)
    found = place("probe syscall.op|en { }")
    assert found is not None and found[0] == str(data_dir("tapsets") / "syscalls/calls.table")
    assert Path(found[0]).read_text().splitlines()[found[1] - 1].startswith("open |")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("global |a\nprobe end { a = a + b }\nprobe begin { a++ }", 4),
        ("global on\nprobe timer.s(1) if (on) { on| = 0 }", 3),
        ("probe end { x| = x + 1 }\nprobe begin { x = 1 }", 2),
        ("function f(x) { return x|}\nprobe end { x = f(1) }", 2),
        ("global x\nfunction f(x) { return x|}\nprobe end { x = f(1) }", 2),
        ("global |x\nfunction f(x) { return x}\nprobe end { x = f(1) }", 2),
        ("function f|(x) { return x }\nprobe end { y = f(1) }", 2),
        ('probe end { printf("%d", |n) n = $n->n }', 2),
        ("probe a = begin { x| = 1 }, { y = x }", 1),
        ("probe begi|n { begin = 1 }", 0),
        ("probe end { begin| = 1 } probe begin { }", 1),
        ("probe end { |1 }", 0),
    ],
)
def test_occurrences(text: str, count: int) -> None:
    at = text.index("|")
    assert len(occurrences(text.replace("|", ""), at)) == count


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ("global a|\nprobe end { a = 1 }", "b", 2),
        ("probe end { x| = 1 }", "y", 1),
        ("probe end { x| = 1 }", "x", 1),
        ("probe end { exec|name() }", "y", "'execname' belongs to the tapset library"),
        ('probe ker|nel.function("vfs_read") { }', "y", "'kernel' is a part of a probe point"),
        ("@define M|M %( 1 %)\nprobe end { @MM }", "y", "macros are not renamed"),
        (
            "probe sample.read { print(fil|ename) }",
            "y",
            "'filename' may be a variable that",
        ),
        ("probe mine = begin { x = 1 }\nprobe mine { x| = 2 }", "y", "'x' may be a variable that"),
        ("probe end { x| = 1 }", "if", "'if' is a word of the language"),
        ("probe end { x| = 1 }", "printf", "'printf' is a word of the language"),
        ("probe end { x| = 1 }", "9x", "'9x' is no name"),
        ("probe end { x| = 1 }", "日本", "'日本' is no name"),
        ("probe end { x| = y }", "y", "the script has another 'y'"),
        ("probe end { x| = 1 }", "execname", "the tapset library has a 'execname'"),
        ("probe end { 1| }", "y", "there is no name"),
    ],
)
def test_renaming(bench: Bench, text: str, name: str, told: int | str) -> None:
    at = text.index("|")
    text = text.replace("|", "")
    if isinstance(told, int):
        assert len(renamed(bench, text, at, name)) == told
        return
    with pytest.raises(NotRenamed, match=told):
        renamed(bench, text, at, name)


def test_what_was_answered_before_opens_no_bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell asks with each key: names, points of a shorter pattern and types are kept."""
    kernel = find_kernel(f"{make_tree(tmp_path)}/", Diagnostics(SourceMap()))
    options = Options(tapset_dirs=[str(make_tapset(tmp_path))])
    asked = [
        "probe sam",
        'probe kernel.function("vfs_',
        READ + "x = $fi",
        READ + "x = $file->f_",
        "probe sample.read { file",
    ]
    first = [words(KeptAnswers(kernel, options), text) for text in asked]
    assert first[0] == ["sample"] and first[1] == ["vfs_read", "vfs_readv"] and all(first)

    def opened(*_: object) -> None:
        raise AssertionError("a bench was opened")

    monkeypatch.setattr(Bench, "__init__", opened)
    again = KeptAnswers(kernel, options)
    assert [words(again, text) for text in asked] == first
    assert words(again, 'probe kernel.function("vfs_readv') == []
    assert words(again, 'probe kernel.function("vfs_rea') == first[1]
    (tmp_path / "tapset/more.stp").write_text("probe sample.write = end { }\n")
    with pytest.raises(AssertionError, match="a bench was opened"):
        words(KeptAnswers(kernel, options), "probe sam")
