"""What a page shows and what was printed, compared in shape: numbers and blanks may differ."""

from __future__ import annotations

import re

_BAR = re.compile(r" *-?\d+ \|@* *\d+| *~")
_PIECES = re.compile(r"(0x[0-9a-f]+)|(-?\d+)|( +)|(…)|(@+)")
_FOR = ("0x[0-9a-f]+", r"-?\d+", " +", ".*", "@*")
_ANY_LINES = "…"


def pattern_of(line: str) -> str:
    """Write the pattern of a line that is shown; ``…`` in it is any text."""
    if _BAR.fullmatch(line):
        return f"(?:{_BAR.pattern})\n"
    out, at = "", 0
    for piece in _PIECES.finditer(line.strip()):
        out += re.escape(line.strip()[at : piece.start()])
        out += next(_FOR[number] for number, part in enumerate(piece.groups()) if part)
        at = piece.end()
    return f" *{out}{re.escape(line.strip()[at:])} *\n"


def pattern(shown: str) -> str:
    """Write the pattern of a text: a line ``…`` is any lines, rows alike may be more or fewer."""
    out: list[str] = []
    for line in shown.splitlines():
        one = "(?:.*\n)*" if line.strip() == _ANY_LINES else pattern_of(line)
        repeated = f"(?:{one})+"
        if out and out[-1] in (one, repeated) and line.strip() != _ANY_LINES:
            out[-1] = repeated
        else:
            out.append(one)
    return "".join(out)


def differs(shown: str, printed: str) -> str:
    """Tell how a text that was printed differs from the one that is shown; "" when it does not."""
    if printed and not printed.endswith("\n"):
        printed += "\n"
    if re.fullmatch(pattern(shown), printed):
        return ""
    return f"--- the page shows\n{shown}\n--- printed was\n{printed}"


_WORDS = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*")|(?P<number>0x[0-9a-f]+|(?=[a-f]*\d)[0-9a-f]{6,}\b|-?\d+(?:\.\d+)*\b)'
    r"|(?P<bar>@+)|(?P<name>[\w$][\w.$/|:-]*)|\S"
)
_SIGNS = {"text": '"', "number": "9", "bar": "", "name": "a"}
_TITLE = re.compile(r"[A-Z%_ ]*[A-Z]{2}[A-Z%_ ]*")


def kind_of(line: str) -> str:
    """Write a line as the kinds of its words: several names or numbers in a row are one."""
    found = ""
    for word in _WORDS.finditer(line):
        sign = _SIGNS[word.lastgroup] if word.lastgroup else word[0]
        found += "" if sign in "a9" and found.endswith(sign) else sign
    return found


def lacking(shown: str, printed: str) -> list[str]:
    """List the lines of a sample of which nothing of the kind was printed.

    Titles are compared by their words. ``…`` in a line is anything; what a sample leaves out (a
    line ``…`` or ``~``) is not looked for.
    """
    lines = printed.splitlines()
    titles = {" ".join(line.split()) for line in lines}
    kinds = "\n".join({kind_of(line) for line in lines})
    found = []
    for line in shown.splitlines():
        if line.strip() in ("", _ANY_LINES, "~"):
            continue
        parts = (re.escape(kind_of(part)) for part in line.split("…"))
        if _TITLE.fullmatch(line):
            is_there = " ".join(line.split()) in titles
        else:
            is_there = bool(re.search(f"^{'.*'.join(parts)}$", kinds, re.MULTILINE))
        if not is_there:
            found.append(line)
    return found
