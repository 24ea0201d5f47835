"""The consumer under a Python that has as little as Debian's `python3-minimal`."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shlex
import stat
import string
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from stapy import run
from stapy.run import doors, fit, jsontext, kernel, lacks, loading, maker, refusals, target
from stapy.run.elf import ModuleFile
from stapy.run.errors import RunError
from stapy.run.near import nearest
from tests import bare
from tests.run.test_parts import make_module

MANIFEST = {
    "stapy": "9",
    "script": {"name": "ä.stp", "text": 'probe begin { println("\t\\") }\n'},
    "globals": {"most": "long"},
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bare.zipapp(tmp_path_factory.mktemp("bare") / "stapy-run.pyz")


def start(python: str, archive: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Start the archive in an interpreter that lacks what `python3-minimal` lacks."""
    code = f"{bare.BLOCKED}\nimport runpy\nsys.argv = {[str(archive), *words]!r}\n"
    code += f"runpy.run_path({str(archive)!r}, run_name='__main__')"
    env = {"PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [python, "-I", "-S", "-c", code], capture_output=True, text=True, check=False, env=env
    )


@pytest.mark.parametrize("way", ["file", "folder"])
def test_an_older_python_is_told_in_one_line(archive: Path, way: str) -> None:
    place = archive if way == "file" else Path(run.__file__).parent
    code = "import runpy, sys\nsys.version_info = (3, 6, 15, 'final', 0)\nsys.argv = ['it']\n"
    code += f"runpy.run_path({str(place)!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-IS", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "ERROR: stapy-run needs Python 3.9 or newer, this is 3.6\n"


def test_the_table_is_that_of_the_package() -> None:
    try:
        listed, python = bare.files(), bare.interpreter()
    except bare.NoPackages as error:
        pytest.skip(str(error))
    ask = "import sys; print(sys.version_info[1]); print(*sys.builtin_module_names)"
    told = subprocess.run([python, "-S", "-c", ask], capture_output=True, text=True, check=True)
    minor, built_in = told.stdout.splitlines()
    if int(minor) > 12:
        pytest.skip("the table is of Debian 11 and 12")
    there = {*built_in.split()}
    for path in listed:
        _, found, rest = path.partition(f"/lib/python3.{minor}/")
        if found:
            there.add(rest.removeprefix("lib-dynload/").partition("/")[0].partition(".")[0])
    assert not bare.LACKING & there
    for name in ("ctypes", "json", "termios", "resource", "lzma", "shlex", "difflib", "shutil"):
        assert name in bare.LACKING


@pytest.mark.parametrize("python", bare.pythons())
def test_a_module_is_described(python: str, archive: Path, tmp_path: Path) -> None:
    module = make_module(tmp_path / "m.ko", manifest=MANIFEST)
    done = start(python, archive, "--info", str(module))
    assert (done.returncode, done.stderr) == (0, "")
    assert "script:         ä.stp" in done.stdout
    assert "can be set:     most (long)" in done.stdout
    assert done.stdout.endswith('probe begin { println("\t\\") }\n')
    assert "Usage: stapy-run" in start(python, archive, "--help").stdout


@pytest.mark.parametrize("python", bare.pythons())
def test_a_damaged_manifest_is_told(python: str, archive: Path, tmp_path: Path) -> None:
    module = make_module(tmp_path / "m.ko", manifest=b'{"stapy": "9", ')
    done = start(python, archive, "--message-format=json", "--info", str(module))
    assert done.returncode == 1
    told = json.loads(done.stderr)
    assert told["message"].endswith("is damaged: what stapy wrote into it cannot be read")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can chroot")
def test_in_a_root_with_nothing_else(archive: Path, tmp_path: Path) -> None:
    """By the files of the package, not by a table."""
    root = tmp_path / "root"
    try:
        bare.make_root(root)
    except bare.NoPackages as error:
        pytest.skip(str(error))
    (root / "run/stapy-run.pyz").write_bytes(archive.read_bytes())
    make_module(root / "run/m.ko", manifest=MANIFEST)
    python = ["chroot", str(root), bare.interpreter()]
    for name in ("json", "ctypes"):
        done = subprocess.run([*python, "-c", f"import {name}"], capture_output=True, check=False)
        assert b"No module named" in done.stderr
    done = subprocess.run(
        [*python, "/run/stapy-run.pyz", "--info", "/run/m.ko"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "made by:        stapy 9" in done.stdout


# --- what stands in for the library --------------------------------------

_json = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text()
    | some.floats(allow_nan=False, allow_infinity=False),
    lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner),
)  # fmt: skip


