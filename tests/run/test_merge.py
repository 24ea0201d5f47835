"""Files of bulk mode are put together in the order of time, and what is missing is told."""

import struct
from pathlib import Path

import pytest

from stapy.run import merge


def piece(stamp, text, lost=0, overwritten=0, why=None):
    """As runtime/transport/ring.h has it; without ``why`` as it was before that told causes."""
    rest = b"\xaa" * (-len(text) % 8)
    magic = 0x31425053 if why is None else 0x32425053
    head = struct.pack("<IIQQQ", magic, len(text), stamp, lost, overwritten)
    return head + (b"" if why is None else struct.pack("<II", why, 0)) + text + rest


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(**texts):
        for name, data in texts.items():
            Path(name).write_bytes(data)
        return list(texts)

    return write


def test_in_the_order_of_time(files, capfdbinary):
    names = files(
        out_0=piece(1, b"a\n") + piece(4, b"long ") + piece(4, b"line\n") + piece(9, b"z\n"),
        out_1=piece(2, b"b\n") + piece(4, b"same\n"),
        out_2=b"",
    )
    assert merge.main(names) == 0
    assert capfdbinary.readouterr() == (b"a\nb\nlong line\nsame\nz\n", b"")


def test_what_is_missing_is_told_where_it_is_missing(files, capfdbinary):
    names = files(out_3=piece(5, b"x\n", 7, 9) + piece(8, b"", 11), out_4=piece(4, b"y\n"))
    assert merge.main(names) == 0
    want = (
        b"y\n[overwrote 9 bytes on cpu 3]\n[lost 7 bytes on cpu 3]\nx\n[lost 11 bytes on cpu 3]\n"
    )
    assert capfdbinary.readouterr().out == want


def test_causes_are_told_with_what_is_missing(files, capfdbinary):
    names = files(
        out_3=piece(5, b"x\n", 7, 9, 3) + piece(8, b"y\n", 0, 0, 0), out_4=piece(6, b"z\n")
    )
    assert merge.main(names) == 0
    want = (
        b"[overwrote 9 bytes on cpu 3]\n[lost 7 bytes on cpu 3: reader too slow, reader stopped]\n"
    )
    assert capfdbinary.readouterr().out == want + b"x\nz\ny\n"


def test_verbose_and_into_a_file(files, capfdbinary):
    names = files(out_0=piece(1, b"a\n") + piece(3, b"ccc\n"), out_1=piece(2, b"b\n"))
    assert merge.main(["-v", "-o", "all", *names]) == 0
    assert capfdbinary.readouterr() == (b"", b"")
    assert Path("all").read_text().splitlines() == [
        *("[CPU:0, seq=0, length=2]", "a"),
        *("[CPU:1, seq=0, length=2]", "b"),
        *("[CPU:0, seq=1, length=4]", "ccc"),
    ]


@pytest.mark.parametrize(
    ("data", "message", "printed"),
    [
        (piece(1, b"a\n")[:-1], "'out_0' ends in the middle of a piece, at byte 0", b""),
        (
            piece(1, b"a\n", why=0) + piece(2, b"b\n", why=0)[:36],
            "'out_0' ends in the middle of a piece, at byte 48",
            b"a\n",
        ),
        (piece(1, b"a\n") + b"SPB1", "'out_0' ends in the middle of a piece, at byte 40", b"a\n"),
        (piece(1, b"a\n") + bytes(32), "'out_0' has no piece of bulk output at byte 40", b"a\n"),
        (b"text" * 20, "'out_0' is no file of bulk mode (stapy -b)", b""),
    ],
)
def test_damaged_files(files, capfdbinary, data, message, printed):
    names = files(out_0=data, out_1=piece(2, b"b\n"))
    assert merge.main(names) == 1
    assert capfdbinary.readouterr() == (printed + b"b\n", f"ERROR: {message}\n".encode())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no file was named. Try 'stapy-merge --help'."),
        (["-x", "out_0"], "unknown option '-x'. Try 'stapy-merge --help'."),
        (["-o"], "option '-o' needs a value. Try 'stapy-merge --help'."),
        (["none"], "Couldn't open 'none': No such file or directory"),
        (["-oout_0", "out_0"], "'out_0' is one of the files to be merged"),
        (["-o/none/x", "out_0"], "Couldn't open output file '/none/x': No such file or directory"),
    ],
)
def test_refused(files, capfd, words, message):
    files(out_0=piece(1, b"a\n"))
    assert merge.main(words) == 1
    assert capfd.readouterr().err == f"ERROR: {message}\n"
    assert Path("out_0").read_bytes() == piece(1, b"a\n")


def test_help(capfd):
    assert merge.main(["-h"]) == 0
    assert capfd.readouterr().out == merge.USAGE
