"""One word, one thing; and what docstrings must not begin with."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

STAPY = Path(__file__).resolve().parent.parent / "stapy"
# Each of them was the name of several classes.
WORDS = {
    *("Entry", "Job", "Kernel", "Library", "Machine", "Names", "Place", "Session", "Unit"),
    "listed",
}
_TREES = "the same construct in two trees, of the syntax and of the typed program (`n.` and `p.`)"
_CONSUMER = "the same thing in the consumer, which imports nothing of ours and runs on Python 3.9"
# Classes whose name stands twice, and why; every other name is one class.
TWINS = {
    "Block": _TREES,
    "Expr": _TREES,
    "Stmt": _TREES,
    "Section": _CONSUMER,
    "UsageError": _CONSUMER,
    "UserFile": _CONSUMER,
}
# Words that send the reader elsewhere instead of saying something.
ELSEWHERE = ("See ", "The same ", "Same ", "As above", "Likewise", "Ditto")


def definitions() -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield every class and function of stapy with the file that it stands in."""
    for path in sorted(STAPY.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield str(path.relative_to(STAPY)), node


def test_one_word_is_one_thing() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for file, node in definitions():
        found[node.name].append(file)
    assert {name: files for name, files in found.items() if name in WORDS and files[1:]} == {}
    assert found["Session"] == ["session/__init__.py"]


def test_a_name_is_one_class() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for file, node in definitions():
        if isinstance(node, ast.ClassDef):
            found[node.name].append(file)
    twins = {name: files for name, files in found.items() if files[1:]}
    assert {name: files for name, files in twins.items() if name not in TWINS} == {}
    for name, why in TWINS.items():
        first, second = twins[name]  # what is excused here and stands alone by now needs no row
        if why is _TREES:
            assert (first.split("/")[0], second.split("/")[0]) == ("ir", "parse")
        else:
            assert second.split("/")[0] == "run"


def test_docstrings_can_be_read_alone() -> None:
    told = [(file, node.name, ast.get_docstring(node) or "") for file, node in definitions()]
    assert len([text for _, _, text in told if text]) > 2000
    assert [(file, name) for file, name, text in told if text.startswith(ELSEWHERE)] == []
