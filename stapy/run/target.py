"""The program of ``-c``: started at once, but held back until the probes are armed."""

from __future__ import annotations

import os
import sys

from .output import nobody_reads
from .signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Sequence, Tuple

# What only a shell can do; and what a shell does without staying the parent.
_SHELL_ONLY = "|&;<>(){}\n"
_EXPANDS = "$`*?[~#!"
_SHELL_SIGNAL = 128  # more than a signal's number, in the status of a shell whose command it ended


def words_of(command: str) -> List[str]:
    """Split a command line into words; a shell runs it only where one is needed."""
    bare = _unquoted(command)
    if any(character in bare for character in _SHELL_ONLY):
        return ["/bin/sh", "-c", command]
    # In double quotes a shell drops a backslash before these, which is left to one.
    kept = any(pair in command for pair in ("\\$", "\\`", "\\\n"))
    if kept or any(character in bare for character in _EXPANDS):
        return ["/bin/sh", "-c", "exec " + command]
    if bare == command and command.isprintable():  # its only white space is blanks then
        return command.split()
    # With a quote that is not closed, the shell shall complain.
    return _split(command) or ["/bin/sh", "-c", command]


def _split(command: str) -> Optional[List[str]]:
    """Split into words as a shell does where nothing is expanded; None if a quote is not closed."""
    words: List[str] = []
    word: Optional[str] = None
    quote = ""
    at = 0
    while at < len(command):
        character = command[at]
        following = command[at + 1 : at + 2]
        at += 1
        if quote == "'" and character != quote:
            word = (word or "") + character
        elif character == quote:
            quote = ""
        elif character == "\\":
            if not following:
                return None
            at += 1
            kept = quote and following not in '\\"'
            word = (word or "") + (character if kept else "") + following
        elif not quote and character in "'\"":
            quote, word = character, word or ""
        elif not quote and character in " \t":
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + character
    if quote:
        return None
    return words if word is None else [*words, word]


def _unquoted(command: str) -> str:
    """Keep what a shell would interpret: all outside quotes, expansions inside double ones."""
    found = []
    quote = ""
    at = 0
    while at < len(command):
        character = command[at]
        if character == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            if character == quote:
                quote = ""
            elif quote == '"' and character in "$`":
                found.append(character)
        elif character in "'\"":
            quote = character
        else:
            found.append(character)
        at += 1
    return "".join(found)


# The environment of programs that are started, where it is not ours: see `member`.
environment: Dict[bytes, bytes] = {}


def _take_environment() -> None:
    """In a child: have the environment that programs of the user's are to find."""
    if environment:
        os.environ.clear()
        os.environb.update(environment)


class TargetProcess:
    """A child that waits for `release` before it turns into the command.

    Without ``has_input`` it finds the end of its standard input, which somebody else reads;
    what it writes to the streams that are ``left`` goes nowhere.
    """

    def __init__(self, command: str, has_input: bool = True, left: Sequence[int] = ()) -> None:
        self.status: Optional[int] = None  # as waitpid gives it
        self.outlived = False  # the session was ending already when the command did
        words = words_of(command)
        gate, self._gate = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _become(words, gate, self._gate, left if has_input else (0, *left))
        os.close(gate)

    def release(self) -> None:
        """Let the command begin."""
        if self._gate >= 0:
            try:
                os.write(self._gate, b"g")
            except OSError:
                pass  # it was killed before
            os.close(self._gate)
            self._gate = -1

    def cancel(self) -> None:
        """Keep the command from ever beginning: the session failed before it did."""
        if self._gate >= 0:
            os.close(self._gate)  # an end of file without the letter means: go home
            self._gate = -1
            try:
                os.waitpid(self.pid, 0)
            except OSError:
                pass

    def has_ended(self) -> bool:
        """Tell whether the command is over."""
        if self.status is None:
            try:
                pid, status = self.wait(os.WNOHANG)
            except ChildProcessError:
                pid, status = self.pid, 0
            if pid == self.pid:
                self.status = status
        return self.status is not None

    def wait(self, options: int) -> Tuple[int, int]:
        """Wait for the command as `os.waitpid` does."""
        return os.waitpid(self.pid, options)

    def is_cut_off(self) -> bool:
        """Tell whether it ended since the reader of standard output, its and ours, has left."""
        if self.status is None:
            return False
        number = os.WTERMSIG(self.status) or os.WEXITSTATUS(self.status) - _SHELL_SIGNAL
        return number == signal.SIGPIPE and nobody_reads(1)

    def complaint(self) -> str:
        """Say what is worth a warning about how it ended, "" for nothing.

        A user who interrupts both need not be told that both were interrupted.
        """
        if self.status is None or self.outlived:
            return ""
        if os.WIFSIGNALED(self.status):
            number = os.WTERMSIG(self.status)
            return f"Child process exited with signal {number} ({signal.strsignal(number)})"
        code = os.WEXITSTATUS(self.status)
        return f"Child process exited with status {code}" if code else ""


def _become(words: List[str], gate: int, other: int, left: Sequence[int]) -> None:
    """Wait in the child, then turn into the command; never returns."""
    try:
        os.close(other)
        for fd in left:
            _leave(fd)
        signal.set_wakeup_fd(-1)
        for number in (
            signal.SIGINT,
            signal.SIGTERM,
            signal.SIGHUP,
            signal.SIGQUIT,
            signal.SIGUSR2,
            signal.SIGPIPE,
            signal.SIGCHLD,
        ):
            # The kernel makes no difference between a handler and the default at the exec.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        if os.read(gate, 1) != b"g":
            os._exit(0)
        os.close(gate)
        _take_environment()
        if words:
            os.execvp(words[0], words)
    except OSError as error:
        os.write(2, f"{words[0]}: {error.strerror}\n".encode("utf-8", "surrogateescape"))
    finally:
        os._exit(1)


def _leave(fd: int) -> None:
    """Let a standard stream be the one that has nothing and keeps nothing."""
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, fd)
    os.close(null)


def run_detached(command: str) -> int:
    """Run a command of the script's ``system()`` in a shell; return the process to wait for."""
    pid = os.fork()
    if pid == 0:
        try:
            signal.set_wakeup_fd(-1)
            for number in (
                signal.SIGPIPE,
                signal.SIGCHLD,
                signal.SIGINT,
                signal.SIGQUIT,
                signal.SIGTTIN,
                signal.SIGTTOU,
            ):
                signal.signal(number, signal.SIG_DFL)
            _leave(0)
            _take_environment()
            os.execv("/bin/sh", ["sh", "-c", command])
        finally:
            os._exit(127)
    return pid
