"""Places of user programs: which files and functions a point means, and what is refused."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from stapy.debuginfo.user import linker_cache, processes
from stapy.debuginfo.user.file import UserFile
from stapy.elaborate.listing import list_points
from stapy.parse import parse_script
from stapy.parse.facts import PreprocessFacts
from stapy.probes.families import by_name
from stapy.run.ground.linker_cache import levels_of
from stapy.translate.module import make_source
from tests.debuginfo.user.sources import LIBRARY, PROGRAM, built, compiled
from tests.debuginfo.user.sources import run as command
from tests.elaborate.support import Result, run
from tests.probes.test_begin_end import rows

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build ``program``, which needs ``libthing.so.1``, and ``plain`` without build-id."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "lib.c").write_text(LIBRARY)
    (folder / "program.c").write_text(PROGRAM.replace("int main", "int outside(int); int main"))
    words = ("-shared", "-fPIC", "-O1", str(folder / "lib.c"), "-Wl,-soname,libthing.so.1")
    built(folder / "libthing.so.1", *words)
    built(
        folder / "program",
        *("-O1", str(folder / "program.c"), "-Wl,--no-as-needed", str(folder / "libthing.so.1")),
        "-Wl,-rpath,$ORIGIN",
    )
    compiled(folder, PROGRAM, "-O1", "-Wl,--build-id=none", name="plain")
    (folder / "script").write_text(f"#!/usr/bin/env -S {folder}/program\n")
    (folder / "script").chmod(0o755)
    return folder


def probe(point: str, body: str = "println(1)", **options: Any) -> Result:
    return run(f"probe {point} {{ {body} }}", **options)


def points(result: Result) -> list[str]:
    assert result.program is not None, result.shown()
    return [point for probe in result.program.probes for point in probe.points]


def symbol(path: Path, name: str) -> int:
    lines = command("nm", str(path)).splitlines()
    return next(int(line.split()[0], 16) for line in lines if line.split()[-1] == name)


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


def test_libraries(folder: Path) -> None:
    """By name, pattern and path; the processes are those of the program."""
    path, library = folder / "program", folder / "libthing.so.1"
    for name in ("libthing.so.1", "libth*", str(library)):
        text = f'probe process("{path}").library("{name}").function("outside") {{ println(1) }}'
        (row,) = rows(text, "uprobe")
        assert (row["file"], row["program"]) == (str(library), str(path))
        assert row["point"] == f'process("{path}").library("{library}").function("outside")'
    result = probe(f'process("{path}").library("libthin.so.1").function("outside")')
    (item,) = result.diagnostics.items
    assert item.code == "E0231"
    assert "'libthing.so.1'" in item.hint
    assert any(
        "it is loaded with ld-linux-x86-64.so.2, libc.so.6, libthing" in note for note in item.notes
    )


def test_libraries_of_a_process(folder: Path) -> None:
    """What it has loaded by itself, which its program does not tell; and nothing else."""
    pid, library = os.getpid(), folder / "libthing.so.1"
    ctypes.CDLL(str(library))
    for name in ("libthing.so.1", "libth*", str(library), "*/libthing.so.1"):
        head = f'process({pid}).library("{name}").function("outside")'
        (row,) = rows(f"probe {head} {{ println(1) }}", "uprobe")
        assert (row["file"], row["program"], row["pid"]) == (str(library), None, pid)
    text = 'probe process.library("libth*").function("outside") { println(1) }'
    (row,) = rows(text, "uprobe", target=pid)
    assert (row["file"], row["pid"]) == (str(library), 0)
    result = probe(f'process({pid}).library("libthin.so.1").function("outside")')
    assert result.codes == ["E0231"]
    assert "'libthing.so.1'" in result.diagnostics.items[0].hint


def test_libraries_of_a_process_in_a_container(folder: Path, tmp_path: Path) -> None:
    """The files that it sees under their names, which are others here."""
    text = "#include <stdio.h>\nint outside(int); int main(void) { return outside(getchar()); }"
    program = compiled(
        tmp_path, text, f"{folder}/libthing.so.1", "-Wl,-rpath,$ORIGIN", name="waits"
    )
    place = tmp_path / "place"
    place.mkdir()
    built(place / "libthing.so.1", "-shared", str(folder / "lib.c"), "-Wl,-soname,libthing.so.1")
    line = (
        f"mount -t tmpfs none {place} && cp {program} {folder}/libthing.so.1 {place} && echo ready"
        f" && exec {place}/waits"
    )
    words = ["unshare", "-m", "sh", "-c", line]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                pytest.skip("needs a mount namespace")
            maps = Path(f"/proc/{process.pid}/maps")
            while process.poll() is None and "libthing" not in maps.read_text():
                time.sleep(0.05)
            for name in ("libthing.so.1", f"{place}/libthing.so.1"):
                head = f'process({process.pid}).library("{name}").function("outside")'
                (row,) = rows(f"probe {head} {{ println(1) }}", "uprobe")
                assert row["file"] == f"/proc/{process.pid}/root{place}/libthing.so.1"
                assert Path(row["file"]).read_bytes() == (folder / "libthing.so.1").read_bytes()
        finally:
            process.kill()


def test_libraries_for_other_processors(folder: Path, tmp_path: Path) -> None:
    """Of the rows that the linker's cache has of a name: the best one that this one runs."""
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if ldconfig is None:
        pytest.skip("needs ldconfig")
    places = {"": tmp_path / "lib"}
    for level in ("x86-64-v2", "x86-64-v3"):
        places[level] = tmp_path / "lib/glibc-hwcaps" / level
    for place in places.values():
        place.mkdir(parents=True)
        shutil.copy(folder / "libthing.so.1", place)
    conf, made = tmp_path / "conf", tmp_path / "cache"
    conf.write_text(f"{tmp_path}/lib\n")
    command(ldconfig, "-X", "-f", str(conf), "-C", str(made))
    for levels, expected in (
        ([], ""),
        (["x86-64-v2"], "x86-64-v2"),
        (["x86-64-v2", "x86-64-v3"], "x86-64-v3"),
    ):
        found = linker_cache.cached(made, levels)
        assert found["libthing.so.1"] == f"{places[expected]}/libthing.so.1"
    text = "processor\t: 0\nflags\t\t: fpu cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 avx avx2\n"
    (tmp_path / "cpuinfo").write_text(text)
    assert levels_of(str(tmp_path / "cpuinfo")) == ["x86-64-v2"]
    (tmp_path / "cpuinfo").write_text(
        text.replace("avx2", "avx2 bmi1 bmi2 f16c fma abm movbe xsave")
    )
    assert levels_of(str(tmp_path / "cpuinfo")) == ["x86-64-v2", "x86-64-v3"]


