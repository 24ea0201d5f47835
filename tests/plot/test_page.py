"""The page in a browser: a click, keys and the search, and no complaint on its console."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stapy.plot import files
from stapy.plot.choice import PlotWish, choose
from tests.plot.test_charts import of_global, of_print, read
from tests.plot.test_files import ALL, EVIL, plot
from tests.site import browser

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

pytestmark = pytest.mark.slow

STACKS = [
    of_global("zoomed", 6, "s1", stack="m;a;deep"),
    of_global("zoomed", 3, "s2", stack=f"m;{EVIL}"),
    of_global("zoomed", 1, "s3", stack="m;z"),
]
# Where the boxes of the first flame graph stand, by their names: begin and end in pixels.
BOXES = """() => Object.fromEntries(
  [...document.querySelectorAll(".chart0_layer_0_marks path")].map((path) => {
    const numbers = /^M(-?[0-9.]+),[^h]*h(-?[0-9.]+)/.exec(path.getAttribute("d"));
    const name = path.getAttribute("aria-label").replace(/: [0-9,]+$/, "");
    return [name, [Math.round(+numbers[1]), Math.round(+numbers[1] + +numbers[2])]];
  }))"""


@contextmanager
def shown(
    place: Path, size: dict[str, int] = browser.DESK, colors: str = "light"
) -> Iterator[tuple[Tab, list[str]]]:
    """Show a page to the browser when it has drawn; with what the page says and asks for."""
    with browser.browser() as opened:
        page = browser.tab(opened, size)
        page.emulate_media(color_scheme=colors)  # type: ignore[arg-type]
        said: list[str] = []
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(f"a dialog: {dialog.message}"))
        page.on("request", lambda request: said.append(f"a request: {request.url}"))
        page.goto(place.as_uri())
        page.wait_for_function("document.getElementById('plot').view")
        yield page, said


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make a page that has a chart of each kind, and names that want to break out of it."""
    if why := browser.missing():
        pytest.skip(why)
    drawn = choose(read(tmp_path, *STACKS, *ALL), PlotWish())
    place = tmp_path / "a.html"
    place.write_bytes(files.WRITERS[".html"](drawn, EVIL.encode("utf-8", "replace").decode()))
    return place


@pytest.fixture
def tab(place: Path) -> Iterator[tuple[Tab, list[str]]]:
    with shown(place) as page:
        yield page


def boxes(page: Tab, **wanted: list[int]) -> dict[str, Any]:
    """Wait until some boxes stand where they shall; return all."""
    for _ in range(100):
        found: dict[str, Any] = page.evaluate(BOXES)
        if all(found.get(name) == place for name, place in wanted.items()):
            return found
        page.wait_for_timeout(100)
    raise AssertionError(f"{wanted} are not there: {found}")


def test_the_page_zooms_and_searches(tab: tuple[Tab, list[str]]) -> None:
    page, said = tab
    whole = {"m": [0, 1000], "a": [300, 900], "z": [900, 1000]}
    boxes(page, **whole)

    def told(words: str) -> None:
        page.wait_for_function("(text) => document.querySelector('#told').innerText.includes(text)",
                               arg=words)  # fmt: skip

    page.locator(".chart0_layer_0_marks path[aria-label='a: 6']").click()
    boxes(page, a=[0, 1000], z=[1000, 1167])
    told("a: 6, 60.00%")
    page.keyboard.press("Escape")
    boxes(page, **whole)

    page.locator("#plot").focus()
    for key, words in (
        ("ArrowUp", "all: 10, 100.00%"), ("ArrowUp", "m: 10"), ("ArrowUp", "a: 6"),
        ("ArrowRight", "z: 1, 10.00%"), ("ArrowRight", "z: 1"), ("ArrowDown", "m: 10"),
        ("ArrowUp", "a: 6"), ("ArrowUp", "deep: 6"),
    ):  # fmt: skip
        page.keyboard.press(key)
        told(words)
    black = page.locator(".chart0_layer_0_marks path[stroke=black]")
    assert black.get_attribute("aria-label") == "deep: 6"
    page.keyboard.press("Enter")
    boxes(page, deep=[0, 1000], a=[0, 1000])
    page.keyboard.press("Escape")
    boxes(page, **whole)

    page.locator("#controls input").fill("ALERT(1)")
    told("flame graph: zoomed: 1 boxes are found, 30.00%")
    found = page.locator(".chart0_layer_0_marks path[fill='#c026d3']")
    assert (found.get_attribute("aria-label") or "").startswith("</script><script>alert(1)")
    page.keyboard.press("Escape")
    page.wait_for_function("document.querySelector('#controls input').value === ''")
    page.wait_for_function("document.querySelector('#told').textContent === ''")
    assert page.locator(".chart0_layer_0_marks path[fill='#c026d3']").count() == 0
    assert len(said) == 1 and said[0].startswith("a request: file:"), said  # the page itself


def test_axes_and_what_is_under_the_mouse_have_units(tmp_path: Path) -> None:
    if why := browser.missing():
        pytest.skip(why)
    lines = [
        of_global("wait_us", 7, "slow"),
        of_global("slept_us", 3, "dd", stack="f;g"),
        *({**of_print(at, took=7 + at), "text": f"took {7 + at} ms"} for at in range(3)),
    ]
    drawn = choose(read(tmp_path, *lines), PlotWish())
    place = tmp_path / "a.html"
    place.write_bytes(files.WRITERS[".html"](drawn, "units"))
    with shown(place) as (page, said):
        there = page.locator("#plot svg text").all_text_contents()
        assert {"wait (µs)", "took (ms)", "time since start (s)"} <= set(there), there
        for mark, words in (("slow: 7", "wait (µs)"), ("g: 3", "slept (µs)")):
            page.locator(f"#plot path[aria-label='{mark}']").hover()
            page.wait_for_function(
                "(text) => document.querySelector('#vg-tooltip-element').innerText.includes(text)",
                arg=words,
            )
        assert len(said) == 1, said