@given(_json, some.booleans(), some.sampled_from([None, 1, "\t"]))
def test_json_is_read(value: object, ascii_only: bool, indent: int | str | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert jsontext.read(f" {text}\n") == value


@given(some.text('{}[]":,\\u0019aeE+-. \n\x01tnrulfs') | some.text())
def test_what_is_no_json_is_an_error(text: str) -> None:
    try:
        wanted = json.loads(text, parse_constant=lambda name: 1 / 0)
    except (ValueError, ZeroDivisionError):
        with pytest.raises(ValueError):
            jsontext.read(text)
    else:
        assert jsontext.read(text) == wanted


def test_json_of_any_depth_is_an_answer() -> None:
    with pytest.raises(ValueError):
        jsontext.read("[" * 100000)


@given(some.text())
def test_json_is_written(text: str) -> None:
    fields = {"severity": text, "pass": 5}
    assert jsontext.line(fields) == json.dumps(fields)
    assert json.loads(jsontext.line({"x": "\udcff"})) == {"x": "\udcff"}


@given(some.text("ab '\"\\\t-/") | some.text(string.ascii_letters + " '\"\\="))
def test_words_are_those_of_a_shell(command: str) -> None:
    try:
        wanted = shlex.split(command)
    except ValueError:
        wanted = None
    assert target._split(command) == wanted


def test_words_of_nothing() -> None:
    assert target.words_of("") == []
    assert target.words_of("''") == [""]
    assert target.words_of("'open") == ["/bin/sh", "-c", "'open"]


@pytest.mark.parametrize(
    ("name", "near"),
    [("mots", "most"), ("Most", "most"), ("mst", "most"), ("least_of", "leastof"), ("zzz", "")],
)
def test_the_nearest_name(name: str, near: str) -> None:
    assert nearest(name, ["most", "leastof", "other"]) == near
    assert nearest(name, []) == ""


def test_a_global_that_is_none() -> None:
    assert "did you mean 'most'?" in loading._not_settable("mots", ["most", "stapy_buffer_mb"])


# --- loading without ctypes ------------------------------------------------


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have a Python without ctypes, and a folder in place of those with the system's programs."""
    folder = tmp_path / "sbin"
    folder.mkdir()
    monkeypatch.setattr(lacks, "_FOLDERS", (str(folder),))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "ctypes", None)  # its import fails
    return folder


def write(place: Path, text: str) -> None:
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)


def test_a_module_is_loaded_by_insmod(programs: Path, tmp_path: Path) -> None:
    write(
        programs / "insmod",
        f'/bin/cat "$1" >{tmp_path}/got; shift; printf "<%s>" "$@" >>{tmp_path}/got',
    )
    file = tmp_path / "m.ko"
    file.write_bytes(b"the file ")
    with file.open("rb") as opened:
        file.unlink()  # it is the open file that is loaded, whatever its name stands for
        doors.load(opened.fileno(), None, [b"a=1", b'b="x y"', b"c=\xff"])
        assert (tmp_path / "got").read_bytes() == b'the file <a=1><b="x y"><c=\xff>'
        doors.load(opened.fileno(), b"the image ", [b"a=1"])
        assert (tmp_path / "got").read_bytes() == b"the image <a=1>"


def test_what_is_loaded_from_memory_cannot_be_written() -> None:
    fd = doors._in_memory(b"x" * 100000)
    try:
        assert os.read(fd, 200000) == b"x" * 100000
        assert fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        assert stat.S_ISREG(os.fstat(fd).st_mode)
    finally:
        os.close(fd)


INSMOD = "insmod: ERROR: could not insert module /proc/self/fd/3"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (f"{INSMOD}: Invalid module format", "ENOEXEC"),
        (f"{INSMOD}: Unknown symbol in module", "ENOENT"),
        (f"{INSMOD}: Required key not available", "ENOKEY"),
        (f"{INSMOD}: Key was rejected by service",
         "EKEYREJECTED"),
        (f"{INSMOD}: Operation not permitted", "EPERM"),
        (f"{INSMOD}: File exists", "EEXIST"),
        ("insmod: can't insert '/proc/self/fd/3': invalid module format", "ENOEXEC"),
        ("insmod: can't insert '/proc/self/fd/3': unknown symbol in module, or unknown parameter",
         "ENOENT"),
        ("insmod: can't insert '/proc/self/fd/3': Required key not available", "ENOKEY"),
        ("rmmod: ERROR: Module m is in use", "EBUSY"),
        ("rmmod: ERROR: Module m is not currently loaded", "ENOENT"),
        ("rmmod: ERROR: could not remove module m: Resource temporarily unavailable", "EAGAIN"),
        ("rmmod: can't unload module 'm': Device or resource busy", "EBUSY"),
    ],
)  # fmt: skip
def test_refusals_are_told_as_without(said: str, code: str, programs: Path) -> None:
    write(programs / "insmod", f"echo {shlex.quote(said)} >&2; exit 1")
    write(programs / "rmmod", f"echo {shlex.quote(said)} >&2; exit 1")
    for how in (lambda: doors.load(0, None, []), lambda: doors.unload("m")):
        with pytest.raises(OSError) as found:
            how()
        assert found.value.errno == getattr(errno, code)


