"""Standard input for the script: each byte is a write to its file ``__stdin``."""

from __future__ import annotations

import errno
import os
import stat

from .lacks import advice, lacks
from .signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional

    from .ground.manifest import Manifest
    from .messages import MessagePrinter
    from .options import RunOptions

KEYS = "keys"  # in a manifest, and not "lines": characters, as they are typed

BLOCK = 256  # bytes between two looks at what else there is to do
LOOK = 500  # milliseconds until the next look whether the terminal is ours again
AGAIN = 10  # milliseconds after a hit that had to be skipped


def place_of(module: str, proc: str = "/proc") -> str:
    """Return the path of the file that takes a script's input; there while probes are armed."""
    return f"{proc}/systemtap/{module}/__stdin"


def is_taken(manifest: Manifest, options: RunOptions) -> bool:
    """Tell whether the script has our standard input; a session without us has none."""
    return bool(manifest.get("input")) and not (options.daemon or options.detach)


def make(
    module: str, manifest: "Optional[Manifest]", options: RunOptions, messages: MessagePrinter
) -> "Optional[Input]":
    """Make what hands standard input on to a module; None when the script does not want it.

    Without a manifest its file tells.
    """
    place = place_of(module)
    if manifest is None:
        return _of_keys(place, messages) if os.path.exists(place) else None
    if is_taken(manifest, options):
        keys = manifest["input"] == KEYS
        return _of_keys(place, messages) if keys else Input(place, False)
    if manifest.get("input"):
        messages.warning(
            "input probes are not hit: a session in the background has no standard input"
        )
    elif options.input:
        messages.warning("-i has no effect: the script has no input probes")
    return None


def _of_keys(place: str, messages: MessagePrinter) -> Input:
    """Make what hands on characters as they are typed; without `termios` they come by lines."""
    made = Input(place, True)
    if made.terminal and lacks("termios"):
        messages.warning(
            f"characters come when their line is complete, not as they are typed; "
            f"{advice('termios')}"
        )
    return made


class Input:
    """Hands standard input on, as fast as the script takes it.

    ``keys``: a terminal gives each character at once; else it keeps to lines.
    """

    def __init__(self, place: str, keys: bool) -> None:
        self.terminal: Optional[Terminal] = None
        self._place = place
        self._file = -1
        self._waiting = b""
        self._source = _view_of(0)
        if self._source >= 0 and os.isatty(self._source):
            self.terminal = Terminal(self._source, keys)

    def begin(self) -> str:
        """Open the script's file, when there is one; return why that failed, else ""."""
        try:
            self._file = os.open(self._place, os.O_WRONLY | os.O_CLOEXEC)
        except OSError as error:
            self.end()
            return f"Couldn't open '{self._place}': {error.strerror}"
        if self.terminal:
            self.terminal.take()
        return ""

    def fd(self, is_output_busy: bool) -> int:
        """Return the descriptor to wait for input on, -1 for none.

        Files and pipes wait until the output of what they had is gone; keys go through.
        """
        if self._file < 0 or self._source < 0 or self._waiting:
            return -1
        if self.terminal:
            return self._source if self.terminal.is_ours() else -1
        return -1 if is_output_busy else self._source

    @property
    def patience(self) -> "Optional[int]":
        """Milliseconds until `serve` wants to be called, None for never."""
        if self._file < 0 or self._source < 0:
            return None
        if self._waiting:
            return AGAIN
        return LOOK if self.terminal and not self.terminal.is_ours() else None

    def take(self) -> None:
        """Hand on what is there; at the end of the file nothing more comes."""
        try:
            self._waiting = os.read(self._source, BLOCK)
        except OSError as error:
            # A terminal that is not ours any more gives EIO; one that is gone does so, too.
            if error.errno == errno.EAGAIN or (self.terminal and not self.terminal.is_ours()):
                return
            self._waiting = b""
        if not self._waiting:
            self.end()
        self.serve()

    def serve(self) -> None:
        """Hand on what waits, up to a hit that has to be tried again."""
        while self._waiting:
            try:
                os.write(self._file, self._waiting[:1])
            except OSError as error:
                if error.errno == errno.EAGAIN:
                    return
                if error.errno != errno.EIO:  # which is a handler's error, and told already
                    self.end()
                    return
            self._waiting = self._waiting[1:]

    def end(self) -> None:
        """Give the terminal back and hand nothing on any more."""
        if self.terminal:
            self.terminal.close()
        if self._file >= 0:
            os.close(self._file)
        if self._source > 0:
            os.close(self._source)
        self._file = self._source = -1
        self._waiting = b""


