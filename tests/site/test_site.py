"""The site is built without a warning, needs nobody else, and can be read and searched anywhere."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.site import browser, pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("sphinx", "furo", "myst_parser"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install -e '.[docs]', or make site")
    folder = tmp_path_factory.mktemp("site") / "site"
    done = subprocess.run(
        [sys.executable, ROOT / "docs/site/build.py", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def read(site: Path) -> dict[Path, pages.Page]:
    return pages.read(site)


def test_every_page_is_there(site: Path, read: dict[Path, pages.Page]) -> None:
    """Each page of docs/ has become one, and from the first page one gets to all others."""
    for page in (ROOT / "docs").rglob("*.md"):
        if page.parent.name != "site":
            assert site / page.relative_to(ROOT).with_suffix(".html") in read
    seen, ahead = set(), [site / "index.html"]
    while ahead:
        path = ahead.pop()
        if path in read and path not in seen:
            seen.add(path)
            ahead += [(path.parent / link.partition("#")[0]).resolve() for link in read[path].links]
    assert set(read) - seen <= {site / "search.html", site / "genindex.html"}


def test_no_link_of_the_site_is_dead(site: Path, read: dict[Path, pages.Page]) -> None:
    assert sum(len(page.links) for page in read.values()) > 10_000
    assert pages.dead(site, read) == []


def test_nothing_comes_from_other_hosts(site: Path, read: dict[Path, pages.Page]) -> None:
    assert all(page.loads for page in read.values())
    assert pages.foreign(site, read) == []


def test_scripts_are_coloured(site: Path) -> None:
    page = (site / "docs/tutorial.html").read_text()
    assert 'class="highlight-stap' in page
    assert '<span class="kd">probe</span>' in page
    assert (
        '<span class="kd">function</span>' in (site / "docs/tapsets/kernel-task.html").read_text()
    )


def test_the_gallery_shows_each_tool(site: Path) -> None:
    page = (site / "gallery/files.html").read_text()
    assert 'id="opensnoop"' in page
    assert "ENOENT" in page  # of what it printed
    assert 'href="../gallery/files.html#opensnoop"' in (site / "docs/examples.html").read_text()


@pytest.fixture(scope="module")
def chromium(site: Path) -> Iterator[Browser]:
    if why := browser.missing():
        pytest.skip(why)
    with browser.browser() as opened:
        yield opened


def test_pages_fit_on_a_phone(site: Path, chromium: Browser) -> None:
    tab = browser.tab(chromium, browser.PHONE)
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    assert browser.too_wide(tab, site) == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


FOUND = [
    ("task_current", "kernel-task.html"),
    ("ansi_set_color", "core-ansi.html"),
    ("opensnoop", "gallery/files.html"),
    ("E0231", "messages.html"),
]


@pytest.mark.parametrize(("words", "page"), FOUND)
def test_the_search_finds_it_in_files(words: str, page: str, site: Path, chromium: Browser) -> None:
    """No server: the folder is opened as it lies on the disk."""
    tab = browser.tab(chromium, browser.DESK)
    found = browser.search(tab, (site / "index.html").as_uri(), words)
    assert any(page in one for one in found), found


def test_the_search_finds_it_by_http(site: Path, chromium: Browser) -> None:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
    handler.log_message = lambda *words: None  # type: ignore[attr-defined]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            tab = browser.tab(chromium, browser.PHONE)
            address = f"http://127.0.0.1:{server.server_port}/docs/tutorial.html"
            found = browser.search(tab, address, "task_current")
        finally:
            server.shutdown()
    assert any("kernel-task.html" in one for one in found), found
