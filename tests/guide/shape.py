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
