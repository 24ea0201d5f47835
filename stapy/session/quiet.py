"""Which commands of ``-c`` write nothing to standard output: nobody is warned of those."""

from __future__ import annotations

import re
import shlex

# Commands that print nothing, with the letters of options that change nothing about that; None: no
# option does.  Others may print, and so may these with words such as --verbose.
_SILENT: dict[str, str | None] = {
    **dict.fromkeys((":", "false", "sleep", "true", "wait"), None),
    **dict.fromkeys(("[", "cd", "exit", "rmmod", "sync", "test"), "abcdefghnprstuwxzGLNOS"),
    **{"chmod": "R", "chown": "Rh", "cp": "aLPRdfnprux", "fallocate": "lno", "insmod": ""},
    **{"kill": "ABCDEFGHIJKMNOPQRSTUVWXYZ0123456789s", "ln": "fnrsT", "mkdir": "mp", "mv": "fnu"},
    **{"rm": "dfrR", "rmdir": "p", "touch": "acmrtdh", "truncate": "cors", "umount": "flr"},
}
_BETWEEN = frozenset((";", "&", "&&", "||", "\n"))
_SHELL = re.compile(r"[$`(){}|<\\]|(?:^|[\s;&])(?:if|for|while|until|case|function|!)\s")
_LEADS_AWAY = re.compile(r"(?<![02-9])>")  # standard output, and not only that of errors


def leads_away(command: str) -> bool:
    """Tell whether a shell sends standard output elsewhere."""
    return bool(_LEADS_AWAY.search(command))


def prints_nothing(command: str) -> bool:
    """Tell whether all that a command line starts is known to print nothing."""
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # a quote that is not closed: the shell says something
        return False
    if not words or _SHELL.search(command.replace("||", ";")):
        return False
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _BETWEEN:
            parts.append([])
        else:
            parts[-1].append(word)
    return all(_is_silent(part) for part in parts if part)


def _is_silent(words: list[str]) -> bool:
    name = words[0].rpartition("/")[2]
    if name not in _SILENT:
        return False
    if any(word.startswith("--") and word != "--" for word in words) or words[:2] == ["cd", "-"]:
        return False  # --help, --version, --verbose; where cd leads
    letters = _SILENT[name]
    options = (word[1:] for word in words[1:] if word.startswith("-") and word != "--")
    return letters is None or all(set(option) <= set(letters) for option in options)