def test_a_library_in_place_of_a_program(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Search a library's name as a program does, behind commands; count in all that map it."""
    (row,) = rows('probe process("libc.so.6").function("malloc") { println(1) }', "uprobe")
    assert row["file"] == os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6")
    assert not row.get("program")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path}:{folder}")
    text = 'probe process("libthing.so.1").function("outside") { println(1) }'
    (row,) = rows(text, "uprobe")
    assert row["file"] == str(folder / "libthing.so.1")
    command = tmp_path / "libthing.so.1"
    command.write_bytes((folder / "libthing.so.1").read_bytes())
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    (row,) = rows(text, "uprobe")
    assert row["file"] == str(command)


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


def test_where_libraries_were_looked_for() -> None:
    result = probe('process("libnothing.so.6").function("x")')
    assert "$LD_LIBRARY_PATH, the linker's cache" in result.diagnostics.items[0].notes[-1]
    result = probe('process("nosuchprogram").function("x")')
    assert "library" not in "".join(result.diagnostics.items[0].notes)


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


def test_statements_by_address(folder: Path) -> None:
    """Where an instruction begins, and nowhere else."""
    path = folder / "program"
    start = symbol(path, "work")
    lines = command("objdump", "-d", "--no-show-raw-insn", str(path)).splitlines()
    at = next(number for number, line in enumerate(lines) if line.endswith("<work>:")) + 1
    begins = [int(line.split(":")[0], 16) for line in lines[at : at + 3]]
    for address in range(start, begins[2] + 1):
        result = probe(f'process("{path}").statement({address})')
        if address in begins:
            assert points(result) == [f'process("{path}").statement({address:#x})']
        else:
            assert result.codes == ["E0231"]
            assert "is not the beginning" in result.diagnostics.items[0].notes[0]


