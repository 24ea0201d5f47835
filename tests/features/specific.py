"""Tells whether a quotation can show anything: whole words, found in few cases, about the row.

Rows that are told in prose have no words of the language to look for, so it is their
quotations that carry the proof.  One of them must then be hard to meet by chance.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

from tests.features import cases, rows, subjects

# A quotation that stands in more of all cases than this shows none of them.
SHARE = 0.01
# In a small tree, a quotation may be found in as many as this.
FEW = 3
_ESCAPED = re.compile(r"\\+[nt]")
# Words of rows are compared by their first letters: `warning`, `warned`; and so are those
# that tell nothing of a row, among them what each status and each name of a test begins with.
_STEM = 4
_NOTHING = """
    all and are for from function have into kernel more name none not one only part print
    probe run script stap test than that the them they this what when which with yes
"""
_PLAIN = frozenset(word[:_STEM] for word in _NOTHING.split())


def plain(text: str) -> str:
    """Undo the escapes of strings, however deep."""
    return _ESCAPED.sub(" ", text).replace("\\", "")


def within(quote: str, text: str) -> bool:
    """Tell whether a text without escapes has a quotation, as whole words."""
    fixed = plain(quote).strip()
    return fixed in text and subjects.whole(fixed).search(text) is not None


@functools.cache
def corpus(root: Path) -> list[str]:
    """Read all cases below a root: scripts, tests and tables of Python files, blocks of lists."""
    found: list[str] = []
    for path in sorted((root / "tests" if (root / "tests").is_dir() else root).rglob("*")):
        if path.suffix not in (".stp", ".py", ".txt") or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        if path.suffix == ".stp":
            found.append(cases.without_comments(text))
        elif path.suffix == ".txt":
            blocks = re.split(r"^(?=### )", text, flags=re.M)
            found += [block for block in blocks if block.startswith("### ")]
        else:
            found += _python(path)
    return [plain(text) for text in found]


def _python(path: Path) -> list[str]:
    source, known = cases.parsed(path)
    return [
        cases.lines_of(source, node)
        for name, node in known.items()
        if name.startswith("test") or isinstance(node, (ast.Assign, ast.AnnAssign))
    ]


@functools.cache
def frequency(quote: str, root: Path) -> int:
    """Count the cases below a root that have a quotation as whole words."""
    return sum(within(quote, text) for text in corpus(root))


def problems(row: rows.Row, root: Path) -> list[str]:
    """List what is wrong with the quotations of a row in prose, which its cases do have."""
    found = []
    for reference in row.shown:
        for quote in reference.quotes:
            why = _weak(quote, root)
            found += [f"{reference} `{quote}`: {why}"] if why else []
    if not found and not _related(row, root):
        found.append("no quotation, and no name of a case, has a word of the row")
    return found


def _weak(quote: str, root: Path) -> str:
    """Say why a quotation shows nothing; "" when it does."""
    if not re.search(r"[^\W\d_]{2}|\w{3}", quote) or len(quote.strip()) < 4:
        return "is too short to show anything"
    if re.search(r"\w[._]$", quote):
        return "is only how names begin"
    known = corpus(root)
    count = frequency(quote, root)
    if count > max(FEW, SHARE * len(known)):
        return f"is found in {count} of {len(known)} cases"
    return ""


def _stems(text: str) -> set[str]:
    """List how the words of a text begin, but plurals as what they are of."""
    words = re.findall(r"[a-z]{3,}|\d{3,}", text.lower())
    stems = {re.sub(r"(?<=\w{3})s$", "", word)[:_STEM] for word in words}
    return stems - _PLAIN


def _related(row: rows.Row, root: Path) -> bool:
    """Tell whether a quotation or its case has a word of the row, or of the tapset it is about."""
    said = " ".join(
        " ".join([Path(one.path).stem, one.name, *one.quotes]) for one in row.shown if one.quotes
    )
    if _stems(said) & _stems(re.sub(r"`[^`]*\.stpm?`", "", row.feature) + " " + row.status):
        return True
    names = set(re.findall(r"\w{2,}", " ".join(quote for one in row.shown for quote in one.quotes)))
    return bool(names & _tapset_names(row, root))


def _tapset_names(row: rows.Row, root: Path) -> set[str]:
    """List what the tapset file defines that a row is about; nothing for other rows."""
    found: set[str] = set()
    for name in re.findall(r"[\w.-]+\.stpm?", " ".join(row.codes)):
        for path in (root / "tapsets").rglob(name):
            found |= set(re.findall(r"(?:function|probe|@define)\s+(\w+)", path.read_text("utf-8")))
    return found
