"""The first line of a script, ``#! /usr/bin/stap -g``: the options that it asks for.

The kernel hands them on when the script itself is run; commands that are told its name do not see
them, so what runs scripts for a user reads them here.
"""

from __future__ import annotations

import shlex
from typing import Any

from stapy import cli
from stapy.options import Options
from stapy.options.option import UsageError
from stapy.parse.encoding import plain
from stapy.record import replace

# What a first line, or the words behind '--', may say: how a script is translated.
_OF_TRANSLATION = ("guru", "unoptimized", "prologue_search", "defines", "globals", "compatible",
          "tapset_dirs", "privilege", "privilege_set", "skip_badvars", "suppress_time_limits",
          "debug_modules", "ldd", "all_modules", "command", "target", "arguments",
          "extra_scripts", "architecture")  # fmt: skip


def words_of(text: str) -> list[str]:
    """List the options of a script's first line as the kernel would hand them on, if it can.

    Nothing when there is no such line or it names another program; ValueError when it has quotes
    that do not close.
    """
    line = plain(text).partition("\n")[0]
    if not line.startswith("#!"):
        return []
    words = shlex.split(line[2:])
    if words[:1] and words[0].rpartition("/")[2] == "env":
        words = words[2:] if words[1:2] == ["-S"] else words[1:]
    if words[:1] and words[0].rpartition("/")[2] not in ("stap", "stapy"):
        return []  # the options are another program's
    return words[1:]


def about_translation(words: list[str], options: Options) -> Options:
    """Add to options what a command line says of translation; `UsageError` as for a command."""
    return replace(options, **_changed(words))


def _changed(words: list[str]) -> dict[str, Any]:
    given, usual = cli.parse(words, script=""), Options()
    return {
        field: getattr(given, field)
        for field in _OF_TRANSLATION
        if getattr(given, field) != getattr(usual, field)
    }


def lacking(text: str, options: Options) -> str:
    """Write the options of a script's first line when a command line does not say the same.

    Those about translation count; "" when none of them is missing, or the line cannot be read.
    """
    try:
        words = words_of(text)
        changed = _changed(words) if words else {}
    except (UsageError, ValueError):
        return ""
    is_lacking = any(getattr(options, field) != value for field, value in changed.items())
    return shlex.join(words) if is_lacking else ""
