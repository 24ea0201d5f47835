"""Comments that document the declaration after them."""

from __future__ import annotations

import re

from stapy.patterns import compiled_when_used

_STARS = compiled_when_used(r"^[ \t]*\*+[ \t]?", re.MULTILINE)


def doc_before(text: str, start: int) -> str:
    """Return the comment that ends directly before ``start``, without its marks; "" for none.

    A blank line between comment and declaration separates the two.
    """
    before = text[max(0, start - 20000) : start].rstrip(" \t")
    if before.endswith("\n"):
        before = before[:-1].rstrip(" \t")
    if before.endswith("*/"):
        opening = before.rfind("/*")
        if opening < 0:
            return ""
        inside = before[opening + 2 : -2]
        return _tidy(_STARS().sub("", inside.lstrip("*")))
    lines: list[str] = []
    while before:
        line = before[before.rfind("\n") + 1 :]
        bare = line.strip()
        if bare.startswith("#!"):
            break
        if bare.startswith("//"):
            lines.append(bare.lstrip("/").strip())
        elif bare.startswith("#"):
            lines.append(bare.lstrip("#").strip())
        else:
            break
        before = before[: len(before) - len(line)].removesuffix("\n")
    return _tidy("\n".join(reversed(lines)))


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip().expandtabs(8) for line in text.split("\n")).strip()
