"""``docs/tapsets/`` and ``docs/probes.md``: ``python -m stapy.manual.markdown`` writes them.

A page for each file of the library, one for all system calls, and an index of names.
"""

from __future__ import annotations

import re
import sys
import textwrap
from argparse import ArgumentParser
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.arch import X86_64
from stapy.manual import families
from stapy.manual.entries import ALIAS, FIRST, FUNCTION, DocArgument, DocEntry
from stapy.manual.example import example
from stapy.manual.library import open_reference
from stapy.manual.usage import code_of, uses
from stapy.parse.doc_comment import DocComment
from stapy.parse.library.syscall_rows import read_rows, told_variables, variable_meanings

if TYPE_CHECKING:
    from stapy.manual.library import Reference

_MADE = "<!-- Made by `make docs` from the comments in tapsets/; do not edit. -->\n"
_LABELS = {"Returns": "Returns", "Since": "Since", "See": "See also"}
_POINTS = 4  # of those that an alias stands for, so many are shown
_TOOLS = 5  # of those that use a name
_RECIPES = 3
_RECIPE = re.compile(r"^### (?P<title>.+)\n(?P<body>(?:(?!^#{2,3} ).*\n)*)", re.MULTILINE)
_BLOCK = re.compile(r"^```stap\b.*\n((?:(?!```).*\n)*)```$", re.MULTILINE)
_DOCS = Path(__file__).parents[2] / "docs"
_CALLS = "system-calls.md"
_ROOMS = {
    "core": "Strings, time, output, context: what every script uses",
    "kernel": "Subsystems of the kernel",
    "syscalls": "System calls",
    "user": "Programs and their languages",
    "arch": "Registers and numbers of the architecture",
}


def pages(reference: Reference) -> dict[str, str]:
    """Write all pages, by their paths below ``docs/``."""
    found: dict[str, str] = {"probes.md": probes()}
    rows: dict[str, list[tuple[str, str, list[DocEntry]]]] = {room: [] for room in _ROOMS}
    for path in reference.files():
        if "#" in path:
            continue
        entries = [reference.told(entry) for entry in reference.of_file(path)]
        if entries:
            short = reference.short(path)
            name = page_name(short)
            found[f"tapsets/{name}"] = file_page(short, reference.subject(path), entries)
            rows[short.partition("/")[0]].append((name, short, entries))
    for path in reference.library.files():
        if path.endswith(".table"):
            found[f"tapsets/{_CALLS}"] = calls_page(reference.library.text(path))
    found["tapsets/index.md"] = _index(reference, rows)
    return found


def page_name(short: str) -> str:
    """Name the page of a file: ``kernel-vfs.md`` of ``kernel/vfs.stp``."""
    room, _, file = short.partition("/")
    stem, _, kind = file.rpartition(".")
    stem = stem.rpartition("/")[2]
    return f"{room}-{stem}{'-macros' if kind == 'stpm' else ''}.md"


def probes() -> str:
    """Write the page of all kinds of probe points."""
    texts = [families.part("introduction"), *(page.text for page in families.family_pages())]
    return _MADE.replace("comments in tapsets/", "pages in stapy/manual/") + "\n".join(texts)


def file_page(short: str, subject: str, entries: list[DocEntry]) -> str:
    """Write the page of one file."""
    text = f"{_MADE}# {short}\n\n"
    if subject:
        text += f"{prose(subject)}\n\n"
    if any(entry.since == FIRST for entry in entries):
        text += f"Since: stapy {FIRST}, where no other release is named.\n\n"
    same: list[DocEntry] = []
    for entry in entries:
        if _is_brief(entry):
            same.append(entry)
            continue
        text += _table(same)
        same = []
        text += entry_text(entry)
    return (text + _table(same)).rstrip("\n") + "\n"


def _is_brief(entry: DocEntry) -> bool:
    """Tell whether a line of a table says all of an entry: a point without any variable."""
    bare = not entry.doc.paragraphs and not entry.doc.sections and not entry.tools
    return entry.kind == ALIAS and not entry.arguments and bare


def _table(entries: list[DocEntry]) -> str:
    if not entries:
        return ""
    rows = [
        f"| `{one.name}` | {_cell(one.doc.summary)} | {_points(one)} |\n".replace("|  |", "| |")
        for one in entries
    ]
    shown = textwrap.indent("\n".join(map(example, entries)), "    ")
    table = "| probe | what | stands for |\n|---|---|---|\n" + "".join(rows)
    return f"{table}\nExamples:\n\n{shown}\n\n"


def _points(entry: DocEntry) -> str:
    """Write the first points that an alias stands for, and count the others."""
    points = list(dict.fromkeys(entry.points))
    more = len(points) - _POINTS
    shown = ", ".join(f"`{point}`" for point in points[:_POINTS])
    return shown + (f" and {more} more" if more > 0 else "")


