"""Output files, words of -c, messages, ELF, and the ways to start the program."""

import contextlib
import errno
import json
import os
import pty
import select
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

import stapy.run
from stapy.run import elf, kernel, refusals
from stapy.run.control import Channel, unescape
from stapy.run.elf import Elf, ModuleFile, build_id, describe
from stapy.run.errors import RunError
from stapy.run.messages import MessagePrinter
from stapy.run.output import File, Sink, StandardOutput, nobody_reads
from stapy.run.target import words_of

FOLDER = Path(stapy.run.__file__).parent


def make_module(path, vermagic="0.0 SMP", manifest=None, rows=()):
    """Write a tiny ELF file with the two sections that are read."""
    info = b"".join(row.encode() + b"\0" for row in (f"vermagic={vermagic}", *rows))
    bodies = {b".modinfo": info, b".note.gnu.build-id": note(b"\x12\x34")}
    if manifest is not None:
        is_raw = isinstance(manifest, bytes)
        bodies[b".stapy.manifest"] = manifest if is_raw else json.dumps(manifest).encode()
    names = b"\0" + b"\0".join([*bodies, b".shstrtab"]) + b"\0"
    parts, offset = [], 64
    headers = [bytes(64)]
    for name, body in [*bodies.items(), (b".shstrtab", names)]:
        at = names.index(b"\0" + name + b"\0") + 1
        headers.append(struct.pack("<IIQQQQIIQQ", at, 1, 0, 0, offset, len(body), 0, 0, 1, 0))
        parts.append(body)
        offset += len(body)
    head = b"\x7fELF\x02\x01\x01" + bytes(33) + struct.pack("<Q", offset) + bytes(10)
    head += struct.pack("<HHH", 64, len(headers), len(headers) - 1)
    path.write_bytes(head + b"".join(parts) + b"".join(headers))
    return path


def note(identity):
    return struct.pack("<III", 4, len(identity), 3) + b"GNU\0" + identity.ljust(4, b"\0")


def test_module_file(tmp_path):
    manifest = {
        "stapy": "9",
        "script": {"name": "a.stp", "text": "probe begin {}\n"},
        "probes": [{"written": "begin", "points": ["begin"], "place": "a.stp:1:1"}],
        "limits": {"MAXACTION": 1000},
        "globals": {"x": "long"},
        "build_ids": {"kernel": "ab"},
    }
    path = make_module(
        tmp_path / "my-mod.ko", "6.1.0-x SMP", manifest, ["name=my_mod", "parmtype=x:long"]
    )
    module = ModuleFile(str(path))
    assert (module.name, module.release, module.is_ours()) == ("my_mod", "6.1.0-x", True)
    assert module.parameters == {"x": "long"}
    assert module.elf.build_id() == "1234"
    text = "\n".join(describe(module))
    for piece in ("my_mod", "stapy 9", "a.stp", "begin (a.stp:1:1)", "MAXACTION", "x (long)"):
        assert piece in text


def test_name_falls_back_to_the_file(tmp_path):
    assert ModuleFile(str(make_module(tmp_path / "a-b.ko"))).name == "a_b"


@pytest.mark.parametrize(
    "data",
    [b"", b"text", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 200],
    ids=["empty", "text", "head", "nonsense"],
)
def test_what_is_no_module_is_refused(tmp_path, data):
    path = tmp_path / "x.ko"
    path.write_bytes(data)
    with pytest.raises(RunError):
        ModuleFile(str(path))


def test_a_file_of_holes_is_not_read(tmp_path):
    path = make_module(tmp_path / "m.ko")
    os.truncate(path, elf.MODULE_BYTES + 1)
    with pytest.raises(RunError, match="too large to be one"):
        ModuleFile(str(path))


@pytest.mark.parametrize("row", ["build_ids", "files", "globals", "limits", "probes", "script"])
def test_a_manifest_of_another_shape_is_refused(tmp_path, row):
    assert ModuleFile(str(make_module(tmp_path / "m.ko", manifest={row: None}))).manifest()
    for value in (5, "x", [1] if row != "probes" else {"x": 1}):
        module = ModuleFile(str(make_module(tmp_path / "m.ko", manifest={row: value})))
        with pytest.raises(RunError, match="is damaged: what stapy wrote into it"):
            module.manifest()


