"""``stapy check``: which kernels and options count, the forms of what it finds, its exit status."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stapy import cli
from stapy.session.check import Message
from stapy.tools import outcomes
from tests.debuginfo.btfwriter import BtfWriter
from tests.program import ROOT

GOOD = 'probe kernel.function("vfs_read") { println($count) }\n'
BAD = 'probe kernel.function("vfs_raed") { println(1) }\n'
WARNED = "global unused\nprobe begin { println(1) }\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with scripts and the BTF of two kernels; the newer one has no vfs_read."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("good", GOOD), ("bad", BAD), ("warned", WARNED)):
        Path(f"{name}.stp").write_text(text)
    for name, function in (("old", "vfs_read"), ("new", "vfs_reader")):
        writer = BtfWriter()
        number = writer.int("unsigned long", 8)
        writer.function(function, number, [("count", number)])
        Path(f"{name}.btf").write_bytes(writer.data())
    return tmp_path


def test_what_is_wrong_for_several_kernels_is_told_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("wrong.stp").write_text("probe begin { x = }\n")
    Path("both.stp").write_text(f"global unused\n{GOOD}")
    assert check(*OLD, *NEW, "--message-format=short", "wrong.stp", "both.stp") == 1
    out = capsys.readouterr().out
    heads = [line for line in out.splitlines() if line.startswith("---")]
    assert heads[0] == "--- wrong.stp for 6.1.0-test, 6.12.0-test" and out.count("E0105") == 1
    assert "--- both.stp for 6.12.0-test" in heads and out.count("both.stp:2:14") == 1
    assert len(heads) == len({*heads})


def check(*words: str) -> int:
    return cli.main(["check", *words])


OLD = ("--btf", "6.1.0-test=old.btf")
NEW = ("--btf", "6.12.0-test=new.btf")


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        ([*OLD, "good.stp"], 0, ""),
        ([*OLD, "bad.stp"], 1, "bad.stp:1:14: semantic error: no match (similar functions"),
        ([*OLD, "good.stp", "bad.stp", "good.stp"], 1, "bad.stp:1:14"),
        ([*NEW, "good.stp"], 1, "good.stp:1:14: semantic error"),
        ([*OLD, *NEW, "good.stp"], 1, "--- good.stp for 6.12.0-test\ngood.stp:1:14"),
        ([*OLD, "warned.stp"], 0, "warned.stp:1:8: warning"),
        ([*OLD, "-W", "warned.stp"], 1, "warned.stp:1:8: warning"),
        ([*OLD, "-W", "-w", "warned.stp"], 0, ""),
        (["--btf", "6.1.0=good.stp", "good.stp"], 1, "error: 'good.stp' has no BTF"),
    ],
)  # fmt: skip
def test_status_and_text(
    folder: Path,
    words: list[str],
    status: int,
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert check("--message-format=short", *words) == status
    said = capsys.readouterr()
    assert (told in said.out) if told else not said.out
    assert said.err == ""


def test_the_usual_form_shows_the_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(*OLD, "bad.stp") == 1
    assert f" 1 | {BAD}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--btf", "old.btf", "good.stp"], "--btf wants RELEASE=FILE, such as 6.1"),
        (["--btf", "6.1=gone.btf", "good.stp"], "'gone.btf': No such file or directory"),
        ([*OLD, "--config", "gone", "good.stp"], "'gone': No such file or directory"),
        ([*OLD, *NEW, "--config", "old.btf", "good.stp"], "--config is that of one --btf"),
        ([*OLD, "gone.stp"], "'gone.stp': No such file or directory"),
        ([*OLD, "probe begin {}"], "No such file or directory; that is the text of a script"),
        (["-r", "1.2.3-nosuch", "good.stp"], "Incorrect version or missing kernel-devel package"),
        ([*OLD, "good.stp", "--", "--nosuch"], "unknown option '--nosuch'"),
        ([*OLD], "the following arguments are required: SCRIPT"),
        (["-r", "6." + "9" * 5000, "good.stp"], "Incorrect version or missing kernel-devel"),
        ([*OLD, "-o", "/dev/full", "bad.stp"], "'/dev/full' cannot be written: No space left"),
        ([*OLD, "--message-format=junit", "-o", "/dev/full", "bad.stp"], "'/dev/full' cannot be"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(
    folder: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(*words) == 2
    said = capsys.readouterr()
    assert told in said.err and said.out == ""


def test_an_unreadable_script_does_not_hide_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(*OLD, "gone.stp", "bad.stp") == 2
    assert "vfs_raed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("first_line", "words", "status", "told"),
    [
        ("#! /usr/bin/stap -g", [], 0, ""),
        ("#!/usr/bin/env -S stap -g", [], 0, ""),
        ("#! /usr/bin/stap", [], 1, "embedded expression code in unprivileged script"),
        ("", [], 1, "embedded expression code in unprivileged script"),
        ("", ["--", "-g"], 0, ""),
        ("#! /usr/bin/stap -g --nosuch", [], 1, "x.stp:1:1: parse error: options of"),
        # The last option's value is missing: it is not what we would put behind it.
        ("#! /usr/bin/stap -g --metrics", [], 1, "x.stp:1:1: parse error: options of the first "
         "line: option '--metrics' needs a value: ADDR:PORT"),
        ("#! /usr/bin/stap -g -D", [], 1, "x.stp:1:1: parse error: options of the first line: "
         "option '-D' needs a value"),
        ("#! /usr/bin/stap -g --metrics -- 1", [], 1, "for --metrics: an address is needed"),
        ("#! /usr/bin/stap -j", [], 1, "unknown option '-j' ('stapy --help' lists them)"),
        ("#! /usr/bin/stap -e x", [], 1, "first line: Only one script can be given"),
        ("#! /bin/bash -g", [], 1, "embedded expression code in unprivileged script"),
        ("#!/usr/bin/env -S python3 stap -g", [], 1, "embedded expression code"),
        # What would do something besides translating is not heeded.
        ("#! /usr/bin/stap -g --clean-cache -o gone -p5 -W", [], 0, ""),
    ],
)  # fmt: skip
def test_options(
    folder: Path,
    first_line: str,
    words: list[str],
    status: int,
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("x.stp").write_text(f"{first_line}\nprobe begin {{ %{{ ; %}} println(1) }}\n")
    assert check("--message-format=short", *OLD, "x.stp", *words) == status
    said = capsys.readouterr()
    assert told in said.out and bool(told) == bool(said.out)
    assert not Path("gone").exists()


def test_a_kernel_of_the_architecture_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """-a chooses the kernel here as well; without one there is nothing to check by."""
    assert check("good.stp", "--", "-a", "arm64") == 2
    assert "not for arm64" in capsys.readouterr().err


def test_options_behind_the_hyphens(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(*OLD, "bad.stp", "--", "--metrics") == 2
    assert "stapy check: option '--metrics' needs a value" in capsys.readouterr().err


def test_arguments_of_the_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.stp").write_text("probe begin { println($1 + 1) }\n")
    assert check(*OLD, "x.stp", "--", "12") == 0
    assert check(*OLD, "x.stp") == 1
    assert "$1" in capsys.readouterr().out
    Path("x.stp").write_text('#! /usr/bin/stap -- 12 "a b"\nprobe begin { println($1 + 1, @2) }\n')
    assert check(*OLD, "x.stp") == 0


def test_standard_input_is_read_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert check("--message-format=short", *OLD, *NEW, "-") == 1
    assert capsys.readouterr().out.count("<stdin>:1:14: semantic error: no match") == 2


def test_more_text_for_all_scripts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.stp").write_text("probe begin { println(helper()) }\n")
    assert check(*OLD, "x.stp", "--", "-E", "function helper() { return 1 }") == 0
    assert check(*OLD, "x.stp") == 1
    assert "helper" in capsys.readouterr().out


def test_what_is_found_is_written_at_once(folder: Path) -> None:
    assert check(*OLD, "-o", "nowhere/log", "bad.stp") == 2
    assert check("--message-format=json", "-o", "log", *OLD, "bad.stp", "bad.stp") == 1
    assert len(Path("log").read_text().splitlines()) == 2


def test_a_check_that_is_cut_off_leaves_what_was_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    Path("log").write_text("before")
    monkeypatch.setattr("stapy.tools.check.checked", cut_off)
    assert check("--message-format=sarif", "-o", "log", *OLD, "bad.stp") == 1
    assert Path("log").read_text() == "before"


def test_configuration(folder: Path) -> None:
    Path("config").write_text("CONFIG_SMP=y\n")
    Path("x.stp").write_text(
        'probe begin { %( CONFIG_SMP == "y" %? println(1) %: nosuch() %) }\n'
    )  # fmt: skip
    assert check(*OLD, "x.stp") == 1
    assert check(*OLD, "--config", "config", "x.stp") == 0


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--message-format=json", *OLD, *NEW, "bad.stp", "warned.stp") == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = [(row["script"], row["kernel"], row["severity"], row["line"]) for row in rows]
    assert told == [
        ("bad.stp", "6.1.0-test", "error", 1),
        ("bad.stp", "6.12.0-test", "error", 1),
        ("warned.stp", "6.1.0-test", "warning", 1),
        ("warned.stp", "6.12.0-test", "warning", 1),
    ]


def test_sarif(folder: Path) -> None:
    """What is wrong for two kernels in the same way is one result, with a rule and a place."""
    Path("odd name.stp").write_text(BAD)
    words = ["--message-format=sarif", "-o", "log", *OLD, *NEW]
    assert check(*words, "good.stp", "odd name.stp", "warned.stp", "gone.stp") == 2
    (run,) = json.loads(Path("log").read_text())["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (note,) = invocation["toolExecutionNotifications"]
    assert note["message"]["text"] == "'gone.stp': No such file or directory"
    rules = {
        rule["id"]: rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]
    }
    found = {}
    for result in run["results"]:
        (location,) = result["locations"]
        place = location["physicalLocation"]
        kernels = result["properties"]["kernels"]
        assert rules[result["ruleId"]]
        found[place["artifactLocation"]["uri"], result["level"], len(kernels)] = place["region"]
    assert set(found) == {
        ("good.stp", "error", 1),
        ("odd%20name.stp", "error", 1),  # the nearest names differ
        ("warned.stp", "warning", 2),
    }
    place = found["warned.stp", "warning", 2]
    assert place == {"startLine": 1, "startColumn": 8, "endLine": 1, "endColumn": 14}


def sarif_types() -> tuple[str, Path]:
    """Find TypeScript's compiler and the types of SARIF 2.1.0, made from its schema."""
    modules = ROOT / "editors/vscode/node_modules"
    compiler, types = modules / "typescript/bin/tsc", modules / "@types/sarif"
    node = shutil.which("node") or shutil.which("node", path=str(Path(sys.executable).parent))
    if not (node and compiler.exists() and types.exists()):
        pytest.skip("node, TypeScript or the types of SARIF are not installed")
    return f"{node} {compiler} --noEmit --strict --types sarif", types.parent.resolve()


