"""Guru mode and --privilege: each function, each kind of probe point, embedded C, options."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stapy import cli
from stapy.cache import Cache
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.elaborate import elaborate, listing
from stapy.elaborate.names.privilege import FREE
from stapy.elaborate.names.syntax import markers, walk
from stapy.options import Options
from stapy.options.option import UsageError
from stapy.parse import nodes as n
from stapy.parse import open_library, parse_script
from stapy.parse.facts import PreprocessFacts
from stapy.parse.library import Library
from stapy.probes.families import families
from stapy.services import Services
from tests.elaborate.support import FakeDebuginfo

GURU = "function may not be used unless -g is specified"
FUNCTION = "function may not be used when --privilege=stapusr is specified"
EXPRESSION = "embedded expression may not be used when --privilege=stapusr is specified"
EXPRESSION_GURU = "embedded expression may not be used unless -g is specified"
POINT = "probe point is not allowed for --privilege=stapusr"
OURS = {GURU, FUNCTION, EXPRESSION, EXPRESSION_GURU, POINT}


@cache
def shelf() -> Cache:
    """Make one cache for all: without it, each library would be parsed anew."""
    folder = tempfile.mkdtemp(prefix="stapy-privilege-")
    atexit.register(shutil.rmtree, folder, True)
    return Cache(Path(folder))


def told(text: str, folder: Path | None = None, **options: Any) -> list[tuple[str, str]]:
    """List the refusals of a script, each with what stands at its place."""
    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    facts = PreprocessFacts(
        kernel_release="6.1.0",
        arch="x86_64",
        guru=bool(options.get("guru")),
        # The library asks for this level only; to read it once more for another takes seconds.
        privilege="stapusr" if options.get("privilege") == "stapusr" else "stapdev",
    )
    folders = [str(folder)] if folder else []
    books = open_library(folders, facts, shelf(), sources, diagnostics)
    script = parse_script("<input>", text, facts, books, sources, diagnostics)
    assert script is not None, text
    made = Options(**options)
    elaborate([script], Services(made, diagnostics, sources, None, FakeDebuginfo(), books))
    return [
        (item.message, sources.text(item.span))
        for item in diagnostics.items
        if item.message in OURS
    ]


def facts_of_systemtap() -> dict[str, str]:
    """Read the class of each of its functions, by ``name/parameters``; ours where that differs."""
    found, kind = {}, ""
    for line in (Path(__file__).parent / "privileges.txt").read_text().splitlines():
        if line.startswith("["):
            kind = line.strip("[]").removeprefix("ours ")
        elif not line.startswith("#"):
            found.update(dict.fromkeys(line.split(), kind))
    return found


@cache
def library() -> Library:
    """Return the library as an unprivileged script sees it."""
    facts = PreprocessFacts(kernel_release="6.1.0", arch="x86_64", privilege="stapusr")
    sources = SourceMap()
    return open_library([], facts, shelf(), sources, Diagnostics(sources))


@cache
def functions() -> dict[str, n.FunctionDecl]:
    """Map ``name/parameters`` to all public functions of our library."""
    found: dict[str, n.FunctionDecl] = {}
    for path in library().files():
        script = library().load(path)
        for decl in script.decls if script else []:
            if isinstance(decl, n.FunctionDecl) and not decl.is_private:
                found.setdefault(f"{decl.name}/{len(decl.params)}", decl)
    return found


def call_of(decl: n.FunctionDecl) -> str:
    values = ['"1"' if param.type == "string" else "1" for param in decl.params]
    return f"{decl.name}({', '.join(values)})"


@cache
def sources() -> dict[str, list[n.FunctionDecl]]:
    """Map each name to all its overloads, private ones too."""
    found: dict[str, list[n.FunctionDecl]] = {}
    for path in library().files():
        for decl in getattr(library().load(path), "decls", []):
            if isinstance(decl, n.FunctionDecl):
                found.setdefault(decl.name, []).append(decl)
    return found


def needs(decl: n.FunctionDecl, seen: set[int]) -> bool:
    """Tell whether a function, or one that it calls, has C that is not for unprivileged users."""
    if id(decl) in seen:
        return False
    seen.add(id(decl))
    if decl.code is not None:
        return not markers(decl.code) & FREE
    codes = [
        item.code for item in walk(decl.body) if isinstance(item, (n.EmbeddedExpr, n.EmbeddedStmt))
    ]
    return any(not markers(code) & FREE for code in codes) or any(
        needs(source, seen)
        for call in walk(decl.body)
        if isinstance(call, n.Call)
        for source in sources().get(call.name, ())
        if len(source.params) == len(call.args)
    )


def class_of(decl: n.FunctionDecl) -> str:
    """Find the class of a function by its marks, and by those of what it calls."""
    marks = markers(decl.code or "")
    if "guru" in marks:
        return "guru"
    if needs(decl, set()):
        return "kernel"
    return "myproc" if "myproc-unprivileged" in marks else "free"


def test_marks_of_our_functions_are_those_of_systemtap() -> None:
    known = facts_of_systemtap()
    found = {name: class_of(decl) for name, decl in functions().items() if name in known}
    assert len(found) > 500
    assert {name: kind for name, kind in found.items() if kind != known[name]} == {}


def all_calls() -> str:
    return "\n".join(call_of(decl) for name, decl in functions().items() if name[0] != "_")


def test_each_function_for_guru_mode_is_refused_without() -> None:
    """And no other, each at its call; their tapsets call them."""
    script = f"probe begin {{\n{all_calls()}\n}}"
    wanted = {
        call_of(decl)
        for decl in functions().values()
        if "guru" in markers(decl.code or "") and not decl.name.startswith("_")
    }
    assert {place for message, place in told(script) if message == GURU} == wanted
    assert len(wanted) > 25
    assert told(script, guru=True) == []


def test_each_function_that_stapusr_may_not_call_is_refused() -> None:
    """At its definition: it is the tapset's C that is not for everybody."""
    script = f"probe begin {{\n{all_calls()}\n}}"
    found = {place for message, place in told(script, privilege="stapusr") if message == FUNCTION}
    wanted = {
        decl.name
        for name, decl in functions().items()
        if name[0] != "_" and decl.code is not None and not markers(decl.code) & FREE
    }
    assert wanted <= found
    assert len(wanted) > 150
    assert not {m for m, _ in told(script, privilege="stapsys")} & {FUNCTION, EXPRESSION, POINT}


