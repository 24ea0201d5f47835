"""Options that are given twice: each says something more, or one of them is told, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.cli import main, parse
from stapy.options import foreign
from stapy.options.option import SAME, UsageError
from stapy.options.table import TABLE
from stapy.run import command_line
from stapy.shell.settings import Settings


def test_the_table_says_what_a_second_one_means() -> None:
    silent = [option.long or option.short for option in [*TABLE, *foreign.TABLE]
              if option.value and option.again == SAME]  # fmt: skip
    assert silent == []


def test_options_that_set_one_field_know_of_each_other() -> None:
    """Two rows of one field would else take each other's value in silence."""
    by_field: dict[str, list[str]] = {}
    for option in TABLE:
        for field in option.run.split():
            if not option.value or option.again != "adds":
                by_field.setdefault(field, []).append(option.alike or option.long or option.short)
    shared = {field for field, names in by_field.items() if len(set(names)) > 1}
    assert shared == {"interactive", "rlimits"}  # the same said twice; a dict with a key for each


@pytest.mark.parametrize(
    ("words", "field", "value", "told"),
    [
        (["-s", "16", "-s8"], "buffer_mb", 8, "'-s 16' has no effect: '-s 8' comes behind it"),
        (["-p4", "-p2"], "last_pass", 2, "'-p 4' has no effect: '-p 2'"),
        (["-o", "a", "-o", "b"], "output", "b", "'-o a' has no effect"),
        (["--tmpdir=a", "--tmpdir", "b"], "tmpdir", "b", "'--tmpdir=a' has no effect"),
        (["-D", "A=1", "-DB=2", "-D", "A=3"], "defines", {"A": "3", "B": "2"}, "'-D A=1' has no"),
        (["-G", "a=1", "-G", "a=2"], "globals", {"a": "2"}, "'-G a=1' has no effect"),
        (["-B", "A=1", "-B", "A=2"], "kbuild_flags", ["A=1", "A=2"], "'-B A=1' has no effect"),
        (["--rlimit-cpu=5", "--rlimit-cpu=6"], "rlimits", {"cpu": 6}, "'--rlimit-cpu=5' has no"),
        (["--color=never", "--colour=always"], "color", "always", "'--color=never' has no effect"),
        (["-P", "--prologue-searching=never"], "prologue_search", False, "'-P' has no effect"),
        (["-s8", "-s", "8"], "buffer_mb", 8, ""),
        (["-D", "A=1", "-DA=1"], "defines", {"A": "1"}, ""),
        (["-I", "a", "-I", "b"], "tapset_dirs", ["a", "b"], ""),
        (["-E", "a", "-E", "b"], "extra_scripts", ["a", "b"], ""),
        (["-d", "a", "-d", "b"], "debug_modules", ["a", "b"], ""),
        (["--modinfo=a=1", "--modinfo=a=2"], "modinfo", [("a", "1"), ("a", "2")], ""),
        (["-v", "--vp", "1", "--vp", "01"], "verbose", [2, 2, 1, 1, 1], ""),
        (["--rlimit-cpu=5", "--rlimit-as=6"], "rlimits", {"cpu": 5, "as": 6}, ""),
        (["-g", "-g", "--vm", "--vm"], "vm", True, ""),
    ],
)
def test_the_last_one_counts(words: list[str], field: str, value: object, told: str) -> None:
    """As in SystemTap, but what has no effect is told."""
    options = parse([*words, "x.stp"])
    assert getattr(options, field) == value
    assert [one.startswith(told) for one in options.notices] == ([True] if told else [])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-l", "begin", "-l", "end"], "-l was given twice: 'begin' and 'end'."),
        (["-l", "begin", "-L", "begin"], "'-l begin' and '-L begin' cannot be given both."),
        (["--dump-functions", "-l", "end"], "'--dump-functions' and '-l end' cannot be given both"),
        (["--dump-functions", "--dump-probe-types"], "'--dump-functions' and '--dump-probe-types'"),
        (["--explain", "E0230", "--explain=E0231"], "--explain was given twice: 'E0230' and"),
        (["--doc", "a", "--doc", "b"], "--doc was given twice"),
        (["--format=json", "--format=csv", "x.stp"], "--format was given twice: 'json' and 'csv'"),
        (["--format=json", "--format=text", "x.stp"], "--format was given twice"),
        (["--vm", "--vm=6.1", "x.stp"], "--vm was given twice: '' and '6.1'"),
        (["--monitor=1", "--monitor=2", "x.stp"], "--monitor was given twice"),
        (["--metrics=a:1", "--metrics=a:2", "x.stp"], "--metrics was given twice"),
        (["--build-in=auto", "--build-in=debian:sid", "x.stp"], "--build-in was given twice"),
        (["--probe-effect=a", "--probe-effect=b", "x.stp"], "--probe-effect was given twice"),
        (["--on-overload=disarm", "--on-overload=throttle", "x.stp"], "--on-overload was given"),
        (["--message-format=json", "--message-format=rich", "x.stp"], "--message-format was"),
    ],
)
def test_refused(words: list[str], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(words)
    assert str(caught.value).startswith(told)


def test_the_file_of_defaults_gives_way_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here and in the shell; what stands twice in the file itself is told."""
    words = ["-p4", "--format=json", "-D", "A=1", "-p2", "--format=csv", "x.stp"]
    options = parse(words, defaults=4)
    assert (options.last_pass, options.format, options.notices) == (2, "csv", [])
    settings = Settings(["-p4", "-I", "a", "-i", "-p2", "-I", "b"], "", defaults=3)
    assert settings.words() == ["-I a", "-p 2", "-I b"]
    monkeypatch.setenv("SYSTEMTAP_DIR", str(tmp_path))
    (tmp_path / "rc").write_text("-p1 -s 1")
    assert main(["-s", "2", "-e", "probe begin {}"]) == 0
    assert "no effect" not in capsys.readouterr().err
    (tmp_path / "rc").write_text("-p1 -s 1 -s 2")
    assert main(["-e", "probe begin {}"]) == 0
    assert "'-s 1' has no effect" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-o", "a", "-o", "b", "m.ko"], "-o was given twice: 'a' and 'b'"),
        (["-c", "a", "-cb", "m.ko"], "-c was given twice"),
        (["--record=a", "--record", "b", "m.ko"], "--record was given twice"),
        (["--format=json", "--format=csv", "m.ko"], "--format was given twice"),
        (["m.ko", "a=1", "a=2"], "a was given twice: '1' and '2'"),
        (["-o", "a", "-o", "a", "-v", "-v", "m.ko", "a=1", "b=1"], ""),
    ],
)
def test_of_stapy_run(words: list[str], told: str) -> None:
    if not told:
        assert command_line.parse(words).output == "a"
        return
    with pytest.raises(command_line.UsageError) as caught:
        command_line.parse(words)
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize(
    "words",
    [
        ["check", "--message-format=json", "--message-format", "sarif", "x.stp"],
        ["kernel", "fetch", "--from", "a", "--from=b", "6.1"],
        ["plot", "-o", "a.svg", "-o", "b.svg", "x.jsonl"],
    ],
)
def test_of_tools(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "was given twice: '" in said and said.count("\n") == 1, said
