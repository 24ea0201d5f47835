"""The gallery: what heads say is complete and true, and ``--example`` finds, lists and shows."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.cli import main
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.elaborate.names import syntax
from stapy.parse import nodes as n
from stapy.parse import open_library, parse_script
from stapy.parse.facts import PreprocessFacts
from stapy.session import examples
from tests import debugpackage
from tests.vm import packages
from tests.vm.harness import Case, releases
from tests.vm.test_examples import CASES

ROOT = Path(__file__).resolve().parents[2]
GALLERY = examples.gallery()
NAMES = [one.name for one in GALLERY]


@pytest.mark.parametrize("one", GALLERY, ids=NAMES)
def test_heads_are_complete(one: examples.Example) -> None:
    assert tuple(one.told) == examples.FIELDS
    assert all(one.told.values()), one.told
    assert one.subject == one.path.parent.name
    assert "\n" not in one.told["purpose"]
    assert one.told["needs"].startswith("root")
    assert one.told["usage"].startswith(f"stapy --example {one.name}")
    command, *printed = one.told["sample"].split("\n")
    assert f"--example {one.name}" in command
    assert printed


# The tools that bpftrace has in its folder tools/.
OF_BPFTRACE = """bashreadline biolatency biolatency-kp biosnoop biostacks bitesize capable cpuwalk
dcsnoop execsnoop gethostlatency killsnoop loads mdflush mountsnoop naptime oomkill opensnoop
pidpersec runqlat runqlen setuids ssllatency sslsnoop statsnoop swapin syncsnoop syscount tcpaccept
tcpconnect tcpdrop tcplife tcpretrans tcpsynbl threadsnoop undump vfscount vfsstat writeback
xfsdist"""
# Those that BCC has there, the wrappers for languages among them.
OF_BCC = """argdist bashreadline bindsnoop biolatency biolatpcts biopattern biosnoop biotop bitesize
bpflist btrfsdist btrfsslower cachestat cachetop capable compactsnoop cpudist cpuunclaimed
cobjnew criticalstat cthreads dbslower dbstat dcsnoop dcstat deadlock dirtop drsnoop execsnoop
exitsnoop ext4dist ext4slower f2fsslower filegone filelife fileslower filetop funccount funcinterval
funclatency funcslower gethostlatency hardirqs inject javacalls javaflow javagc javaobjnew javastat
javathreads killsnoop klockstat kvmexit llcstat mdflush memleak mountsnoop mysqld_qslower netqtop
nfsdist nfsslower nodegc nodestat numasched offcputime offwaketime oomkill opensnoop perlcalls
perlflow perlstat phpcalls phpflow phpstat pidpersec ppchcalls profile pythoncalls pythonflow
pythongc pythonstat rdmaucma readahead reset-trace rubycalls rubyflow rubygc rubyobjnew rubystat
runqlat runqlen runqslower shmsnoop slabratetop sofdsnoop softirqs solisten sslsniff stackcount
statsnoop swapin syncsnoop syscount tclcalls tclflow tclobjnew tclstat tcpaccept tcpcong tcpconnect
tcpconnlat tcpdrop tcplife tcppktlat tcpretrans tcprtt tcpstates tcpsubnet tcpsynbl tcptop tcptracer
threadsnoop tplist trace ttysnoop ucalls uflow ugc undump uobjnew ustat uthreads vfscount vfsstat
virtiostat wakeuptime wqlat xfsdist xfsslower zfsdist zfsslower"""


def rows_of(text: str) -> list[tuple[list[str], str]]:
    """List what rows of tables of two columns name on their left, and what stands on the right."""
    rows = re.findall(r"^\| (`[^|]*) \| (.*) \|$", text, re.MULTILINE)
    return [(re.findall(r"`(\S+?)`", left), right) for left, right in rows]


def are_ours(rows: list[tuple[list[str], str]]) -> list[str]:
    """Check that the right side begins with tools of the gallery; return the left."""
    for theirs, right in rows:
        ours = re.findall(r"`(\S+?)`", right)
        assert ours, theirs
        assert set(ours) <= set(NAMES), theirs
    return [name for theirs, _ in rows for name in theirs]


def test_tools_of_bpftrace() -> None:
    """Each is on docs/from-bpftrace.md once: with the same name, another one, or as a command."""
    page = (ROOT / "docs" / "from-bpftrace.md").read_text()
    found = re.search(
        r"under the same names: (.*?)\. The others:\n\n(.*?)\nTools of", page, re.DOTALL
    )
    assert found
    same = re.findall(r"`(\S+?)`", found[1])
    assert [name for name in same if name not in NAMES] == []
    renamed, commands = found[2].split("\n\n")
    others = are_ours(rows_of(renamed))
    written = rows_of(commands)
    assert [theirs for theirs, right in written if not right.startswith("`stapy ")] == []
    others += [name for theirs, _ in written for name in theirs]
    assert sorted(same + others) == sorted(OF_BPFTRACE.split())
    assert not set(others) & set(NAMES), "these have the same name"


def test_tools_of_bcc() -> None:
    """Each is on docs/from-bcc.md once: in the gallery, as a command, or with why it is not there.

    The commands are translated by tests/guide/test_idioms.py.
    """
    page = (ROOT / "docs" / "from-bcc.md").read_text()
    _, same, others, commands, none = page.split("\n## ")
    there = re.findall(r"`(\S+?)`", same.partition(": ")[2])
    assert [name for name in there if name not in NAMES] == []
    renamed = are_ours(rows_of(others))
    written = rows_of(commands)
    assert [theirs for theirs, right in written if not right.startswith("`stapy ")] == []
    missing = rows_of(none)
    assert [theirs for theirs, why in missing if not why.strip()] == []
    rest = [name for theirs, _ in written + missing for name in theirs]
    assert sorted(there + renamed + rest) == sorted(OF_BCC.split())
    assert (set(renamed + rest) & set(NAMES)) <= {"uflow"}, "these have the same name"


@pytest.mark.parametrize("one", GALLERY, ids=NAMES)
def test_the_command_of_a_sample_can_be_typed(one: examples.Example) -> None:
    """It is all there, a shell hands it on as it stands, and its files lie beside the cases."""
    line = one.told["sample"].partition("\n")[0]
    words = [word.replace("\\$", "$") for word in shlex.split(line)]
    assert words[:3] == ["stapy", "--example", one.name] and "…" not in line
    shown = f"printf '%s\\0' {line}"  # what a shell would put in, `$$` or `$!`, is no part of it
    done = subprocess.run(["sh", "-c", shown], capture_output=True, text=True, check=True)
    assert done.stdout.split("\0")[:-1] == words
    command = shlex.split(words[words.index("-c") + 1]) if "-c" in words else []
    files = [word for word in command if re.fullmatch(r"[\w-]+\.(sh|py|rb|php)", word)]
    assert [name for name in files if not (ROOT / "tests/vm/examples" / name).is_file()] == []


def test_lines_of_samples_that_are_cut_say_so() -> None:
    """A line of a sample that would not fit is cut with a sign."""
    for one in GALLERY:
        for line in one.told["sample"].split("\n")[1:]:
            opened = line.count("(") - line.count(")")
            assert line.rstrip().endswith("…") or opened <= 0, (one.name, line)


def test_names_are_unique_and_no_subjects() -> None:
    assert len(GALLERY) >= 80
    assert len(set(NAMES)) == len(NAMES)
    assert not set(NAMES) & {one.subject for one in GALLERY}


def test_all_are_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--check", *(str(one.path) for one in GALLERY)]) == 0, capsys.readouterr()


def are_accepted(release: str, cases: list[Case]) -> None:
    """Check that passes 1 to 3 have nothing to say, with the arguments of the tests in guests."""
    by_arguments: dict[tuple[str, ...], list[str]] = {}
    kept, roots = packages.at_hand(cases)
    assert len(kept) == len(cases)
    with pytest.MonkeyPatch.context() as environment:
        for name, value in packages.environment(*roots).items():
            environment.setenv(name, value)
        for case in kept:
            by_arguments.setdefault(tuple(case.args), []).append(str(case.path))
        for words, paths in by_arguments.items():
            assert main(["check", "-W", "-r", release, *paths, "--", *words]) == 0


@pytest.mark.build
@pytest.mark.parametrize("release", releases())
def test_all_are_accepted(release: str) -> None:
    are_accepted(release, [case for case in CASES.values() if not case.package])


def test_a_package_that_cannot_be_had_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of its tools are skipped with the reason, none is left out without a word."""

    def none(package: str) -> Path:
        raise debugpackage.NoPackage("no network")

    monkeypatch.setattr(debugpackage, "program_root", none)
    case = Case(Path("x.stp"), package="told1.0")  # nothing has asked for it
    assert packages.lacks(case) == "told1.0: no network"
    assert packages.at_hand([case]) == ([], {})
    assert packages.lacks(CASES["opensnoop"]) == ""


