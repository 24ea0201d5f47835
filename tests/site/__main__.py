"""What a browser makes of ``build/site``: ``python -m tests.site [FOLDER]``, after ``make site``.

Lists pages that do not fit on a phone, looks for a function, leaves pictures in FOLDER-pictures.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests import commandline
from tests.site import browser

SHOWN = ("index", "docs/tutorial", "docs/tapsets/kernel-task", "gallery/files", "docs/features")


def main(words: list[str]) -> int:
    """Look at all pages; return 1 when one is too wide or nothing is found."""
    words = commandline.read("python -m tests.site", __doc__, words, "FOLDER", "?")
    folder = Path(words[0] if words else "build/site").resolve()
    if not (folder / "index.html").exists():
        print(f"there is no site in {folder}: make site")
        return 1
    if why := browser.missing():
        print(f"nothing was looked at: {why}")
        return 2
    pictures = folder.with_name(f"{folder.name}-pictures")
    pictures.mkdir(exist_ok=True)
    with browser.browser() as opened:
        for name, size in (("phone", browser.PHONE), ("desk", browser.DESK)):
            tab = browser.tab(opened, size)
            for page in SHOWN:
                tab.goto((folder / f"{page}.html").as_uri())
                tab.screenshot(path=pictures / f"{page.replace('/', '-')}-{name}.png")
        found = browser.search(tab, (folder / "index.html").as_uri(), "task_current")
        tab.screenshot(path=pictures / "search-desk.png")
        wide = browser.too_wide(browser.tab(opened, browser.PHONE), folder)
    print(*wide, f"{len(wide)} pages too wide; task_current: {found[:2]}; {pictures}", sep="\n")
    return int(bool(wide) or not any("kernel-task" in one for one in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