def points() -> list[tuple[str, str]]:
    """List one point of each form of each family, and the family's name."""
    values = {"": "", "string": '("x")', "number": "(1)", "string|number": '("x")'}
    return [
        (family.name, ".".join(name + values[kind] for name, kind in form.components))
        for family in families()
        for form in family.forms
    ]


def test_probe_families() -> None:
    """stapusr may watch its own session, time and processes; the place is the last component."""
    script = "\n".join(f"probe {point} {{ println(1) }}" for _, point in points())
    refused = [place for m, place in told(script, privilege="stapusr") if m == POINT]
    free = ("begin_end", "timer", "process", "uprobe", "usdt")
    wanted = [p.rpartition(".")[2] for name, p in points() if name not in free]
    assert sorted(refused) == sorted(wanted)
    assert len(wanted) > 70
    assert POINT not in {m for m, _ in told(script, privilege="stapsys")}


@pytest.mark.parametrize("point", ["syscall.read", "syscall.read.return", "vm.munmap"])
def test_aliases_of_forbidden_points_are_forbidden(point: str) -> None:
    """Their alternatives are optional: without a match none of them would be an error."""
    script = f"probe {point} {{ println(1) }}"
    assert {m for m, _ in told(script, privilege="stapusr")} == {POINT}
    assert told(f"probe {point}? {{ println(1) }}", privilege="stapusr") == []


TAPSET = """
function plain:long() %{ STAP_RETVALUE = 1; %}
function unp:long() %{ /* unprivileged */ STAP_RETVALUE = 1; %}
function myp:long() %{ /* myproc-unprivileged */ STAP_RETVALUE = 1; %}
function gur:long() %{ /* guru */ STAP_RETVALUE = 1; %}
function gurunp:long() %{ /* guru */ /* unprivileged */ STAP_RETVALUE = 1; %}
function viagur:long() { return gur() }
function viaexpr:long() { return %{ 1 %} }
function viaexprunp:long() { return %{ /* unprivileged */ 1 %} }
function viaexprguru:long() { return %{ /* guru */ 1 %} }
function deref:long(x:long) { return @kderef(8, x) }
probe al.gur = begin { x = gur() println(x) }
probe al.plain = begin { x = plain() println(x) }
"""
# What SystemTap says: with stapusr, and with neither that nor -g.
CASES = [
    ("println(plain())", [FUNCTION], []),
    ("println(unp())", [], []),
    ("println(myp())", [], []),
    ("println(gur())", [GURU, FUNCTION], [GURU]),
    ("println(gurunp())", [GURU], [GURU]),
    ("println(viagur())", [FUNCTION], []),
    ("println(viaexpr())", [EXPRESSION], []),
    ("println(viaexprunp())", [], []),
    ("println(viaexprguru())", [EXPRESSION_GURU, EXPRESSION], [EXPRESSION_GURU]),
    ("println(deref(1))", [], []),
    ("if (0) println(gur())", [GURU, FUNCTION], [GURU]),
]


