"""Libraries of user programs: which file a name means, of which process and processor."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from stapy.debuginfo.user import linker_cache
from stapy.run.ground.linker_cache import levels_of
from tests.debuginfo.user.sources import built, compiled
from tests.debuginfo.user.sources import run as command
from tests.probes.test_begin_end import rows
from tests.probes.uprobe import probe

pytestmark = pytest.mark.slow


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


def test_where_libraries_were_looked_for() -> None:
    result = probe('process("libnothing.so.6").function("x")')
    assert "$LD_LIBRARY_PATH, the linker's cache" in result.diagnostics.items[0].notes[-1]
    result = probe('process("nosuchprogram").function("x")')
    assert "library" not in "".join(result.diagnostics.items[0].notes)
