"""The script that --metrics adds: what it tells of globals, and what it has room for."""

from __future__ import annotations

import re
import subprocess

import pytest

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.ir import program as p
from stapy.parse import parse_script
from stapy.parse.facts import PreprocessFacts
from stapy.session import metrics
from tests.program import run_stapy
from tests.translate.support import options_of, program_of


@pytest.mark.parametrize(
    "body, counted",
    [
        ("n++", True),
        ("++n", True),
        ("n += 5", True),
        ("n++ n += 0", True),
        ("n++ if (n > 5) println(n)", True),
        ("n--", False),
        ("n += -1", False),
        ("n += pid()", False),
        ("n++ n = 0", False),
        ("n++ n -= 1", False),
        ("if (n > 5) println(n)", False),
        ("a[1]++ if (n > 5) println(n)", False),
    ],
)
def test_what_only_grows_is_a_counter(body: str, counted: bool) -> None:
    program, _ = program_of(f"global n, a probe begin {{ {body} }}", options=options_of(""))
    names = {one.c_name: one.name for one in program.globals}
    assert ("n" in {names[one] for one in metrics.counters(program)}) == counted


def test_arrays_and_first_values() -> None:
    text = 'global a, b, c = -1, s probe begin { a[1]++ b["x"] += pid() c++ s <<< 1 delete a }'
    program, _ = program_of(text, options=options_of(""))
    names = {one.c_name: one.name for one in program.globals}
    assert {names[one] for one in metrics.counters(program)} == {"a"}


@pytest.mark.parametrize(
    "body, names",
    [
        ("a[execname(), pid()]++", ["execname", "pid"]),
        ("a[pid()]++ a[tid()]++", ["pid"]),
        ("a[1]++ a[cpu()]++", ["cpu"]),
        ("foreach (name in a) println(a[name])", ["name"]),
        ("a[pid(), pid()]++", None),
        ("a[1]++", None),
        ("a[le]++", None),  # a bound of a histogram
        ("a[__x]++", None),  # Prometheus's own
        ("a[$fd->f_mode, kernel_string($s)]++", ["f_mode", "s"]),
    ],
)
def test_labels_have_the_names_of_keys(body: str, names: list[str] | None) -> None:
    sources = SourceMap()
    text = f"global a probe begin {{ {body} }}"
    script = parse_script("x", text, PreprocessFacts(), None, sources, Diagnostics(sources))
    assert script
    assert metrics.label_names([script]).get("a") == names


def test_labels_are_not_those_of_a_namesake() -> None:
    """A sample for each element needs all of its keys, whatever another script calls its own."""
    sources = SourceMap()
    script = parse_script(
        "x", "private global a probe begin { a[pid()] = 1 }", PreprocessFacts(), None, sources,
        Diagnostics(sources),
    )  # fmt: skip
    assert script
    labels = metrics.label_names([script])
    assert metrics._fitting(labels, p.Global("a", "a", p.LONG, [p.LONG])) == ["pid"]
    assert metrics._fitting(labels, p.Global("a", "a_2", p.LONG, [p.LONG, p.LONG])) == []


def rows(*variables: p.Global) -> list[metrics._Shown]:
    return [metrics._Shown(one, False, []) for one in variables]


def test_each_array_has_its_share_of_room() -> None:
    small = p.Global("small", "small", p.LONG, [p.LONG], size=10)
    large = p.Global("large", "large", p.LONG, [p.STRING], size=100000)
    wide = p.Global("wide", "wide", p.STRING, [p.STRING] * 9)
    text = metrics.script_text(rows(small, large, wide), 8000, 2048)
    most = [int(one) for one in re.findall(r"STAP_GLOBAL_MAP_\w+, .*?, (\d+)\);", text)]
    assert most == [10, (4 << 20) // (8000 + 4 + 24 + 8), (4 << 20) // (10 * 8004 + 8)]
    room = re.search(r"maxsize\((\d+)\)", text)
    assert room and (8 << 20) - 60000 < int(room[1]) < 8 << 20


def stapy(*words: str) -> subprocess.CompletedProcess[str]:
    return run_stapy("-p2", *words)


ALL = "global ticks, by; probe timer.s(1) { ticks++ by[ticks, 1] <<< 2 }"


@pytest.mark.parametrize("words", [[], ["--monitor"], ["--format=json"]])
def test_it_goes_with_others(words: list[str]) -> None:
    result = stapy("--metrics=127.0.0.1:9123", *words, "-e", ALL)
    assert (result.returncode, result.stderr) == (0, "")
    assert 'procfs("monitor_metrics").read' in result.stdout


def test_other_names_are_the_scripts() -> None:
    """What the monitor's script calls its own begins with the prefix that is kept for it."""
    script = "global __metrics_at probe timer.s(1) { __metrics_at = execname() }"
    result = stapy("--metrics=127.0.0.1:9123", "-e", script)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "words, script, what",
    [
        ([], "global __monitor_x; " + ALL, "with --metrics, names that begin with '__monitor_'"),
        (["-D", "MAXSTRINGLEN=100"], ALL, "--metrics needs strings of 256 bytes"),
        ([], ALL + "probe begin { __monitor_metrics_0() }", "unresolved function"),
        ([], ALL + "probe begin { ticks = }", "parse error"),
    ],
)
def test_refused(words: list[str], script: str, what: str) -> None:
    result = stapy("--metrics=127.0.0.1:9123", *words, "-e", script)
    assert result.returncode == 1 and what in result.stderr, result.stderr
    assert "<monitor>" not in result.stderr