def misfits(log: str) -> str:
    """Hold a log against the standard: members that are missing, unknown, or of another type."""
    command, types = sarif_types()
    Path("log.ts").write_text(f'import type {{ Log }} from "sarif";\nconst log: Log = {log};\n')
    Path("node_modules").mkdir(exist_ok=True)
    if not Path("node_modules/@types").exists():
        Path("node_modules/@types").symlink_to(types)
    words = [*command.split(), "--typeRoots", str(types), "log.ts"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode == 0) == (not done.stdout), done.stderr
    return done.stdout


@pytest.mark.slow
def test_sarif_is_as_the_standard_has_it(folder: Path) -> None:
    Path("odd name.stp").write_text(BAD)
    Path("labels.stp").write_text('global x\nprobe begin { x = 1; x = "a" }\n')
    Path("broken.stp").write_text("probe begin { println(1) }}\n")
    words = ["--message-format=sarif", "-o", "log", *OLD, *NEW]
    scripts = ("good.stp", "odd name.stp", "warned.stp", "labels.stp", "broken.stp", "gone.stp")
    assert check(*words, *scripts) == 2
    log = Path("log").read_text()
    assert misfits(log) == ""
    (run,) = json.loads(log)["runs"]
    assert any("relatedLocations" in one for one in run["results"])
    # What types do not say: places begin with 1, and each result has a rule that is told.
    rules = {one["id"] for one in run["tool"]["driver"]["rules"]}
    for result in run["results"]:
        assert result["ruleId"] in rules
        for location in [*result["locations"], *result.get("relatedLocations", [])]:
            region = location["physicalLocation"]["region"]
            assert all(isinstance(one, int) and one >= 1 for one in region.values())
            assert (region["startLine"], region["startColumn"]) <= (
                region["endLine"],
                region["endColumn"],
            )
    for before, wrong in (('"results"', '"result"'), ('"error"', '"bad"'), ('"text":', '"txt":')):
        assert before in log and misfits(log.replace(before, wrong, 1)), before


