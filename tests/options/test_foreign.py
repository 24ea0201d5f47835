"""Every option of stap(1) and staprun(8): its effect is seen, or a line says that it has none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.cli import main, parse
from stapy.options.option import UsageError
from stapy.run.cli import main as run_main

ROOT = Path(__file__).resolve().parents[2]

# Names as the manual pages of SystemTap 5.6 have them.
_STAP = """
- -h --help -V --version -p -v --vp -k -g -P -u -w -W -b -i --interactive -t -s -I -D -B -a
--modinfo -G -R -r -m -d --ldd --all-modules -o -c -x -e -E -l -L -F -S -T --skip-badvars
--prologue-searching --suppress-handler-errors --compatible --check-version --clean-cache --color
--colour --disable-cache --poison-cache --privilege --unprivileged --use-server
--use-server-on-error --list-servers --trust-servers --sign-module --dump-probe-types
--dump-probe-aliases --dump-functions --remote --remote-prefix --download-debuginfo --rlimit-as
--rlimit-cpu --rlimit-nproc --rlimit-stack --rlimit-fsize --sysroot --sysenv
--suppress-time-limits --runtime --dyninst --bpf --save-uprobes --target-namespaces --monitor
--example --no-global-var-display -q --tmpdir --benchmark-sdt --language-server --build-as
--use-http-server --client-options --semantic-keep-going
"""
_STAPRUN = "-v -V -h -w -u -c -x -N -o -b -L -A -C -M -d -D -R -r -S -T -i -F"
STAP, STAPRUN = _STAP.split(), _STAPRUN.split()

HELLO = "probe begin { println(1) }"
C = "probe begin { println(%{ 1 %}) }"
# The option, a command line, and what is printed then: both streams as one text.
SHOWN = [
    ("-h", "-h", "Usage: stapy"),
    ("--help", "--help", "Usage: stapy"),
    ("-V", "-V", r"\ASystemtap translator/driver \(version \d+\.\d+/\S+, "),
    ("--version", "--version", r"\ASystemtap translator/driver \(version \d+\.\d+/\S+, "),
    ("-p", "-p1 -e HELLO", "# parse tree dump"),
    ("-v", "-v -p1 -e HELLO", r"Pass 1: parsed user script and \d+ library scripts using "),
    ("--vp", "--vp 1 -p1 -e HELLO", "Pass 1: parsed user script"),
    ("-g", "-g -p1 -e C", r"println\(%\{ 1 %\}\)"),
    ("-u", "-u -p2 -e UNUSED", "nobody"),
    ("-w", "-w -p1 -e HELLO word", r"\A# parse tree"),
    ("-W", "-W -p1 -e HELLO word", "Pass 1: parse failed"),
    ("-t", "-t -p3 -e HELLO", r"\.timing = 1"),
    ("-s", "-s 7 -p3 -e HELLO", rf"\.buffer_bytes = {7 << 20}"),
    ("-I", "-I FOLDER -p2 -e SHARED", "from_the_folder"),
    ("-D", "-D MAXACTION=77 -p3 -e HELLO", "#define MAXACTION 77"),
    ("--modinfo", "--modinfo=a=b -p3 -e HELLO", r'MODULE_INFO\(a, "b"\)'),
    ("-G", "-G x=5 -p3 -e GLOBAL", "module_param"),
    ("-R", "-R FOLDER -p1 -e HELLO", "is not a runtime of stapy"),
    ("-r", "-r 1.2.3 -p1 -e HELLO", "missing kernel-devel package"),
    ("-m", "-m mine -p3 -e HELLO", r'\.name = "mine"'),
    ("-d", "-d nosuch -p3 -e BACKTRACE", "nosuch"),
    ("-e", "-p1 -e HELLO", r"println\(1\)"),
    ("-E", "-E OTHER -p1 -e HELLO", "probe end"),
    ("-l", "-l begin", r"\Abegin\n"),
    ("-L", "-L begin", r"\Abegin\n"),
    ("--prologue-searching", "--prologue-searching=x -e HELLO", "always, auto, never"),
    ("--suppress-handler-errors", "--suppress-handler-errors -p3 -e HELLO",
     r"\.suppress_handler_errors = 1"),
    ("--suppress-time-limits", "-g --suppress-time-limits -p3 -e HELLO",
     r"\.suppress_time_limits = 1"),
    ("--compatible", "--compatible=2.2 -p1 -e VERSION", r"println\(2\)"),
    ("--compatible", "--compatible=99 -p1 -e HELLO", "cannot be compatible with future version 99"),
    ("--check-version", "--check-version -p1 -e VERSION",
     "This probe uses tapset constructs that are dependent on systemtap version"),
    ("--color", "--color=always -p1 -e WRONG", "\x1b\\[01;31m"),
    ("--colour", "--colour=always -p1 -e WRONG", "\x1b\\[01;31m"),
    ("--privilege", "--privilege=nobody -p1 -e HELLO", "stapusr, stapsys, stapdev"),
    ("--unprivileged", "--unprivileged -p1 -e PRIVILEGE", r"println\(2\)"),
    ("--dump-probe-types", "--dump-probe-types", r"kernel\.trace"),
    ("--dump-probe-aliases", "--dump-probe-aliases", r"syscall\.openat\b"),
    ("--dump-functions", "--dump-functions", r"execname:string \(\)"),
    ("--target-namespaces", "--target-namespaces=x -p1 -e HELLO", "Invalid process ID number 'x'"),
    ("--sysroot", "--sysroot=/nosuch -p1 -e HELLO", "Invalid --sysroot"),
    ("--runtime", "--runtime=kernel -p1 -e RUNTIME", r"println\(1\)"),
    ("--runtime", "--runtime=nosuch -p1 -e HELLO", "nosuch is an invalid argument for --runtime"),
    ("--remote", "--remote=direct:// -p1 -e HELLO", r"println\(1\)"),
    ("--remote", "--remote=host -r 1 -e HELLO", "-r cannot be given with --remote"),
    ("--rlimit-as", "--rlimit-as=x -e HELLO", "Unable to convert rlimit-as resource limit 'x'"),
    ("--example", "--example nosuch.stp", "there is no example 'nosuch.stp'"),
    ("-a", "-a MACHINE -p1 -e HELLO", r"println\(1\)"),
]  # fmt: skip
# What only a later pass shows, and where that is tested.
ELSEWHERE = {
    "-": 'tests/options/test_cli.py: "-"',
    "-k": "tests/vm/test_options.py: -k",
    "-P": "tests/options/test_at_work.py: -P",
    "-B": "tests/build/test_driver.py: kbuild_flags",
    "--all-modules": "tests/translate/test_lines.py: all",
    "--ldd": "tests/vm/test_user_tables.py: --ldd",
    "-o": "tests/vm/test_consumer.py: -o",
    "-c": "tests/vm/test_consumer.py: -c",
    "-x": "tests/vm/test_consumer.py: target",
    "-F": "tests/vm/test_options.py: -F",
    "-S": "tests/vm/test_consumer.py: -S",
    "-T": "tests/vm/test_consumer.py: -T",
    "--skip-badvars": "tests/elaborate/test_effects.py: skip_badvars",
    "--clean-cache": "tests/cache/test_store.py: clean",
    "--disable-cache": "tests/options/test_cli.py: --disable-c",
    "--poison-cache": "tests/build/test_places.py: poison",
    "--rlimit-cpu": 'tests/options/test_at_work.py: "cpu"',
    "--rlimit-nproc": 'tests/options/test_at_work.py: "nproc"',
    "--rlimit-stack": 'tests/options/test_at_work.py: "stack"',
    "--rlimit-fsize": 'tests/options/test_at_work.py: "fsize"',
    "--no-global-var-display": "tests/elaborate: autoprint",
    "--tmpdir": "tests/vm/test_options.py: tmpdir",
    "-i": "tests/shell/test_process.py: -i",
    "--interactive": "tests/options/test_cli.py: --interactive",
    "--language-server": "tests/editor/test_server.py: test_diagnostics",
    "-b": "tests/vm/safety/test_bulk.py: -b",
    "--monitor": "tests/vm/test_monitor.py: --monitor",
    "--sign-module": "tests/vm/test_secure_boot.py: --sign-module",
}
REFUSED = [
    "-q", "-a sparc", "--dyninst", "--bpf", "--runtime=bpf",
    "--use-server", "--use-server=h:1", "--use-http-server=h", "--list-servers",
    "--trust-servers=ssl", "--use-server-on-error", "--client-options", "--remote=libvirt://guest",
    "--remote=unix:/run/s", "--build-as=me", "--semantic-keep-going", "--benchmark-sdt", "--debug",
]  # fmt: skip
WARNED = [
    "--save-uprobes", "--remote-prefix", "--download-debuginfo", "--download-debuginfo=30",
    "-D MAXUPROBES=5",
]  # fmt: skip

# Macros that would change C that is not the script's.
REFUSED_DEFINES = [
    ("-D true=0", "C or the kernel has a meaning for this name"),
    ("-D maxaction=3", "did you mean -D MAXACTION?"),
    ("-D STP_MAX_BUCKETS=20000", "takes at most 4090"),
]

TEXTS = {
    "HELLO": HELLO,
    "C": C,
    "UNUSED": "function nobody() { return 1 } probe begin { println(1) }",
    "SHARED": "probe begin { from_the_folder() }",
    "GLOBAL": "global x = 1 probe begin { println(x) }",
    "BACKTRACE": "probe begin { print_stack(backtrace()) println(symfileline(1)) }",
    "OTHER": "probe end { println(2) }",
    "WRONG": "probe begin {",
    "VERSION": 'probe begin { println(%( systemtap_v >= "3.0" %? 1 %: 2 %)) }',
    "PRIVILEGE": 'probe begin { println(%( systemtap_privilege == "stapdev" %? 1 %: 2 %)) }',
    "RUNTIME": 'probe begin { println(%( runtime == "kernel" %? 1 %: 2 %)) }',
    "MACHINE": "x86_64",
}


def said(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    words = [TEXTS.get(word, word).replace("FOLDER", str(folder)) for word in line.split()]
    status = main(words)
    told = capsys.readouterr()
    return status, told.out + told.err


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STAPY_MESSAGE_FORMAT", raising=False)
    (tmp_path / "tapset.stp").write_text("function from_the_folder() { println(3) }")


@pytest.mark.parametrize(("option", "line", "shown"), SHOWN, ids=[line for _, line, _ in SHOWN])
def test_has_its_effect(
    option: str, line: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(line, tmp_path, capsys)[1]
    assert re.search(shown, text), text[:3000]
    assert "mistake in stapy" not in text


@pytest.mark.parametrize("line", REFUSED)
def test_is_refused_in_one_line(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = said(f"{line} -p1 -e HELLO", tmp_path, capsys)
    assert status == 1
    assert re.fullmatch(r"ERROR: -.* is not supported: .{20,}\.\n", text)


@pytest.mark.parametrize(("line", "why"), REFUSED_DEFINES)
def test_a_macro_is_refused(
    line: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = said(f"{line} -p2 -e HELLO", tmp_path, capsys)
    assert status == 1
    assert text.count("semantic error: ") == 1
    assert line.split("=")[0] in text and why in text


@pytest.mark.parametrize("line", WARNED)
def test_is_a_warning(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = said(f"{line} -p1 -e HELLO", tmp_path, capsys)
    assert status == 0
    assert len(re.findall(r"^WARNING: -.* has no effect: .{16,}", text, re.M)) == 1, text
    assert "println(1)" in text
    assert "WARNING" not in said(f"-w {line} -p1 -e HELLO", tmp_path, capsys)[1]


def test_the_environment_of_a_sysroot() -> None:
    options = parse(["--sysroot=/", "--sysenv=PATH=/bin", "-e", HELLO])
    assert options.notices[0].startswith("--sysenv=PATH=/bin has no effect: ")
    with pytest.raises(UsageError, match="--sysenv must follow --sysroot"):
        parse(["--sysenv=PATH=/bin", "-e", HELLO])


@pytest.mark.parametrize("option", ["--use-server-on-error=no", "--download-debuginfo=no"])
def test_the_default_may_be_said(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "WARNING" not in said(f"{option} -p1 -e HELLO", tmp_path, capsys)[1]


@pytest.mark.parametrize("option", STAP)
def test_none_is_taken_in_silence(option: str) -> None:
    known = {name for name, _, _ in SHOWN} | set(ELSEWHERE)
    known |= {re.split("[ =]", line)[0] for line in REFUSED + WARNED}
    assert option in known | {"--sysenv"}


@pytest.mark.parametrize(("option", "where"), ELSEWHERE.items())
def test_what_is_shown_elsewhere_is(option: str, where: str) -> None:
    place, _, word = where.partition(": ")
    files = [ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("*.py"))
    assert any(word in file.read_text() for file in files)


RUN = {
    "-V": r"\ASystemtap module loader/runner \(version \d+\.\d+/",
    "-h": r"\AUsage: stapy-run",
    "-u x.ko": r"ERROR: -u is not supported: the kernel has its own uprobes",
    "-N x x.ko": "Invalid value 'x' for -N",
    "-M 0 x.ko": "Invalid value '0' for -M",
    "-r 1:ssh://h x.ko": "ERROR: -r is not supported",
    "-F 3 x.ko": "ERROR: -F is not supported",
    "-D x.ko": "ERROR: -D needs an output file",
    "-S 1 x.ko": "ERROR: -S needs an output file",
    "-C sometimes x.ko": "Invalid value 'sometimes' for -C",
    "-x a x.ko": "Invalid value 'a' for -x",
    "-b 0 x.ko": "Invalid value '0' for -b",
    "-T x x.ko": "Invalid timeout 'x'",
    "-v": "ERROR: no module was named. Try 'stapy-run --help'.",
    "--message-format=json": r'\A\{"severity": "error", "kind": "ERROR", "pass": 5, "message": ',
}
# Shown by tests/vm/test_consumer.py, test_options.py and test_input.py.
RUN_ELSEWHERE = {"-w", "-c", "-o", "-L", "-A", "-d", "-R", "-i"}


@pytest.mark.parametrize(("line", "shown"), RUN.items())
def test_staprun(line: str, shown: str, capfd: pytest.CaptureFixture[str]) -> None:
    run_main(line.split())
    told = capfd.readouterr()
    assert re.search(shown, told.out + told.err), told


@pytest.mark.parametrize("option", STAPRUN)
def test_none_of_staprun_is_taken_in_silence(option: str) -> None:
    assert option in {line.split()[0] for line in RUN} | RUN_ELSEWHERE
    if option in RUN_ELSEWHERE:
        folder = ROOT / "tests" / "vm"
        names = ("test_consumer.py", "test_options.py", "test_input.py")
        texts = [(folder / name).read_text() for name in names]
        assert any(f"{option} " in text.partition("$run ")[2] for text in texts)


def test_the_time_of_staprun_is_another(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """staprun -T is in milliseconds and ends nothing; ours would end the session."""
    from stapy.run.cli import as_staprun

    words = ["-v", "-T", "200", "-o", "-T", "-T5", "x.ko", "-T", "1"]
    assert as_staprun(words) == ["--width=0", "-v", "-o", "-T", "x.ko", "-T", "1"]
    assert capfd.readouterr().err.count("has no effect") == 2


@pytest.mark.parametrize("word", ["--width=70", "--width"])
def test_staprun_draws_as_wide_as_it_is_told(word: str) -> None:
    from stapy.run.cli import as_staprun

    words = [word, "70", "x.ko"]
    assert as_staprun(words) == words