@pytest.mark.build
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.package])
@pytest.mark.parametrize("release", releases())
def test_those_of_a_package_are_accepted(release: str, name: str) -> None:
    if why := packages.lacks(CASES[name]):
        pytest.skip(why)
    are_accepted(release, [CASES[name]])


def test_the_page_lists_them() -> None:
    """Each row of docs/examples.md is a tool, with its purpose, and each tool has one."""
    text = (ROOT / "docs" / "examples.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", text, re.MULTILINE)
    assert rows == [(one.name, one.told["purpose"]) for one in GALLERY]


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--example"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    assert any(re.match(r"opensnoop +files +files that processes open", line) for line in lines)
    assert main(["--example", "files"]) == 0
    about = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert about == [one.name for one in GALLERY if one.subject == "files"]


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--example", "opensnoop", "--show"]) == 0
    assert capsys.readouterr().out == (ROOT / "examples/files/opensnoop.stp").read_text()
    assert main(["--example", "locks", "--show"]) == 0
    every = [one.path.read_text() for one in GALLERY if one.subject == "locks"]
    assert len(every) > 3 and capsys.readouterr().out == "\n".join(every)
    assert main(["--show", "opensnoop"]) == 1
    assert "--show prints the script of --example NAME" in capsys.readouterr().err


