import os
import re

import pytest

from stapy.run.command_line import parse
from stapy.run.options import RunOptions, UsageError


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("m.ko", "module", "m.ko"),
        ("-c|ls -l|m.ko", "command", "ls -l"),
        ("m.ko|-x|12", "target", 12),
        ("-ofile|m.ko", "output", "file"),
        ("-wvo|file|m.ko", "output", "file"),
        ("-wv|m.ko", "warnings", False),
        ("-vv|m.ko", "verbose", 2),
        ("-T|0.5|m.ko", "timeout", 0.5),
        ("-b|64|m.ko", "buffer_mb", 64),
        ("-L|m.ko", "detach", True),
        ("-A|m", "attach", True),
        ("-d|m", "delete", True),
        ("-C|never|m.ko", "color", "never"),
        ("--info|m.ko", "info", True),
        ("m.ko|a=1|b=x y", "parameters", ["a=1", "b=x y"]),
        ("--format=json|m.ko", "format", "json"),
        ("--format|json|m.ko", "format", "json"),
        ("--message-format|json|m.ko", "message_format", "json"),
        ("--message-format=text|m.ko", "message_format", "text"),
        ("--format=folded|m.ko", "format", "folded"),
        ("--record|r.jsonl|m.ko", "record", "r.jsonl"),
        ("--record=r.jsonl|m.ko", "record", "r.jsonl"),
        ("--|-m.ko", "module", "-m.ko"),
        ("--probe-effect|ls -l|m.ko", "effect", "ls -l"),
        ("--probe-effect=ls|--probe-effect-runs=7|m.ko", "effect_runs", 7),
    ],
)
def test_parse(line, field, value):
    assert getattr(parse(line.split("|")), field) == value


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("", "no module"),
        ("-c", "needs a value"),
        ("-q m.ko", "unknown option '-q'"),
        ("--metric=a:1 m.ko", "unknown option '--metric'; did you mean '--metrics'?"),
        ("--width=70 -A m", "--width goes without -A"),
        ("--width=70 -d m", "--width goes without -A and -d"),
        ("--width=70 --format=json m.ko", "--width goes without --format"),
        ("--width=70 --record=r m.ko", "--width goes without --format and --record"),
        ("--recrod r m.ko", "unknown option '--recrod'; did you mean '--record'?"),
        ("--mess=json m.ko", "did you mean '--message-format'?"),
        ("--info=x m.ko", "option '--info' takes no value"),
        ("--message-format=jsn m.ko", "Invalid message format 'jsn'"),
        ("-x 0 m.ko", "Invalid value '0' for -x"),
        ("-b m.ko", "a module that was made with -b writes a file for each processor without it"),
        ("-x one m.ko", "Invalid value 'one' for -x"),
        ("-b 5000 m.ko", "Invalid value '5000' for -b"),
        *(
            (f"-T {text} m.ko", f"Invalid timeout '{text}'")
            for text in ("no", "nan", "inf", "1e400", "1_0")
        ),
        ("-S 1 m.ko", "-S needs an output file"),
        ("-S 0 -o f m.ko", "Invalid value '0' for -S"),
        ("-c a -x 1 m.ko", "exclude each other"),
        ("-C pink m.ko", "Invalid value 'pink'"),
        ("--format=xml m.ko", "Invalid output format 'xml'"),
        ("--format=openmetrics m.ko", "--metrics ADDRESS:PORT does it"),
        ("--format=json -M 1 m.ko", "goes without --format"),
        ("--format=csv -S 1 -o f m.ko", "-S goes without --format=csv"),
        ("--metrics :1 m.ko", "for --metrics: an address is needed"),
        ("--metrics=a:b m.ko", "Invalid value 'a:b' for --metrics: 'b' is no port"),
        ("--metrics", "needs a value"),
        ("--metrics=a:1 -d m", "--metrics goes without -d"),
        ("--metrics=a:1 -L m.ko", "--metrics goes without -L"),
        ("--metrics= m.ko", "'--metrics' needs a value"),
        ("--probe-effect= m.ko", "'--probe-effect' needs a value"),
        ("--probe-effect-runs=7 m.ko", "needs a command"),
        ("--probe-effect=ls --probe-effect-runs=2 m.ko", "should be 3-1000"),
        ("--probe-effect=ls -c ls m.ko", "-c goes without --probe-effect"),
        ("--probe-effect=ls -o f m.ko", "-o goes without --probe-effect"),
        ("--probe-effect=ls -L m.ko", "-L goes without --probe-effect"),
        ("--record r -d m", "--record goes without -d"),
        ("--record a --record=b m.ko", "--record was given twice: 'a' and 'b'"),
        ("--plot=a.svg m.ko", "--record FILE.jsonl writes what 'stapy plot FILE.jsonl' draws"),
        ("--on-overload=disarm m.ko", "--on-overload is an option of stapy; what it says stands"),
        ("--privilege=stapusr m.ko", "--privilege is an option of stapy; what it says stands in"),
        ("--unprivileged m.ko", "--unprivileged is an option of stapy"),
        ("m.ko other", "not of the form name=value"),
    ],
)
def test_refused(line, text):
    with pytest.raises(UsageError, match=re.escape(text)):
        parse(line.split())