def entry_text(entry: DocEntry) -> str:
    """Write what a page says of one function, macro or alias."""
    name = f"{entry.name}()" if entry.kind == FUNCTION else entry.name
    name = f"@{name}" if entry.kind == "macro" else name
    text = f"## {name}\n\n{prose(_sentence(entry.doc.summary))}\n\n"
    text += f"    {entry.signature}\n\n"
    if entry.arguments and any(one.meaning for one in entry.arguments):
        text += arguments(entry.arguments)
    text += "".join(f"{prose(one)}\n\n" for one in entry.doc.paragraphs)
    for section, label in _LABELS.items():
        if section in entry.doc.sections:
            text += f"{label}: {prose(entry.doc.sections[section])}\n\n"
    if entry.context:
        text += f"Context: {prose(entry.context)}\n\n"
    if entry.points:
        text += f"Stands for: {_points(entry)}\n\n"
    if shown := example(entry):
        text += f"Example:\n\n{textwrap.indent(shown, '    ')}\n\n"
    return text + _used_by(entry)


def _used_by(entry: DocEntry) -> str:
    """Link the tools of the gallery and the recipes that use what an entry is about."""
    tools = [f"[{one.name}](../../examples/{one.place})" for one in entry.tools[:_TOOLS]]
    more = len(entry.tools) - _TOOLS
    text = ", ".join(tools) + (f" and {more} more" if more > 0 else "")
    text = f"Used by: {text}\n\n" if text else ""
    titles = [title for title, code in _recipes() if uses(code, entry)]
    links = [f"[{prose(one)}](../cookbook.md#{_slug(one)})" for one in titles[:_RECIPES]]
    return text + (f"In the cookbook: {' · '.join(links)}\n\n" if links else "")


@cache
def _recipes() -> list[tuple[str, str]]:
    """List the recipes of the cookbook: title, and code of its scripts."""
    text = (_DOCS / "cookbook.md").read_text(encoding="utf-8")
    return [
        (one["title"], code_of("\n".join(_BLOCK.findall(one["body"]))))
        for one in _RECIPE.finditer(text)
    ]


def _slug(title: str) -> str:
    """Name the place of a heading as browsers of Markdown do."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def arguments(rows: list[DocArgument]) -> str:
    """Write a table of arguments or variables."""
    lines = []
    for one in rows:
        kind = {"long": "number"}.get(one.type, one.type)
        lines.append(f"| `{one.name}` | {kind} | {_cell(one.meaning)} |\n")
    return "| name | type | what |\n|---|---|---|\n" + "".join(lines) + "\n"


def calls_page(table: str) -> str:
    """Write the page of all system calls, a row each."""
    kinds, calls = read_rows(table, X86_64.name)
    told = told_variables(table)
    head, table_head = families.part("calls").split("\n\n| ", 1)
    text = f"{_MADE}{head}\n\n{_of_any_call()}\n| {table_head}"
    for name in sorted(calls):
        meanings = variable_meanings(calls[name], kinds, told)
        told_of = [f"`{one}` {_cell(what)}" for one, what in meanings.items() if one != "name"]
        text += f"| `{name}` | {'; '.join(told_of)} |\n"
    return text


def _of_any_call() -> str:
    """Write the examples that hold for every call but for its name."""
    texts = [DocArgument(one, "string", "") for one in ("name", "argstr", "retstr")]
    begin = DocEntry(ALIAS, "syscall.NAME", "", DocComment([], ""), arguments=texts[:2])
    end = DocEntry(ALIAS, "syscall.NAME.return", "", DocComment([], ""), arguments=texts[::2])
    return "".join(f"    {example(one)}\n" for one in (begin, end))


def _index(reference: Reference, rows: dict[str, list[tuple[str, str, list[DocEntry]]]]) -> str:
    text = _MADE + families.part("index")
    for room, title in _ROOMS.items():
        text += f"## {title}\n\n| file | what it is about | has |\n|---|---|---|\n"
        for name, short, entries in rows[room]:
            path = next(one for one in reference.files() if reference.short(one) == short)
            first = reference.subject(path).split("\n\n")[0]
            text += f"| [{short}]({name}) | {_cell(first)} | {_few(entries)} |\n"
        if room == "syscalls":
            text += f"| [calls.table]({_CALLS}) | All system calls by name. | `syscall.*` |\n"
        text += "\n"
    return text.rstrip("\n") + "\n"


def _few(entries: list[DocEntry]) -> str:
    """Name the first functions and points of a file."""
    names = list(dict.fromkeys(f"`{entry.name}`" for entry in entries))
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _sentence(text: str) -> str:
    first = text.partition(" ")[0]
    begun = text if re.search(r"[._(]", first) else text[:1].upper() + text[1:]
    return begun + ("" if text.endswith(("?", "…", ".")) else ".")


def prose(text: str) -> str:
    """Keep Markdown from reading marks into names of C: stars, underlines, angles."""
    parts = text.split("`")
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"([*_<>\[\]])", r"\\\1", parts[at])
    return "`".join(parts)


def _cell(text: str) -> str:
    return prose(text).replace("|", "\\|").replace("\n", " ")


def main(words: list[str]) -> int:
    """Write the pages into ``docs/``, and remove those of files that are gone."""
    ArgumentParser(prog="python -m stapy.manual.markdown", description=__doc__).parse_args(words)
    made = pages(open_reference())
    for old in (_DOCS / "tapsets").glob("*.md"):
        if f"tapsets/{old.name}" not in made:
            old.unlink()
    (_DOCS / "tapsets").mkdir(exist_ok=True)
    for name, text in made.items():
        (_DOCS / name).write_text(text, encoding="utf-8")
    print(f"{len(made)} pages in {_DOCS}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
