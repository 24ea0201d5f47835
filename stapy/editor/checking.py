"""Checks of a script while it is written: nobody has given it its arguments yet.

A script that names arguments is not wrong for want of them. It is checked with those of the first
command line that its head shows as a sample, else with the number 1 for each; what is found where
such an argument stands is not told, for another one may fit.
"""

from __future__ import annotations

import re
import shlex
from itertools import takewhile
from typing import TYPE_CHECKING

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.parse.lexer import tokenize
from stapy.record import replace
from stapy.session.check import Check

if TYPE_CHECKING:
    from stapy.kernel import Kernel
    from stapy.options import Options
    from stapy.session.check import Message

# Words without a value, the script's name, its arguments up to the next word with "-".
_SAMPLE = re.compile(r"#\s*sample:\s*(?:sudo\s+)?stapy?\s+(?:-\S+\s+)*\S+(.*)")
_NO_SUCH_ARGUMENT = "E0106"
_PLACEHOLDER = "1"
Place = tuple[int, int]  # line and column, counted from 1, as in messages
MOST = 1000  # arguments that are made up; a script that names a later one is told so


def messages_about(options: Options, kernel: Kernel, name: str, text: str) -> list[Message]:
    """Check a script for a kernel; arguments that it names and nobody has given are made up."""
    found = _checked(options, kernel, name, text)
    if not any(one.data["code"] == _NO_SUCH_ARGUMENT for one in found):
        return found
    given = len(options.arguments)
    places = _places_of_arguments(name, text, given)
    if not places:
        return found
    arguments = _made_up(text, options.arguments, max(places.values()))
    found = _checked(replace(options, arguments=arguments), kernel, name, text)
    return [one for one in found if not _is_about(one, name, set(places))]


def _checked(options: Options, kernel: Kernel, name: str, text: str) -> list[Message]:
    check = Check(options, name, text)
    check.translate_for(kernel)
    return check.messages


def _places_of_arguments(name: str, text: str, given: int) -> dict[Place, int]:
    """Map the places at which arguments behind the given ones are named to their numbers."""
    sources = SourceMap()
    source = sources.add(name, text)
    found: dict[Place, int] = {}
    for token in tokenize(text, source, Diagnostics(sources)):
        word = token.value[1:]
        if token.type == "ARG" and word.isdigit() and given < int(word) <= MOST:
            _, line, column = sources.position(token.span)
            found[line, column] = int(word)
    return found


def _is_about(message: Message, name: str, places: set[Place]) -> bool:
    """Tell whether a message is about one of some places in the script of a name."""
    expansions = message.data["expansions"]
    assert isinstance(expansions, list)
    for data in (message.data, *expansions):
        if data.get("file") == name:
            start, end = (data["line"], data["column"]), (data["end_line"], data["end_column"])
            if any(start <= place < end for place in places):
                return True
    return False


def _made_up(text: str, given: list[str], wanted: int) -> list[str]:
    """Make as many arguments as are wanted: those given, of the sample, placeholders."""
    sample = _sample_of(text)
    known = [*given, *sample[len(given) :]][: max(wanted, len(given))]
    return known + [_PLACEHOLDER] * (wanted - len(known))


def _sample_of(text: str) -> list[str]:
    """Read the arguments of the script in the first sample at its head; empty without one."""
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        found = _SAMPLE.match(line)
        if found is not None:
            try:
                words = shlex.split(found[1])
            except ValueError:  # it is a comment: nobody has promised that it is right
                return []
            return list(takewhile(lambda word: not word.startswith("-"), words))
    return []
