"""The first line of a script, ``#! /usr/bin/stap -g``: the options that it asks for."""

from __future__ import annotations

import shlex

from stapy.parse.encoding import plain


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
