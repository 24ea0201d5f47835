"""Macros of ``-D`` that would change what is not the user's: the C around embedded code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stapy.diagnostics import Diagnostics

_WORD = re.compile(r"[A-Za-z_]\w*")
_OTHER = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)
_MARK = re.compile(r'#line \d+ "((?:[^"\\]|\\.)*)"')
_MACRO = re.compile(r"^#\s*define\s+\w+(\([^)\n]*\))?((?:\\\n|.)*)", re.MULTILINE)


def check(
    defines: dict[str, str], text: str, file: str, runtime: Path, diagnostics: Diagnostics
) -> None:
    """Refuse the user's macros that the C of a module, ``text`` in ``file``, is made with.

    ``defines`` are those that are no limits. Embedded code may use them: it is the user's.
    """
    if not defines:
        return
    used = own_words(text, file, set(defines)) | macro_words(runtime)
    for name in sorted(used & set(defines)):
        diagnostics.error(
            "semantic error",
            "E0294",
            f"-D {name}={defines[name]} would change the C around the script: that uses the name"
            " for something else",
            hint="choose another name for the macro",
        )


def own_words(text: str, file: str, defined: set[str]) -> set[str]:
    """Find the identifiers in generated C, without embedded code and the user's own definitions."""
    lines = []
    is_ours = True
    for line in text.split("\n"):
        mark = _MARK.fullmatch(line)
        if mark:
            is_ours = mark[1] == file
        elif is_ours and not _defines(line, defined):
            lines.append(line)
    return set(_WORD.findall(_OTHER.sub(" ", "\n".join(lines))))


def _defines(line: str, names: set[str]) -> bool:
    words = line.split(maxsplit=2)
    return len(words) > 1 and words[0] in ("#define", "#undef") and words[1] in names


def macro_words(runtime: Path) -> set[str]:
    """Find the identifiers that macros of the runtime's headers expand to; parameters are none.

    What else is in headers is read before the user's macros are there.
    """
    found: set[str] = set()
    for path in sorted(runtime.glob("*.h")):
        text = _OTHER.sub(" ", path.read_text())
        for parameters, body in _MACRO.findall(text):
            found |= set(_WORD.findall(body)) - set(_WORD.findall(parameters))
    return found
