"""The command line: SystemTap's shapes are understood, nonsense is refused in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stapy.cli import main, parse
from stapy.cli.texts import usage
from stapy.options.option import UsageError

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (["-e", "probe begin {}"], "script_text", "probe begin {}"),
        (["x.stp"], "script_file", "x.stp"),
        (["-"], "script_file", "-"),
        (["x.stp", "1", "-x", "5", "two"], "arguments", ["1", "two"]),
        (["x.stp", "--", "-x", "5"], "arguments", ["-x", "5"]),
        (["-wvp4", "x.stp"], "last_pass", 4),
        (["-gp2", "x.stp"], "guru", True),
        (["-vv", "x.stp"], "verbose", [2, 2, 2, 2, 2]),
        (["--vp", "01002", "x.stp"], "verbose", [0, 1, 0, 0, 2]),
        (["--vp=2", "x.stp"], "verbose", [2, 0, 0, 0, 0]),
        (["-DMAXACTION=5", "x.stp"], "defines", {"MAXACTION": "5"}),
        (["-D", "STP_NO_OVERLOAD", "x.stp"], "defines", {"STP_NO_OVERLOAD": "1"}),
        (["-G", "a=b=c", "x.stp"], "globals", {"a": "b=c"}),
        (["-d", "ext4", "x.stp"], "debug_modules", ["ext4"]),
        (["--all-modules", "x.stp"], "all_modules", True),
        (["--ldd", "x.stp"], "ldd", True),
        (["-m", "my_trace.ko", "x.stp"], "module_name", "my_trace"),
        (["-x", "12", "x.stp"], "target", 12),
        (["-c", "ls -l", "x.stp"], "command", "ls -l"),
        (["-T", "1.5", "x.stp"], "timeout", 1.5),
        (["-s4", "x.stp"], "buffer_mb", 4),
        (["-l", "syscall.*"], "listing", "syscall.*"),
        (["--vm", "x.stp"], "vm", True),
        (["--vm=6.1.0", "x.stp"], "vm_release", "6.1.0"),
        (["--sysroot=/usr", "-r", "6.1.0", "x.stp"], "sysroot", "/usr"),
        (["-i"], "interactive", True),
        (["--interactive", "x.stp"], "interactive", True),
        (["--disable-c", "x.stp"], "use_cache", False),
        (["--color", "x.stp"], "color", "always"),
        (["--color=never", "x.stp"], "color", "never"),
        (["x.stp"], "width", None),
        (["--width=0", "x.stp"], "width", 0),
        (["--width", "1000", "x.stp"], "width", 1000),
        (["--width=0", "-b", "-DHIST_WIDTH=9", "x.stp"], "width", 0),
        (["-I", "a", "-Ib", "x.stp"], "tapset_dirs", ["a", "b"]),
        (["-E", "probe end {}", "x.stp"], "extra_scripts", ["probe end {}"]),
        (["--modinfo=a=b=c", "--modinfo", "d=", "x.stp"], "modinfo", [("a", "b=c"), ("d", "")]),
        (["-P", "x.stp"], "prologue_search", True),
        (["--prologue-searching", "x.stp"], "prologue_search", True),
        (["--prologue-searching=always", "x.stp"], "prologue_search", True),
        (["-P", "--prologue-searching=never", "x.stp"], "prologue_search", False),
        (["--unprivileged", "x.stp"], "privilege", "stapusr"),
    ],
)
def test_options(words: list[str], field: str, value: object) -> None:
    assert getattr(parse(words), field) == value


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "A script must be specified. Try 'stapy --help'."),
        (["-E", "probe begin {}"], "-E adds to a script: -e is the option for one."),
        (["-p0", "x.stp"], "Invalid pass number '0' (should be 1-5)."),
        (["-p6", "x.stp"], "Invalid pass number '6' (should be 1-5)."),
        (["-s0", "x.stp"], "Invalid buffer size '0' (should be 1-4095)."),
        (["-m", "a-b", "x.stp"], "Invalid module name 'a-b'"),
        (["-m", "", "x.stp"], "Module name cannot be empty."),
        (["-c", "ls", "-x", "4", "x.stp"], "both -c and -x"),
        (["-p\u00b2", "x.stp"], "Invalid pass number '\u00b2' (should be 1-5)."),
        (["-s", "9" * 5000, "x.stp"], "(should be 1-4095)."),
        (["-x", "9" * 5000, "x.stp"], "Invalid target process ID number '999"),
        (["--target-namespaces", "9" * 5000, "x.stp"], "Invalid process ID number '999"),
        (["--vp=\u00b2", "x.stp"], "Invalid --vp argument '\u00b2'"),
        (["--rlimit-as=" + "9" * 5000, "x.stp"], "Unable to convert rlimit-as resource limit '999"),
        (["--download-debuginfo=" + "9" * 5000, "x.stp"], "is not a valid value. Use 'yes'"),
        (["-S", "9" * 5000, "-o", "f", "x.stp"], "for -S (should be 1-1073741824)."),
        (["-x", "abc", "x.stp"], "Invalid target process ID number 'abc'."),
        (["-x", "bash", "x.stp"], "The process of a program: -x $(pidof -s bash)"),
        (["-x", "x.stp"], "'x.stp'. A number is wanted, and the script comes last: -x PID x.stp"),
        (["-x", "a b/x.stp"], "the script comes last: -x PID 'a b/x.stp'"),
        (["-x", __file__], f"the script comes last: -x PID {__file__}"),
        (["--target-namespaces=x.stp"], "comes last: --target-namespaces=PID x.stp"),
        (["--target-namespaces=bash", "x.stp"], "--target-namespaces=$(pidof -s bash)"),
        (["-vm", "ok.stp"], "Invalid module name 'ok.stp' (may only use alphanumerics and"),
        (["-vm", "ok.stp"], "; did you mean '--vm'?"),
        (["-plot=a.svg", "ok.stp"], "'lot=a.svg' (should be 1-5); did you mean '--plot=a.svg'?"),
        (["-format=json", "ok.stp"], "did you mean '--format=json'?"),
        (["--build-in", "ok.stp"], "'ok.stp' was taken as the IMAGE of --build-in."),
        (["-o", "ok.stp"], "A script must be specified. Try 'stapy --help'. 'ok.stp' was taken"),
        (["--compatible=abc", "x.stp"], "Invalid --compatible 'abc' (should be a version of Sys"),
        (["--compatible=", "x.stp"], "Invalid --compatible ''"),
        (["-x", "4194305", "x.stp"], "Invalid target process ID number '4194305'."),
        (["-S", "1", "x.stp"], "-S needs an output file (-o FILE)."),
        (["-o", "", "x.stp"], "-o needs the name of a file."),
        (["-S", "1,b", "-o", "f", "x.stp"], "Invalid value 'b' for -S (should be 0-1073741824)."),
        (["-S", "", "-o", "f", "x.stp"], "for -S (should be 1-1073741824)."),
        (["--prologue-searching=now", "x.stp"], "(should be one of always, auto, never)"),
        (["--modinfo", "a", "x.stp"], "--modinfo wants NAME=VALUE, not 'a'."),
        (["--modinfo=a-b=c", "x.stp"], "--modinfo wants NAME=VALUE, not 'a-b=c'."),
        (["--prepare"], "--prepare makes the image of --build-in, which is not given."),
        (["--build-in=A B", "x.stp"], "Invalid --build-in 'A B' (should be auto, debian:SUITE"),
        *(
            (["-T", text, "x.stp"], f"Invalid timeout '{text}'")
            for text in ("0", "nan", "inf", "1e400")
        ),
        (["-G", "a", "x.stp"], "-G wants NAME=VALUE"),
        (["-D", "1=2", "x.stp"], "-D wants NAME=VALUE: '1' in '1=2' is no name."),
        (["-D", "A-B=2", "x.stp"], "-D wants NAME=VALUE: 'A-B' in 'A-B=2' is no name."),
        (["--suppress-time-limits", "x.stp"], "requires guru mode"),
        (["-e"], "option '-e' needs a value: SCRIPT"),
        (["-j", "x.stp"], "unknown option '-j'"),
        (["x.stp", "-5"], "stapy SCRIPT -- -5"),
        (["x.stp", "-5.5e3"], "stands behind '--'"),
        (["-e", "probe begin {}", "-file"], "stapy SCRIPT -- -file"),
        (["--format=xml", "x.stp"], "Invalid output format 'xml'"),
        (["--format=openmetrics", "x.stp"], "--metrics ADDRESS:PORT does it"),
        (["--format=json", "-b", "x.stp"], "--format cannot be given with -b"),
        (["--format=json", "--monitor", "x.stp"], "--format cannot be given with --monitor"),
        (["--format=json", "-DSTP_BULKMODE", "x.stp"], "--format cannot be given with -b"),
        (["--format=json", "--remote=a", "--remote-prefix", "x.stp"], "say their host"),
        (["--format=csv", "--remote=a", "--remote=b", "x.stp"], "--format=csv is for one host"),
        (["--format=csv", "-S", "1", "-o", "f", "x.stp"], "-S cannot be given with --format=csv"),
        (["--probe-effect", " ", "x.stp"], "--probe-effect wants a command"),
        (["--probe-effect-runs=5", "x.stp"], "--probe-effect-runs needs a command"),
        (["--probe-effect=ls", "--probe-effect-runs=2", "x.stp"], "should be 3-1000"),
        (["--probe-effect=ls", "-c", "ls", "x.stp"], "-c cannot be given with --probe-effect"),
        (["--probe-effect=ls", "-T", "1", "x.stp"], "-T cannot be given with --probe-effect"),
        (["--probe-effect=ls", "--remote=h", "x.stp"], "--remote cannot be given with --probe-eff"),
        (["--probe-effect=ls", "--plot=a.svg", "x.stp"], "--plot cannot be given with --probe-eff"),
        (["--plot=a.svg", "-p4", "x.stp"], "--plot cannot be given with -p4: it runs no script"),
        (["--plot=a.svg", "-l", "vfs.*"], "--plot cannot be given with -l and -L"),
        (["-L", "-v", "vfs.read"], "'-v' is none: options stand before them, as in 'stapy -v -L"),
        (["-l", "-vv"], "-l and -L take a probe point, and '-vv' is none"),
        (["--plot=a.svg", "-b", "x.stp"], "--plot cannot be given with -b"),
        (["--plot=a.svg", "--monitor", "x.stp"], "--plot cannot be given with --monitor"),
        (["--plot=a.svg", "-F", "x.stp"], "records, 'stapy plot FILE.jsonl' draws it"),
        (["--plot=a.svg", "--remote=a", "x.stp"], "what all hosts tell"),
        (["--plot=a.htm", "x.stp"], r"cannot draw 'a.htm': its name must end with .svg, .html or"),
        (["--plot=", "x.stp"], "cannot draw ''"),
        (["--plot=a.svg", "--plot", "b.png", "x.stp"], "--plot was given twice: 'a.svg' and 'b"),
        (["--metrics", ":9123", "x.stp"], "for --metrics: an address is needed before the port"),
        (["--metrics=a:x", "x.stp"], "Invalid value 'a:x' for --metrics: 'x' is no port"),
        (["--metrics=::1:1", "x.stp"], "an address of IPv6 stands in brackets"),
        (["--metrics=a:1", "--vm", "x.stp"], "--metrics cannot be given with --vm"),
        (["--metrics=a:1", "-F", "x.stp"], "--metrics cannot be given with -F without -o"),
        (["--metrics=a:1", "--privilege=stapusr", "x.stp"], "You can't specify --metrics when"),
        *(
            (
                [f"--width={text}", "x.stp"],
                f"Invalid --width '{text}' (should be 0 to 1000 columns).",
            )
            for text in ("-1", "1001", "wide", "7.5", "0x40", "1_0", "\u00b2", "9" * 5000)
        ),
        (["--width"], "option '--width' needs a value: COLUMNS"),
        (["--widht=7", "x.stp"], "did you mean '--width'?"),
        (["--width=70", "-DHIST_WIDTH=9", "x.stp"], "cannot be given with -D HIST_WIDTH"),
        (["--width=70", "-b", "x.stp"], "--width cannot be given with -b, whose files are"),
        (["--width=70", "--format=json", "x.stp"], "cannot be given with --format or --plot"),
        (["--width=70", "--plot=a.svg", "x.stp"], "cannot be given with --format or --plot"),
        (["--snapshots=1", "x.stp"], "--snapshots is for --format=json"),
        (["--snapshots=1", "--plot=a.svg", "x.stp"], "--snapshots is for --format=json"),
        (["--snapshots=0.01", "x.stp"], "(should be 0.1 to 86400 seconds)"),
        (["--snapshots=1", "--format=json", "-F", "x.stp"], "--snapshots cannot be given with -F"),
        (["--snapshots=1_0", "x.stp"], "Invalid --snapshots '1_0'"),
        (["-T", "1_0", "x.stp"], "Invalid timeout '1_0'"),
        (["--snapshots=nan", "x.stp"], "Invalid --snapshots 'nan'"),
        (["--snapshots=1", "--format=json", "--no-global-var-display", "x.stp"], "--no-global-v"),
        (["--on-overload=stop", "x.stp"], "(should be one of exit, throttle, disarm)"),
        (["--on-overload=disarm", "-DSTP_NO_OVERLOAD", "x.stp"], "with -D STP_NO_OVERLOAD"),
        (["--on-overload=throttle", "-g", "--suppress-time-limits", "x.stp"], "--on-overload"),
        (["-F", "--vm", "x.stp"], "the machine ends with the command"),
        (["--monitor", "--vm", "x.stp"], "--monitor cannot be given with --vm, whose machine has"),
        (["--monitor=5", "--vm=6.1", "x.stp"], "--monitor cannot be given with --vm"),
        (["-x", "4711", "--vm", "x.stp"], "-x 4711 cannot be given with --vm, whose machine has"),
        (["-b", "--vm", "x.stp"], "its files would end with the machine"),
        (["-F", "-c", "ls", "x.stp"], "-F without -o"),
        (["-i", "-"], "-i reads its commands from standard input"),
        (["-i", "-l", "begin"], "-l and -L cannot be given with -i"),
        (["--disable-cash", "x.stp"], "did you mean '--disable-cache'?"),
        (["--effect", "ls", "x.stp"], "did you mean '--probe-effect'?"),
        (["--on_overload=exit", "x.stp"], "did you mean '--on-overload'?"),
        (["--plotted=a.svg", "x.stp"], "did you mean '--plot'?"),
        (["--dyninstt", "x.stp"], "did you mean '--dyninst'?"),
        (["--vm6.1", "x.stp"], "unknown option '--vm6.1'; did you mean '--vm=6.1'?"),
        (["--width80", "x.stp"], "did you mean '--width=80'?"),
        (["--guru5", "x.stp"], "unknown option '--guru5' ("),
        (["-B", "FOO", "x.stp"], "-B wants NAME=VALUE or an option of make, not 'FOO'."),
        (["-B", "=1", "x.stp"], "-B wants NAME=VALUE or an option of make, not '=1'."),
        (["-a", "arm64", "-B", "ARCH=x86", "x.stp"], "-B ARCH x86 contradicts -a arm64"),
        (["-B", "ARCH=arm64", "-a", "x86_64", "x.stp"], "-a x86_64 contradicts -B ARCH arm64"),
        (["-a", "", "x.stp"], "-a '' is not supported"),
        (["-B", "CROSS_COMPILE=", "x.stp"], "-B CROSS_COMPILE= wants what"),
        (["--chrt", "x.stp"], "did you mean '--chart' of 'stapy plot'?"),
        (["--chart=bars", "x.stp"], "did you mean '--chart' of 'stapy plot'?"),
        (["--dump", "x.stp"], "could be any of: --dump-probe-types"),
        (["--vm=6.1", "-r", "6.1", "x.stp"], "--vm=RELEASE names the kernel"),
        (["--sysroot=/no/such", "x.stp"], "Invalid --sysroot '/no/such'"),
        (["--color=sometimes", "x.stp"], "Invalid argument for --color 'sometimes'"),
        (["--disable-cache=1", "x.stp"], "takes no value"),
    ],
)
def test_refused(words: list[str], text: str) -> None:
    with pytest.raises(UsageError, match=None) as caught:
        parse(words)
    assert text in str(caught.value)


def test_a_long_option_with_one_dash_is_told_where_it_is_another() -> None:
    (notice,) = parse(["-B", "modules", "ok.stp"]).notices
    assert notice.startswith("-B modules has no effect")
    assert parse(["ok.stp", "-monitor"]).notices == [
        "'-monitor' is '-m onitor'; did you mean '--monitor'?"
    ]
    for words in (["-vp", "4", "ok.stp"], ["-vm", "name", "ok.stp"], ["-vp4", "ok.stp"]):
        assert parse(words).notices == []


def test_usage_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-p9", "x.stp"]) == 1
    assert capsys.readouterr().err == "ERROR: Invalid pass number '9' (should be 1-5).\n"


EVIL = "a\nERROR: b\33[1m"  # what a terminal would obey, and a line that looks like ours


@pytest.mark.parametrize(
    "words",
    [[f"--{EVIL}"], ["-e", "", f"--format={EVIL}"], [EVIL], ["-m", EVIL, "-e", ""],
     ["doctor", f"--{EVIL}"], ["check", EVIL], ["test", EVIL]],
)  # fmt: skip
@pytest.mark.parametrize("form", ["rich", "systemtap", "short"])
def test_words_are_quoted_in_one_line(
    words: list[str],
    form: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STAPY_MESSAGE_FORMAT", form)
    assert main(words) > 0
    said = capsys.readouterr().err
    assert "ERROR: b\\033[1m" in said
    assert said.count("\n") <= 2 and "\33" not in said, said  # the second says which pass it was


def _slips(name: str) -> list[str]:
    """Mistype a name in the ways that fingers do."""
    middle = len(name) // 2
    return [
        name[:middle] + name[middle + 1 :],
        name[:middle] + name[middle] + name[middle:],
        name[: middle - 1] + name[middle] + name[middle - 1] + name[middle + 1 :],
        name[:middle] + "q" + name[middle + 1 :],
        name.replace("-", "_") + "q",
    ]


def test_slips_are_understood() -> None:
    """Whatever an option is called, its name with one slip leads to it."""
    from stapy.cli.option import LONG

    for name in (long for long in LONG if len(long) > 3 and long != "colour"):  # or color
        for slip in _slips(name):
            if any(long.startswith(slip) for long in LONG):
                continue  # a beginning is enough
            with pytest.raises(UsageError, match=f"did you mean '--{name}'"):
                parse([f"--{slip}", "x.stp"])


def test_help_names_every_option() -> None:
    from stapy.options.table import TABLE

    text = usage()
    for option in TABLE:
        assert (f"-{option.short}" if option.short else f"--{option.long}") in text


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("-p1 -DONE=1 # for me\n-e 'probe begin { println(\"by rc\") }'", 0, "by rc"),
        ("--nosuch", 1, "ERROR: unknown option '--nosuch'"),
        ("'not closed", 1, "rc': No closing quotation."),
    ],
)
def test_options_of_the_user(
    text: str,
    status: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """``$SYSTEMTAP_DIR/rc`` is read first."""
    monkeypatch.setenv("SYSTEMTAP_DIR", str(tmp_path))
    (tmp_path / "rc").write_text(text)
    assert main([]) == status
    told = capsys.readouterr()
    assert said in told.out + told.err


RUN = ["stapy.run", "--help"]
WRITERS = [["stapy", "--help"], ["stapy", "-V"], ["stapy", "-h", "-v"], ["stapy", "-V", "-v"],
           ["stapy", "--explain", "E0201"], ["stapy", "-p1", "-e", "probe begin { }"],
           ["stapy", "-l", "timer.*"], RUN, ["stapy.run", "-V"]]  # fmt: skip


def _written(words: list[str], out: int, err: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, stdout=out, stderr=err, text=True, check=False
    )


@pytest.mark.parametrize("words", WRITERS)
def test_a_reader_who_left_is_no_error(words: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = _written(words, write, subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", WRITERS)
def test_a_full_disk_is_one(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = _written(words, full.fileno(), subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == "ERROR: cannot write: No space left on device\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "words", [["stapy", "--help"], ["stapy", "--example"], ["stapy.run", "-h"]]
)
def test_a_file_that_takes_a_part_only(
    words: list[str], unbuffered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written of it is no success; not with streams that Python does not buffer either."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with (tmp_path / "out").open("w") as out:
        done = _written(["tests.limited", "fsize", "100", *words], out.fileno(), subprocess.PIPE)
    assert (tmp_path / "out").stat().st_size == 100
    assert (done.returncode, done.stderr) == (1, "ERROR: cannot write: File too large\n")


@pytest.mark.parametrize("words", [["-p1", "-e", "probe {"], ["-p9"], ["-p1", "/no/such"]])
def test_messages_that_nobody_can_be_told(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Path("/dev/full").open("w") as full:
        done = _written(["stapy", *words], subprocess.PIPE, full.fileno())
    assert (done.returncode, done.stdout) == (1, "")
    read, write = os.pipe()
    os.close(read)
    done = _written(["stapy", *words], subprocess.PIPE, write)
    os.close(write)
    assert (done.returncode, done.stdout) == (1, "")
    assert not list(tmp_path.iterdir())  # it is no mistake of ours, to be reported


def test_help_says_what_becomes_of_suppressed_errors() -> None:
    assert "run-time errors are quiet: they are only counted" in usage()
