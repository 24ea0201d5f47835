"""Every link of every page leads somewhere: files, folders, headings. The network is not asked."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests import markdown

ROOT = Path(__file__).resolve().parent.parent
# What is made, not written by us; other environments than `.venv` are known by their file.
_MADE = {ROOT / "build", ROOT / "dist"}
_PARTS = ROOT / "stapy/manual/pages"
# Files that a text names in backticks, by a path from the root or from the page's folder.
# (x stands for any name).
_NAMED = re.compile(r"`((?:\.\./)*[\w.-]+(?:/[\w.-]+)*/[\w.-]+\.(?:md|py|stp|c|h|txt|json|j2))`")


def pages() -> list[Path]:
    """List the Markdown files of the checkout.

    Parts of pages are judged as what they become: `docs/probes.md`, `docs/tapsets/`.
    """
    found: list[Path] = []
    for folder, folders, files in os.walk(ROOT):
        if Path(folder) in _MADE or "pyvenv.cfg" in files:
            folders.clear()
            continue
        folders[:] = [one for one in folders if one[0] != "." and one != "node_modules"]
        found += [Path(folder, one) for one in files if one.endswith(".md")]
    return sorted(page for page in found if not page.is_relative_to(_PARTS))


PAGES = pages()


def test_no_link_is_dead() -> None:
    assert {"README.md", "CONTRIBUTING.md", "CHANGES.md"} <= {page.name for page in PAGES}
    links = [link for page in PAGES for link in markdown.links(page.read_text(encoding="utf-8"))]
    assert len(links) > 200, "the pages have lost their links, or they are not found"
    complaints = [one for page in PAGES for one in markdown.dead(page, ROOT)]
    assert complaints == [], "\n".join(complaints)


def test_files_that_are_named_are_there() -> None:
    """A path in backticks that begins with a folder of ours is a file that exists."""
    missing = []
    for page in PAGES:
        for path in _NAMED.findall(page.read_text(encoding="utf-8")):
            ours = (ROOT / path.split("/")[0]).is_dir()
            there = (ROOT / path).exists() or (page.parent / path).exists()
            if ours and not there and Path(path).stem not in ("x", "test_x"):
                missing.append(f"{page.relative_to(ROOT)}: {path}")
    assert missing == [], "\n".join(missing)


def test_pages_that_programs_name_are_there() -> None:
    """Messages and comments name pages by path, some with the title of a section behind it."""
    named = re.compile(r'(?<![\w/.-])(docs/[\w/.-]+\.md)(?:#([\w-]+)|, "([^"\n]+)")?')
    folders = ("stapy", "runtime", "tapsets", "templates", "examples", "ansible", "man", "docker")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    found, wrong = 0, []
    for path in [*files, ROOT / "Makefile", ROOT / ".importlinter"]:
        if path.suffix in (".md", ".pyc"):
            continue
        for one in named.finditer(path.read_text(encoding="utf-8", errors="replace")):
            found += 1
            page, wanted = ROOT / one[1], one[2] or (markdown.slug(one[3]) if one[3] else "")
            known = markdown.anchors(page.read_text(encoding="utf-8")) if page.is_file() else set()
            if not page.is_file() or (wanted and wanted not in known):
                wrong.append(f"{path.relative_to(ROOT)}: {one[0]}")
    assert found > 20, "the names of pages are not found"
    assert wrong == []


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Casts and types of the kernel", "casts-and-types-of-the-kernel"),
        ("`task_current()`, `-x PID`", "task_current--x-pid"),
        ("a -- *b*: [c](d.md) & `e_f`", "a----b-c--e_f"),
        (r"\*text\*\_more", "text_more"),
        ("Größe 2", "größe-2"),
    ],
)
def test_anchors_are_those_of_code_hosts(heading: str, anchor: str) -> None:
    assert markdown.slug(heading) == anchor


PAGE = """\
# One

[here](#one), [there](other.md#two-1 "title"), ![image](<a b.png>), <a href="gone.md">x</a>
[named][], [other][name], array[i][j] in code: `a[b](c)` and ``[d](`e)``

```text
[not](a-link.md)
# no heading
```

<!-- [nor](this.md) -->

    [code](too.md)

- text

[named]: other.md
"""


def test_links_are_found_and_judged(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    (tmp_path / "other.md").write_text("# Two\n\n## Two\n\n<a id='here'></a>\n")
    (tmp_path / "a b.png").touch()
    lines = [4, 3, 4]
    assert markdown.dead(page, tmp_path) == [
        f"page.md:{lines[1]}: gone.md is not there",
        f"page.md:{lines[0]}: [name] is no link to a file",
        f"page.md:{lines[2]}: [j] is no link to a file",
    ]


@pytest.mark.parametrize(
    ("link", "complaint"),
    [
        ("other.md", ""),
        ("other.md#two", ""),
        ("other.md#here", ""),
        ("sub/", ""),
        ("https://example.com/no-such", ""),
        ("mailto:me@example.com", ""),
        ("other.md#Two", "has no such heading"),
        ("other.md#two-2", "has no such heading"),
        ("#nothing", "has no such heading"),
        ("sub/#two", "has an anchor into what is no page"),
        ("../outside.md", "is not there"),
        ("/etc/passwd", "is no link to a file"),
        ("", "is no link to a file"),
    ],
)
def test_a_link(link: str, complaint: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "outside.md").write_text("# Outside\n")
    (root / "other.md").write_text("# Two\n\n## Two\n\n<a id='here'></a>\n")
    page = root / "page.md"
    page.write_text(f"[x]({link})\n")
    assert markdown.dead(page, root) == ([f"page.md:1: {link} {complaint}"] if complaint else [])
