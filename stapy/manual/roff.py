"""Pages for man: ``python -m stapy.manual.roff FOLDER`` writes those of section 3stapy.

``stapyprobes`` has the kinds of probe points, ``function::NAME`` each function, ``tapset::FILE``
the probe points and macros of a file of the library.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.manual import families
from stapy.manual.entries import ALIAS, FUNCTION
from stapy.manual.example import example
from stapy.manual.library import open_reference
from stapy.manual.markdown import page_name
from stapy.manual.text import used_by

if TYPE_CHECKING:
    from stapy.manual.entries import DocEntry
    from stapy.manual.library import Reference

_HEAD = '.\\" Made by python -m stapy.manual.roff; do not edit.\n'


def escaped(text: str) -> str:
    """Escape text for roff: dashes and backslashes as they are, no line a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return re.sub(r"(?m)^([.])", r"\\&\1", text)


def probes_page() -> str:
    """Write stapyprobes(3stapy) from the pages of the families."""
    text = (
        f'{_HEAD}.TH STAPYPROBES 3stapy "" "stapy"\n.SH NAME\nstapyprobes \\- what can be probed\n'
    )
    parts = [families.part("introduction"), *(page.text for page in families.family_pages())]
    for line in "\n".join(parts).split("\n"):
        text += _line(line)
    return text + (
        ".SH SEE ALSO\n.BR stapy (1),\n.BR stapy\\-run (8)\n"
        if not text.endswith("SEE ALSO\n")
        else ""
    )


def _line(line: str) -> str:
    """Turn a line of Markdown into roff."""
    if line.startswith("# ") or re.match(r"\|\s*(-|point|written)", line):
        return ""
    if line.startswith("## "):
        return f".SH {escaped(_marks(line[3:]))}\n"
    if line.startswith("| "):
        cells = re.split(r" \| ", line.strip("| "), maxsplit=1)
        left, right = (escaped(_marks(one)) for one in [*cells, ""][:2])
        return f".TP\n.B {left}\n{right}\n"
    if line.startswith("    "):
        return f".br\n{escaped(line)}\n"
    return f"{escaped(_marks(line))}\n" if line.strip() else ".PP\n"


def _marks(words: str) -> str:
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", words.replace("`", ""))


def function_page(entries: list[DocEntry]) -> str:
    """Write the page of a function, with all of its bodies."""
    name = entries[0].name
    title = escaped(f"function::{name}")
    summary = escaped(entries[0].doc.summary)
    text = f'{_HEAD}.TH FUNCTION::{escaped(name.upper())} 3stapy "" "stapy"\n'
    text += f".SH NAME\n{title} \\- {summary}\n.SH SYNOPSIS\n.nf\n"
    text += "".join(f"{escaped(one.signature.removeprefix('function '))}\n" for one in entries)
    text += ".fi\n"
    for at, entry in enumerate(entries):
        text += _body(entry, entry.doc.summary if at else "")
    see = ".BR stapy (1),\n.BR stapyprobes (3stapy)\n"
    return f"{text}.SH FILES\ntapsets/{escaped(entries[0].file)}\n.SH SEE ALSO\n{see}"


def _body(entry: DocEntry, summary: str) -> str:
    text = f".SH DESCRIPTION\n{escaped(summary)}\n" if summary else ""
    if any(one.meaning for one in entry.arguments):
        text += ".SH ARGUMENTS\n" if entry.kind != ALIAS else ""
        text += "".join(
            f".TP\n.B {escaped(one.name)}\n{escaped(one.meaning)}\n" for one in entry.arguments
        )
    if more := entry.doc.paragraphs:
        text += ".SH NOTES\n" if entry.kind != ALIAS else ".PP\n"
        text += ".PP\n".join(escaped(one) + "\n" for one in more)
    if entry.kind == ALIAS:
        text += f".PP\n{escaped(entry.context)}\n" if entry.context else ""
        return f"{text}.PP\nExample:\n.PP\n.nf\n{escaped(example(entry))}\n.fi\n"
    used = used_by([one.name for one in entry.tools]) if entry.tools else ""
    rows = (
        ("RETURNS", entry.doc.sections.get("Returns", "")),
        ("CONTEXT", entry.context),
        ("SINCE", entry.since and f"stapy {entry.since}"),
        ("USED BY", used),
    )
    text += "".join(f".SH {label}\n{escaped(told)}\n" for label, told in rows if told)
    if shown := example(entry):
        text += f".SH EXAMPLE\n.nf\n{escaped(shown)}\n.fi\n"
    return text


def tapset_page(name: str, subject: str, entries: list[DocEntry]) -> str:
    """Write the page of a file's probe points and macros."""
    title = escaped(f"tapset::{name}")
    first = escaped((subject.split("\n\n")[0] or "probe points").rstrip("."))
    text = f'{_HEAD}.TH TAPSET::{escaped(name.upper())} 3stapy "" "stapy"\n.SH NAME\n{title} \\- '
    text += f"{first}\n"
    for entry in entries:
        text += f".SH {escaped(entry.signature)}\n{escaped(entry.doc.summary)}\n{_body(entry, '')}"
    return text + ".SH SEE ALSO\n.BR stapy (1),\n.BR stapyprobes (3stapy)\n"


def pages(reference: Reference) -> dict[str, str]:
    """Write all pages by their file names."""
    found = {"stapyprobes.3stapy": probes_page()}
    functions: dict[str, list[DocEntry]] = {}
    for path in reference.files():
        if "#" in path:
            continue
        rest = []
        for entry in map(reference.told, reference.of_file(path)):
            if entry.kind == FUNCTION:
                functions.setdefault(entry.name, []).append(entry)
            else:
                rest.append(entry)
        if rest:
            name = page_name(reference.short(path)).removesuffix(".md").partition("-")[2]
            page = tapset_page(name, reference.subject(path), rest)
            found[f"tapset::{name}.3stapy"] = page
    for name, entries in functions.items():
        found[f"function::{name}.3stapy"] = function_page(entries)
    return found


def main(words: list[str]) -> int:
    """Write the pages into a folder."""
    parser = ArgumentParser(prog="python -m stapy.manual.roff", description=__doc__)
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    folder = parser.parse_args(words).folder
    folder.mkdir(parents=True, exist_ok=True)
    made = pages(open_reference())
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    print(f"{len(made)} pages in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
