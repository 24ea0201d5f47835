"""Whom histograms are drawn for: columns and colours that a module is told."""

from __future__ import annotations

import os
import re

import pytest

from stapy.diagnostics.render import use_color
from stapy.run import messages, picture
from stapy.run.command_line import parse
from stapy.run.errors import RunError
from stapy.run.options import RunOptions, UsageError

KNOWN = ("stapy_columns", "stapy_colors", "most")


@pytest.fixture
def terminal(monkeypatch):
    """Have all streams be a terminal of 100 columns."""
    monkeypatch.setattr(os, "isatty", lambda fd: True)
    monkeypatch.setattr(os, "get_terminal_size", lambda fd: os.terminal_size((100, 30)))
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("words", "is_for_programs", "told"),
    [("--width=70", True, "no effect"), ("--width=70", False, ""), ("", True, ""),
     ("--width=0", True, "")],
)  # fmt: skip
def test_a_width_of_what_programs_read(words, is_for_programs, told):
    complaint = picture.unheeded(parse([*words.split(), "m.ko"]), is_for_programs)
    assert told in complaint and bool(told) == bool(complaint)


@pytest.mark.parametrize(
    ("words", "environment", "expected"),
    [
        ("", {}, (100, True)),
        ("", {"NO_COLOR": "1"}, (100, False)),
        ("", {"NO_COLOR": ""}, (100, True)),
        ("-C never", {}, (100, False)),
        ("-C always", {"NO_COLOR": "1"}, (100, True)),
        ("", {"TERM": "dumb"}, (0, False)),
        ("", {"TERM": ""}, (0, False)),
        ("-C always", {"TERM": "dumb"}, (0, False)),
        ("", {"COLUMNS": "66"}, (66, True)),
        ("", {"COLUMNS": "many"}, (100, True)),
        ("--width 70", {"COLUMNS": "66"}, (70, True)),
        ("--width=0", {}, (0, False)),
        ("-o file", {}, (0, False)),
        ("-o file --width=70", {}, (70, False)),
        ("-D -o file", {}, (0, False)),
        ("-L", {}, (0, False)),
        ("-M 1", {}, (0, False)),
    ],
)
def test_on_a_terminal(terminal, monkeypatch, words, environment, expected):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert picture.decide(parse([*words.split(), "x.ko"])) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [("", (0, False)), ("-C always", (0, False)), ("--width=70 -C always", (70, False))],
)
def test_without_a_terminal(terminal, monkeypatch, words, expected):
    monkeypatch.setattr(os, "isatty", lambda fd: fd != 1)
    assert picture.decide(parse([*words.split(), "x.ko"])) == expected


def test_a_terminal_that_does_not_say_its_width(terminal, monkeypatch):
    monkeypatch.setattr(os, "get_terminal_size", lambda fd: os.terminal_size((0, 0)))
    assert picture.decide(RunOptions()) == (0, True)


@pytest.mark.parametrize(
    ("options", "known", "expected"),
    [
        (RunOptions(), KNOWN, ["stapy_columns=100", "stapy_colors=1"]),
        (RunOptions(color="never"), KNOWN, ["stapy_columns=100"]),
        (RunOptions(width=0), KNOWN, []),
        # A machine's guest is told by its host.
        (RunOptions(parameters=["stapy_columns=7"]), KNOWN, ["stapy_colors=1"]),
        # A module of an earlier stapy draws as it did.
        (RunOptions(), ("most",), []),
    ],
)
def test_parameters(terminal, options, known, expected):
    assert picture.parameters(options, known) == expected


def test_a_width_that_a_module_cannot_have(terminal):
    with pytest.raises(RunError, match="make it again for --width"):
        picture.parameters(RunOptions(width=70), ("most",))


@pytest.mark.parametrize("text", ["-1", "1001", "wide"])
def test_no_width(text):
    with pytest.raises(UsageError, match=re.escape(f"Invalid value '{text}' for --width")):
        parse([f"--width={text}", "x.ko"])


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_one_rule_for_all_colors(terminal, monkeypatch, environment, expected):
    """Messages of stapy and of stapy-run, and histograms, are coloured together."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert use_color("auto") == expected
    assert messages._is_wanted("auto") == expected
    assert picture.decide(RunOptions())[1] == expected
