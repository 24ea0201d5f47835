"""Events of processes: whose, by which file, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from stapy.debuginfo.elf import map_file
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.user import search
from stapy.probes.families import by_name
from stapy.translate import manifest
from tests.debuginfo.user.sources import compiled
from tests.elaborate.support import run
from tests.probes.test_begin_end import rows


def row(point: str, event: str, **fields: Any) -> dict[str, Any]:
    plain = {"file": None, "pid": 0, "optional": False, "reads_args": False}
    pattern = {"pattern": None, "program": 0, "programs": 0}
    return {"point": point, "event": event} | plain | pattern | fields


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder in ``$PATH`` with the programs "tool" and "link", which is a link to it."""
    (tmp_path / "tool").write_bytes(b"\x7fELF")
    (tmp_path / "tool").chmod(0o755)
    (tmp_path / "notes").write_text("")
    (tmp_path / "link").symlink_to("tool")
    monkeypatch.setenv("PATH", f"/nowhere:{tmp_path}")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "body", "reads"),
    [
        ("syscall", "n++", False),
        ("syscall", "n += $syscall", True),
        ("syscall", 'printf("%s\\n", $$parms)', True),
        ("syscall", "n += twice(2)", True),
        ("syscall", "if (n) { while (n < 9) n += $arg2 }", True),
        ("syscall", "%{ /* anything */ %}", True),
        ("syscall.return", "n += $return", False),
    ],
)
def test_arguments_that_are_brought(words: str, body: str, reads: bool) -> None:
    """The runtime reads the arguments of a call for handlers that may look at them only."""
    text = f"global n probe process.{words} {{ {body} }} function twice(x) {{ return x * 2 }}"
    (found,) = rows(text, "process", guru=True)
    assert found["reads_args"] is reads


@pytest.mark.parametrize(
    ("words", "event"),
    [
        ("begin", "STAPY_PROCESS_BEGIN"),
        ("end", "STAPY_PROCESS_END"),
        ("thread.begin", "STAPY_THREAD_BEGIN"),
        ("thread.end", "STAPY_THREAD_END"),
        ("syscall", "STAPY_PROCESS_SYSCALL"),
        ("syscall.return", "STAPY_PROCESS_SYSCALL_RETURN"),
    ],
)
def test_rows(words: str, event: str, programs: Path) -> None:
    point = f"process.{words}"
    assert rows(f"probe {point} {{ println(1) }}", "process") == [row(point, event)]
    own = f"process({os.getpid()}).{words}"
    assert rows(f"probe {own} {{ println(1) }}", "process") == [row(own, event, pid=os.getpid())]
    path = str(programs / "tool")
    for name in ("tool", "link", path):
        text = f'probe process("{name}").{words} ? {{ println(1) }}'
        found = row(f'process("{path}").{words}', event, file=path, optional=True)
        assert rows(text, "process") == [found], name


