"""What a page of Markdown links to, and the anchors of its headings, as code hosts make them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_FENCE = re.compile(r"^( *)(`{3,}|~{3,})[^`\n]*\n(?:.*\n)*?\1\2[`~]* *$", re.MULTILINE)
_INDENTED = re.compile(r"(?<=\n\n)(?: {4,}.*\n|\n(?= {4}))+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*$", re.MULTILINE)
_PATH = r"<([^>\n]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*)"
_TITLE = r"""(?:"[^"]*"|'[^']*')"""
_TARGET = rf"\(\s*(?:{_PATH})(?:\s+{_TITLE})?\s*\)"
_LINK = re.compile(rf"\]{_TARGET}")
_DEFINITION = re.compile(r"^ {0,3}\[([^\]\n]+)\]:[ \t]*<?([^\s>]+)>?", re.MULTILINE)
_REFERENCE = re.compile(r"\[([^\[\]\n]+)\]\[([^\[\]\n]*)\]")
_HTML = re.compile(r"""<(?:a|img)\b[^>]*?\s(?:href|src)=["']([^"']*)["']""")
_NAMED = re.compile(r"""<[a-z]+\b[^>]*?\s(?:id|name)=["']([^"']*)["']""")
_EMPHASIS = re.compile(r"(?<![\w\\])([*_]{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")


def _blank(match: re.Match[str]) -> str:
    """Keep the lines, and so their numbers, of what is taken away."""
    return re.sub(r"[^\n]", " ", match[0])


def without_blocks(text: str) -> str:
    """Blank blocks of code and comments."""
    return _COMMENT.sub(_blank, _INDENTED.sub(_blank, _FENCE.sub(_blank, text)))


def slug(heading: str) -> str:
    """Make the anchor of a heading: small letters, no marks, blanks as hyphens."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    pieces = re.split(r"(`[^`]*`)", text)
    pieces[::2] = [re.sub(r"\\(\W)", r"\1", _EMPHASIS.sub(r"\2", one)) for one in pieces[::2]]
    return re.sub(r"[^\w\- ]", "", "".join(pieces).lower()).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """List what may stand behind a ``#``: headings, the second of a name with ``-1``, and ids."""
    bare = without_blocks(text)
    found = set(_NAMED.findall(bare))
    seen: dict[str, int] = {}
    for heading in _HEADING.findall(bare):
        name = slug(heading)
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def links(text: str) -> Iterator[tuple[int, str]]:
    """Yield the target of each link and image with its line; ``[name]`` of one never defined."""
    bare = _CODE.sub(_blank, without_blocks(text))
    defined = {name.lower() for name, _ in _DEFINITION.findall(bare)}
    found = [(one.start(), one[1] or one[2] or "") for one in _LINK.finditer(bare)]
    found += [(one.start(), one[2]) for one in _DEFINITION.finditer(bare)]
    found += [(one.start(), one[1]) for one in _HTML.finditer(bare)]
    for one in _REFERENCE.finditer(bare):
        name = one[2] or one[1]
        if name.lower() not in defined:
            found.append((one.start(), f"[{name}]"))
    for start, target in sorted(found):
        yield bare.count("\n", 0, start) + 1, target


def dead(page: Path, root: Path) -> list[str]:
    """List the links of a page that lead nowhere inside of a folder, each with its place."""
    complaints = []
    text = page.read_text(encoding="utf-8")
    for line, target in links(text):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        place = f"{page.relative_to(root)}:{line}: {target}"
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not target or target.startswith(("/", "[")):
            complaints.append(f"{place} is no link to a file")
        elif not there.is_relative_to(root) or not there.exists():
            complaints.append(f"{place} is not there")
        elif anchor and there.suffix == ".md":
            known = anchors(there.read_text(encoding="utf-8"))
            if anchor not in known:
                complaints.append(f"{place} has no such heading")
        elif anchor:
            complaints.append(f"{place} has an anchor into what is no page")
    return complaints