def _view_of(fd: int) -> int:
    """Open the same pipe or terminal once more, so that reads never wait; files stay as they are.

    Somebody else who reads from there may be quicker than we; to make ``fd`` itself not wait would
    do so for all that have it.  Returns -1 when there is nothing to read from.
    """
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            return os.open(f"/proc/self/fd/{fd}", flags)
        return fd
    except OSError as error:
        return -1 if error.errno == errno.EBADF else fd


class Terminal:
    """A terminal that gives keys instead of lines, and is given back whatever happens.

    To be made in the main thread: it heeds the signals of job control.  Should we be killed, a
    process of our own gives the terminal back.
    """

    def __init__(self, fd: int, keys: bool) -> None:
        self._fd = fd
        self._keys = keys and not lacks("termios")
        self._is_taken = False
        if self._keys:
            import termios

            self._termios = termios
            self._usual = termios.tcgetattr(fd)
        self._old: List[Any] = [
            (number, signal.signal(number, handler))
            for number, handler in (
                (signal.SIGTSTP, lambda number, frame: self._pause()),
                (signal.SIGCONT, lambda number, frame: self._go_on()),
                (signal.SIGTTIN, signal.SIG_IGN),
                (signal.SIGTTOU, signal.SIG_IGN),
            )
        ]
        self._guard = self._wire = -1
        if self._keys:
            self._guard, self._wire = self._set_guard()

    def is_ours(self) -> bool:
        """Tell whether we are the job in the foreground; always, without job control."""
        try:
            return os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:
            return True

    def take(self) -> None:
        """Have keys from now on, as soon as the terminal is ours."""
        self._is_taken = True
        if not self._keys or not self.is_ours():
            return
        termios = self._termios
        wanted = [*self._usual[:6], list(self._usual[6])]
        wanted[3] &= ~(termios.ICANON | termios.ECHO)
        wanted[6][termios.VMIN], wanted[6][termios.VTIME] = 1, 0
        self._set(wanted)

    def close(self) -> None:
        """Give it back, and send the guard home; signals are as they were."""
        self._is_taken = False
        self._give_back()
        self._fd = -1
        try:
            while self._old:
                signal.signal(*self._old[-1])
                self._old.pop()
        except ValueError:
            pass  # only the main thread can, which comes by as well
        if self._wire >= 0:
            os.close(self._wire)
            os.waitpid(self._guard, 0)
            self._wire = -1

    def _give_back(self) -> None:
        if self._keys and self._is_ours_to_mend():
            self._set(self._usual)

    def _is_ours_to_mend(self) -> bool:
        """Tell whether the terminal is as we made it; a shell may have set it since."""
        if self._fd < 0:
            return False
        try:
            return bool(self._termios.tcgetattr(self._fd)[3] == self._wanted_flags())
        except self._termios.error:
            return False

    def _wanted_flags(self) -> int:
        return int(self._usual[3]) & ~(self._termios.ICANON | self._termios.ECHO)

    def _set(self, how: "List[Any]") -> None:
        try:
            self._termios.tcsetattr(self._fd, self._termios.TCSANOW, how)
        except self._termios.error:
            pass  # it has hung up

    def _pause(self) -> None:
        """Stop as SIGTSTP does, with a terminal that is the shell's."""
        self._give_back()
        again = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTSTP,))
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, again)
        self._go_on()

    def _go_on(self) -> None:
        if self._is_taken:
            self.take()

    def _set_guard(self) -> "tuple[int, int]":
        """Start a process that sees our end, and mends what we could not.

        Returns its number and the descriptor that tells it.
        """
        told, wire = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                os.setsid()  # neither keys nor the end of our job reach it
                os.dup2(self._fd, 0)
                os.dup2(told, 1)
                os.closerange(2, 1 << 16)
                self._fd = 0
                os.read(1, 1)
                self._give_back()
            finally:
                os._exit(0)
        os.close(told)
        return pid, wire