def test_junit(folder: Path) -> None:
    words = ["--message-format=junit", "-o", "log.xml", *OLD, *NEW]
    assert check(*words, "good.stp", "bad.stp", "warned.stp", "gone.stp") == 2
    root = ElementTree.parse("log.xml").getroot()
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["6.1.0-test", "6.12.0-test"]
    old = suites["6.1.0-test"]
    assert (old.get("tests"), old.get("failures"), old.get("errors")) == ("4", "1", "1")
    children = {case.get("name"): [child.tag for child in case] for case in old}
    assert children == {
        "good.stp": [], "bad.stp": ["failure"], "warned.stp": ["system-out"], "gone.stp": ["error"],
    }  # fmt: skip
    assert suites["6.12.0-test"].get("failures") == "2"


def test_xml_has_no_character_that_readers_refuse() -> None:
    message = Message({"severity": "error", "message": "a\x00\x1b[1m\udcff\ufffe😀"}, "\x07")
    text = outcomes.as_junit([outcomes.Outcome("x\x01.stp", "6.1", [message])])
    case = ElementTree.fromstring(text)[0][0]
    assert case.get("name") == "x\ufffd.stp"
    failure = case.find("failure")
    assert failure is not None and failure.text == "\ufffd"
    assert failure.get("message") == "a\ufffd\ufffd[1m\ufffd\ufffd😀"


