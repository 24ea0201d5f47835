"""The commands of the shell."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.diagnostics.render import harmless
from stapy.parse.encoding import plain
from stapy.paths import exists, is_dir
from stapy.shell import text as lines_of
from stapy.shell.apart import handed_on
from stapy.shell.shell import (
    BY_NAME,
    COMMANDS,
    LISTS,
    RefusedCommand,
    in_a_probe,
    looks_declared,
    usage,
)
from stapy.shell.state import set_aside
from stapy.temporary import TemporaryFolder
from stapy.terminal import progress, writing
from stapy.tools.replacing import create, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.shell.shell import Shell

_END = """\
What begins with probe, global, function or private is a part of the script: it is kept when it has
no mistake. Ctrl-C ends a run, or leaves what is being typed; docs/interactive.md tells more.
"""


_DRAFT_WAYS = "'edit' goes on with it, 'delete draft' gives it up"


def obey(shell: Shell, name: str, rest: str) -> None:
    """Obey a command; ``rest`` is what stands behind its name."""
    _OBEY[name](shell, rest)


def _say(text: str) -> None:
    """Print a text that may quote a script, with escapes for what the output cannot encode."""
    text = harmless(text)
    if sys.stdout.errors == "strict":
        encoding = sys.stdout.encoding
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    progress.clear()
    writing.write(text)


def _wrong(name: str) -> RefusedCommand:
    return RefusedCommand(f"usage: {usage(BY_NAME[name])}")


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise RefusedCommand(f"{str(error).lower()}: {rest}") from None


def _path(name: str, words: list[str]) -> Path:
    if len(words) != 1:
        raise _wrong(name)
    if "\0" in words[0]:
        raise RefusedCommand(f"'{words[0]}' is no name of a file")
    try:
        return Path(words[0]).expanduser()
    except RuntimeError:
        raise RefusedCommand(f"'{words[0]}': there is no such user") from None


# --- asking -----------------------------------------------------------------------


def _help(shell: Shell, rest: str) -> None:
    if rest in BY_NAME:
        _say(f"{usage(BY_NAME[rest])}\n    {BY_NAME[rest].about}\n")
    elif rest:
        shell.session(shell.settings.for_question(doc=rest))
    else:
        _say("".join(f"{usage(one):<30} {one.about}\n" for one in COMMANDS) + _END)


def _list(shell: Shell, rest: str) -> None:
    asked = LISTS.match(rest)
    point = rest[asked.end() :] if asked else rest
    if point:
        with_variables = bool(asked) and "L" in rest[: len(rest) - len(point)]
        shell.session(shell.settings.for_question(listing=point, variables=with_variables))
    elif asked:
        raise _wrong("list")
    elif shell.script:
        _say(lines_of.numbered(shell.script))
    elif shell.on_terminal:
        _say("The script is empty.\n")


def _show(shell: Shell, rest: str) -> None:
    if rest:
        raise _wrong("show")
    for words in shell.settings.words():
        _say(f"set {words}\n")
    if shell.settings.arguments:
        _say(f"add args {shlex.join(shell.settings.arguments)}\n")


# --- options ----------------------------------------------------------------------


def _set(shell: Shell, rest: str) -> None:
    if rest:
        shell.settings.set(_words(rest))
    else:
        _show(shell, "")


def _unset(shell: Shell, rest: str) -> None:
    if not rest or len(_words(rest)) != 1:
        raise _wrong("unset")
    if rest == "args":
        shell.settings.take_arguments([])
    else:
        shell.settings.unset(rest)


def _add(shell: Shell, rest: str) -> None:
    what, *words = _words(rest) or [""]
    if what == "args" and words:
        shell.settings.take_arguments([*shell.settings.arguments, *words])
    elif what == "path":
        folder = _path("add", words)
        if not is_dir(folder):
            raise RefusedCommand(f"'{folder}' is no folder")
        shell.settings.set(["-I", str(folder)])
    else:
        raise _wrong("add")


# --- the script -------------------------------------------------------------------


def _run(shell: Shell, rest: str) -> None:
    if rest and not looks_declared(rest):
        raise RefusedCommand(f"'run' takes declarations, not statements{in_a_probe(rest)}")
    text = lines_of.joined(shell.script, rest)
    if not text:
        raise RefusedCommand("the script is empty: 'probe begin { println(1) exit() }' is one")
    shell.session(shell.settings.for_script(text))


def _delete(shell: Shell, rest: str) -> None:
    if rest in ("all", "draft"):
        if rest == "draft" and not shell.draft:
            raise RefusedCommand("there is no draft: 'edit' goes on with the script")
        if rest == "all":
            set_aside(shell)
            shell.script = ""
        shell.draft = ""
        return
    first, dash, last = (part.strip() for part in rest.partition("-"))
    last = last if dash else first
    number = lines_of.count(shell.script)
    if not (first.isdecimal() and last.isdecimal() and len(first + last) < 40):
        raise _wrong("delete")
    if not 1 <= int(first) <= int(last) <= number:
        there = f"lines 1 to {number}" if number else "no lines"
        raise RefusedCommand(f"the script has {there}, not {rest}")
    left, gone = lines_of.without(shell.script, int(first), int(last))
    draft = _draft_without(shell.draft, gone)
    shell.take_out(left)
    shell.draft = draft


def _draft_without(draft: str, gone: str) -> str:
    """Take out of a draft what is taken out of the script, for `edit` would bring it back."""
    found = lines_of.without_text(draft, gone) if draft else ""
    if found is None:
        raise RefusedCommand(f"in the draft this is another text: {_DRAFT_WAYS}")
    return found


def read(shell: Shell, path: Path) -> None:
    """Make what is in a file the script."""
    if shell.has_unsaved_draft():
        raise RefusedCommand(f"the draft would be lost: {_DRAFT_WAYS}")
    text = plain(path.read_bytes().decode("utf-8", "surrogateescape"))
    script = lines_of.joined(text, "")
    try:
        shell.refuse_mistakes(script, name=str(path))
    except RefusedCommand:
        if shell.script:
            raise
        shell.draft = shell.draft_saved = text
        raise RefusedCommand("the script is empty; 'edit' goes on with this text") from None
    set_aside(shell)
    shell.script = script
    shell.file, shell.draft, shell.saved = str(path), "", shell.script


def _load(shell: Shell, rest: str) -> None:
    read(shell, _path("load", _words(rest)))


def _save(shell: Shell, rest: str) -> None:
    words = _words(rest)
    is_forced = words[:1] == ["-f"]
    words = words[is_forced:] or ([shell.file] if shell.file else [])
    path = _path("save", words)
    if is_dir(path):
        raise RefusedCommand(f"'{path}' is a folder: give the name of a file in it")
    is_own = is_forced or str(path) == shell.file
    data = shell.script.encode("utf-8", "surrogateescape")
    try:
        if is_own and exists(path):
            replace(path, data)
        else:
            create(path, data)
    except FileExistsError:
        hint = f"'save -f {shlex.quote(str(path))}' writes over it"
        raise RefusedCommand(f"'{path}' is there already: {hint}") from None
    shell.file, shell.saved = str(path), shell.script
    lines = lines_of.count(shell.script)
    writing.tell(f"'{path}': {lines} line{'' if lines == 1 else 's'} written\n")


def _edit(shell: Shell, rest: str) -> None:
    if rest:
        raise _wrong("edit")
    if not shell.on_terminal:
        raise RefusedCommand("an editor needs a terminal, which standard input is not")
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with TemporaryFolder("shell") as folder:
        path = folder / "script.stp"
        before = shell.draft or shell.script
        path.write_bytes(before.encode("utf-8", "surrogateescape"))
        status = _edited([*_words(editor), str(path)])
        if status:
            raise RefusedCommand(f"'{editor}' ended with status {status}: nothing was changed")
        text = plain(path.read_bytes().decode("utf-8", "surrogateescape"))
    shell.draft = text
    try:
        shell.take(lines_of.joined(text, ""))
    except RefusedCommand:
        raise RefusedCommand("the script is as it was; 'edit' goes on with this text") from None
    shell.draft = ""


def _edited(words: list[str]) -> int:
    """Run an editor; return its exit status."""
    import subprocess

    try:
        process = subprocess.Popen(words)
    except OSError as error:
        hint = "$VISUAL or $EDITOR names another one"
        raise RefusedCommand(f"cannot run '{words[0]}': {error.strerror} ({hint})") from None
    with handed_on(process.pid, signal.pthread_sigmask(signal.SIG_BLOCK, ())):
        return process.wait()


def _exit(shell: Shell, rest: str) -> None:
    if rest:
        raise RefusedCommand("usage: exit (without a status)")
    shell.has_ended = True


_OBEY: dict[str, Callable[[Shell, str], None]] = {
    "help": _help,
    "list": _list,
    "run": _run,
    "delete": _delete,
    "edit": _edit,
    "load": _load,
    "save": _save,
    "set": _set,
    "unset": _unset,
    "add": _add,
    "show": _show,
    "exit": _exit,
    "quit": _exit,
}
