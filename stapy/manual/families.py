"""The pages of probe families: ``pages/*.md``, what `docs/probes.md` is made of.

Each begins with a title in code, the first words of its points, and a line that says what it is.
"""

from __future__ import annotations

import re
from pathlib import Path

from stapy.probes.families import families
from stapy.record import Record

_FOLDER = Path(__file__).parent / "pages"
_TITLE = re.compile(r"## (?P<title>.*)\n\n(?P<summary>(?:.+\n)+)\n")


class FamilyPage(Record):
    """One kind of probe points, as users know it; ``families`` are those of the registry."""

    name: str
    title: str
    summary: str
    text: str
    families: list[str]


# The pages in the order of `docs/probes.md`, with the families whose points each is about.
_ORDER = {
    "begin": ["begin_end"],
    "timer": ["timer"],
    "kernel.function": ["kprobe"],
    "kernel.statement": ["kprobe"],
    "kernel.trace": ["tracepoint"],
    "syscall": [],
    "kernel.data": ["watchpoint"],
    "perf": ["perf", "taskevent"],
    "timer.profile": ["perf"],
    "netfilter": ["netfilter"],
    "bpf": ["bpf"],
    "process": ["process"],
    "process.function": ["uprobe"],
    "process.mark": ["usdt"],
    "debuginfod.process": ["process", "uprobe", "usdt", "taskevent"],
    "python3.module": [],
    "process.data": ["taskevent"],
    "procfs": ["procfs"],
}


def family_pages() -> list[FamilyPage]:
    """Read all pages."""
    return [_read(name, families) for name, families in _ORDER.items()]


def _read(name: str, families: list[str]) -> FamilyPage:
    text = (_FOLDER / f"{name}.md").read_text(encoding="utf-8")
    found = _TITLE.match(text)
    assert found is not None, name
    summary = " ".join(found["summary"].split())
    return FamilyPage(name, found["title"].replace("`", ""), summary, text, families)


def part(name: str) -> str:
    """Read what a page of `docs/` begins with."""
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def page_of(point: str) -> FamilyPage | None:
    """Find the page of a point, or of the beginning of one: that with the most names in common."""
    words = _words(point)
    if not words:
        return None
    best: tuple[int, FamilyPage] | None = None
    begun: FamilyPage | None = None
    for page in family_pages():
        for title in page.title.split(", "):
            own = _words(title)
            if words == own:
                return page
            if own[: len(words)] == words:
                begun = begun or page
            if words[: len(own)] == own and (not best or len(own) > best[0]):
                best = (len(own), page)
    return best[1] if best else begun


def all_known(page: FamilyPage, point: str) -> bool:
    """Tell whether each word of a point is one that points of its page have."""
    known = {word for title in page.title.split(", ") for word in _words(title)}
    known = known.union(*map(words_of, page.families))
    return known.issuperset(_words(point))


def words_of(name: str) -> set[str]:
    """List the names of components that points of a family of the registry have."""
    own = [family for family in families() if family.name == name]
    return {word for family in own for form in family.forms for word, _ in form.components}


def points() -> list[str]:
    """List the points of all families without what stands in parentheses."""
    forms = [str(form) for family in families() for form in family.forms]
    titles = [one for page in family_pages() for one in page.title.split(", ")]
    return sorted({".".join(_words(one)) for one in [*forms, *titles]})


def _words(point: str) -> list[str]:
    """List the names of a point's components."""
    bare = re.sub(r'"[^"]*"|\([^)]*\)', "", point)
    return [word for word in bare.split(".") if word]
