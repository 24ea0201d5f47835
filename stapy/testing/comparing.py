"""What came, beside what was expected: the differences, written so that they can be read.

Lines that were expected and came begin with a blank, what is missing with ``-``, what came
besides with ``+``, as in a diff.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.testing.companion import Pattern, TestCase
    from stapy.testing.running import Ending

NEAR = 5  # other lines shown on each side of what is missing
_REFUSED = re.compile(r"^Pass ([1-4]): .* failed\.", re.MULTILINE)
_WIDE = 400  # characters of a line that are shown


class Fault(Record):
    """One thing that is not as expected, and lines that show it."""

    what: str
    lines: list[str] = new(list)


def faults(case: TestCase, ending: Ending) -> list[Fault]:
    """Compare how a script ended with what its case expects; nothing when all is as it should."""
    found = [_ended(case, ending)]
    if ending.is_late or ending.is_long or (found[0] and not ending.stdout):
        return [fault for fault in found if fault]  # the rest follows from it
    lines = ending.stdout.splitlines()
    if case.output is not None:
        found.append(_whole(case.output.splitlines(), lines))
    found += [
        _in_order("standard output", case.expect, lines),
        _among("standard error", case.stderr, ending.stderr.splitlines()),
        _unwanted("standard output", case.never, lines),
        _unwanted("standard error", case.never, ending.stderr.splitlines()),
    ]
    return [fault for fault in found if fault]


def _refused_by(ending: Ending) -> str:
    """Return the pass that made no module, "" when there was one."""
    match = _REFUSED.search(ending.stderr)
    return match[1] if match else ""


def _ended(case: TestCase, ending: Ending) -> Fault | None:
    said = [*_end_of("+", ending.stdout), *_end_of("+", ending.stderr)]
    if ending.is_late:
        return Fault(f"did not end in {case.timeout:g} s and was ended; it said:", said)
    if ending.is_long:
        return Fault("wrote too much and was ended; it said:", said)
    if ending.status == case.status:
        return None
    what = f"the exit status is {ending.status}, expected {case.status}"
    number = _refused_by(ending)
    if number:
        what += f": no module was made (pass {number})"
    return Fault(f"{what}; on standard error:", _end_of("+", ending.stderr, 40))


def _end_of(mark: str, text: str, most: int = 10) -> list[str]:
    lines = text.splitlines()
    left = [_left(len(lines) - most)] if len(lines) > most else []
    return left + [_shown(mark, line) for line in lines[-most:]]


def _shown(mark: str, line: str) -> str:
    cut = line if len(line) <= _WIDE else f"{line[:_WIDE]}… ({len(line)} characters)"
    return f"{mark} {cut}".rstrip()


def _left(number: int) -> str:
    return f"  … {number} more line{'s' if number != 1 else ''}"


# --- what must come -------------------------------------------------------------------


def _whole(expected: list[str], came: list[str]) -> Fault | None:
    """Compare the whole of the output; blanks at ends of lines do not count."""
    old, new_ = ([line.rstrip() for line in lines] for lines in (expected, came))
    if old == new_:
        return None
    _, _, _, *rest = difflib.unified_diff(old, new_, n=3, lineterm="")  # without its head
    shown = ["  …" if one.startswith("@@") else _shown(one[0], one[1:]) for one in rest]
    return Fault("standard output is another one than expected:", _cut(shown))


def _in_order(stream: str, expected: list[Pattern], came: list[str]) -> Fault | None:
    """Find each expectation behind the one before it; those that are missing hold up no other."""
    at, missing = 0, 0
    shown: list[str] = []
    for pattern in expected:
        place = next((n for n in range(at, len(came)) if pattern.matches(came[n])), None)
        if place is None:
            missing += 1
            shown.append(_shown("-", str(pattern)))
            continue
        shown += [_shown("+", line) for line in came[at:place]]
        shown.append(_shown(" ", came[place]))
        at = place + 1
    if not missing:
        return None
    shown += [_shown("+", line) for line in came[at:]]
    return Fault(f"{_count(missing, len(expected))} did not come on {stream}:", _folded(shown))


def _among(stream: str, expected: list[Pattern], came: list[str]) -> Fault | None:
    """Find each expectation anywhere: messages come when they come."""
    missing = [one for one in expected if not any(one.matches(line) for line in came)]
    if not missing:
        return None
    shown = [_shown("-", str(one)) for one in missing]
    said = _end_of("+", "\n".join(came), 20)
    return Fault(f"{_count(len(missing), len(expected))} did not come on {stream}:", shown + said)


def _count(missing: int, all_: int) -> str:
    return f"{missing} of {all_} expected line{'s' if all_ != 1 else ''}"


def _unwanted(stream: str, patterns: list[Pattern], came: list[str]) -> Fault | None:
    shown = [
        _shown("+", f"{line}   (line {number}, is {pattern})")
        for pattern in patterns
        for number, line in enumerate(came, 1)
        if pattern.matches(line)
    ]
    return Fault(f"lines that must not come are on {stream}:", _cut(shown)) if shown else None


def _folded(lines: list[str]) -> list[str]:
    """Leave out what is far from anything that is missing."""
    missing = [number for number, line in enumerate(lines) if line.startswith("-")]
    kept: list[str] = []
    left = 0
    for number, line in enumerate(lines):
        if any(abs(number - one) <= NEAR for one in missing):
            kept += [_left(left)] if left else []
            kept.append(line)
            left = 0
        else:
            left += 1
    return _cut(kept + ([_left(left)] if left else []))


def _cut(lines: list[str], most: int = 60) -> list[str]:
    return lines if len(lines) <= most else [*lines[:most], _left(len(lines) - most)]
