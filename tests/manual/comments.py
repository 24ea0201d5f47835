"""What is missing in the comments of our tapsets, or wrong: see `stapy.parse.doc_comment`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from stapy.arch import X86_64
from stapy.manual.entries import ALIAS, FUNCTION, DocEntry
from stapy.manual.example import example
from stapy.manual.library import Reference
from stapy.manual.usage import code_of, uses
from stapy.parse.facts import PreprocessFacts
from stapy.parse.library.syscall_rows import read_rows, told_variables, variable_meanings
from stapy.parse.library.syscalls import generate
from tests.manual.units import lacking, lacks_unit


def problems(reference: Reference) -> Iterator[str]:
    """List what is wrong, ``FILE: NAME: what``."""
    used: set[str] = set()
    for path in reference.files():
        if "#" in path:
            continue
        for entry in reference.of_file(path):
            found = [*_of_entry(entry)] if entry.kind in (FUNCTION, ALIAS) else []
            for what in found or _of_example(entry):
                yield f"{entry.file}: {entry.name}: {what}"
            if entry.kind == ALIAS:
                used.update(one.name for one in entry.arguments)
    for name in reference.glossary:
        if name not in used:
            yield f"variables.txt: {name}: no alias sets such a variable"
    for path in reference.library.files():
        if path.endswith(".table"):
            yield from _of_table(Path(path))


def _of_entry(entry: DocEntry) -> Iterator[str]:
    doc = entry.doc
    plain = re.sub(r"\([^)]*\)", "", entry.name)
    if plain not in [re.sub(r"\([^)]*\)", "", name) for name in doc.names]:
        yield f"no comment before it that begins '{plain} - what it is'"
        return
    if not doc.summary or doc.summary.endswith("."):
        yield "the first line says what it is, without a full stop"
    known = {one.name for one in entry.arguments}
    for name in doc.arguments:
        if name not in known:
            what = "a parameter" if entry.kind == FUNCTION else "a variable that it sets"
            yield f"'@{name}' is not {what}"
    for one in entry.arguments:
        if not one.meaning:
            where = "" if entry.kind == FUNCTION else ", the head of its file or variables.txt"
            yield f"'@{one.name}: what it means' is missing in its comment{where}"
    yield from lacking(entry)
    for name in doc.sections:
        if not doc.sections[name]:
            yield f"'{name}:' says nothing"


def _of_example(entry: DocEntry) -> Iterator[str]:
    """Look at the example that the page shows: one of a point is formed where none is given."""
    text = example(entry)
    if not text:
        yield "'Example:' is missing in its comment"
        return
    # What a script may give a body of its own shows that.
    replaced = entry.kind == FUNCTION and f"function {entry.name}:" in text
    shown = text if re.search(r"^probe\b", text, re.MULTILINE) else f"probe begin {{ {text} }}"
    if not replaced and not uses(code_of(shown), entry):
        yield "its example does not use it, or not with as many arguments"


def _of_table(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    kinds, calls = read_rows(text, X86_64.name)
    told = told_variables(text)
    for name, rows in calls.items():
        for variable, meaning in variable_meanings(rows, kinds, told).items():
            if meaning and lacks_unit(variable, meaning):
                yield f"{path.name}: {name}: the unit is missing in '{variable} | {meaning}'"
            if not meaning:
                yield f"{path.name}: {name}: '%means {variable} | what it is' is missing"
    for name, made in generate(text, PreprocessFacts()).items():
        for found in re.finditer(r"^probe ([\w.]+) =", made, re.MULTILINE):
            begins = re.compile(rf"/\*\*(?:\n \*)? {re.escape(found[1])} - ")
            if not made[: found.start()].endswith("*/\n") or not begins.search(made):
                yield f"{path.name}: {name}: {found[1]} has no comment"
