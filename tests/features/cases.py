"""Finds the text of a case that a row of docs/features.md names."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

from tests.features.rows import Reference

ROOT = Path(__file__).resolve().parents[2]
# Directives of cases, the first line of programs, and C.
_KEPT_LINE = re.compile(
    r"#!|#\s*(args|command|expect|never|stderr|status|fails|kernel|cpus):|\s*#\s*(define|include|if)\b"
)


class NoCase(Exception):
    """A reference that leads to no case; the text says why."""


def text_of(reference: Reference, root: Path = ROOT) -> str:
    """Read what a case consists of, without its comments.  Raises NoCase."""
    path = root / reference.path
    if not reference.path or not path.exists():
        raise NoCase("there is no such file")
    if path.is_dir():
        raise NoCase("is a folder, not a case")
    if path.suffix == ".py":
        return _of_python(path, reference.name)
    if reference.name:
        raise NoCase("only Python files have names inside")
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    if path.suffix == ".stp":
        return without_comments(text)
    if path.suffix == ".txt":
        if not reference.quotes:
            raise NoCase("is a list of cases; quote from the one that is meant")
        blocks = [block for block in re.split(r"^(?=### )", text, flags=re.M) if "### " in block]
        meant = [block for block in blocks if all(quote in block for quote in reference.quotes)]
        if not meant:
            raise NoCase(f"has no case with {' and '.join(map(repr, reference.quotes))}")
        return "\n".join(meant)
    if path.suffix in (".c", ".ko", ".sh"):
        return text
    raise NoCase("is no kind of case")


def without_comments(text: str) -> str:
    """Cut out of a script what it only tells, but not its directives."""
    lines = [
        line
        for line in text.splitlines()
        if not re.match(r"\s*(#|//)", line) or _KEPT_LINE.match(line)
    ]
    return re.sub(r"/\*.*?\*/", _kept, "\n".join(lines), flags=re.S)


def _kept(comment: re.Match[str]) -> str:
    """Keep a comment of C that means something to a compiler of scripts, else return ""."""
    inside = comment[0][2:-2].strip()
    return comment[0] if re.fullmatch(r"[\w:-]+", inside) else ""


@functools.cache
def parsed(path: Path) -> tuple[str, dict[str, ast.stmt]]:
    """Parse a Python file; return its text and what it defines at its top, by name."""
    source = path.read_text(encoding="utf-8")
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            found[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update({one.id: node for one in targets if isinstance(one, ast.Name)})
    return source, found


def _of_python(path: Path, name: str) -> str:
    """Read a function or a table, with all that it uses of its own file."""
    if not name:
        raise NoCase("is a file of many cases: FILE::NAME names one")
    source, known = parsed(path)
    first, *rest = name.split("::")
    if first not in known:
        raise NoCase(f"defines no {first}")
    node: ast.AST = known[first]
    for part in rest:
        inner = [one for one in getattr(node, "body", []) if getattr(one, "name", "") == part]
        if not inner:
            raise NoCase(f"defines no {name}")
        node = inner[0]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not (
        node.name.startswith("test") or path.parent.name == "features"
    ):
        raise NoCase(f"{name} is a function that is no test")
    texts, waiting, seen = [], [node], {first}
    while waiting:
        node = waiting.pop()
        texts.append(lines_of(source, node))
        for used in _names(node):
            if used in known and used not in seen:
                seen.add(used)
                waiting.append(known[used])
    return "\n".join(texts)


def lines_of(source: str, node: ast.AST) -> str:
    """Cut out the lines of a definition with its decorators, without its docstring."""
    lines = source.splitlines()
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])  # type: ignore[attr-defined]
    kept = lines[first - 1 : node.end_lineno]  # type: ignore[attr-defined]
    body = getattr(node, "body", None)
    if body and ast.get_docstring(node) is not None:  # type: ignore[arg-type]
        kept[body[0].lineno - first : body[0].end_lineno - first + 1] = []
    return "\n".join(line for line in kept if not line.lstrip().startswith("# "))


def _names(node: ast.AST) -> set[str]:
    """Find the names that a definition reads, and the fixtures that it asks for."""
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return found | {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