@pytest.fixture
def tree(folder: Path) -> Path:
    """Make a build tree that has a trace header, no BTF, and a makefile that leaves a trace."""
    made = folder / "tree"
    for name, text in (
        (".config", "CONFIG_X86_64=y\n"),
        ("Makefile", f"$(shell touch {folder}/ran)\n%:\n\t@touch {folder}/ran\n"),
        ("Module.symvers", ""),
        ("include/config/kernel.release", "6.1.0-test\n"),
        ("include/linux/module.h", ""),
        ("include/trace/events/a.h", "#define TRACE_SYSTEM a\nTRACE_EVENT(a_point,\n"),
    ):
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return made


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ('probe kernel.trace("a_point") { println($$vars) }', "parameters of the tracepoints of"),
        (
            'probe begin { println(@cast(1, "file", "kernel<linux/fs.h>")->f_pos) }',
            "types of kernel<linux/fs.h>",
        ),
    ],
)
def test_makefiles_of_a_tree_are_not_run(
    folder: Path, tree: Path, script: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tree.stp").write_text(script + "\n")
    check("-r", str(tree), "--message-format=short", "tree.stp")
    said = capsys.readouterr().out
    assert said.count(f"no {what}") == 1 and "which a check does not" in said
    assert not (folder / "ran").exists()
