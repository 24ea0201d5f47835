"""Where the gallery uses a function, macro or alias: by the words of its scripts."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from stapy.manual.entries import ALIAS, MACRO, Tool
from stapy.paths import data_dir

if TYPE_CHECKING:
    from stapy.manual.entries import DocEntry

_NOT_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*|#[^\n]*', re.DOTALL)


def code_of(text: str) -> str:
    """Blank out what comments and strings of a script say."""
    return _NOT_CODE.sub(lambda found: '""' if found[0].startswith('"') else " ", text)


def uses(code: str, entry: DocEntry) -> bool:
    """Tell whether code, without comments and strings, names what an entry is about."""
    name = re.sub(r"\([^)]*\)", "", entry.name) if "(" in entry.name else entry.name
    if name not in code:
        return False  # so it is for nearly all of a million questions that the pages ask
    name = re.escape(name)
    if entry.kind == ALIAS:
        return re.search(rf"(?<![\w.]){name}(?![\w.(])", code) is not None
    if entry.kind == MACRO:
        return re.search(rf"@{name}(?!\w)", code) is not None
    if re.search(rf"\bfunction\s+{name}\b", code):
        return False  # the script's own
    calls = re.finditer(rf"(?<![\w$@.>]){name}\s*\(", code)
    return any(_arguments(code, call.end()) == len(entry.arguments) for call in calls)


def _arguments(code: str, at: int) -> int:
    """Count the arguments of a call from behind its parenthesis."""
    depth, commas = 1, 0
    for end in range(at, len(code)):
        one = code[end]
        depth += (one in "([{") - (one in ")]}")
        commas += depth == 1 and one == ","
        if not depth:
            return commas + 1 if code[at:end].strip() else 0
    return 0


class Usage:
    """The gallery, read when it is asked for."""

    @cached_property
    def _scripts(self) -> list[tuple[Tool, str]]:
        """Read the tools with their code, the shortest first: they show best what a word does."""
        found = []
        for path in data_dir("examples").glob("*/*.stp"):
            tool = Tool(path.stem, f"{path.parent.name}/{path.name}")
            found.append((tool, code_of(path.read_text(encoding="utf-8"))))
        return sorted(found, key=lambda one: (len(one[1]), one[0].place))

    def of(self, entry: DocEntry) -> list[Tool]:
        """List the tools that use an entry."""
        return [tool for tool, code in self._scripts if uses(code, entry)]