def test_addresses_of_a_process(folder: Path) -> None:
    """They are moved to those of the file; what no file has is refused."""
    pid, maps = os.getpid(), Path("/proc/self/maps").read_text().splitlines()
    # Others may be there, too: files that are read are mapped.
    library = next(line for line in maps if line.endswith("/libc.so.6") and " r-xp " in line)
    loaded = int(library.split("-")[0], 16) - int(library.split()[2], 16)
    path = Path(library.split()[-1])
    (function,) = (
        line.split() for line in command("nm", "-D", str(path)).splitlines() if " getpid@" in line
    )
    address = int(function[0], 16)
    text = f"probe process({pid}).statement({loaded + address}).absolute {{ println(1) }}"
    (row,) = rows(text, "uprobe", guru=True)
    assert (row["file"], row["pid"]) == (str(path), pid)
    assert row["offset"] == address
    assert row["point"] == f"process({pid}).statement({loaded + address:#x}).absolute"
    result = probe(f"process({pid}).statement({loaded + address}).absolute.return", guru=True)
    assert points(result) == [f"process({pid}).statement({loaded + address:#x}).absolute.return"]
    inside = next(  # where an instruction begins, but no function
        at
        for at in range(address + 1, address + 16)
        if probe(f"process({pid}).statement({loaded + at}).absolute", guru=True).program
    )
    result = probe(f"process({pid}).statement({loaded + inside}).absolute.return", guru=True)
    assert "is not where a function begins" in result.diagnostics.items[0].notes[0]
    result = probe(f"process({pid}).statement(4096).absolute", guru=True)
    assert "no code of a file at 0x1000" in result.diagnostics.items[0].notes[0]


def test_returns_of_go_programs(folder: Path, tmp_path: Path) -> None:
    """Their stacks move, which the kernel's return probes do not survive; entries are harmless."""
    path = tmp_path / "go"
    command(
        "objcopy", "--add-section", f".gopclntab={folder}/lib.c", f"{folder}/program", str(path)
    )
    result = probe(f'process("{path}").function("work").return')
    assert result.codes == ["E0231"]
    assert "stacks move" in result.diagnostics.items[0].notes[0]
    assert points(probe(f'process("{path}").function("work")'))


@pytest.mark.parametrize("name", ["int_arg", "pointer_arg", "u64_arg", "set_ulonglong_arg"])
def test_arguments_of_go_programs(folder: Path, tmp_path: Path, name: str) -> None:
    """They are not where C has them; registers by name are as they are."""
    path = tmp_path / "go"
    command(
        "objcopy", "--add-section", f".gopclntab={folder}/lib.c", f"{folder}/program", str(path)
    )
    text = f'probe process("{{}}").function("work") {{{{ if (1) {{{{ println({name}(1)) }}}} }}}}'
    if name.startswith("set"):
        text = text.replace("(1)) }", "(1, 2)) }")
    library = {"a.stp": f"function {name}(n) {{ return n }} function {name}(n, m) {{ return n }}"}
    (error,) = run(text.format(path), library).diagnostics.errors
    assert error.code == "E0231" and f"'{name}' reads arguments where C has them" in error.notes[0]
    assert "rax" in error.hint
    assert not run(text.format(folder / "program"), library).diagnostics.errors


