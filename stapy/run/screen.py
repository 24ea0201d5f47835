"""The terminal as a screen (``-M``): a program of its own that is fed with what is printed."""

from __future__ import annotations

import os
import sys

from .errors import RunError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional

    from .elf import ModuleFile
    from .messages import MessagePrinter
    from .options import RunOptions

STATUS = 'procfs("monitor_status")'
# No reports of the mouse, of pastes and of the focus, plain keys, the cursor, no colours, and the
# lines of before.
LEAVE = b"".join(b"\x1b[?%dl" % mode for mode in (1000, 1002, 1003, 1006, 1015, 1004, 2004))
LEAVE += b"\x1b[<u\x1b[?25h\x1b[m\x1b[?1049l"
PATIENCE = 60.0  # seconds for the screen to leave


def has_terminal() -> bool:
    """Tell whether there is a terminal to show something on, and to type on."""
    return os.isatty(0) and os.isatty(1)


def check() -> None:
    """Refuse what cannot be shown, before anything is loaded; raises `RunError`."""
    from importlib.util import find_spec

    if not _program():
        raise RunError(
            "-M needs the whole of stapy: this is stapy-run alone, as members of the groups have it"
        )
    if find_spec("textual") is None:
        from .ground.packages import way_to_extra

        way = way_to_extra("monitor")
        raise RunError(f"the monitor's screen needs the Python package textual: {way}")


def make(
    module: ModuleFile, options: RunOptions, messages: MessagePrinter
) -> Optional[ScreenProcess]:
    """Take the terminal over; None when that is not wanted, or there is none (a warning)."""
    if not options.monitor:
        return None
    manifest = module.manifest()
    points = [point for row in manifest.get("probes", ()) for point in row.get("points", ())]
    if not any(point.startswith(STATUS) for point in points):
        raise RunError(f"'{module.path}' was made without --monitor")
    if options.daemon or options.detach or not has_terminal():
        messages.warning(
            "there is no terminal for the monitor: /proc/systemtap/"
            f"{module.name}/monitor_status has what it would show"
        )
        return None
    if manifest.get("input"):
        raise RunError("the monitor and the script's input probes both want the keys")
    check()
    return ScreenProcess(options.monitor)


def _program() -> str:
    """Name the package that has the screen, "" in a bare copy."""
    package = __name__.rpartition(".run.")[0]
    return f"{package}.monitor" if package else ""


class ScreenProcess:
    """Standard output and error are the screen's until `close`."""

    def __init__(self, seconds: int) -> None:
        import subprocess

        sys.stdout.flush()
        sys.stderr.flush()
        reading, writing = os.pipe()
        # A command of -c that goes on has the pipe as well: its end is told by a line.
        self._end = os.urandom(16).hex()
        self._modes = _modes()
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._program = subprocess.Popen(
            [
                sys.executable,
                "-m",
                _program(),
                *map(str, (reading, os.getpid(), seconds)),
                self._end,
            ],
            pass_fds=[reading],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        os.close(reading)
        self._kept = [os.dup(1), os.dup(2)]
        for fd in (1, 2):
            os.dup2(writing, fd)
        os.close(writing)

    def show(self, name: str, proc: str = "/proc") -> None:
        """Say which session is shown."""
        os.write(1, f"{proc}/systemtap/{name}\n".encode())

    def close(self) -> None:
        """Give the terminal back, with what was printed on it."""
        import subprocess

        try:
            os.write(1, f"{self._end}\n".encode())
        except OSError:
            pass  # it has gone already
        for fd, kept in zip((1, 2), self._kept):
            os.dup2(kept, fd)
            os.close(kept)
        try:
            self._program.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()
        if self._program.returncode:
            self._restore()

    def _restore(self) -> None:
        """Make the terminal one for lines again: whoever was to do it has been killed."""
        import termios

        try:
            if self._modes is not None:
                termios.tcsetattr(0, termios.TCSANOW, self._modes)
            os.write(1, LEAVE)
        except (OSError, termios.error):
            pass  # it is gone as well


def _modes() -> Optional[List[Any]]:
    """Return how the terminal works now, None if it does not say."""
    import termios

    try:
        return termios.tcgetattr(0)
    except termios.error:
        return None