@pytest.mark.parametrize("cut", range(64, 700, 37))
def test_truncated_modules_never_crash(tmp_path, cut):
    data = make_module(tmp_path / "m.ko", manifest={"stapy": "1"}).read_bytes()
    path = tmp_path / "cut.ko"
    path.write_bytes(data[:cut])
    with contextlib.suppress(RunError):
        describe(ModuleFile(str(path)))


def _asking_for_more(context):
    raise AttributeError(f"type object '{context.__name__}' has no attribute 'yet_another_hook'")


def _of_another_shape(context):
    return lambda text, at: {"no": "pair"}


def _lacking_something(context):
    raise TypeError("make_scanner() takes exactly 2 arguments (1 given)")


@pytest.mark.parametrize("scanner", [None, _asking_for_more, _of_another_shape, _lacking_something])
def test_a_manifest_is_read_whatever_pythons_scanner_has_become(scanner, monkeypatch):
    """It is nobody's interface: 3.15 gives it a field more."""
    other = ModuleType("_json")
    if scanner:
        other.make_scanner = scanner
    monkeypatch.setitem(sys.modules, "_json", other)
    assert elf._from_json('{"a": [1, "x"], "b": 0.5}\n') == {"a": [1, "x"], "b": 0.5}
    for damaged in ("", "{", '{"a": 1} x', "nul"):
        with pytest.raises(ValueError):
            elf._from_json(damaged)


def test_a_damaged_manifest_is_none():
    for damaged in ("", "{", '{"a": 1} x', "nul"):
        with pytest.raises(ValueError):
            elf._from_json(damaged)


def test_build_id_skips_other_notes():
    other = struct.pack("<III", 6, 5, 1) + b"Linux\0\0\0" + bytes(8)
    assert build_id(other + note(b"\xab\xcd")) == "abcd"
    assert build_id(other) == ""


def test_our_python_has_sections():
    assert Elf(Path(sys.executable).resolve().read_bytes()).section(".text")


def test_wrong_release_is_refused_before_the_kernel_sees_it(tmp_path, monkeypatch):
    monkeypatch.setattr(refusals, "may_load", lambda: True)
    with pytest.raises(RunError, match=r"built for kernel 0\.0"):
        kernel.check(ModuleFile(str(make_module(tmp_path / "m.ko"))))


def test_a_release_that_is_not_compared(tmp_path, monkeypatch):
    """-D STP_NO_VERREL_CHECK: the kernel itself decides."""
    monkeypatch.setattr(refusals, "may_load", lambda: True)
    manifest = {"stapy": "1", "any_release": True}
    kernel.check(ModuleFile(str(make_module(tmp_path / "m.ko", "0.0-other", manifest))))


def test_wrong_build_id_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(refusals, "may_load", lambda: True)
    other = tmp_path / "library"
    make_module(other)
    manifest = {"stapy": "1", "build_ids": {str(other): "9999"}}
    path = make_module(tmp_path / "m.ko", os.uname().release, manifest)
    with pytest.raises(RunError, match=r"Build-id mismatch.*expected 9999 actual 1234"):
        kernel.check(ModuleFile(str(path)))
    manifest["build_ids"][str(other)] = "1234"
    kernel.check(ModuleFile(str(make_module(path, os.uname().release, manifest))))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ls -l 'a b'", ["ls", "-l", "a b"]),
        ("a | b", ["/bin/sh", "-c", "a | b"]),
        ("(sleep 1)", ["/bin/sh", "-c", "(sleep 1)"]),
        ("echo $HOME", ["/bin/sh", "-c", "exec echo $HOME"]),
        ("ls *.c", ["/bin/sh", "-c", "exec ls *.c"]),
        ("sh -c 'a > b; c'", ["sh", "-c", "a > b; c"]),
        ('echo "a|b" c\\;', ["echo", "a|b", "c;"]),
        ('echo "$HOME"', ["/bin/sh", "-c", 'exec echo "$HOME"']),
        ("echo 'open", ["/bin/sh", "-c", "echo 'open"]),
        ("sh -c 'a > b; c'", ["sh", "-c", "a > b; c"]),
        ("echo '$HOME'", ["echo", "$HOME"]),
        ('echo "$HOME"', ["/bin/sh", "-c", 'exec echo "$HOME"']),
        ("echo a\\;b", ["echo", "a;b"]),
        ('sh -c "echo \\$1"', ["/bin/sh", "-c", 'exec sh -c "echo \\$1"']),
    ],
)
def test_words_of_a_command(command, words):
    assert words_of(command) == words


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (b"a", "a"),
        (rb"a\nb", "a\nb"),
        (rb"a\\nb", r"a\nb"),
        (rb"\\\n", "\\\n"),
        (b"\xff", "\udcff"),
    ],
)
def test_unescape(escaped, text):
    assert unescape(escaped) == text