def test_an_answer_that_nobody_knows(programs: Path) -> None:
    write(programs / "insmod", "echo first; echo what is this >&2; exit 1")
    with pytest.raises(RunError, match=r"insmod /proc/self/fd/3' failed: what is this"):
        doors.load(0, None, [])
    (programs / "insmod").write_text("no program")
    with pytest.raises(RunError, match=r"cannot run '.*insmod': Exec format error"):
        doors.load(0, None, [])


def test_no_way_to_load(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told before anything is done."""
    monkeypatch.setattr(refusals, "may_load", lambda: True)
    module = ModuleFile(str(make_module(tmp_path / "m.ko", os.uname().release, {"stapy": "1"})))
    for name in ("", "insmod"):
        if name:
            write(programs / name, "exit 0")
        with pytest.raises(RunError) as found:
            kernel.check(module)
        assert str(found.value) == (
            "modules cannot be loaded: this Python has no module ctypes, and there are no programs "
            "insmod and rmmod: apt-get install kmod"
        )
    write(programs / "rmmod", "exit 0")
    kernel.check(module)


def test_busybox_does_as_well(programs: Path) -> None:
    write(programs / "busybox", '[ "$1" = --list ] && echo "cat\ninsmod\nrmmod"; exit 0')
    assert doors.closed() == ""
    doors.unload("m")
    write(programs / "busybox", "echo cat")
    assert doors.closed()


# --- tables of user stacks without resource ---------------------------------


def test_tables_are_bounded_by_prlimit(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    kinds = (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE)
    wanted = [resource.getrlimit(kind)[1] for kind in kinds]
    monkeypatch.setitem(sys.modules, "resource", None)
    if maker.unbounded():
        pytest.skip(maker.unbounded())
    told, wire = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            maker._limits()
            os.write(wire, json.dumps([resource.getrlimit(kind) for kind in kinds]).encode())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert json.loads(os.read(told, 4096)) == [
        [maker._MEMORY, wanted[0]], [maker._FILE, wanted[1]], [0, wanted[2]]
    ]  # fmt: skip
    os.close(told)
    os.close(wire)


def test_no_tables_without_bounds(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    assert maker.unbounded() == (
        "there is no program prlimit, and this Python has no module resource: "
        "apt-get install libpython3-stdlib"
    )


# --- modules for another kernel ---------------------------------------------


@pytest.mark.parametrize(
    ("release", "what"),
    [
        ("6.1.0-34-amd64", "another release, 6.1.0-34 and not 6.1.0-35"),
        ("6.1.0-35-rt-amd64", "another flavour, 'rt-amd64' and not 'amd64'"),
        ("6.1.0-35-cloud-amd64", "another flavour, 'cloud-amd64' and not 'amd64'"),
        ("6.12.9+bpo-cloud-amd64", "another release and flavour"),
    ],
)
def test_another_release(
    release: str, what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    uname = os.uname()
    ours = os.uname_result((*uname[:2], "6.1.0-35-amd64", *uname[3:]))
    monkeypatch.setattr(os, "uname", lambda: ours)
    differs = f"was built for kernel {release}, this is 6.1.0-35-amd64: {what}; "
    build = f"{differs}build it with -r 6.1.0-35-amd64"
    told = [fit.other_release(release, str(tmp_path))]  # where /proc is not mounted
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    for file, text in (("version", "Linux"), ("modules", ""), ("sys/kernel/modules_disabled", "1")):
        (tmp_path / "proc" / file).write_text(f"{text}\n")
        told.append(fit.other_release(release, str(tmp_path)))
    elsewhere = f": load it where {release} runs, or try the script with stapy --vm={release}"
    assert told == [
        build,
        f"{differs}this kernel is built without loadable modules (CONFIG_MODULES){elsewhere}",
        build,
        f"{differs}this kernel loads no more modules until its next boot (modules_disabled is 1)"
        f"{elsewhere}",
    ]
    assert fit.other_release("6.1.0-35-amd64") == fit.other_release("") == ""


def test_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "may_load", lambda: True)
    data = bytearray(
        make_module(tmp_path / "m.ko", os.uname().release, {"stapy": "1"}).read_bytes()
    )
    data[18] = 22
    (tmp_path / "m.ko").write_bytes(data)
    with pytest.raises(RunError, match="was built for machines of kind s390x, this is "):
        kernel.check(ModuleFile(str(tmp_path / "m.ko")))


def test_other_options_by_what_the_kernel_says() -> None:
    said = ["m: version magic '6.1.0 SMP preempt_rt mod_unload ' should be '6.1.0 SMP preempt '"]
    assert fit.other_options(["other", *said]) == (
        "it was built for a kernel with other options (it has preempt_rt mod_unload, it lacks "
        "preempt): build it with the headers of this very kernel"
    )
    assert fit.other_options(["m: disagrees about version of symbol module_layout"]) == ""
