"""What pages of the built site lead to and load, without a browser."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

# Attributes that a browser follows by itself, by element; links wait for a reader.
_LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
_TIDY = ("canonical", "prev", "next")  # kinds of <link> that nothing is loaded for


class Page(HTMLParser):
    """The anchors of a page, where it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.ids |= {known[name] or "" for name in ("id", "name") if name in known}
        if tag == "a" and known.get("href"):
            self.links.append(known["href"] or "")
        if known.get(_LOADS.get(tag, "")) and known.get("rel") not in _TIDY:
            self.loads.append(known[_LOADS[tag]] or "")


def read(folder: Path) -> dict[Path, Page]:
    """Read all pages of a site."""
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}


def dead(folder: Path, pages: dict[Path, Page]) -> list[str]:
    """List what leads or loads from nowhere: files that are not there, anchors that no page has."""
    complaints = []
    for path, page in pages.items():
        for target in page.links + page.loads:
            if target.startswith(("http://", "https://", "mailto:", "data:")):
                continue
            name, _, anchor = target.partition("#")
            name = unquote(name.partition("?")[0])
            there = (path.parent / name).resolve() if name else path
            if not there.is_file() or not there.is_relative_to(folder):
                complaints.append(f"{path.relative_to(folder)}: {target} is not there")
            elif anchor and there in pages and unquote(anchor) not in pages[there].ids:
                complaints.append(f"{path.relative_to(folder)}: {target} has no such anchor")
    return complaints


def foreign(folder: Path, pages: dict[Path, Page]) -> list[str]:
    """List what pages would have a browser load from other hosts."""
    found = [
        f"{path.relative_to(folder)}: {target}"
        for path, page in pages.items()
        for target in page.loads
        if "//" in target
    ]
    for path in folder.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        found += [
            f"{path.relative_to(folder)}: {one}"
            for one in ("url(http", "url(//", "@import")
            if one in text
        ]
    return found