def test_rotation_by_size_keeps_the_newest(tmp_path):
    sink = File(str(tmp_path / "out"), 10, 2)
    for number in range(5):
        sink.write(memoryview(b"%d234567\n" % number))
    sink.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.3", "out.4"]
    assert (tmp_path / "out.4").read_bytes() == b"4234567\n"


def test_rotation_by_signal_without_size(tmp_path):
    sink = File(str(tmp_path / "out"))
    sink.write(memoryview(b"one"))
    sink.rotate()
    sink.write(memoryview(b"two"))
    sink.close()
    assert (tmp_path / "out").read_bytes() == b"one"
    assert (tmp_path / "out.1").read_bytes() == b"two"


def test_a_file_gets_its_name_when_the_one_before_is_on_the_disk(tmp_path, monkeypatch):
    may_sync, synced, sync = threading.Event(), [], os.fsync

    def slow_sync(fd):
        assert may_sync.wait(60)
        synced.append(str(Path(f"/proc/self/fd/{fd}").readlink()))
        sync(fd)

    monkeypatch.setattr(os, "fsync", slow_sync)
    (tmp_path / "out.2").write_text("of an earlier session")
    sink = File(str(tmp_path / "out"), 10)
    sink.write(memoryview(b"0234567\n"))
    sink.write(memoryview(b"1234567\n"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.0", "out.1.new", "out.2"]
    assert (tmp_path / "out.1.new").read_bytes() == b"1234567\n"
    may_sync.set()
    sink.write(memoryview(b"2234567\n"))
    assert synced[:2] == [str(tmp_path / "out.0"), str(tmp_path)]
    sink.close()
    texts = [(tmp_path / f"out.{number}").read_bytes() for number in range(3)]
    assert texts == [b"%d234567\n" % number for number in range(3)]
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_that_waits_takes_nobodys_place(tmp_path, is_link):
    """What a killed recorder has left, or somebody else, stays as it is."""
    other, left = tmp_path / "important", tmp_path / "out.1.new"
    other.write_text("mine")
    if is_link:
        left.symlink_to(other)
    else:
        left.write_text("mine")
    sink = File(str(tmp_path / "out"), 10)
    for number in range(3):
        sink.write(memoryview(b"%d234567\n" % number))
    sink.close()
    assert [(tmp_path / f"out.{number}").read_text()[0] for number in range(3)] == ["0", "1", "2"]
    assert left.is_symlink() == is_link
    assert left.read_text() == other.read_text() == "mine"


def test_what_takes_the_name_meanwhile_stays(tmp_path, monkeypatch):
    may_sync, sync = threading.Event(), os.fsync

    def slow_sync(fd):
        assert may_sync.wait(60)
        sync(fd)

    monkeypatch.setattr(os, "fsync", slow_sync)
    sink = File(str(tmp_path / "out"), 10)
    sink.write(memoryview(b"0234567\n"))
    sink.write(memoryview(b"1234567\n"))
    (tmp_path / "out.1").write_text("mine")
    may_sync.set()
    with pytest.raises(RunError, match="has been made by somebody else"):
        sink.write(memoryview(b"2234567\n"))
    assert (tmp_path / "out.1").read_text() == "mine"
    assert (tmp_path / "out.1.new").read_text() == "1234567\n"


def test_output_name_is_expanded_and_overwritten(tmp_path):
    (tmp_path / "a%").write_text("old and long")
    sink = File(str(tmp_path / "a%%"))
    sink.write(memoryview(b"new"))
    sink.close()
    assert (tmp_path / "a%").read_bytes() == b"new"


def test_output_that_cannot_be_opened(tmp_path):
    with pytest.raises(RunError, match="Couldn't open output file"):
        File(str(tmp_path / "no" / "file"))


def test_full_disk_is_an_error():
    with pytest.raises(RunError, match="No space left"):
        File("/dev/full")._written or File("/dev/full").write(memoryview(b"x"))


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.EPIPE, ""), (errno.ECONNRESET, "")]
    + [
        (number, f"Couldn't write standard output: {os.strerror(number)}")
        for number in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.EBADF)
    ],
)
def test_standard_output_that_takes_nothing(number, said, monkeypatch):
    """Who has left wanted no more; what is lost otherwise is an error."""

    def fail(fd, data):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "write", fail)
    sink = StandardOutput()
    with pytest.raises(RunError, match=said) if said else contextlib.nullcontext():
        sink.write(memoryview(b"x"))
    assert sink.broken


