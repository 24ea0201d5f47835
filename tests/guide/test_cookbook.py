"""The cookbook: each question has a script, and the tools that it names are in the gallery."""

from __future__ import annotations

import re

from stapy.session import examples
from tests.guide import pages

PAGE = "cookbook.md"


def test_every_question_has_a_script_and_tools_exist() -> None:
    text = (pages.DOCS / PAGE).read_text(encoding="utf-8")
    recipes = text.split("\n### ")[1:]
    assert len(recipes) >= 40
    without = [one.partition("\n")[0] for one in recipes if one.count("```stap\n") != 1]
    assert not without
    named = {
        name for line in re.findall("Gallery: (.*)", text) for name in re.findall("`(.*?)`", line)
    }
    assert named - {one.name for one in examples.gallery()} == set()
