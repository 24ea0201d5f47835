"""Pictures of README.md and the gallery: each is there, small, and needs no network."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
MOST = 100_000  # bytes
IN_GALLERY = 8  # at least


def pictures(page: str) -> list[str]:
    """List the pictures that a page shows, as paths below our root."""
    found = re.findall(r"!\[[^\]]+\]\(([^):]+)\)", (ROOT / page).read_text())
    return [str(Path(page).parent / one) for one in found]


def test_pictures_of_the_pages() -> None:
    gallery = pictures("docs/examples.md")
    assert len(set(gallery)) >= IN_GALLERY
    named = [*pictures("README.md"), *gallery]
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