@pytest.fixture(scope="module")
def tapset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder of tapsets: one for all, for the library is indexed anew for each."""
    folder = tmp_path_factory.mktemp("tapset")
    (folder / "x.stp").write_text(TAPSET)
    return folder


@pytest.mark.parametrize(("body", "stapusr", "plain"), CASES)
def test_code_by_code(body: str, stapusr: list[str], plain: list[str], tapset: Path) -> None:
    script = f"probe begin {{ {body} }}"
    for expected, options in ((stapusr, {"privilege": "stapusr"}), (plain, {})):
        assert sorted({m for m, _ in told(script, tapset, **options)}) == sorted(expected)
    assert told(script, tapset, guru=True) == []
    assert {m for m, _ in told(script, tapset, privilege="stapsys")} == set(plain)


def test_aliases_of_tapsets_may_call_what_is_for_guru_mode(tapset: Path) -> None:
    assert told("probe al.gur {}", tapset) == []
    assert told("probe al.plain {}", tapset, privilege="stapusr") == [(FUNCTION, "plain")]


def test_types_of_probes_for_everybody() -> None:
    sources = SourceMap()
    options = Options(privilege="stapusr")
    services = Services(options, Diagnostics(sources), sources, None, FakeDebuginfo(), library())
    shown = listing.dump("probe-types", services)
    assert "begin(number)" in shown
    assert {line.partition(".")[0].partition("(")[0] for line in shown} == {
        "begin",
        "debuginfod",
        "end",
        "error",
        "never",
        "process",
        "timer",
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--privilege=stapusr -g", "You can't specify -g and --privilege=stapusr together."),
        (
            "--monitor --unprivileged",
            "You can't specify --monitor when --privilege=stapusr is specified.",
        ),
        ("-g --unprivileged", "You can't specify -g and --privilege=stapusr together."),
        ("--privilege=stapsys -g", "You can't specify -g and --privilege=stapsys together."),
        ("--privilege=stapsys --unprivileged", "Privilege level may be set only once."),
        ("--privilege=root", "Invalid argument 'root' for --privilege"),
        ("--unprivileged -D FOO=1", "You can't specify -D FOO when --privilege=stapusr is"),
        ("--unprivileged -D MAXACTION=f()", "You can't specify -D MAXACTION when"),
        ("--unprivileged -D MAXACTION=1001", "You can't specify -D MAXACTION when"),
        ("--unprivileged -D MAXACTION=(0u-1)/2+9", "You can't specify -D MAXACTION when"),
        ("--privilege=stapsys -D MAXACTION_INTERRUPTIBLE=10001", "-D MAXACTION_INTERRUPTIBLE"),
        ("--privilege=stapsys -D STP_NO_OVERLOAD", "You can't specify -D STP_NO_OVERLOAD when"),
        ("--unprivileged -D STAP_NO_OVERLOAD", "You can't specify -D STAP_NO_OVERLOAD when"),
        ("--unprivileged -D STAP_SUPPRESS_HANDLER_ERRORS", "-D STAP_SUPPRESS_HANDLER_ERRORS"),
        ("--unprivileged -D STAP_SUPPRESS_TIME_LIMITS_ENABLE", "-D STAP_SUPPRESS_TIME_LIMITS"),
        ("--unprivileged -D STP_OVERLOAD_THRESHOLD=9", "-D STP_OVERLOAD_THRESHOLD when"),
        ("--unprivileged -D STP_OVERLOAD_INTERVAL=9", "-D STP_OVERLOAD_INTERVAL when"),
        ("--unprivileged -D INTERRUPTIBLE=0", "You can't specify -D INTERRUPTIBLE when"),
        ("--unprivileged -D MAXTRYLOCK=9", "You can't specify -D MAXTRYLOCK when"),
        ("--unprivileged -D TRYLOCKDELAY=9", "You can't specify -D TRYLOCKDELAY when"),
        ("--unprivileged -D MINSTACKSPACE=0", "You can't specify -D MINSTACKSPACE when"),
        ("--unprivileged -D MAXNESTING=99", "You can't specify -D MAXNESTING when"),
        ("-D STAP_SUPPRESS_TIME_LIMITS_ENABLE", "--suppress-time-limits requires guru mode (-g)"),
        ("-g -D STAP_SUPPRESS_TIME_LIMITS_ENABLE", ""),
        ("--privilege=stapsys -B X=1", "You can't specify -B when --privilege=stapsys is"),
        ("--privilege=stapdev -g -D FOO -B X=1", ""),
        ("--unprivileged -D MAXACTION=10 -DMAXSTRINGLEN=2*64", ""),
    ],
)
def test_options(words: str, message: str) -> None:
    line = [*words.split(), "-e", "probe begin {}"]
    if not message:
        cli.parse(line)
        return
    with pytest.raises(UsageError) as refused:
        cli.parse(line)
    assert message in str(refused.value)
