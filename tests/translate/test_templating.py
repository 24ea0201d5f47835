"""Templates: what we run is what Jinja would print, and nothing clever is let in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jinja2 import DictLoader

from stapy.cache import Cache
from stapy.diagnostics import Bug
from stapy.paths import data_dir
from stapy.translate.templating import Templates, environment, python_of

MODEL: dict[str, Any] = {
    "name": "x",
    "flag": True,
    "off": False,
    "rows": [{"a": 1, "inner": [{"b": 2}, {"b": 3}]}, {"a": 4, "inner": []}],
}

TEXTS = {
    "main.j2": (
        "{# Inputs: all of it. #}\nint {{ name }};\n"
        "{% if flag %}\nyes\n{% else %}\nno\n{% endif %}\n"
        "{% for row in rows %}\n\t{{ row.a }}:\n{% include 'part.j2' %}\n{% endfor %}\n"
        "{% if off %}\nnever\n{% endif %}\nend"
    ),
    "part.j2": "{% for one in row.inner %}\n\t\t{{ one.b }},\n{% endfor %}\n",
}


def folder(tmp_path: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_same_text_as_jinja(tmp_path: Path) -> None:
    jinja = environment()
    jinja.loader = DictLoader(TEXTS)
    expected = jinja.get_template("main.j2").render(MODEL)
    assert Templates(folder(tmp_path, TEXTS)).render("main.j2", MODEL) == expected
    assert "\t1:\n\t\t2,\n\t\t3,\n\t4:\n" in expected


REFUSED = [
    "{{ name|upper }}",
    "{{ name + 'x' }}",
    "{{ rows[0] }}",
    "{{ f() }}",
    "{% set x = 1 %}",
    "{% if name == 'x' %}{% endif %}",
    "{% for a in rows if a.a %}{% endfor %}",
    "{% include name %}",
    "{% macro m() %}{% endmacro %}",
]


@pytest.mark.parametrize("text", REFUSED)
def test_templates_do_not_decide(text: str) -> None:
    with pytest.raises(Bug, match="is not for templates"):
        python_of({"x.j2": text})


def test_an_undefined_name_is_an_error(tmp_path: Path) -> None:
    templates = Templates(folder(tmp_path, {"x.j2": "{{ missing }}"}))
    with pytest.raises(Bug, match="missing"):
        templates.render("x.j2", {})


def test_cache_is_used_and_a_damaged_one_is_not(tmp_path: Path) -> None:
    place = folder(tmp_path, {"x.j2": "{{ a }}"})
    cache = Cache(tmp_path / "cache")
    assert Templates(place, cache).render("x.j2", {"a": 1}) == "1"
    files = [path for path in (tmp_path / "cache" / "templates").rglob("*") if path.is_file()]
    assert files
    assert Templates(place, cache).render("x.j2", {"a": 2}) == "2"
    for path in files:
        path.write_bytes(b"damaged")
    assert Templates(place, cache).render("x.j2", {"a": 3}) == "3"
    (place / "x.j2").write_text("new {{ a }}")
    assert Templates(place, cache).render("x.j2", {"a": 3}) == "new 3"


@pytest.mark.parametrize("path", sorted(data_dir("templates").rglob("*.j2")), ids=lambda p: p.name)
def test_each_template_begins_with_its_inputs(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("{#") and "Inputs:" in text[: text.index("#}")]
