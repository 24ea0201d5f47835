"""Places of user programs: which files and functions a point means, and what is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from stapy.debuginfo.user import processes
from stapy.debuginfo.user.file import UserFile
from stapy.elaborate.listing import list_points
from stapy.parse import parse_script
from stapy.parse.facts import PreprocessFacts
from stapy.probes.families import by_name
from stapy.translate.module import make_source
from tests.debuginfo.user.sources import built, compiled
from tests.debuginfo.user.sources import run as command
from tests.elaborate.support import run
from tests.probes.test_begin_end import rows
from tests.probes.uprobe import points, probe, symbol

pytestmark = pytest.mark.slow


def test_a_list_has_the_points_that_are_resolved(folder: Path) -> None:
    """Its lines are made without places."""
    program = f'process("{folder}/program")'
    tails = 'function("*") function("w*").return function("main") plt'
    every = [f"{program}.{tail}" for tail in (*tails.split(" "), 'plt("*").return')]
    for point in (*every, f'{program}.library("libthing.so.1").function("*").exported'):
        result = probe(point)
        text, services = f"probe {point} {{}}", result.services
        script = parse_script(
            "<l>", text, PreprocessFacts(), None, services.sources, result.diagnostics
        )
        assert script is not None
        services.options.listing = point
        listed = list_points([script], services, False)
        assert listed == sorted(set(points(result))), point


def test_a_program_that_is_not_there_is_one_message(folder: Path) -> None:
    """It has all places; SystemTap's layout counts messages, and has one for each point."""
    gone, other = f'process("{folder}/gone")', f'process("{folder}/other")'
    asked = f'{gone}.function("a"), {gone}.mark("b"), {other}.plt("c"), {gone}.begin, {gone}.end'
    found = probe(asked, last_pass=4).diagnostics.items
    assert [item.severity for item in found] == ["error", "error", "warning"]
    assert [len(item.labels) for item in found] == [1, 0, 1]
    assert all(label.text == "and here" for item in found for label in item.labels)
    assert len({label.span for item in found for label in item.labels}) == 2
    found = probe(asked, last_pass=4, message_format="systemtap").diagnostics.items
    assert [item.severity for item in found] == ["error", "error", "error", "warning", "warning"]
    found = probe('process("nosuchprogram").begin, process("nosuchprogram").end').diagnostics.items
    assert [len(item.labels) for item in found] == [1]


def test_rows(folder: Path) -> None:
    path = folder / "program"
    address = symbol(path, "work")
    expected = {
        "point": f'process("{path}").function("helper")',
        "file": str(path),
        "program": None,
        "pid": 0,
        "offset": symbol(path, "helper"),
        "distance": 0,
        "counter": 0,
        "is_return": False,
        "optional": False,
        "slot_bytes": 0,
        "callers": None,
    }
    text = f'probe process("{path}").function("helper") {{ println(1) }}'
    assert rows(text, "uprobe") == [expected]
    text = f'probe process("{path}").function("helper").return ? {{ println(1) }}'
    point = expected["point"]
    returns = {"point": f"{point}.return", "is_return": True, "optional": True}
    assert rows(text, "uprobe") == [expected | returns]
    for number in (address, address + 2):
        (row,) = rows(f'probe process("{path}").function({number}).call {{ println(1) }}', "uprobe")
        assert row["offset"] == address
        assert row["point"] == f'process("{path}").function({address:#x}).call'