EVIL = "a\nERROR: b\33[1m"  # what a terminal would obey, and a line that looks like ours


@pytest.mark.parametrize(
    "words", [[f"--{EVIL}"], [EVIL], ["m", EVIL], ["-d", EVIL], ["-o", f"/{EVIL}/f", "m"]]
)
def test_words_are_quoted_in_one_line(words, capfd):
    from stapy.run.cli import main

    assert main(words) == 1
    said = capfd.readouterr().err
    assert said.count("\n") == 1 and "\33" not in said, said


@pytest.mark.parametrize("word", ["-o", "-c", "-S", "--metrics", "-T", "-M"])
def test_a_value_is_not_empty(word):
    """As that of a variable which is not set: the option would not be there at all."""
    with pytest.raises(UsageError, match=f"option '{word}' needs a value"):
        parse([word, "", "m.ko"])


def test_words_give_the_same_options_again():
    options = RunOptions(
        module="m.ko",
        parameters=["a=1"],
        command="a b",
        output="f",
        rotate="1,2",
        timeout=3.0,
        buffer_mb=4,
        warnings=False,
        verbose=2,
        daemon=True,
        color="always",
        metrics="[::1]:9123",
        record="r.jsonl",
    )
    again = parse(options.words())
    for name in RunOptions.__slots__:
        assert getattr(again, name) == getattr(options, name), name


@pytest.mark.parametrize(
    ("text", "value"), [("", (0, 0)), ("2", (2 << 20, 0)), ("1,5", (1 << 20, 5))]
)
def test_rotation(text, value):
    assert RunOptions(rotate=text).rotation() == value


def test_modules_that_are_laid_down(tmp_path, monkeypatch):
    """A name without a slash is also looked for below /lib/modules, behind the current folder."""
    from stapy.run.cli import module_place

    folder = str(tmp_path / "{release}")
    real = tmp_path / os.uname().release
    real.mkdir()
    (real / "top.ko").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    assert module_place("top", folder) == str(real / "top.ko")
    assert module_place("top.ko", folder) == str(real / "top.ko")
    assert module_place("./top.ko", folder) == "./top.ko"
    assert module_place("none", folder) == "none"
    (tmp_path / "top.ko").write_bytes(b"")
    assert module_place("top.ko", folder) == "top.ko"


def test_verbose_by_the_environment(monkeypatch):
    """As if -v were given so often; more of these count."""
    monkeypatch.setenv("SYSTEMTAP_VERBOSE", "2")
    assert parse(["m.ko"]).verbose == parse(["-v", "m.ko"]).verbose == 2
    assert parse(["-vvv", "m.ko"]).verbose == 3
    monkeypatch.setenv("SYSTEMTAP_VERBOSE", "")
    assert parse(["m.ko"]).verbose == 0
    for wrong in ("yes", "-1", "1000", "٣"):
        monkeypatch.setenv("SYSTEMTAP_VERBOSE", wrong)
        with pytest.raises(UsageError, match=rf"^\$SYSTEMTAP_VERBOSE is '{wrong}', not a number"):
            parse(["m.ko"])