def test_who_has_left():
    """A pipe's reader, a socket's, a terminal that was closed; a full disk has not left."""
    for make in (os.pipe, pty.openpty, lambda: [one.detach() for one in socket.socketpair()]):
        ours, theirs = make()
        assert not nobody_reads(theirs)
        os.close(ours)
        assert nobody_reads(theirs)
        os.close(theirs)
    assert nobody_reads(theirs)
    for name, mode in (("/dev/full", "w"), ("/dev/null", "r")):
        with Path(name).open(mode) as file:
            assert not nobody_reads(file.fileno())


@pytest.mark.parametrize("tail", [b"", b"no newline"])
def test_lines_are_whole_among_those_of_other_writers(tail, monkeypatch):
    """What is written to a pipe at once ends with a line; longer lines go in pieces."""
    long = b"y" * (select.PIPE_BUF * 2 + 100)
    short = b"".join(b"%d %s\n" % (n, b"x" * (n * 37 % 700)) for n in range(60))
    text = short + long + b"\nlast\n" + tail
    pieces, write = [], os.write
    read_end, write_end = os.pipe()

    def noted(fd, data):
        pieces.append(bytes(data))
        return write(fd, data)

    monkeypatch.setattr(os, "write", noted)
    sink = Sink(write_end)
    sink.write(memoryview(text))
    while sink.is_busy:
        os.read(read_end, 1 << 16)
        sink.flush()
    os.close(read_end)
    os.close(write_end)
    assert b"".join(pieces) == text
    assert max(map(len, pieces)) <= select.PIPE_BUF
    broken = [piece for piece in pieces if not piece.endswith(b"\n")]
    assert len(broken) == 2 + bool(tail)


def test_channel_opens_outputs_in_order_of_cpus(tmp_path):
    for name in ("control", "output10", "output9"):
        (tmp_path / name).write_bytes(name.encode())
    channel = Channel.open(str(tmp_path))
    assert [os.read(fd, 99) for fd in channel.outputs] == [b"output9", b"output10"]
    channel.close()


def test_channel_of_a_missing_module():
    with pytest.raises(RunError, match="Couldn't open control channel"):
        Channel.open("/nonexistent")


def test_colours(capfd, monkeypatch):
    monkeypatch.setenv("SYSTEMTAP_COLORS", "error=01;35")
    MessagePrinter("always").error("x")
    MessagePrinter("always").warning("y")
    MessagePrinter("never").error("z")
    assert capfd.readouterr().err == (
        "\033[01;35m\033[KERROR:\033[m\033[K x\nWARNING: y\nERROR: z\n"
    )


@pytest.mark.parametrize(
    "start",
    [["-m", "stapy.run"], [str(FOLDER)], ["COPY"], ["ZIP"]],
    ids=["module", "folder", "copy", "zipapp"],
)
def test_every_way_to_start_it(start, tmp_path):
    import shutil
    import zipapp

    if start == ["COPY"]:
        shutil.copytree(FOLDER, tmp_path / "anything-else")
        start = [str(tmp_path / "anything-else")]
    elif start == ["ZIP"]:
        shutil.copytree(FOLDER, tmp_path / "app" / "stapy_run")
        zipapp.create_archive(
            tmp_path / "app", tmp_path / "stapy-run.pyz", main="stapy_run.cli:start"
        )
        start = [str(tmp_path / "stapy-run.pyz")]
    done = subprocess.run(
        [sys.executable, *start, "/no/such.ko"], capture_output=True, text=True, check=False
    )
    assert done.stderr == "ERROR: cannot read '/no/such.ko': No such file or directory\n"
    assert done.returncode == 1


