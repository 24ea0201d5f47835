"""The editor of lines: history, completion, colours, several lines; by prompt_toolkit."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings

from stapy.diagnostics import Diagnostics, SourceMap, Stop
from stapy.paths import is_file
from stapy.shell.offers import offers
from stapy.shell.reading import GOES_ON, PROMPT
from stapy.shell.state import made_state_folder, state_folder
from stapy.terminal import progress, writing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.lexers import Lexer

    from stapy.editor.complete import CompletionAnswers
    from stapy.options import Options
    from stapy.shell.shell import Shell

_INDENT = "    "


class LineEditor:
    """A prompt that a shell is served from."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._completer = ShellCompleter(shell)
        self._prompt: PromptSession[str] = PromptSession(
            history=kept_history(),
            completer=self._completer,
            complete_while_typing=False,
            lexer=_lexer(shell.settings.options.color),
            multiline=True,
            prompt_continuation=GOES_ON,
            key_bindings=_keys(shell),
            enable_open_in_editor=False,
        )

    def serve(self) -> None:
        """Read and obey until the user has enough."""
        writing.write("'help' lists the commands, Tab completes, Ctrl-D leaves.\n")
        while not self._shell.has_ended:
            try:
                typed = self._prompt.prompt(PROMPT)
            except KeyboardInterrupt:
                continue  # what was typed is not wanted
            except EOFError:
                break
            except Exception:
                self._shell.pending = self._prompt.default_buffer.text
                raise
            if self._completer.failure is not None:
                self._shell.report(self._completer.failure)
                self._completer.failure = None
            try:
                self._shell.feed_all(typed)
            except KeyboardInterrupt:
                self._shell.pending = ""  # as while it is typed: the script stays


def _keys(shell: Shell) -> KeyBindings:
    """Make Enter end a text that is complete, and begin a line in one that is not."""
    keys = KeyBindings()

    @keys.add("enter")
    def entered(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        text = buffer.text
        line = buffer.document.current_line
        try:
            with progress.muted():
                is_whole = not shell.needs_more(text)
        except Exception:  # the shell will ask the same, where it can tell of it
            is_whole = True
        leaves = buffer.document.is_cursor_at_the_end and not line.strip()
        if (leaves and _may_end(text)) or is_whole:
            buffer.validate_and_handle()
        else:
            blanks = line[: len(line) - len(line.lstrip())]
            opens = buffer.document.current_line_before_cursor.rstrip().endswith("{")
            buffer.insert_text("\n" + blanks + (_INDENT if opens else ""))

    return keys


def _may_end(text: str) -> bool:
    from stapy.shell.checking import is_between

    return is_between(text)


class ShellCompleter(Completer):
    """What the shell offers, for the editor of lines.

    It is asked by Tab only and answers in this very thread: no thread runs when a run is forked.
    """

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._bench: CompletionAnswers | None = None
        self._asked_for: object = None
        self.failure: Exception | None = None  # told when no line is being edited

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """List completions of the word before the cursor."""
        try:
            with progress.muted():
                found, word = offers(self._shell, self._answers(), document.text_before_cursor)
        except Exception as error:
            self.failure = error
            return
        for one in found:
            yield Completion(one.text, -len(word), display_meta=one.detail)

    def _answers(self) -> CompletionAnswers:
        """Find the answers about the kernel of the options as they are now."""
        options = self._shell.settings.options
        if self._bench is None or self._asked_for is not options:
            self._asked_for, self._bench = options, answers(options)
        return self._bench


def answers(options: Options) -> CompletionAnswers:
    """Open what is known of the kernel of the options.

    Of a kernel that is not here nothing is known; the language, points and the library are.
    """
    from stapy.editor.kept import KeptAnswers
    from stapy.kernel import find_kernel, unknown_kernel

    release = options.vm_release or options.release
    try:
        kernel = find_kernel(
            release, Diagnostics(SourceMap()), options.sysroot, options.architecture
        )
    except Stop:  # what is typed will be told of it
        kernel = unknown_kernel(release or os.uname().release)
    return KeptAnswers(kernel, options)


def _lexer(color: str) -> Lexer | None:
    """Colour scripts by the lexer that documents are coloured by, where Pygments is."""
    if color == "never" or os.environ.get("NO_COLOR"):
        return None
    try:
        from prompt_toolkit.lexers import PygmentsLexer

        from stapy.editor.highlight import StapLexer
    except ImportError:
        return None
    return PygmentsLexer(StapLexer)


def history_file() -> Path:
    """Return where lines are kept."""
    return state_folder() / "history"


class PrivateHistory(FileHistory):
    """A file of lines that a full disk does not end the shell over."""

    def store_string(self, string: str) -> None:
        """Keep an entry."""
        with contextlib.suppress(OSError):
            # Bytes that are no UTF-8 come as lone surrogates, which older prompt_toolkits refuse.
            super().store_string(string.encode("utf-8", "replace").decode("utf-8"))


def kept_history() -> History:
    """Open the history of this user; where it could be another user's, lines are not kept."""
    path = history_file()
    why = made_state_folder()
    try:
        if not why:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                if stat.S_ISREG(os.fstat(fd).st_mode):
                    os.fchmod(fd, 0o600)  # one that is there may be another program's copy
            finally:
                os.close(fd)
            if is_file(path):
                return PrivateHistory(str(path))
            why = f"'{path}' is no file"
    except OSError as error:
        why = f"'{path}': {error.strerror}"
    writing.tell(f"WARNING: lines are not kept for the next time: {why}\n")
    return InMemoryHistory()