def test_run_gets_what_follows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--example", "fileslower", "-p1", "321"]) == 0
    assert "limit_us = 321" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [("opensnop", "did you mean 'opensnoop'?"), ("iotap.stp", "did you mean 'iotop.stp'?"),
     ("php", "did you mean 'phpcalls' or 'phprequests'?"), ("entirely-else", "")],
)  # fmt: skip
def test_nearest_name(
    wanted: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "io").mkdir()
    (tmp_path / "io" / "iotop.stp").write_text("probe begin {}")
    monkeypatch.setattr(examples, "_foreign_folders", lambda: [tmp_path])
    diagnostics = Diagnostics(SourceMap())
    assert examples.find(wanted, GALLERY, diagnostics) is None
    assert diagnostics.errors[0].message == f"there is no example '{wanted}'"
    assert diagnostics.errors[0].hint == hint
    foreign = examples.find("iotop.stp", GALLERY, diagnostics)
    assert foreign == tmp_path / "io" / "iotop.stp"


# Where a tool prints whatever happens.
ALWAYS = {"begin", "end", "oneshot", "init", "timer"}


def prints_a_title(tree: n.Script) -> bool:
    """Tell whether a handler that always runs prints outside of conditions and loops."""
    for probe in tree.decls:
        if not isinstance(probe, n.ProbeDecl):
            continue
        body = probe.body.body if isinstance(probe.body, n.Block) else [probe.body]
        printed = [
            row.expr
            for row in body
            if isinstance(row, n.ExprStmt) and isinstance(row.expr, (n.Print, n.Call))
        ]
        is_always = {point.components[0].name for point in probe.points} & ALWAYS
        if is_always and any("print" in row.name for row in printed):
            return True
    return False


@functools.cache
def trees() -> dict[str, n.Script]:
    """Parse each tool."""
    sources = SourceMap()
    said = Diagnostics(sources)
    facts = PreprocessFacts(arguments=["1", "2", "3", "4", "5"])
    library = open_library([], facts, Cache(Path(), is_enabled=False), sources, said)
    found = {}
    for one in GALLERY:
        tree = parse_script(str(one.path), one.path.read_text(), facts, library, sources, said)
        assert tree is not None, one.name
        found[one.name] = tree
    return found


def test_a_tool_to_which_nothing_happens_prints_its_title() -> None:
    """Who sees nothing at all cannot tell whether it works; one-liners show the least there is."""
    shown = [one.name for one in GALLERY if one.subject != "one-liners"]
    assert [name for name in shown if not prints_a_title(trees()[name])] == []


# Tables whose elements the kernel bounds, and by what.
BOUNDED = {
    "cpuwalk": ("busy", "idle"),  # processors
    "ext4dist": ("times",),  # four functions
    "faults": ("small", "large"),  # names that another table has
    "runqlen": ("lengths",),  # processors
    "signals-by-name": ("count",),
    "softirqs": ("since", "times"),  # processors; kinds
    "syscount": ("calls",),  # system calls
    "syslatency": ("times",),
    "vfscount": ("calls",),  # functions of one layer, some eighty
    "memleak": ("bytes",),  # made at the end, of elements of another one
}


def may_overflow(tree: n.Script) -> set[str]:
    """List arrays that neither wrap nor have a size and are written where no error is caught."""
    arrays = {
        decl.name
        for decl in tree.decls
        if isinstance(decl, n.GlobalDecl) and not decl.wraps and decl.size is None
    }
    nodes = [node for decl in tree.decls for node in syntax.walk(decl)]
    tries = [node for node in nodes if isinstance(node, n.TryStmt)]
    caught = {id(node) for one in tries for node in syntax.walk(one.body)}
    written = [
        node.target if isinstance(node, n.Assign) else node.operand
        for node in nodes
        if isinstance(node, (n.Assign, n.Increment)) and id(node) not in caught
    ]
    bases = [one.base for one in written if isinstance(one, n.Index)]
    return {base.name for base in bases if isinstance(base, n.Name)} & arrays


def test_no_tool_ends_because_a_table_is_full() -> None:
    """What it has gathered would be lost: the oldest go, or what finds no room is counted.

    `tests/vm/test_examples.py` shows both in guests.
    """
    found = {name: may_overflow(tree) for name, tree in trees().items()}
    assert {name: tuple(sorted(arrays)) for name, arrays in found.items() if arrays} == {
        name: tuple(sorted(arrays)) for name, arrays in BOUNDED.items()
    }
