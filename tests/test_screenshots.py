"""Screenshots of README.md: each is there, small, and needs nothing of the network."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
MOST = 150_000  # bytes


def test_pictures_of_the_readme() -> None:
    named = re.findall(r"!\[[^\]]+\]\((docs/screenshots/[^)]+)\)", (ROOT / "README.md").read_text())
    folder = ROOT / "docs" / "screenshots"
    there = sorted(path.name for path in folder.iterdir() if path.suffix in (".svg", ".png"))
    assert sorted(Path(one).name for one in named) == there and there
    for one in named:
        data = (ROOT / one).read_bytes()
        assert len(data) < MOST, one
        if one.endswith(".png"):
            assert data.startswith(b"\x89PNG\r\n"), one
            continue
        text = data.decode()
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        links = re.findall(r"""(?:href=["']|src=["']|url\()(?!["']?#)[^)"']+""", text)
        assert links == [] and "@import" not in text, one
