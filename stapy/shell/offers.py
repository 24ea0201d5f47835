"""What Tab offers at the end of what is typed: commands, what they take, and parts of scripts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from stapy.editor.complete import Candidate, candidates
from stapy.editor.cursor import cursor_at
from stapy.paths import is_dir
from stapy.shell import text as lines_of
from stapy.shell.shell import COMMANDS, LISTS

if TYPE_CHECKING:
    from stapy.editor.complete import CompletionAnswers
    from stapy.shell.shell import Shell

_ADDED = (("path", "a tapset folder"), ("args", "arguments of the script"))


def offers(shell: Shell, bench: CompletionAnswers, typed: str) -> tuple[list[Candidate], str]:
    """List what the word at the end could become, and that word."""
    name, blank, rest = typed.lstrip().partition(" ")
    if not blank and "\n" not in name:
        found = [Candidate(one.name, "keyword", one.about) for one in COMMANDS]
        found += candidates(bench, name, len(name))
        return _fitting(found, name), name
    rest = rest.lstrip()
    word = rest.rpartition(" ")[2]
    if name in ("load", "save"):
        return _files(word, folders_only=False), word
    if name == "help":
        return _fitting([Candidate(one.name, "keyword", one.about) for one in COMMANDS], word), word
    if name == "set":
        return _options(rest), word
    if name == "unset":
        given = [words.split(" ")[0].partition("=")[0] for words in shell.settings.words()]
        return _fitting([Candidate(one, "keyword") for one in [*given, "args"]], word), word
    if name == "add":
        return _added(rest, word), word
    if name == "list":
        return _script(bench, "probe ", LISTS.sub("", rest, count=1))
    if name == "run":
        return _script(bench, shell.script, rest)
    if name in {one.name for one in COMMANDS}:
        return [], word
    return _script(bench, shell.script, typed)


def _script(bench: CompletionAnswers, before: str, typed: str) -> tuple[list[Candidate], str]:
    """Ask what the language server asks, behind the script that there is."""
    text = before + typed if before == "probe " else lines_of.joined(before, "") + typed
    return candidates(bench, text, len(text)), cursor_at(text, len(text)).word


def _fitting(found: list[Candidate], word: str) -> list[Candidate]:
    by_text = {one.text: one for one in found if one.text.startswith(word)}
    return [by_text[text] for text in sorted(by_text)]


def _options(rest: str) -> list[Candidate]:
    """List what a shell of the system is offered behind ``stapy``."""
    from stapy.tools.complete import line_of
    from stapy.tools.complete import offers as offered

    line = line_of(f"stapy {rest}")
    return [Candidate(one.text, "keyword", one.about) for one in offered(line) if rest]


def _added(rest: str, word: str) -> list[Candidate]:
    if rest.startswith("path "):
        return _files(word, folders_only=True)
    found = [Candidate(name, "keyword", about) for name, about in _ADDED]
    return _fitting(found, word) if rest == word else []


def _files(word: str, *, folders_only: bool) -> list[Candidate]:
    head, slash, start = word.rpartition("/")
    folder = os.path.expanduser(head + slash) or "."  # noqa: PTH111
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return []
    found = []
    for name in names:
        if not name.startswith(start) or (name.startswith(".") and not start):
            continue
        if is_dir(f"{folder}/{name}"):
            found.append(Candidate(f"{head}{slash}{name}/", "module"))
        elif not folders_only:
            found.append(Candidate(f"{head}{slash}{name}", "module"))
    return found
