"""A case is run as the user would do it: the ordinary command, in a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn

from stapy import cli
from stapy.cli import apart
from stapy.options import Options
from stapy.options.option import UsageError
from stapy.record import Record
from stapy.terminal import progress
from stapy.testing.companion import CompanionError
from stapy.tools.firstline import words_of

if TYPE_CHECKING:
    from stapy.testing.companion import TestCase

GRACE = 30.0  # seconds that a session has to end after SIGTERM, with its end probes
MOST = 16 << 20  # bytes that a case may write on each stream
_TICK = 0.02
_PDEATHSIG = 1  # of prctl(2)
# What a test chooses itself, what waits for a user, and what gives no output to compare.
_OURS = {
    "vm": "--vm is 'stapy test --vm'",
    "command": "-c is the key 'command'",
    "remotes": "--remote has no place in a case, which runs here or in a virtual machine",
    "interactive": "-i waits for somebody who types",
    "language_server": "--language-server waits for an editor",
    "monitor": "--monitor is for terminals",
    "flight_recorder": "-F leaves a session behind",
}


class Ending(Record):
    """How a session ended: its status (128 and a signal's number), streams, and seconds."""

    status: int
    stdout: str
    stderr: str
    seconds: float
    is_late: bool = False
    is_long: bool = False


def words(case: TestCase, folder: Path, more: list[str], vm: str | None) -> list[str]:
    """Write the command line of a case for its folder; ``vm`` is a kernel to boot, if any.

    ``more`` are options for all cases.  Those of the script's first line come first, as where it
    is started by its name; later ones take the place of earlier ones.
    """
    try:
        text = (folder / case.script).read_text("utf-8", "surrogateescape")
        first = words_of(text)
        if apart.plain_words(first) != ["--"]:  # behind which the script would come
            _check_words(first)
        _check_words(more)
        _check_words(case.options)
        given = apart.layered(["--color=never"], first, more, case.options)
        _check(cli.parse(given, script=""))
    except (UsageError, ValueError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise CompanionError(f"case '{case.name}': options: {why}") from None
    where = [f"--vm={vm}"] if vm is not None else []
    command = ["-c", case.command] if case.command is not None else []
    return [*where, *given, *command, "--", case.script, *case.arguments]


def _check_words(line: list[str]) -> None:
    """Refuse what is no option: it would be the script, or ``--``, and shift all behind it."""
    if plain := apart.plain_words(line):
        raise UsageError(f"'{plain[0]}' is none (the script's own are 'arguments')")


def _check(options: Options) -> None:
    usual = Options()
    for field, why in _OURS.items():
        if getattr(options, field) != getattr(usual, field):
            raise UsageError(why)


def run(line: list[str], folder: Path, seconds: float) -> Ending:
    """Run a command line in a folder; it is ended when it takes longer or writes without end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        pid = os.fork()
        if pid == 0:
            _be_session(line, folder, out, err)
        status, is_late, is_long = _wait(pid, (out, err), began + seconds)
        spent = time.monotonic() - began
        return Ending(status, _text(out), _text(err), spent, is_late, is_long)


def _text(file: IO[bytes]) -> str:
    """Read a stream from its begin; its place stays, for who still writes has the same one."""
    return os.pread(file.fileno(), MOST, 0).decode("utf-8", "backslashreplace")


def _wait(pid: int, files: tuple[IO[bytes], ...], end: float) -> tuple[int, bool, bool]:
    """Wait for a session, and end it when it is too late or too long."""
    is_late = is_long = False
    limit = end
    try:
        while (status := _ended(pid)) is None:
            now = time.monotonic()
            if not (is_late or is_long):
                is_long = any(os.fstat(one.fileno()).st_size > MOST for one in files)
                is_late = now > end and not is_long
                if is_late or is_long:
                    os.kill(pid, signal.SIGTERM)
                    limit = now + GRACE
            elif now > limit:
                os.killpg(pid, signal.SIGKILL)
                limit = now + GRACE
            time.sleep(_TICK)
    except BaseException:  # Ctrl-C, or what asks us to end: the session ends before
        os.kill(pid, signal.SIGTERM)
        _bury(pid)
        raise
    return status, is_late, is_long


def _ended(pid: int) -> int | None:
    """Return the status of a session that has ended; what it left in its group ends as well.

    That may be a program of ``-c`` that runs in the background; stapy's own that have still to
    mend something are in groups of their own.
    """
    if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        return None
    # Nobody else's group can have this number before the session was waited for.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if code >= 0 else 128 - code


def _bury(pid: int) -> None:
    """Wait for a session that was asked to end; kill it when it does not."""
    limit = time.monotonic() + GRACE
    while _ended(pid) is None:
        if time.monotonic() > limit:
            os.killpg(pid, signal.SIGKILL)
        time.sleep(_TICK)


def _be_session(line: list[str], folder: Path, out: IO[bytes], err: IO[bytes]) -> NoReturn:
    """Be the fork: obey a command line as a program of its own would, and end."""
    status = 1
    try:
        import ctypes
        import sys

        os.setsid()
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGTERM)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for ending in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, signal.SIG_DFL)
        for number, file in enumerate((out, err), 1):
            os.dup2(file.fileno(), number)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        sys.stdin = os.fdopen(0, closefd=False)
        for number, name in ((1, "stdout"), (2, "stderr")):
            stream = os.fdopen(number, "w", closefd=False, errors="surrogateescape")
            setattr(sys, name, stream)
        progress.mute()
        os.chdir(folder)
        status = cli.main(line)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)