def test_start_is_quick():
    """What takes longer to import than the program itself is for the type checker only."""
    code = "import sys, stapy.run.cli; print(*({'typing', 're', 'contextlib'} & {*sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=FOLDER.parents[1],
        env={"PYTHONPATH": str(FOLDER.parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "\n"


def test_it_needs_nothing_of_ours(tmp_path):
    """Isolated from site-packages and from our checkout, a bare copy still explains a module."""
    import shutil

    shutil.copytree(FOLDER, tmp_path / "run")
    module = make_module(tmp_path / "m.ko", manifest={"stapy": "1"})
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(tmp_path / "run"), "--info", str(module)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "made by:        stapy 1" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("mode", [0o777, 0o1777])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_another_user_planted_is_not_written(mode, kind, tmp_path):
    folder, victim = tmp_path / "shared", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("kept")
    folder.chmod(mode)
    place = folder / "out"
    if kind == "link":
        place.symlink_to(victim)
    else:
        place.write_text("kept")
    os.chown(place, 65534, 65534, follow_symlinks=False)
    with pytest.raises(RunError, match="of another user stands there"):
        File(str(place))
    assert place.read_text() == victim.read_text() == "kept"
    # Where anybody may replace what is there, the folder's owner proves nothing either.
    os.chown(folder, 65534, 65534)
    if mode == 0o777:
        with pytest.raises(RunError, match="of another user stands there"):
            File(str(place))


def test_one_look_decides_whether_a_link_is_followed(tmp_path, monkeypatch):
    """A link that comes after it is not followed."""
    victim, place = tmp_path / "victim", tmp_path / "out"
    victim.write_text("kept")
    looks = []
    lstat = os.lstat

    def late(name, **rest):
        if str(name) != str(place):
            return lstat(name, **rest)
        looks.append(name)
        try:
            return lstat(name, **rest)
        finally:
            if not place.is_symlink():
                place.symlink_to(victim)

    monkeypatch.setattr("os.lstat", late)
    with pytest.raises(RunError, match="Couldn't open output file"):
        File(str(place))
    assert victim.read_text() == "kept"
    assert len(looks) == 1


@pytest.mark.parametrize("new", ["file", "link"])
def test_what_takes_the_place_of_the_file_that_was_looked_at_is_kept(new, tmp_path, monkeypatch):
    """It is compared when it is open, before anything is emptied."""
    victim, place = tmp_path / "victim", tmp_path / "out"
    victim.write_text("kept")
    place.write_text("old")
    lstat = os.lstat

    def late(name, **rest):
        status = lstat(name, **rest)
        if str(name) == str(place):
            place.unlink()
            place.symlink_to(victim) if new == "link" else os.link(victim, place)
        return status

    monkeypatch.setattr("os.lstat", late)
    with pytest.raises(RunError, match="Couldn't open output file"):
        File(str(place))
    assert victim.read_text() == "kept"


def test_what_comes_after_the_look_is_not_taken_for_ours(tmp_path, monkeypatch):
    place = tmp_path / "out"
    lstat = os.lstat

    def late(name, **rest):
        try:
            return lstat(name, **rest)
        finally:
            if str(name) == str(place):
                place.write_text("kept")

    monkeypatch.setattr("os.lstat", late)
    with pytest.raises(RunError, match="File exists"):
        File(str(place))
    assert place.read_text() == "kept"


def test_other_names_of_files_where_all_may_write(tmp_path):
    """Anybody may give a file of ours another name there, where the kernel does not mind."""
    folder, victim = tmp_path / "shared", tmp_path / "victim"
    folder.mkdir()
    folder.chmod(0o1777)
    victim.write_text("kept")
    os.link(victim, folder / "out")
    with pytest.raises(RunError, match="with other names"):
        File(str(folder / "out"))
    folder.chmod(0o777)
    (folder / "link").symlink_to(victim)
    with pytest.raises(RunError, match="where all may replace it"):
        File(str(folder / "link"))
    assert victim.read_text() == "kept"


def test_files_of_ours_are_emptied(tmp_path):
    target, link, place = tmp_path / "target", tmp_path / "link", tmp_path / "out"
    link.symlink_to(target)
    for name in (place, place, link, link):
        sink = File(str(name))
        sink.write(memoryview(b"text"))
        sink.close()
        assert name.read_text() == "text"
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    for name in (tmp_path / "fifo", "/dev/null"):
        File(str(name)).close()
    os.close(reader)
