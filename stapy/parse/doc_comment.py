"""The comment before a function or probe alias, taken apart.

Its form, without the marks of C::

    NAME - what it is, in a line
    @ARGUMENT: what it means, with its unit

    Anything else that one should know, in paragraphs.
    Context: where it can be called, or who is running
    Returns: what comes back, with its unit, when the first line does not say
    Since: the version
    See: OTHER, OTHER
    Example: a line of a script, or lines that are indented further

An alias may have several names in its first line, and ``@VARIABLE`` for what it sets.
"""

from __future__ import annotations

import re

from stapy.record import Record, new

SECTIONS = ("Context", "Returns", "Since", "See", "Example")
_HEAD = re.compile(
    r"(?P<names>@?[A-Za-z_][\w.]*(?:\([^)]*\))?[\w.()]*(?:,\s+@?[A-Za-z_][\w.]*)*)\s+-\s+(?P<what>.*)"
)
_ARGUMENT = re.compile(r"@(\w+):\s*(.*)")
_SECTION = re.compile(rf"({'|'.join(SECTIONS)}):\s*(.*)")


class DocComment(Record):
    """What a comment says; ``names`` is empty when it does not begin as it should."""

    names: list[str]
    summary: str
    arguments: dict[str, str] = new(dict)
    paragraphs: list[str] = new(list)
    sections: dict[str, str] = new(dict)


def parse_comment(text: str) -> DocComment:
    """Take apart the text of a comment, its marks removed."""
    lines = text.split("\n")
    head, rest = _head(lines)
    found = _HEAD.fullmatch(head)
    doc = DocComment(
        [name.strip() for name in found["names"].split(",")] if found else [],
        found["what"].strip() if found else head,
    )
    _body(doc, rest)
    return doc


def shared_variables(text: str) -> dict[str, str]:
    """Read what variables mean: lines ``@NAME: meaning`` of a comment at the head of a file."""
    doc = DocComment([], "")
    _body(doc, text.split("\n"))
    return doc.arguments


def _head(lines: list[str]) -> tuple[str, list[str]]:
    """Join the first lines up to an argument, a section or a blank line."""
    at = 0
    while at < len(lines) and (bare := lines[at].strip()):
        if _ARGUMENT.match(bare) or _SECTION.match(bare):
            break
        at += 1
    return " ".join(line.strip() for line in lines[:at]), lines[at:]


def _body(doc: DocComment, lines: list[str]) -> None:
    """Sort lines into arguments, sections and paragraphs."""
    place: tuple[dict[str, str], str] | None = None
    paragraph: list[str] = []

    def finish() -> None:
        if paragraph:
            doc.paragraphs.append(" ".join(paragraph))
            paragraph.clear()

    for line in lines:
        bare = line.strip()
        argument, section = _ARGUMENT.match(bare), _SECTION.match(bare)
        if argument and not (place and place[1] == "Example" and line[:1].isspace()):
            finish()
            place = (doc.arguments, argument[1])
            doc.arguments[argument[1]] = argument[2]
        elif section:
            finish()
            place = (doc.sections, section[1])
            doc.sections[section[1]] = section[2]
        elif not bare and not (place and place[1] == "Example"):
            finish()
            place = None
        elif place is not None:
            _go_on(*place, line)
        else:
            paragraph.append(bare)
    finish()
    for name, value in doc.sections.items():
        doc.sections[name] = _dedent(value) if name == "Example" else value


def _go_on(where: dict[str, str], name: str, line: str) -> None:
    """Add a line to what it goes on; an example keeps its lines as they are."""
    if name == "Example":
        where[name] += "\n" + line
    else:
        where[name] = f"{where[name]} {line.strip()}".strip()


def _dedent(text: str) -> str:
    first, _, rest = text.partition("\n")
    lines = rest.split("\n")
    margin = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
    return "\n".join([first, *(line[margin:] for line in lines)]).strip("\n")