def go_table(
    names: list[str], base: int, *, magic: int = 0xFFFFFFF1, pointer: int = 8, count: int = -1
) -> bytes:
    """Build what Go's compiler tells of functions of 16 bytes each."""
    texts = b"".join(name.encode() + b"\0" for name in names)
    rows = 72 + len(texts)
    described = 8 * len(names) + 4
    head = struct.pack(
        "<IBBBB8Q", magic, 0, 0, 1, pointer, count if count >= 0 else len(names), 1, base, 72,
        0, 0, 0, rows,
    )  # fmt: skip
    table = b"".join(
        struct.pack("<II", 16 * at, described + 8 * at) for at in range(len(names))
    ) + struct.pack("<I", 16 * len(names))
    for at, name in enumerate(names):
        table += struct.pack("<Ii", 16 * at, texts.index(name.encode() + b"\0"))
    return head + texts + table


def test_functions_of_stripped_go_programs(folder: Path, tmp_path: Path) -> None:
    """By the table that the runtime of Go needs; a damaged one tells of none."""
    bare, path = tmp_path / "bare", tmp_path / "go"
    command("strip", "-o", str(bare), f"{folder}/program")
    (start,) = [
        int(line.split()[3], 16)
        for line in command("readelf", "-SW", str(bare)).replace("[ ", "[").splitlines()
        if " .text " in line
    ]
    names = ["main.main", "main.(*Shop).Sell", "encoding/json.Marshal"]

    def made(table: bytes) -> Path:
        (tmp_path / "table").write_bytes(table)
        command("objcopy", "--add-section", f".gopclntab={tmp_path}/table", str(bare), str(path))
        return path

    made(go_table(names, start))
    for name in (*names, "main.(*Shop).*"):
        assert points(probe(f'process("{path}").function("{name}")')), name
    (site,) = probe(f'process("{path}").function("{names[1]}")').program.probes[0].sites
    assert site.address == start + 16
    whole = go_table(names, start)
    for damaged in (
        whole[:40], go_table(names, start, magic=0xFFFFFFFB), go_table(names, start, pointer=4),
        go_table(names, start, count=1 << 40), whole[:-4],
    ):  # fmt: skip
        result = probe(f'process("{made(damaged)}").function("{names[2]}")')
        assert result.codes == ["E0231"]


NOT_CALLED = r"""
#define F(name) __attribute__((noinline)) int name(int n) { return n + counted++; }
volatile int counted;
F(_setjmp) F(getcontext) F(_dl_runtime_resolve_xsave) F(plain_setjmp) F(dlsym)
__attribute__((noinline)) int work(int n) { return n + counted++; }
int alias_of_setjmp(int n) __attribute__((alias("_setjmp")));
__asm__(".text\n.globl work.cold\n.type work.cold, @function\nwork.cold: ret\n"
	".size work.cold, .-work.cold\n");
F(entered)
int main(int n) { return work(n); }
"""


@pytest.fixture(scope="module")
def uncalled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a program with functions that keep, ask for or have no return address."""
    folder = tmp_path_factory.mktemp("uncalled")
    words = ("-fno-builtin", "-nostdlib", "-static", "-w", "-Wl,-e,entered")
    return compiled(folder, NOT_CALLED, *words)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("_setjmp", "it keeps its return address"),
        ("alias_of_setjmp", "it keeps its return address"),  # by its other name
        ("getcontext", "it keeps its return address"),
        ("dlsym", "who has called it"),
        ("_dl_runtime_resolve_xsave", "it is not called"),
        ("work.cold", "it is not called"),
        ("entered", "it is not called"),  # by the header of the file
    ],
)
def test_returns_of_what_is_not_called(name: str, reason: str, uncalled: Path) -> None:
    """Refused by name and by address, for the kernel would overwrite what is on the stack."""
    for target in (f'function("{name}")', f"function({symbol(uncalled, name)})"):
        result = probe(f'process("{uncalled}").{target}.return')
        assert result.codes == ["E0231"]
        assert reason in result.diagnostics.items[0].notes[0]
    assert points(probe(f'process("{uncalled}").function("{name}")'))


def test_patterns_of_returns_leave_out_what_is_not_called(uncalled: Path) -> None:
    head = f'process("{uncalled}").function'
    found = points(probe(f'process("{uncalled}").function("*").return'))
    assert found == [f'{head}("{name}").return' for name in ("main", "work")]
    assert probe(f'process("{uncalled}").function("*setjmp").return').codes == ["E0231"]
    assert len(points(probe(f'process("{uncalled}").function("*")'))) > 6


INSTRUCTIONS = r"""
	.text
	.macro function name:req, instruction:vararg
	.globl \name
	.type \name, @function
