"""Running the tools of the compiler chain.

``os.posix_spawn`` rather than ``subprocess``: the import alone would cost a
fifth of the time that a small script needs to compile.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from select import POLLIN, poll
from typing import ClassVar

from stapy.paths import is_file
from stapy.record import Record

# Those whose handlers raise.
_HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU)


class Result(Record):
    """How one tool ended: exit status (negative: a signal), all it printed, its CPU seconds."""

    argv: list[str]
    status: int
    output: str
    cpu: float


class ToolProcess:
    """A started tool."""

    # What a caller's environment must not change: make would take these for its own, and the
    # compiler would add folders or flags of its user's.
    REMOVED: ClassVar[tuple[str, ...]] = (
        "ARCH",
        "SRCARCH",
        "SUBARCH",
        "CROSS_COMPILE",
        "MAKEFLAGS",
        "MFLAGS",
        "MAKELEVEL",
        "CC",
        "LLVM",
        "LLVM_IAS",
        "CPATH",
        "C_INCLUDE_PATH",
        "GCC_EXEC_PREFIX",
        "COMPILER_PATH",
        "LD_RUN_PATH",
    )

    def __init__(
        self,
        argv: list[str],
        environment: dict[str, str] | None = None,
        blocked: Iterable[int] = (),
    ) -> None:
        """Start ``argv`` in a process group of its own; a missing program is an `OSError`.

        The group is for `end`: a compiler's driver that is killed leaves the compiler running.
        ``blocked`` is the set of signals that the tool is to find blocked.
        """
        self.argv = argv
        reader, writer = os.pipe()
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, writer, 1),
            (os.POSIX_SPAWN_DUP2, writer, 2),
        ]
        try:
            self.pid = os.posix_spawnp(
                argv[0],
                argv,
                clean_environment(environment),
                file_actions=actions,
                setpgroup=0,
                setsigmask=blocked,
                # Python ignores these two, and what is ignored is inherited.
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
            )
        except OSError:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        self.reader = reader
        self._chunks: list[bytes] = []

    def read(self) -> bool:
        """Wait for the next piece of what it prints; false at the end."""
        self._chunks.append(os.read(self.reader, 65536))
        return bool(self._chunks[-1])

    def wait(self) -> Result:
        """Read what it prints, wait for its end."""
        while self.read():
            pass
        _, status, usage = os.wait4(self.pid, 0)
        os.close(self.reader)
        return Result(
            self.argv,
            os.waitstatus_to_exitcode(status),
            b"".join(self._chunks).decode("utf-8", "replace"),
            usage.ru_utime + usage.ru_stime,
        )

    def end(self) -> None:
        """Kill it with all that it started, and wait until none of them can write to a file."""
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGTERM)
        with contextlib.suppress(OSError):
            while self.read():  # each of them has the other end
                pass
        with contextlib.suppress(OSError):
            os.waitpid(self.pid, 0)
        with contextlib.suppress(OSError):
            os.close(self.reader)


def clean_environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    """Copy our environment without what changes builds, in the C locale, plus ``extra``."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ToolProcess.REMOVED and not name.startswith("KBUILD_")
    }
    environment.update(LC_ALL="C", LANGUAGE="C")
    environment.update(extra or {})
    return environment


def run(argv: list[str], environment: dict[str, str] | None = None) -> Result:
    """Start a tool and wait for it; whatever interrupts us ends it with all that it started."""
    return run_many([argv], environment, 1)[0]


def run_many(
    commands: list[list[str]], environment: dict[str, str] | None, width: int
) -> list[Result]:
    """Run tools, at most ``width`` at a time; results are in the order of ``commands``.

    Whatever interrupts us ends all of them with all that they started.
    """
    results: dict[int, Result] = {}
    running: dict[int, ToolProcess] = {}
    try:
        for number, argv in enumerate(commands):
            with _signals_held() as before:
                running[number] = ToolProcess(argv, environment, before)
            while len(running) >= width or (running and number + 1 == len(commands)):
                waiting = poll()  # select() knows no descriptors from 1,024 on
                for process in running.values():
                    waiting.register(process.reader, POLLIN)
                ready = {reader for reader, _ in waiting.poll()}
                for at, process in list(running.items()):
                    if process.reader in ready and not process.read():
                        results[at] = process.wait()
                        del running[at]
    except BaseException:
        for process in running.values():
            process.end()
        raise
    return [results[number] for number in range(len(commands))]


@contextlib.contextmanager
def _signals_held() -> Iterator[set[int]]:
    """Let no signal come between the start of a process and the note that it runs."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def find_program(name: str) -> str | None:
    """Find the absolute path of a program, following no links; None when it is not there."""
    if os.sep in name:
        return name if os.access(name, os.X_OK) else None
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = str(Path(folder).absolute() / name)
        if is_file(path) and os.access(path, os.X_OK):
            return path
    return None
