"""Limits: defaults, -D, and what is no number."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from stapy.diagnostics import Stop
from stapy.options import Options
from stapy.translate.tables.limits import LIMITS, NESTING, Limits, evaluate
from tests.translate.support import c_of, options_of, program_of, source_of

RUNTIME = Path(__file__).parents[2] / "runtime"
EXPRESSIONS = [
    ("100", 100),
    ("0x10", 16),
    ("(10 * 1000)", 10000),
    ("1UL << 4", 16),
    ("-1", -1),
    ("MAXACTION*2", 14),
    ("unknown", None),
    ("1 +", None),
    ("f(1)", None),
    ("1/0", None),
    ("1 << 63", 1 << 63),
    ("1 << 64", None),
    ("1 << (1 << 62)", None),
    ("1 >> -1", None),
]


@pytest.mark.parametrize(("text", "value"), EXPRESSIONS)
def test_constant_expressions(text: str, value: int | None) -> None:
    def lookup(name: str) -> int:
        return {"MAXACTION": 7}[name]

    assert evaluate(text, lookup) == value


def test_defaults() -> None:
    limits = Limits(Options(), 3)
    assert limits.string_room == 512
    assert limits.nesting == 3
    assert limits.action_limit == 1000
    assert limits.numbers()["MAXACTION_INTERRUPTIBLE"] == 10000
    assert ("MAXMAPENTRIES", "maxmapentries", "2048") in LIMITS
    assert limits.numbers()["MAXMAPENTRIES"] == 2048
    assert limits.fields() == []
    assert limits.macros() == [{"name": "MAXNESTING", "value": "3"}]


def test_the_runtime_has_the_same_defaults() -> None:
    text = (RUNTIME / "defaults.h").read_text()
    known = dict(re.findall(r"^#define (\w+) (.+?)$", text, re.M))
    listed = dict(re.findall(r"\.(\w+) = (\w+)", text))
    assert known == {row.name: row.default for row in (*LIMITS, NESTING)}
    assert listed == {row.field: row.name for row in (*LIMITS, NESTING)}


def test_a_module_says_only_what_differs() -> None:
    assert "--- limits ---" not in c_of("probe begin { println(1) }")
    text = c_of("probe begin { println(1) }", "-DMAXSKIPPED=7 -DMAXERRORS=0 -DSTP_NO_OVERLOAD")
    limits = text[text.index("/* --- limits --- */") : text.index("/* --- handlers --- */")]
    assert limits.split("\n")[2:4] == ["#undef MAXSKIPPED", "#define MAXSKIPPED 7"]
    assert "MAXERRORS" not in limits and "MAXACTION" not in text
    assert ".limits = {\n\t\tSTAPY_LIMITS,\n\t\t.no_overload = 1,\n\t}," in text


def test_switches_and_own_macros() -> None:
    text = c_of("probe begin { println(1) }", "-D STP_NO_OVERLOAD -DMINE=7 -s 3")
    assert ".no_overload = 1," in text
    assert "#define MINE 7" in text
    assert f".buffer_bytes = {3 << 20}," in text


@pytest.mark.parametrize(
    ("words", "says"),
    [("-D HIST_WIDTH=30", True), ("-D HIST_ELISION=1", False), ("", False)],
)
def test_a_width_that_holds_on_a_terminal_too(words: str, says: bool) -> None:
    text = c_of("probe begin { println(1) }", words)
    assert (".hist_width_given = 1," in text) == says


def test_what_follows_an_overload() -> None:
    """Each probe can be switched off, and what it takes is counted, but not reported."""
    script = """global n, on
    probe timer.s(1) if (on) { n++ } probe timer.s(2) if (on) { n-- } probe begin if (on) { n = 2 }
    probe timer.s(3) { on = !on } probe timer.s(4) { n = 5 }"""
    for word in ("throttle", "disarm"):
        text = c_of(script, f"--on-overload={word}")
        assert f".on_overload = STAPY_OVERLOAD_{word.upper()}," in text
        assert ".timing = 1," in text and ".unreported = 1," in text
        conditions = re.findall(r"\.condition = &conditions\[(\d)\]", text)
        assert sorted(conditions) == ["0", "1", "2", "3", "4"]
        # Those that look at `on` are judged as one, of which begin has the first row.
        rows = re.findall(r"\.test = (\w+)(?:, \.followers = (\d))?", text)
        own, always = ("condition_0", ""), ("condition_3", "")
        assert rows == [("condition_0", "2"), own, own, ("condition_3", "1"), always]
        assert re.findall(r"stapy_judge\(c, &conditions\[(\d)\]\)", text) == ["0"]
    for words in ("", "--on-overload=exit"):
        assert c_of(script, words).count(".test = ") == 1
    assert "stapy_arming" in c_of("probe timer.s(4) { exit() }", "--on-overload=disarm")


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("", False),
        ("-D STP_ON_THE_FLY_INTERVAL=1000000", True),
        ("-DSTP_ON_THE_FLY_INTERVAL=0", True),
    ],
)
def test_interval_of_arming(words: str, given: bool) -> None:
    text = c_of("global on probe timer.s(1) if (on) { on++ }", words)
    # For the runtime 0 is the default: what is asked for with 0 is as short as can be.
    line = ".on_the_fly_interval = STP_ON_THE_FLY_INTERVAL ?: 1,"
    assert (line in text) is given


@pytest.mark.parametrize(
    ("text", "conditions", "rearmed"),
    [
        ("probe timer.s(1) { println(1) }", False, False),
        ("global on probe timer.s(1) if (on) { println(1) }", True, False),  # never changes
        ("global on probe begin { on = 1 } probe end if (on) { println(1) }", True, False),
        ("global on probe timer.s(1) if (!on) { on = 1 }", True, True),
    ],
)
def test_only_probes_that_can_be_switched_bring_the_work(
    text: str, conditions: bool, rearmed: bool
) -> None:
    made = c_of(text)
    assert ("stapy_conditions" in made) is conditions
    assert ("stapy_arming" in made) is rearmed


def test_a_limit_that_is_no_number_is_the_users_mistake() -> None:
    from stapy.translate import translate

    options = options_of("-DMAXACTION=many")
    program, services = program_of("probe begin { println(1) }", "x.stp", options)
    with pytest.raises(Stop):
        translate(program, services.options, services.diagnostics, "x")
    assert [item.code for item in services.diagnostics.errors] == ["E0290"]


@pytest.mark.parametrize(
    ("words", "is_refused"),
    [
        ("--on-overload=throttle -DSTP_OVERLOAD_INTERVAL=0", True),
        ("--on-overload=throttle -DSTP_OVERLOAD_INTERVAL=(5-5)", True),
        ("--on-overload=throttle -DSTP_OVERLOAD_INTERVAL=1", False),
        ("--on-overload=disarm -DSTP_OVERLOAD_INTERVAL=0", False),
        ("-DSTP_OVERLOAD_INTERVAL=0", False),
    ],
)
def test_a_probe_rests_for_a_share_of_some_time(words: str, is_refused: bool) -> None:
    from stapy.translate import translate

    options = options_of(words)
    program, services = program_of("probe begin { println(1) }", "x.stp", options)
    with pytest.raises(Stop) if is_refused else nullcontext():
        translate(program, services.options, services.diagnostics, "x")
    told = [item.message for item in services.diagnostics.errors]
    assert [one.startswith("-D STP_OVERLOAD_INTERVAL=0") for one in told] == [True] * is_refused


def test_many_actions_are_not_fewer_in_probes_with_interrupts() -> None:
    made = c_of("probe begin { println(1) }", "-DMAXACTION=300000000")
    assert "#define MAXACTION_INTERRUPTIBLE 2147483647\n" in made


@pytest.mark.parametrize(
    ("given", "room"),
    [
        ("STP_MAXMEMORY=-5", "0 to 2147483647"),
        ("STP_MAXMEMORY=4194304*1024", "0 to 2147483647"),
        ("MAXACTION=99999999999", "0 to 2147483647"),
        ("MAXACTION=-5", "0 to 2147483647"),
        ("MAXACTION_INTERRUPTIBLE=2-3", "0 to 2147483647"),
        ("MAXBACKTRACE=-1", "0 to 2147483647"),
        ("MINSTACKSPACE=-1", "0 to 2147483647"),
        ("MAXMAPENTRIES=-1", "0 to 2147483647"),
        ("MAXMAPENTRIES=2147483648", "0 to 2147483647"),
        ("MAXERRORS=2147483648", "-2147483648 to 2147483647"),
        ("MAXERRORS=-1", ""),
        ("STP_OVERLOAD_THRESHOLD=18446744073709551616LL", "0 to 18446744073709551615"),
        ("STP_OVERLOAD_THRESHOLD=18446744073709551615ULL", ""),
        ("STP_MAXMEMORY=2147483647", ""),
        ("HIST_ELISION=-1", ""),
        ("MAP_STRING_LENGTH=-5", "2 to 65535"),
        ("MAP_STRING_LENGTH=1", "2 to 65535"),
        ("MAP_STRING_LENGTH=65536", "2 to 65535"),
        ("MAP_STRING_LENGTH=2", ""),
        ("MAXSKIPPED=2000000000", ""),
    ],
)
def test_a_limit_that_the_runtime_has_no_room_for(given: str, room: str) -> None:
    """It would be another one, or none."""
    from stapy.translate import translate

    options = options_of(f"-D{given}")
    program, services = program_of("probe begin { println(1) }", "x.stp", options)
    if not room:
        translate(program, services.options, services.diagnostics, "x")
    else:
        with pytest.raises(Stop):
            translate(program, services.options, services.diagnostics, "x")
    assert [item.message for item in services.diagnostics.errors] == (
        [f"-D {given}: takes {room}"] if room else []
    )


@pytest.mark.parametrize(
    ("value", "refused"),
    [("15", True), ("-1", True), ("65536", True), ("20000000", True), ("16", False),
     ("0xffff", False)],
)  # fmt: skip
def test_length_of_strings(value: str, refused: bool) -> None:
    from stapy.translate import translate

    options = options_of(f"-DMAXSTRINGLEN={value}")
    program, services = program_of("probe begin { println(1) }", "x.stp", options)
    if not refused:
        translate(program, services.options, services.diagnostics, "x")
        return
    with pytest.raises(Stop):
        translate(program, services.options, services.diagnostics, "x")
    (error,) = services.diagnostics.errors
    assert error.message == f"-D MAXSTRINGLEN={value}: strings take 16 to 65535 bytes"


def test_version_macros_only_for_those_who_ask() -> None:
    script = "function f:long() %{ STAP_RETURN(STAP_COMPAT_VERSION >= STAP_VERSION(1, 8)); %}"
    text = c_of(script + " probe begin { println(f()) }", "-g --compatible=4.2")
    assert "#define STAP_COMPAT_VERSION STAP_VERSION(4, 2)" in text
    assert "STAP_VERSION" not in c_of("probe begin { println(1) }")


def test_macros_of_the_runtime_may_use_everything() -> None:
    text = c_of("function f:string() %{ STAPY_VALUE_NAME(1); %} probe begin { println(f()) }", "-g")
    for piece in ("#define STAP_RETVALUE ", "__label__ out", "if (unlikely(c->error))"):
        assert piece in text


def test_a_module_knows_its_level() -> None:
    script = "probe begin { exit() }"
    for level in ("stapusr", "stapsys"):
        made = source_of(script, args=f"--privilege={level}")
        assert f".privilege = STAPY_{level.upper()}," in made.text()
        assert made.manifest["privilege"] == level
    assert ".privilege" not in c_of(script, "--privilege=stapdev")