@pytest.mark.parametrize(
    ("point", "code", "message"),
    [
        ('process("notes").begin', "E0231", "cannot find executable 'notes'"),
        ('process("/").begin', "E0231", "it is a folder"),
        ('process("").begin', "E0212", "empty module"),
        ('process("/nowhere/at/all").begin', "E0231", "/nowhere/at/all: No such file or directory"),
        ('process("./table").begin', "E0231", "is no ELF file"),
        ("process(0).begin", "E0212", "cannot probe pid 0: Invalid pid"),
        ("process(-4).begin", "E0212", "cannot probe pid -4: Invalid pid"),
        ("process(4194304).begin", "E0231", "cannot probe pid 4194304: No such process"),
        ("process.thread", "E0230", "no probe point matches"),
    ],
)
def test_refused(
    point: str, code: str, message: str, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(programs)
    (programs / "table").write_text("1 2 3")
    result = run(f"probe {point} {{ println(1) }}")
    assert result.codes == [code]
    assert message in result.shown()[0]


def test_a_program_may_come_until_the_module_starts(programs: Path) -> None:
    path = str(programs / "later")
    result = run(f'probe process("{path}").begin {{ println(1) }}', last_pass=4)
    assert result.codes == ["W0693"]
    assert result.program is not None
    optional = run(f'probe process("{path}").begin ?, begin {{ println(1) }}', last_pass=4)
    assert optional.codes == []


@pytest.mark.parametrize("event", ["begin", "syscall"])
def test_a_script_is_what_runs_it(event: str, programs: Path) -> None:
    script = programs / "script"
    script.write_text("#! /usr/bin/env tool\n")
    script.chmod(0o755)
    (found,) = rows(f'probe process("script").{event} {{ println(1) }}', "process")
    assert found["file"] == str(programs / "tool")
    assert found["point"] == f'process("{programs / "tool"}").{event}'


@pytest.mark.parametrize("point", ["begin", "syscall", 'function("work")'])
@pytest.mark.parametrize("first_line", ["#! /usr/bin/env tool", "#! /usr/bin/env shim"])
def test_a_script_that_stands_for_a_program(
    first_line: str, point: str, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As managers of versions have them: the program of its name is behind it in $PATH."""
    monkeypatch.setenv("PATH", os.defpath)
    text = "int work(int n) { return n; } int main(void) { return work(0); }"
    for name in ("shim", "tool"):
        (programs / name).unlink(missing_ok=True)
        compiled(programs, text, "-O0", name=name)
    shims = programs / "shims"
    shims.mkdir()
    script = programs / "script"
    for path, line in {shims / "shim": "#! /usr/bin/env tool", script: first_line}.items():
        path.write_text(line + "\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shims}:{programs}")
    result = run(f'probe process("script").{point} {{ println(1) }}')
    assert result.program is not None, result.shown()
    if first_line.endswith("tool"):
        assert result.codes == []
        result = run(f'probe process("shim").{point} {{ println(1) }}')
    (item,) = result.diagnostics.items
    assert item.code == "W0689"
    assert f"'{shims}/shim' is a script, run by '{programs}/tool'" == item.message
    assert f'process("{programs}/shim")' in item.hint


def test_the_nearest_program_is_named(programs: Path) -> None:
    (item,) = run('probe process("tol").begin { println(1) }').diagnostics.items
    assert "'tool'" in item.hint


@pytest.mark.parametrize(
    ("event", "body", "codes"),
    [
        ("syscall", "println($syscall, $arg1 + $arg6, $$parms)", []),
        ("syscall.return", "println($syscall, $return)", []),
        ("syscall.return", "println($arg1)", ["E0241"]),
        ("syscall", "println($return)", ["E0241"]),
        ("syscall", "println($$vars)", ["E0241"]),
        ("begin", "println($arg1)", ["E0240"]),
    ],
)
def test_variables(event: str, body: str, codes: list[str]) -> None:
    assert run(f"probe process.{event} {{ {body} }}").codes == codes


def test_parameters_keep_their_dollar() -> None:
    result = run("probe process.syscall { println($$parms) }")
    assert result.program is not None
    scope = by_name("process").scope(result.program.probes[0].sites[0], result.services)
    assert scope is not None
    assert scope.groups["$$parms"] == [f"$$arg{n}" for n in range(1, 7)]


def test_the_commands_of_a_path(programs: Path) -> None:
    assert search.commands() == ["link", "notes", "tool"]
    assert search.find("tool", "") is None
    assert search.program("/nowhere/at/all") == "/nowhere/at/all"


def test_links_in_proc_are_no_names(tmp_path: Path) -> None:
    """What /proc shows of another root, or of a file that is gone, is not what its text says."""
    tool = tmp_path / "tool"
    tool.write_bytes(b"")
    with tool.open() as file:
        link = f"/proc/{os.getpid()}/fd/{file.fileno()}"
        assert search.program(link) == str(tool)
        tool.rename(tmp_path / "old")
        tool.write_bytes(b"")
        (tmp_path / "old").unlink()
        assert search.program(link) == link


def test_files_of_a_manifest() -> None:
    made = manifest.make_manifest(
        name="m", script_name="s", script_text="", release="6.1", arch="x86_64", probes=[],
        limits={}, files={"/bin/x": {"optional": True}},
    )  # fmt: skip
    assert made["files"] == {"/bin/x": {"optional": True}}


@pytest.mark.parametrize("tail", ["begin", 'function("x*")', 'mark("*")', 'library("libc*").plt'])
def test_only_files_are_opened(tail: str, programs: Path) -> None:
    """A pipe that nobody writes to would make us wait for ever."""
    os.mkfifo(programs / "pipe", 0o755)
    result = run(f'probe process("{programs}/pipe").{tail} {{ println(1) }}')
    assert result.codes == ["E0231"]
    assert "it is a pipe" in result.shown()[0]
    with pytest.raises(DebuginfoError, match="no regular file"):
        map_file(programs / "pipe")
    assert search.interpreter(str(programs / "pipe")) is None
    target = run(f"probe process.{tail} {{ println(1) }}", command=str(programs / "pipe"))
    assert tail == "begin" or "no regular file" in target.shown()[0]


def test_folders_that_we_may_not_enter(programs: Path) -> None:
    """They are told of as the system does: nothing in them is asked for by what raises errors."""
    locked = programs / "locked"
    locked.mkdir(0o700)
    (locked / "tool").write_bytes(b"\x7fELF")
    texts = [
        f'probe process("{locked}/tool").function("x") {{ println(1) }}',
        f'probe process("{programs}/tool").library("{locked}/tool").function("x") {{ println(1) }}',
        f'probe process("{locked}/t*").function("x") {{ println(1) }}',
        f'probe process.begin {{ println(@var("x@tool.c", "{locked}/tool")) }}',
    ]
    for text in texts:
        run(text)  # what is loaded late is loaded now
    root = os.geteuid() == 0  # who may enter all folders
    locked.chmod(0)
    if root:
        os.seteuid(65534)
    try:
        results = [run(text) for text in texts]
        begin = run(f'probe process("{locked}/tool").begin {{ println(1) }}')
    finally:
        if root:
            os.seteuid(0)
        locked.chmod(0o700)
    assert [result.codes for result in results] == [["E0231"], ["E0231"], ["E0231"], ["E0241"]]
    assert "Permission denied" in results[0].shown()[0]
    assert begin.codes == []  # the module may run elsewhere
    assert run('probe process("./a\\0b").begin { println(1) }').codes == ["E0231"]


def test_programs_of_a_pattern(programs: Path) -> None:
    """A row for each program, by its own name, all of one pattern; the handler is one."""
    (programs / "tong").write_bytes(b"\x7fELF")
    pattern = f"{programs}/{{to*,no*}}"
    text = f'probe process("{pattern}").syscall {{ println($syscall) }}'
    wanted = [
        row(
            f'process("{programs}/{name}").syscall',
            "STAPY_PROCESS_SYSCALL",
            file=f"{programs}/{name}",
            optional=True,
            pattern=pattern,
            program=number,
            programs=2,
            reads_args=True,
        )
        for number, name in enumerate(("tong", "tool"), 1)
    ]
    assert rows(text, "process") == wanted
    result = run(text)
    assert result.program is not None and len(result.program.probes) == 1
    (item,) = run('probe process("/nowhere/a*").begin { println(1) }').diagnostics.items
    assert (item.code, item.notes) == ("E0231", ["no program matches '/nowhere/a*'"])
    assert search.is_pattern("/bin/{a,b}") and not search.is_pattern("/bin/{a}")


def test_too_many_answers_to_whose_processes_are_meant(programs: Path) -> None:
    """A bit of a word for each: told where the first stands that is too many, before it is run."""
    points = [
        f'probe process("{programs}/t{{ool,{n}}}").begin {{ println({n}) }}' for n in range(31)
    ]
    points += [f'probe process("{programs}/t{{ool,1}}").end {{ println(1) }}']  # a known one
    last = f'probe process({os.getpid()}).syscall, process("tool").begin {{ println(2) }}'
    assert not run("\n".join([*points, "probe process.end { println(0) }"])).diagnostics.items
    (item,) = run("\n".join([*points, last])).diagnostics.items
    assert (item.code, item.span.start) == ("E0239", len("\n".join(points)) + 1)
    (note,) = item.notes
    assert note.endswith(f'number 33 is that of process("{programs}/tool").begin')
