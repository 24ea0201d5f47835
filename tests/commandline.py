"""Words of the programs of tests: ``--help`` is answered, what a program does not know is refused.

Many of them write files, boot guests or run for hours, and take any word, or none, as an order.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection

NONE, ONE, SEVERAL = 0, "?", "*"


def read(
    command: str,
    text: str | None,
    given: Collection[str],
    metavar: str = "",
    nargs: str | int = NONE,
    known: Collection[str] = (),
) -> list[str]:
    """Return the words that a command was given.

    ``text`` is what ``--help`` says, ``metavar`` the name of a word, ``nargs`` how many there may
    be, ``known`` those that it may be, if these are few. Ends with status 2 otherwise.
    """
    parser = argparse.ArgumentParser(
        prog=command, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if nargs != NONE:
        told = f"one of {', '.join(known)}" if known else None
        parser.add_argument("words", metavar=metavar, nargs=nargs, help=told)
    options = parser.parse_args(list(given))
    found = getattr(options, "words", None) or []
    words = [found] if isinstance(found, str) else found
    unknown = [word for word in words if known and word not in known]
    if unknown:
        parser.error(f"no such {metavar}: {', '.join(unknown)}; there are {', '.join(known)}")
    return words
