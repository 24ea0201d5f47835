"""Pictures as files: SVG, PNG, one page of HTML; names of others break none of them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import vl_convert

from stapy import cli
from stapy.options.option import UsageError
from stapy.plot import files, views
from stapy.plot.choice import PlotWish, choose
from stapy.plot.errors import PlotError
from tests.plot.test_charts import GROWING, LEVELS, PERIODIC, of_global, read, stat

EVIL = "</script><script>alert(1)</script><!--\x01\x1b[2J\u202e'\"&\ufffe\ud800"
ALL = [
    *PERIODIC, *LEVELS, *GROWING,
    of_global("flames", 3, EVIL, stack=f"dd;{EVIL};g"),
    of_global("array", 3, EVIL),
    *(of_global("two", 1, key, EVIL + more) for key in "xyz" for more in "pq"),
    of_global("one", stat((1, 1, 2), (4, 7, 1))),
    of_global("many", stat((1, 1, 2)), EVIL),
]  # fmt: skip


@pytest.fixture
def recorded(tmp_path: Path) -> str:
    read(tmp_path, *ALL)
    return str(tmp_path / "r.jsonl")


def plot(*words: str) -> int:
    return cli.main(["plot", *words])


def test_an_svg_is_xml_and_the_same_each_time(recorded: str, tmp_path: Path) -> None:
    assert plot(recorded, "-o", str(tmp_path / "a.svg")) == 0
    assert plot(recorded, "-o", str(tmp_path / "b.svg")) == 0
    text = (tmp_path / "a.svg").read_bytes()
    assert text == (tmp_path / "b.svg").read_bytes()
    root = ET.fromstring(text)
    assert root.tag.endswith("svg") and b"<script" not in text
    words = " ".join(root.itertext())
    for part in ("x.stp", "flame graph: flames", "bars: array", "heat map: lat", "</script>"):
        assert part in words, part


def test_a_png_is_one(recorded: str, tmp_path: Path) -> None:
    place = tmp_path / "a.png"
    assert plot(recorded, "-o", str(place)) == 0
    data = place.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    wide, high = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    assert wide > 2000 and high > 2000


def test_a_page_needs_no_network_and_no_name_ends_its_scripts(
    recorded: str, tmp_path: Path
) -> None:
    place = tmp_path / "a.html"
    assert plot(recorded, "-o", str(place)) == 0
    text = place.read_text()
    assert re.findall(r"<script[^>]*>", text) == [
        '<script type="application/json" id="specification">', '<script type="module">',
    ]  # fmt: skip
    assert text.lower().count("</script") == 2 and "<!--" not in text
    assert not re.search(r"<(?:script|link|img|iframe)[^>]* (?:src|href)=", text[:100_000])
    assert "default-src 'none'" in text
    inside = re.search(r'id="specification">(.*?)</script>', text, re.DOTALL)
    assert inside
    spec = json.loads(inside[1])
    names = [row["name"] for row in spec["vconcat"][0]["data"]["values"]]
    assert any(name.startswith("</script><script>alert(1)") for name in names)
    assert spec["params"][0]["bind"]["input"] == "search"
    zooms = [one for view in spec["vconcat"] for one in (view, *view.get("layer", ()))]
    assert sum("params" in one for one in zooms) == 4  # of the flame graph, and along time


def test_the_library_has_no_complaints(recorded: str, capfd: pytest.CaptureFixture[str]) -> None:
    found = read(Path(recorded).parent, *ALL)
    for is_live in (False, True):
        spec = views.specification(choose(found, PlotWish()), "t", is_live)
        vl_convert.vegalite_to_svg(spec, vl_version=files.VERSION, show_warnings=True)
    assert capfd.readouterr() == ("", "")


def test_names_of_others_are_values_only(recorded: str) -> None:
    """Nothing of them is read as an expression, or as the name of a column."""
    found = read(Path(recorded).parent, *ALL)
    spec = views.specification(choose(found, PlotWish()), "t", True)
    for view in spec["vconcat"]:
        del view["data"], view["title"]

    def parts(node: object, key: str = "") -> list[tuple[str, str]]:
        if isinstance(node, dict):
            return [pair for name, one in node.items() for pair in parts(one, name)]
        if isinstance(node, list):
            return [pair for one in node for pair in parts(one, key)]
        return [(key, str(node))]

    where = {key for key, text in parts(spec) if "alert(1)" in text}
    assert where == {"sort", "domain"}


# What is said, for words of the command line.
REFUSED = {
    "suffix": ("-o a.svgg", r"cannot draw 'a\.svgg': .* did you mean 'a\.svg'\?"),
    "no_suffix": ("-o picture", r"must end with \.svg, \.html or \.png"),
    "chart": ("--chart=flames", r"'flames' is not 'flame', .*; did you mean 'flame'\?"),
    "top": ("--top 0", "expected a number from 1 to 1000, not '0'"),
    "top of many digits": (f"--top {'9' * 5000}", "expected a number from 1 to 1000, not '999"),
    "unit": ("--unit=flames", "expected NAME=UNIT, such as wait=us, not 'flames'"),
    "unit of none": ("--unit=flame=us", r"no global or field 'flame'; did you mean 'flames'\?"),
    "global": ("--global=flame", r"no global 'flame'; did you mean 'flames'\?"),
    "folder": ("-o none/a.svg", r"cannot write 'none/a\.svg': No such file"),
    "itself": ("-o r.svg r.svg", "'r.svg' is the recording itself"),
    "missing": ("none.jsonl", r"cannot read 'none\.jsonl': No such file"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(
    name: str, recorded: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(Path(recorded).parent)
    Path("r.svg").write_text(Path(recorded).read_text())
    line, words = REFUSED[name]
    given = line.split()
    file = [] if len(given) == 3 or given[0] == "none.jsonl" else ["r.jsonl"]
    assert plot(*given, *file) == 2
    said = capsys.readouterr().err
    assert re.search(words, said) and said.startswith("ERROR: stapy plot: ")


def test_a_file_that_is_there_gives_way_as_with_o(recorded: str, tmp_path: Path) -> None:
    place = tmp_path / "r.svg"  # where it goes unless -o says otherwise
    place.write_text("old")
    assert plot(recorded) == 0
    assert place.read_text().startswith("<svg")


def test_a_missing_library_is_told_with_the_way_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    with pytest.raises(PlotError, match=r"vl-convert-python: .* -m pip install 'stapy\[plot\]'"):
        files.check("a.svg")
    with pytest.raises(UsageError, match="--plot: pictures need the Python package"):
        cli.parse(["--plot", "a.svg", "x.stp"])


def test_no_stack_makes_a_picture_without_end(tmp_path: Path) -> None:
    path = tmp_path / "deep"
    path.write_text(";".join(f"f{n}" for n in range(4000)) + " 1\n")
    assert plot(str(path)) == 0
    root = ET.fromstring((tmp_path / "deep.svg").read_bytes())
    assert int(root.attrib["height"]) < 10000
    assert "the outermost 500 frames of up to 4,000" in " ".join(root.itertext())


def test_folded_stacks_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now, then, place = tmp_path / "now.folded", tmp_path / "then", tmp_path / "a.svg"
    now.write_text("m;a 30\nm;b 10\n")
    then.write_text("m;a 1\n")
    assert plot(str(now), "--before", str(then), "-o", str(place)) == 0
    assert "flame graph of stacks" in capsys.readouterr().out
    assert "red grew" in place.read_text()
