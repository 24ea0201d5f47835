"""Messages as they are drawn."""

from __future__ import annotations

import io

import pytest

from stapy.diagnostics import NOWHERE, Diagnostic, Label, SourceMap, Span
from stapy.diagnostics.layouts import form_of
from stapy.diagnostics.render import colors_from, render, use_color
from tests.parse.helpers import parse


def draw(text: str, start: int, end: int, **rest: object) -> str:
    sources = SourceMap()
    number = sources.add("a.stp", text)
    fields: dict[str, object] = {"where": "here", **rest}
    item = Diagnostic(
        Diagnostic.ERROR,
        "semantic error",
        "E0231",
        "no probe point matches 'syscall.opne'",
        Span(number, start, end),
        **fields,  # type: ignore[arg-type]
    )
    return render(item, sources, False)


def test_the_whole_shape() -> None:
    text = "# x\n\nprobe syscall.opne, timer.s(1) {\n}\n"
    at = text.index("opne")
    assert draw(
        text,
        at,
        at + 4,
        where="not one of the 397 names under 'syscall'",
        notes=["stapy -l 'syscall.*' lists them"],
        hint="did you mean 'open' or 'openat'?",
    ) == (
        "semantic error: no probe point matches 'syscall.opne'  [E0231]\n"
        "  --> a.stp:3:15\n"
        "   |\n"
        " 3 | probe syscall.opne, timer.s(1) {\n"
        "   |               ^^^^ not one of the 397 names under 'syscall'\n"
        "   = hint: did you mean 'open' or 'openat'?\n"
        "   = note: stapy -l 'syscall.*' lists them\n"
    )


def test_a_message_without_a_place() -> None:
    item = Diagnostic(Diagnostic.WARNING, "WARNING", "W0652", "unused", NOWHERE)
    assert render(item, SourceMap(), False) == "WARNING: unused  [W0652]\n"


def test_tabs_and_wide_letters_do_not_shift_the_caret() -> None:
    text = "\tx = 漢字 + bad"
    lines = draw(text, text.index("bad"), len(text)).splitlines()
    source, caret = lines[3], lines[4]
    # Each of the two wide letters takes two columns on a terminal.
    assert source.index("bad") + 2 == caret.index("^")
    assert caret.endswith("^^^ here")


def test_long_lines_are_cut_around_the_place() -> None:
    text = "x" * 500 + "BAD" + "y" * 500
    lines = draw(text, 500, 503).splitlines()
    assert len(lines[3]) < 130
    assert lines[3].index("BAD") == lines[4].index("^^^")
    assert "…" in lines[3]


def test_every_mark_of_a_long_line_is_shown() -> None:
    """Where one part of the line does not show them all, there are several."""
    text = "probe first " + "x" * 500 + " BAD tail " + "y" * 300
    at = text.index("BAD")
    lines = draw(text, at, at + 3, labels=[Label(Span(0, 6, 11), "used")]).splitlines()
    assert lines[3].index("first") == lines[4].index("-----")
    assert lines[5].index("BAD") == lines[6].index("^^^ here")
    assert max(map(len, lines)) < 130


def test_control_characters_never_reach_the_terminal() -> None:
    assert "\x1b" not in draw("a\x1b[31mb\x07 c", 3, 4)


NAMED = "a\u202eb\x1b[2J\x9b\udcff"
ESCAPED = r"a\342\200\256b\033[2J\302\233\377"


@pytest.mark.parametrize("form", ["rich", "systemtap", "short"])
def test_names_of_others_are_escaped(form: str) -> None:
    """In octal, as points are printed; also what would turn the direction of the text."""
    sources = SourceMap()
    sources.add("s.stp", "probe begin {}\n")
    item = Diagnostic(
        Diagnostic.ERROR, "semantic error", "E0231", f"no '{NAMED}'", Span(0, 6, 11),
        hint=f"is '{NAMED}' meant?",
    )  # fmt: skip
    text = form_of(form, sources, False)(item, 2, False)
    assert text.count(ESCAPED) == 2
    assert text.replace("\n", "").isprintable()


def test_progress_shows_no_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    from stapy.terminal import progress

    out = io.StringIO()
    monkeypatch.setattr(progress, "on_terminal", lambda: True)
    monkeypatch.setattr("sys.stderr", out)
    progress.tell("reading x\ny\u202e")
    progress.clear()
    assert r"reading x\012y\342\200\256" in out.getvalue()


def test_second_places_in_other_files() -> None:
    sources = SourceMap()
    a = sources.add("a.stp", "first\nsecond\n")
    b = sources.add("b.stp", "other\n")
    labels = [Label(Span(b, 0, 5), "in the library"), Label(Span(a, 0, 5), "before")]
    item = Diagnostic(
        Diagnostic.ERROR, "parse error", "E0105", "m", Span(a, 6, 12), "after", labels
    )
    text = render(item, sources, False)
    assert text.index("1 | first") < text.index("2 | second") < text.index("::: b.stp:1:1")
    assert "----- in the library" in text
    assert "----- before" in text
    assert "^^^^^^ after" in text


def test_two_marks_on_one_line() -> None:
    lines = draw("foo(1 2)", 6, 7, labels=[Label(Span(0, 3, 4), "opened")]).splitlines()
    assert lines[4].endswith("|       ^ here")
    assert lines[5].endswith("|    - opened")


def test_expansions_are_followed_to_the_use() -> None:
    _, diagnostics = parse(
        "@define m(a) %( @a + ) %)\n@define n %( @m(1) %)\nprobe begin { x = @n }"
    )
    text = render(diagnostics.errors[0], diagnostics.sources, False)
    assert "in expansion of macro '@m' at <input>:2:14" in text
    assert "in expansion of macro '@n' at <input>:3:19" in text


def test_the_end_of_the_text_can_be_pointed_at() -> None:
    _, diagnostics = parse("probe begin {\n")
    text = render(diagnostics.errors[0], diagnostics.sources, False)
    assert "^ the text ends here" in text
    assert "this '{' is not closed" in text


@pytest.mark.parametrize(
    ("given", "colors"),
    [
        (None, {"error": "01;31", "warning": "00;33", "source": "00;34"}),
        ("error=1:caret=2", {"error": "1", "caret": "2"}),
        ("", {}),
        ("error=red", {}),
        ("nothing=1", {}),
    ],
)
def test_colors(given: str | None, colors: dict[str, str]) -> None:
    found = colors_from(given)
    assert {key: found[key] for key in colors} == colors
    assert bool(found) == bool(colors)


def test_color_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTEMTAP_COLORS", "error=7")
    item = Diagnostic(Diagnostic.ERROR, "parse error", "E0105", "m")
    assert render(item, SourceMap(), True).startswith("\x1b[7mparse error:\x1b[0m m")
    assert use_color("always")
    assert not use_color("never")
