"""``--doc``: pages of functions, macros, aliases and probe points, lists, and unknown names."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.cli import main
from stapy.elaborate.names.pointtree import built_in, spellings
from stapy.manual.answer import plain
from stapy.manual.families import all_known, family_pages, page_of
from stapy.manual.language import sections
from stapy.probes.families import families

TAPSET = """\
/**
 * twice - a number and itself
 * @n: the number
 *
 * Returns: their sum
 * Example: println(twice(2))
 */
function twice:long(n:long) { return n + n }
/** mine.one - it begins */
probe mine.one = begin { n = twice(1); s = "x" . "y"; t = twice2() }
/** twice2 - text */
function twice2() { return "a" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "mine.stp").write_text(TAPSET)
    (tmp_path / "variables.txt").write_text("n: two\ns: two letters\nt: a letter\n")
    return str(tmp_path)


def doc(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["--message-format=short", *words])
    out, err = capsys.readouterr()
    return status, out, err


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the messages to a question, with their notes."""
    assert main([*words]) == 1
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "same"),
    [
        ("begin ?", "begin"),
        ("begin!", "begin"),
        ("timer.s(5)?", "timer.s(5)"),
        ("POINT ?", "?"),
        ("POINT !", "!"),
    ],
)
def test_a_point_with_its_mark(capsys: pytest.CaptureFixture[str], word: str, same: str) -> None:
    """A '?' directly behind a name is a wildcard of a list, and stays one."""
    assert doc(capsys, "--doc", word) == doc(capsys, "--doc", same)


def test_function(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    status, out, err = doc(capsys, "-I", folder, "--doc", "twice")
    assert (status, err) == (0, "")
    assert out == (
        "function twice:long(n:long)\n    a number and itself\n\n    n:long  the number\n\n"
        "    Context: Also for unprivileged users (--privilege=stapusr).\n\n"
        "    Returns: their sum\n\n    Example:\n        println(twice(2))\n\n    From mine.stp\n"
    )
    assert doc(capsys, "-I", folder, "--doc", "twice()") == (status, out, err)


@pytest.mark.parametrize(
    ("word", "lines"),
    [
        ("-T", "-T SECONDS\n  stop after SECONDS\n"),
        ("--vm", "--vm[=RELEASE]\n  run the module in a"),
        ("--vm=6.1", "--vm[=RELEASE]\n"),
        ("--bpf", "--bpf\n  --bpf is not supported: "),
    ],
)
def test_an_option(capsys: pytest.CaptureFixture[str], word: str, lines: str) -> None:
    status, out, err = doc(capsys, f"--doc={word}")
    assert (status, err) == (0, "") and out.startswith(lines)
    assert out.endswith("\n\nstapy --help lists all options.\n")


def test_what_dashes_make_is_no_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert "lists all options" not in "".join(doc(capsys, "--doc=--")[1:])
    assert "stapy --help lists all options" in told(capsys, "--doc=--nosuch")


def test_a_function_of_the_c_library(capsys: pytest.CaptureFixture[str]) -> None:
    point = 'process("libc.so.6").function("malloc")'
    assert point in told(capsys, "--doc", "malloc")
    assert "libc" not in told(capsys, "--doc", "mallocate")


def test_alias(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    status, out, err = doc(capsys, "-I", folder, "--doc=probe mine.one")
    assert (status, err) == (0, "")
    assert out == (
        "probe mine.one\n    it begins\n\n    n:long    two\n    s:string  two letters\n"
        "    t:string  a letter\n\n    Context: The session begins.\n\n"
        "    Example:\n"
        '        probe mine.one { printf("n=%d s=%s t=%s\\n", n, s, t) }\n\n'
        "    Stands for: begin\n    From mine.stp\n"
    )


def test_list(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    assert doc(capsys, "-I", folder, "--doc", "twic*") == (
        0,
        "twice   a number and itself\ntwice2  text\n",
        "",
    )
    assert doc(capsys, "-I", folder, "--doc", "mine")[1] == "mine.one  it begins\n"


@pytest.mark.parametrize(
    ("word", "title"),
    [
        ("printf", "Printing"),
        ("sprintln", "Printing"),
        ("foreach", "foreach"),
        ("limit", "foreach"),
        ("next", "Statements"),
        ("if", "Statements"),
        ("try", "Errors"),
        ("catch", "Errors"),
        ("in", "Arrays"),
        ("array", "Arrays"),
        ("probe", "Probes"),
        ("alias", "Aliases"),
        ("macro", "Preprocessor"),
        ("@define", "Preprocessor"),
        ("%(", "Preprocessor"),
        ("%?", "Preprocessor"),
        ("%{", "Guru mode"),
        ("function", "Functions"),
        ("string", "Types"),
        ("global", "Declarations"),
        ("<<<", "Statistics"),
        ("=~", "Regular expressions"),
        ("?", "Expressions"),
        ("++", "Expressions"),
        ("->", "Target variables"),
        ("@perf", "Target variables"),
        ("@cast", "Casts and types of the kernel"),
        ("@hist_log", "Statistics"),
        ("hist_log", "Statistics"),
        ("delete", "Statements"),
        ("@entry", "Target variables"),
        ("MAXACTION", "Limits"),
        ("TRYLOCKDELAY", "Limits"),
    ],
)
def test_words_of_the_language(word: str, title: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = doc(capsys, "--doc", word)
    assert (status, err, out.partition("\n")[0]) == (0, "", title)
    assert "```" not in out
    assert word.lower() in out.lower()
    meant = {title, "Probes"} if word == "?" else {title}  # it marks points as well
    shown = {section.title for section in sections()} & set(out.splitlines())
    assert shown == meant, "its section and no other"


def test_of_a_system_call(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = doc(capsys, "--doc", "syscall.openat")
    assert status == 0
    assert "\n    the system call openat begins\n" in out
    assert "\n    filename:string           path, quoted\n" in out
    assert "\n    From syscalls/calls.table, since stapy 0.1.0\n" in out


@pytest.mark.parametrize(
    ("call", "number"),
    [
        ("openat", 2),
        ("open", 1),
        ("openat.return", None),
        ("read", None),
        ("execve", None),  # it leaves the program other memory
    ],
)
def test_how_a_text_that_comes_late_is_had(
    call: str, number: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """It prints as its address at the entry, which nobody would take for a path."""
    _, out, _ = doc(capsys, "--doc", f"syscall.{call}")
    way = f"println(user_string_quoted(@entry(pointer_arg({number}))))"
    assert (way in " ".join(out.split())) == (number is not None)
    assert ("has not touched yet" in out) == (number is not None)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--doc", "execnam"], "did you mean 'execname'"),
        (["--doc", "fsync"], "did you mean 'syscall.fsync'?"),
        (["--doc", "hist"], "'@hist_log'"),
        (["--doc", "comm"], "it is execname()"),
        (["--doc", "timer.sx"], "timer.s"),
        (["--doc", "syscall.opn"], "did you mean 'syscall.open'"),
        (["--doc", "syscall.opn.return"], "did you mean 'syscall.open.return'"),
        (["--doc", 'kernel.function("f").retrun'], "did you mean 'kernel.function.return'"),
        (["--doc", "procfs.raed"], "did you mean 'procfs.read'"),
        (["--doc", "timer.s(1).foo"], "'timer.s'"),
        (["--doc", "nosuch*"], "no function or probe alias matches 'nosuch*'"),
        (["--doc", ""], "--doc needs a name"),
        (["--doc", "execname", "x.stp"], "takes a name and no script"),
        (["--doc"], "needs a value"),
    ],
)
def test_what_is_refused(capsys: pytest.CaptureFixture[str], words: list[str], what: str) -> None:
    status, out, err = doc(capsys, *words)
    assert status == 1 and what in err, (status, out, err)
    assert out == "" and "Traceback" not in err


def test_more_words_behind_an_alias(capsys: pytest.CaptureFixture[str]) -> None:
    """The page of the alias is shown, of words that no point has none."""
    status, out, _ = doc(capsys, "--doc", "vfs.read.return.maxactive(5)")
    assert (status, out.partition("\n")[0]) == (0, "probe vfs.read.return")
    assert doc(capsys, "--doc", "vfs.read.return.maxactve(5)")[0] == 1


def test_kinds_of_points(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = doc(capsys, "--doc", "timer.s(1)")
    assert status == 0
    assert out.startswith("timer.s, timer.sec,") and "  timer.hz(N)\n      N times a second" in out
    assert "`" not in out and "|--" not in out


@pytest.mark.parametrize(
    ("point", "name"),
    [
        ("kernel", "kernel.function"),
        ('kernel.function("a.b").return', "kernel.function"),
        ('module("m").function("f")', "kernel.function"),
        ('module("m").trace("f")', "kernel.trace"),
        ('process("a").library("b").mark("x")', "process.mark"),
        ('process("a").data("v").write', "process.data"),
        ('process("a").syscall', "process"),
        ('process("a").function("f").callee("g")', "process.function"),
        ("timer.profile.freq.hz(9)", "timer.profile"),
        ("begin(2)", "begin"),
        ('perf.type(1).config(2).process("x")', "perf"),
        ("no.such", None),
        ("", None),
    ],
)
def test_which_page(point: str, name: str | None) -> None:
    found = page_of(point)
    assert (found.name if found else None) == name


def test_every_family_has_its_points_told() -> None:
    """Each family of the registry, and each name that one of its points has."""
    pages = family_pages()
    for family in families():
        texts = "\n".join(page.text for page in pages if family.name in page.families)
        assert texts, family.name
        for form in family.forms:
            for name, _ in form.components:
                assert name in texts, (family.name, str(form))
        for form in family.forms:
            assert family.name in [one for page in pages for one in page.families]
            found = page_of(str(form))
            assert found is not None and family.name in found.families, str(form)
            assert all_known(found, str(form)), str(form)


def test_all_points_have_a_page() -> None:
    """Those of no family as well: in programs of other languages, in builds of a path."""
    listed = {point for point, _ in spellings(built_in())}
    assert {"python3.module(string).function(string).return", "kernel.function(string)"} <= listed
    assert any(point.startswith("debuginfod.archive(string).process(string).") for point in listed)
    for point in listed:
        found = page_of(point)
        assert found is not None and all_known(found, point), point


def test_summary_in_a_list(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    status, out, err = doc(capsys, "-v", "-I", folder, "-L", "mine.one")
    assert status == 0, err
    assert out == "mine.one n:long s:string t:string /* it begins */\n"
    assert doc(capsys, "-I", folder, "-L", "mine.one")[1] == "mine.one n:long s:string t:string\n"


@pytest.mark.parametrize(
    "text", [one.page() for one in sections()], ids=lambda text: text.splitlines()[0]
)
def test_no_escapes_of_markdown_are_printed(text: str) -> None:
    r"""Tables of Markdown have ``\|``, which scripts have nowhere."""
    assert r"\|" not in plain(text)


def test_escapes() -> None:
    page = "| head | other |\n|---|---|\n| `a\\|b` \\| c | d\\_e, `\\_` |\n\nf \\< g \\*"
    assert plain(page) == "  a|b | c\n      d_e, \\_\n\nf < g *"


def test_a_chapter_is_read_on_a_terminal() -> None:
    """Heads of tables go, paragraphs are wrapped, what is bold is plain, code stays."""
    words = "word " * 30
    table = f"| head | other |\n|---|---|\n| `x` | {words}|"
    page = f"## Title\n\n**Bold** and `a ** b`:\n{words}\n\n{table}\n\n    code {words}"
    lines = plain(page).split("\n")
    assert lines[:3] == ["Title", "", "Bold and a ** b: " + ("word " * 16).strip()]
    assert "head" not in "".join(lines)
    assert [line for line in lines if len(line) > 100] == [f"    code {words}"]
    assert lines[lines.index("  x") + 1].startswith("      word")