@pytest.mark.parametrize("wide", [390, 700])
def test_a_narrow_window_has_narrow_charts(wide: int, place: Path) -> None:
    """A phone's: nothing has to be moved sideways, no legend is cut, and boxes still zoom."""
    with shown(place, {"width": wide, "height": 844}) as (page, said):
        found = page.evaluate(
            "[document.documentElement.scrollWidth, ...[...document.querySelectorAll('#plot text')]"
            ".filter((one) => +getComputedStyle(one).opacity).map((one) =>"
            " Math.ceil(one.getBoundingClientRect().right))]"
        )
        assert max(found) <= wide, sorted(found)
        there = boxes(page)
        end = there["m"][1]
        assert 150 < end < wide and there["z"] == [round(0.9 * end), end], there
        page.locator(".chart0_layer_0_marks path[aria-label='a: 6']").click()
        boxes(page, a=[0, end])
        assert len(said) == 1 and said[0].startswith("a request: file:"), said


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_the_page_is_dark_where_its_reader_wants_that(colors: str, place: Path) -> None:
    """Names of axes and of the page against what is behind them; boxes have black ones on both."""
    with shown(place, colors=colors) as (page, said):
        light = {"background"} if colors == "light" else {"axis", "title", "text"}
        found = page.evaluate(
            """() => {
              const color = (query, what) => getComputedStyle(document.querySelector(query))[what];
              return {
                background: color("#plot svg", "backgroundColor"),
                axis: color("#plot .role-axis-title text", "fill"),
                title: color("#plot .role-title-text text", "fill"),
                text: color("body p", "color"),
                box: color(".chart0_layer_1_marks text", "fill"),
              };
            }"""
        )
        levels = {name: sum(map(int, re.findall(r"\d+", one)[:3])) for name, one in found.items()}
        assert {name for name, level in levels.items() if level > 382} == light, found
        assert len(said) == 1 and said[0].startswith("a request: file:"), said


def test_folded_stacks_zoom_as_those_of_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What ``--format=folded`` printed: a box for each frame, as wide as its count."""
    if why := browser.missing():
        pytest.skip(why)
    recorded, place = tmp_path / "stacks.folded", tmp_path / "a.html"
    recorded.write_text("main;read 30\nmain;write;copy 10\nidle 60\n")
    assert plot(str(recorded), "-o", str(place)) == 0, capsys.readouterr().err
    with shown(place) as (page, said):
        boxes(page, idle=[0, 600], main=[600, 1000], read=[600, 900], copy=[900, 1000])
        page.locator(".chart0_layer_0_marks path[aria-label='write: 10']").click()
        boxes(page, write=[0, 1000], copy=[0, 1000])
        assert len(said) == 1 and said[0].startswith("a request: file:"), said


def test_two_recordings_are_compared_on_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--before``: red grew, blue shrank, and of what is under the mouse both shares are told."""
    if why := browser.missing():
        pytest.skip(why)
    after, before, place = tmp_path / "after", tmp_path / "before", tmp_path / "a.html"
    after.write_text("main;read 30\nmain;write 10\n")
    before.write_text("main;read 10\nmain;write 20\nmain;gone 10\n")
    assert plot(str(after), "--before", str(before), "-o", str(place)) == 0, capsys.readouterr().err
    with shown(place) as (page, said):
        boxes(page, main=[0, 1000], read=[0, 750], write=[750, 1000])
        marks = ".chart0_layer_0_marks path[aria-label='{}']"
        red, blue = (
            page.locator(marks.format(name)).get_attribute("fill") or ""
            for name in ("read: 30", "write: 10")
        )
        assert red.startswith("#ff") and not red.endswith("ff"), red
        assert blue.endswith("ff") and not blue.startswith("#ff"), blue
        page.locator(marks.format("read: 30")).hover()
        page.wait_for_function(
            "[...document.querySelectorAll('#vg-tooltip-element')]"
            ".some((one) => /75.00%/.test(one.innerText) && /25.00%/.test(one.innerText))"
        )
        words = page.locator("svg").first.text_content() or ""
        assert "25.0% of what was before is in stacks that are gone" in words
        page.locator(marks.format("write: 10")).click()
        boxes(page, write=[0, 1000])
        assert len(said) == 1 and said[0].startswith("a request: file:"), said


def test_labels_stay_inside_of_an_svg(tmp_path: Path) -> None:
    """In the browser's own font, too: the first ones of the list are taken away."""
    if why := browser.missing():
        pytest.skip(why)
    names = ["W" * 30 + "x" * n for n in (0, 100)]
    drawn = choose(read(tmp_path, *(of_global("a", 1, name) for name in names)), PlotWish())
    text = files.WRITERS[".svg"](drawn, "t").decode()
    place = tmp_path / "a.svg"
    place.write_text(text.replace("&quot;Liberation Sans&quot;, Arial, Helvetica, ", ""))
    assert place.read_text() != text
    with browser.browser() as opened:
        page = browser.tab(opened, browser.DESK)
        page.goto(place.as_uri())
        left = page.evaluate(
            "Math.min(...[...document.querySelectorAll('text')]"
            ".map((one) => one.getBoundingClientRect().left))"
        )
    assert left >= 0
