"""The built site in Chromium without a screen: widths, requests, the search, pictures."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_LONG = 120_000  # milliseconds: this machine may have other work


# What is wider than the window; of the text, what its box cuts off. Code and tables scroll alone.
_STANDS_OUT = """() => {
  const root = document.documentElement, width = root.clientWidth;
  const all = Math.max(root.scrollWidth, document.body.scrollWidth);
  if (all > width) return [all, ""];
  for (const one of document.querySelectorAll("article :is(p, li, h1, h2, h3)")) {
    if (one.closest(".table-wrapper, pre")) continue;
    if (one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > width)
      return [one.scrollWidth, one.textContent.slice(0, 60)];
  }
  return null;
}"""


def missing() -> str:
    """Say what keeps a browser from being started; "" when nothing does."""
    if not any(map(shutil.which, _NAMES)):
        return "there is no Chromium: apt-get install chromium"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "Playwright is not installed: pip install playwright"
    return ""


@contextmanager
def browser() -> Iterator[Browser]:
    """Start the system's Chromium; Playwright's own is not fetched."""
    from playwright.sync_api import sync_playwright

    path = next(path for path in map(shutil.which, _NAMES) if path)
    with sync_playwright() as started:
        opened = started.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"], timeout=_LONG
        )
        try:
            yield opened
        finally:
            opened.close()


def tab(opened: Browser, size: dict[str, int]) -> Tab:
    """Open a tab of a size."""
    page = opened.new_page(viewport=size)  # type: ignore[arg-type]
    page.set_default_timeout(_LONG)
    return page


def too_wide(page: Tab, folder: Path) -> list[str]:
    """List pages that a reader would have to move sideways, and what stands out there."""
    wide = []
    for path in sorted(folder.rglob("*.html")):
        page.goto(path.as_uri())
        # Wider than the window, or a long word of the text that a box cuts off.
        found = page.evaluate(_STANDS_OUT)
        if found:
            wide.append(f"{path.relative_to(folder)}: {found[0]} pixels {found[1]}")
    return wide


def search(page: Tab, address: str, words: str) -> list[str]:
    """Look for words as a reader does, in the field of a page; return where results lead."""
    page.goto(address)
    field = page.locator("input[name=q]").first
    field.fill(words)
    field.press("Enter")
    page.wait_for_selector("#search-results ul.search li a")
    page.wait_for_function(
        "document.querySelector('#search-results p').innerText.includes('finished')"
    )
    found = page.locator("#search-results ul.search li a")
    return [one.get_attribute("href") or "" for one in found.all()]
