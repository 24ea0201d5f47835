"""Pictures as files: SVG, PNG, or one page of HTML that works without a network."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from stapy.diagnostics.suggest import nearest
from stapy.plot.charts import TITLES, Chart, shown
from stapy.plot.errors import PlotError
from stapy.plot.labels import shortened
from stapy.plot.page import PAGE, PROGRAM
from stapy.plot.recording import Recording
from stapy.plot.views import Spec, specification
from stapy.run.output import open_file

Drawn = TypeVar("Drawn", str, bytes)

VERSION = "6.1"  # of Vega-Lite, that pictures are the same with a newer library


def check(path: str) -> None:
    """Refuse a file of no kind that can be drawn, and a host that cannot draw."""
    suffix = Path(path).suffix
    if suffix.lower() not in WRITERS:
        kinds = list(WRITERS)
        near = nearest(suffix, kinds)
        hint = f"; did you mean '{Path(path).with_suffix(near[0])}'?" if suffix and near else ""
        raise PlotError(
            f"cannot draw '{path}': its name must end with {', '.join(kinds[:-1])} or "
            f"{kinds[-1]}{hint}"
        )
    if find_spec("vl_convert") is None:
        from stapy.run.ground.packages import way_to_extra

        way = way_to_extra("plot")
        raise PlotError(f"pictures need the Python package vl-convert-python: {way}")


def write(path: str, drawn: list[Chart], title: str) -> None:
    """Write charts into a file; what stands there gives way, as with ``-o``."""
    check(path)
    data = WRITERS[Path(path).suffix.lower()](drawn, title)
    try:
        fd = open_file(path)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
    except OSError as error:
        raise PlotError(f"cannot write '{path}': {error.strerror}") from None


def title_of(found: Recording, file: str) -> str:
    """Name a picture by the script, or by the file where nothing tells it."""
    return shown(found.script or Path(file).name)


def summary(drawn: list[Chart]) -> str:
    """Say what a file shows."""
    return ", ".join(f"{TITLES[chart.kind]} of {chart.title}" for chart in drawn)


def _draw(how: Callable[..., Drawn], spec: Spec, **more: object) -> Drawn:
    try:
        return how(spec, vl_version=VERSION, allowed_base_urls=[], **more)
    except ValueError as error:
        raise PlotError(f"the library vl-convert could not draw it: {error}") from None


def _svg(drawn: list[Chart], title: str) -> bytes:
    import vl_convert

    text = _draw(vl_convert.vegalite_to_svg, specification(drawn, title, False))
    whole = {cut: name for chart in shortened(drawn) for cut, name in chart.whole.items()}
    return titled(renumbered(text), whole).encode("utf-8")


def titled(text: str, whole: dict[str, str]) -> str:
    """Have the reader's program tell what is under the mouse: marks, and names that were cut."""
    cuts = {html.escape(cut, quote=False): name for cut, name in whole.items()}

    def of_mark(match: re.Match[str]) -> str:
        return f"<{match[1]}{match[2]}><title>{match[3]}</title>{match[4] or ''}</{match[1]}>"

    def of_cut(match: re.Match[str]) -> str:
        name = cuts.get(match[2])
        return f"{match[1]}<title>{html.escape(name)}</title>{match[2]}" if name else match[0]

    mark = r'<(path|text)( aria-label="([^"]*)" role="graphics-symbol"[^>]*?)(?:/>|>([^<]*)</\1>)'
    text = re.sub(r"(<text[^>]*>)([^<]*…[^<]*)(?=</text>)", of_cut, text)
    return re.sub(mark, of_mark, text)


def renumbered(text: str) -> str:
    """Count the names of parts of an SVG from 0: the library goes on where it was."""
    numbers: dict[str, int] = {}

    def name(match: re.Match[str]) -> str:
        number = numbers.setdefault(match[2] + match[3], len(numbers))
        return f"{match[1]}{match[2]}{number}{match[4]}"

    return re.sub(r'(id="|url\(#)(clip|gradient_)(\d+)("|\))', name, text)


def _png(drawn: list[Chart], title: str) -> bytes:
    import vl_convert

    return _draw(vl_convert.vegalite_to_png, specification(drawn, title, False), scale=2)


def _html(drawn: list[Chart], title: str) -> bytes:
    import vl_convert

    spec = specification(drawn, title, True)
    text = PAGE.format(
        title=html.escape(title),
        specification=embedded(spec),
        library=vl_convert.javascript_bundle(PROGRAM, VERSION),
    )
    return text.encode("utf-8")


def embedded(spec: Spec) -> str:
    """Write JSON that nothing in it can end early: neither a script nor a comment of HTML."""
    text = json.dumps(spec, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


WRITERS: dict[str, Callable[[list[Chart], str], bytes]] = {
    ".svg": _svg,
    ".html": _html,
    ".png": _png,
}