\name:	\instruction
	ret
	.size \name, .-\name
	.endm
	function locked, lock incl (%rdi)
	function tracked, notrack jmp *%rax
	function vector, vpxor %xmm0, %xmm0, %xmm0
	function shuffled, vpshufd $16, %xmm0, %xmm0
	function good, incl (%rdi)
	function main, nop
	.section .note.GNU-stack,"",@progbits
"""


def test_instructions_that_the_kernel_refuses(tmp_path: Path) -> None:
    """Told in the translation: the kernel does so only when a process maps the file."""
    (tmp_path / "code.s").write_text(INSTRUCTIONS)
    path = built(tmp_path / "code", str(tmp_path / "code.s"))
    head = f'process("{path}").function'
    for name in ("locked", "tracked", "vector"):
        for target in (f'function("{name}")', f"statement({symbol(path, name)})"):
            result = probe(f'process("{path}").{target}')
            assert result.codes == ["W0691"]
            assert len(points(result)) == 1
    # What the kernel would do wrongly is never armed.
    for target in ('function("shuffled")', f"statement({symbol(path, 'shuffled')})"):
        result = probe(f'process("{path}").{target}')
        assert result.codes == ["E0231"]
        assert "the kernel takes this vector instruction" in result.diagnostics.items[0].notes[0]
    assert probe(f'process("{path}").function("good")').codes == []
    result = probe(f'process("{path}").function("[gltsv]o*[ed]")')
    assert result.codes == ["W0691"]
    assert points(result) == [f'{head}("good")']
    assert result.diagnostics.items[0].where == "1 left out"
    result = probe(f'process("{path}").function("[glstv]*[edr]")')
    assert points(result) == [f'{head}("good")']
    assert result.diagnostics.items[0].where == "4 left out"
    assert probe(f'process("{path}").function("[ltv]*ed")').codes == ["E0231"]


def test_returns_of_programs_with_exceptions_warn(folder: Path, tmp_path: Path) -> None:
    """An exception ends at a return that is probed; C that is compiled like that has none."""
    table = f".gcc_except_table={folder}/lib.c"
    command("objcopy", "--add-section", table, f"{folder}/program", str(tmp_path / "c"))
    (tmp_path / "comment").write_bytes(b"rustc version 1.63.0\0")
    add = ("--remove-section", ".comment", "--add-section", f".comment={tmp_path}/comment")
    command("objcopy", *add, str(tmp_path / "c"), str(tmp_path / "rust"))
    words = ("-shared", "-fPIC", str(folder / "lib.c"), "-Wl,-soname,libstdc++.so.6")
    built(tmp_path / "libstdc++", *words)
    built(
        tmp_path / "plain",
        str(folder / "program.c"),
        "-Wl,--no-as-needed",
        str(tmp_path / "libstdc++"),
    )
    command("objcopy", "--add-section", table, str(tmp_path / "plain"), str(tmp_path / "cxx"))
    for name, codes in (("c", []), ("plain", []), ("cxx", ["W0692"]), ("rust", ["W0692"])):
        assert probe(f'process("{tmp_path}/{name}").function("work").return').codes == codes
        assert probe(f'process("{tmp_path}/{name}").function("work")').codes == []
    # One of those that a pattern matches and that has no such function is not warned of.
    compiled(tmp_path, "int lonely(void) { return 1; } int main(void) { return lonely(); }")
    assert probe(f'process("{tmp_path}/*").function("lonely").return').codes == []


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