def test_patterns_of_names(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder: of files here, else of commands, or of libraries."""

    def found(pattern: str) -> list[str]:
        return [Path(row["file"]).name for row in rows(text.format(pattern), "uprobe")]

    text = 'probe process("{}").function("outside") {{ println(1) }}'
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere:{folder}")
    assert found("libthi*.so*") == ["libthing.so.1"]
    text = 'probe process("{}").function("helper") {{ println(1) }}'
    assert found("p[lr]*") == ["plain", "program"]
    (tmp_path / "prog").write_bytes((folder / "program").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert found("p[lr]*") == ["prog"]


def test_build_ids(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link in a folder of debug files, what a process has loaded, a command."""

    def found(path: Path | str, function: str = "work") -> str:
        build_id = UserFile.open(Path(path)).build_id
        assert len(build_id) == 40
        text = f'probe process("{build_id}").function("{function}") {{ println(1) }}'
        return str(rows(text, "uprobe")[0]["file"])

    libc = os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6")
    assert found(libc, "malloc") == libc
    result = probe('process("' + "0" * 40 + '").function("work")')
    assert result.codes == ["E0231"]
    assert "cannot find a program with build-id 000" in result.diagnostics.items[0].message
    program = Path(shutil.copy(folder / "program", tmp_path / "somewhere"))
    build_id = UserFile.open(program).build_id
    link = tmp_path / ".build-id" / build_id[:2] / build_id[2:]
    link.parent.mkdir(parents=True)
    link.symlink_to(program)
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", str(tmp_path))
    assert found(program) == str(program)
    (row,) = rows(f'probe process("{build_id}").begin {{ println(1) }}', "process")
    assert str(program) in row.values()
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", "/nowhere")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    assert found(program) == str(folder / "program")


def test_patterns(folder: Path) -> None:
    """Each place once, by its best name; exported ones; several programs."""
    path, library = folder / "program", folder / "libthing.so.1"
    head = f'process("{path}").function'
    found = points(probe(f'process("{path}").function("*[wm]o*r*k*")'))
    assert found == [f'{head}("work")']  # and not work_alias, which is the same place
    assert points(probe(f'process("{path}").function("work_alias")')) == [f'{head}("work_alias")']
    exported = points(probe(f'process("{library}").function("*side").exported'))
    assert exported == [f'process("{library}").function("outside").exported']
    both = points(probe(f'process("{folder}/p*").function("helper")'))
    assert both == [
        f'process("{folder}/{name}").function("helper")' for name in ("plain", "program")
    ]


def test_whose_program(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In ``$PATH``, by ``-c CMD``, of a process, behind the ``#!`` of a script."""
    path = folder / "program"
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    expected = [f'process("{path}").function("work")']
    assert points(probe('process("program").function("work")')) == expected
    assert points(probe('process.function("work")', command="program 1 2")) == expected
    assert points(probe(f'process("{folder}/script").function("work")')) == [
        f'process("{path}").function("work")'
    ]
    python = os.path.realpath(f"/proc/{os.getpid()}/exe")
    own = f'process({os.getpid()}).function("_start")'
    (row,) = rows(f"probe {own} {{ println(1) }}", "uprobe")
    assert (row["file"], row["pid"], row["point"]) == (python, os.getpid(), own)
    (row,) = rows('probe process.function("_start") { println(1) }', "uprobe", target=os.getpid())
    assert (row["file"], row["pid"]) == (python, 0)


@pytest.mark.parametrize(
    ("point", "code", "message"),
    [
        ('process("{0}/program").function("worc")', "E0231", "similar functions: work"),
        ('process("{0}/program").function("zzz*")', "E0231", "no match"),
        ('process("{0}/program").function(1)', "E0231", "no match"),
        ('process("{0}/program").statement({1})', "E0231", "no match"),
        ('process("{0}/program").function("work").inline', "E0233", "no match"),
        ('process("{0}/program").function("work@program.c")', "E0233", "no match"),
        ('process("{0}/program").statement("*@program.c:5")', "E0233", "no match"),
        ('process("{0}/program.c").function("x")', "E0231", "is no ELF file"),
        ('process("{0}/nothing").function("x")', "E0231", "No such file"),
        ('process("{0}/n*").function("x")', "E0231", "no match"),
        ('process("nosuchprogram").function("x")', "E0231", "cannot find executable"),
        ('process("libnothing.so.6").function("x")', "E0231", "cannot find executable"),
        ('process.function("x")', "E0231", "process needs a program here"),
        ('process(4194304).function("x")', "E0231", "cannot probe pid 4194304"),
        ("process({2}).statement(1).absolute", "E0214", "need stap -g"),
        ('process("{0}/program").plt("x")', "E0231", "no match"),
    ],
)
def test_refused(point: str, code: str, message: str, folder: Path) -> None:
    inside = symbol(folder / "program", "work") + 1
    result = probe(point.format(folder, inside, os.getpid()))
    assert result.codes == [code]
    assert message in "\n".join(result.shown())


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("program 1 2", True),
        ("program 'a;b' \"c | d\" e\\;f $HOME", True),
        ("program 1; false", False),
        ("program | cat", False),
        ("$HOME/program", False),
        ("A=1 program", False),
        ("program 'x", False),
    ],
)
def test_the_program_of_a_command(
    line: str, known: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What only a shell understands is refused."""
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    result = probe('process.function("work")', command=line)
    if known:
        assert points(result) == [f'process("{folder}/program").function("work")']
    else:
        assert any("only a shell" in note for note in result.diagnostics.items[0].notes)


@pytest.mark.parametrize(
    ("line", "reason"), [("nosuch -l", "there is no program 'nosuch'"), ("", "names no program")]
)
def test_a_command_without_a_program(line: str, reason: str) -> None:
    items = probe('process.function("work")', command=line).diagnostics.items
    assert reason in items[0].notes[0]


@pytest.mark.parametrize(
    ("tail", "body", "codes"),
    [
        ("", "println($$parms, $$vars)", []),
        ("", "println($n)", ["E0241"]),
        ("", "println($return)", ["E0241"]),
        ("", "println(@entry(1))", ["E0247"]),
        (".return", "println(@entry(1 + 1))", []),
    ],
)
def test_variables(tail: str, body: str, codes: list[str], folder: Path) -> None:
    text = f'probe process("{folder}/program").function("work"){tail} {{ {body} }}'
    assert run(text).codes == codes


def test_a_debug_file_is_no_program(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "v.debug"
    command("objcopy", "--only-keep-debug", str(folder / "program"), str(path))
    result = probe(f'process("{path}").function("work")')
    assert result.codes == ["E0231"]
    assert f"'{path}' is a debug file" in "\n".join(result.shown())


def test_a_process_that_cannot_be_read_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "of_process", lambda pid: None)
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    for pid, words in (
        (os.getpid(), "cannot be read: it belongs to another user"),
        (4194304, "there is no process 4194304"),
    ):
        result = run('probe process.function("x") { println(1) }', target=pid)
        assert result.diagnostics.items[0].notes[0].endswith(words)


def test_files_of_the_manifest(folder: Path) -> None:
    """The consumer compares builds: by build-id, else by content; of a scope nothing."""
    text = (
        f'probe process("{folder}/plain").function("work") ? {{ println(1) }}'
        f'probe process("{folder}/program").library("libthing*").function("outside")'
        " { println(2) }"
    )
    result = run(text)
    assert result.program is not None
    files = make_source(result.program, result.services.options, result.diagnostics, "m").manifest[
        "files"
    ]
    assert set(files) == {str(folder / name) for name in ("plain", "program", "libthing.so.1")}
    assert files[str(folder / "plain")]["identity"].startswith("sha256:")
    assert files[str(folder / "plain")]["optional"] is True
    assert files[str(folder / "libthing.so.1")]["identity"].startswith("build-id:")
    assert files[str(folder / "program")] == {"optional": False}


def test_hard_links_are_one_program(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "program", tmp_path / "a")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    assert len(points(probe(f'process("{tmp_path}/*").function("work")'))) == 1


def test_what_is_for_unprivileged_users() -> None:
    assert by_name("uprobe").unprivileged is True  # type: ignore[attr-defined]
    result = run('probe kernel.function("vfs_read") { println(1) }', privilege="stapusr")
    assert "their own processes" in result.diagnostics.items[0].notes[0]


def test_files_without_a_match_are_not_kept(folder: Path, tmp_path: Path) -> None:
    """Of a wide pattern what has no such function is let go of, but what is asked depends on it."""
    names = [f"one{number}" for number in range(4)]
    for name in names:
        shutil.copy(folder / "plain", tmp_path / name)
    built(tmp_path / "other.so", "-shared", "-g", str(folder / "lib.c"))
    for point in ('function("outside")', 'function("out*")', 'statement("outside@lib.c")'):
        result = probe(f'process("{tmp_path}/**").{point}')
        assert points(result), result.shown()
        known = result.services.debuginfo.programs
        assert [Path(path).name for path in known._files] == ["other.so"]
        assert {file.name for file in known.files()} >= {*names, "other.so"}
        again = known.open(str(tmp_path / names[0]))
        assert known.functions(again).named("work")


def test_programs_of_32_bits_are_refused_by_that_name(tmp_path: Path) -> None:
    """A real one; its life and its system calls need nothing of the file."""
    text = 'void _start(void) { __asm__ volatile("mov $1, %eax; xor %ebx, %ebx; int $0x80"); }'
    path = compiled(tmp_path, text, "-m32", "-nostdlib", "-static", "-fno-pic", name="small")
    tails = ('function("_start")', 'function("*").return', "statement(0x8049000)", 'mark("*")')
    for tail in (*tails, 'plt("puts")', 'library("libc.so.6").function("exit")', 'data("x").write'):
        result = probe(f'process("{path}").{tail}')
        assert result.codes == ["E0231"]
        told = f"'{path}' is a 32-bit program; stapy reads 64-bit programs only so far"
        assert result.diagnostics.items[0].message == f"cannot probe: {told}"
    for tail in ("begin", "syscall", "thread.end"):
        assert probe(f'process("{path}").{tail}').codes == []
