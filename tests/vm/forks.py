"""Runs of ``stapy`` as forks of one process that has imported it.

Half of what a small module costs is Python's start and stapy's imports. `run` spares them: a
server, one for each process that asks, forks for each run.  What follows is what follows in
``python -m stapy``: the real command line, with streams, folder and environment of its own, and
the end of a process, but for the objects that nobody frees (`leave`).  Tests of how the program
starts start it (``tests/test_program.py``).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, NoReturn

from tests.program import stapy_command

ROOT = Path(__file__).resolve().parents[2]
_lock = threading.Lock()
_servers: list[socket.socket] = []


def run(
    words: list[str],
    *,
    cwd: Path,
    env: dict[str, str],
    given: str | None = None,
    timeout: float,
) -> subprocess.CompletedProcess[str]:
    """Do what ``subprocess.run`` does with ``python -m stapy WORDS``, output captured as text."""
    command = stapy_command(*words)
    reply, theirs = socket.socketpair()
    with (
        reply,
        theirs,
        tempfile.TemporaryFile() as request,
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
    ):
        request.write(json.dumps({"words": words, "cwd": str(cwd), "env": env}).encode())
        stdin.write((given or "").encode("utf-8", "surrogateescape"))
        for file in (request, stdin):
            file.seek(0)
        passed = (request, stdin, stdout, stderr, theirs)
        socket.send_fds(_server(), [b"!"], [file.fileno() for file in passed])
        theirs.close()
        reply.settimeout(timeout)
        try:
            status = reply.recv(16)
        except TimeoutError:
            raise subprocess.TimeoutExpired(command, timeout) from None
        assert status, "the server of forks has died"
        return subprocess.CompletedProcess(command, int(status), _text(stdout), _text(stderr))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    text = file.read().decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n")  # as `text=True` reads it


def _server() -> socket.socket:
    """Return this process's end of the line to its server, which is started on first use."""
    with _lock:
        if not _servers:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                process = subprocess.Popen(
                    [sys.executable, "-m", "tests.vm.forks", str(theirs.fileno())],
                    cwd=ROOT,
                    env={**os.environ, "PYTHONPATH": str(ROOT)},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                )
            atexit.register(_end, ours, process)
            _servers.append(ours)
        return _servers[0]


def _end(line: socket.socket, process: subprocess.Popen[bytes]) -> None:
    line.close()
    process.wait()


def preload() -> None:
    """Import all that a run may import; it only does so, nothing of it runs."""
    import stapy

    for found in pkgutil.walk_packages(stapy.__path__, "stapy."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    importlib.import_module("ply.yacc")
    gc.collect()
    gc.freeze()  # the pages of what is there stay shared with the forks


class Server:
    """Forks for each request that comes over a line, and tells how the fork has ended."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._poll = select.poll()
        self._poll.register(line, select.POLLIN)
        # By the descriptor of a fork, and the other way round: its number, and who asked.
        self._forks: dict[int, tuple[int, socket.socket]] = {}
        self._asking: dict[int, int] = {}

    def serve(self) -> bool:
        """Return True in a fork, with all of the request in place; False when nobody asks more."""
        while True:
            for number, _ in self._poll.poll():
                if number in self._forks:
                    self._ended(number)
                elif number in self._asking:  # whoever asked has lost patience
                    self._poll.unregister(number)
                    os.kill(self._asking.pop(number), signal.SIGKILL)
                else:
                    data, files, _, _ = socket.recv_fds(self._line, 1, 5)
                    if not data:
                        return False
                    if self._fork(files):
                        return True

    def _fork(self, files: list[int]) -> bool:
        """Fork; True there."""
        *streams, answer = files
        asking = socket.socket(fileno=answer)
        process = os.fork()
        if not process:
            for line in (self._line, asking, *(other for _, other in self._forks.values())):
                line.close()
            for number in self._forks:
                os.close(number)
            _become(*streams)
            return True
        for file in streams:
            os.close(file)
        ending = os.pidfd_open(process)
        self._forks[ending] = process, asking
        self._asking[answer] = process
        self._poll.register(ending, select.POLLIN)
        self._poll.register(answer, 0)  # its end is told always
        return False

    def _ended(self, number: int) -> None:
        process, asking = self._forks.pop(number)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        self._poll.unregister(number)
        os.close(number)
        if self._asking.pop(asking.fileno(), None):
            self._poll.unregister(asking)
            asking.send(str(status).encode())
        asking.close()


def _become(request: int, *streams: int) -> None:
    """Take the streams, folder, environment and words of a request."""
    with os.fdopen(request, "rb") as file:
        asked = json.load(file)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.argv = [str(ROOT / "stapy" / "__main__.py"), *asked["words"]]


def leave(work: Callable[[], int]) -> NoReturn:
    """Work and end as ``sys.exit(work())`` does, but leave the memory to the kernel.

    To free all that the server has imported takes a fork three times as long as a small script's
    pass 2: each object's page is copied for it.
    """
    status = 1
    try:
        status = work()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            status = 120  # as the interpreter has it
    os._exit(status & 0xFF)


if __name__ == "__main__":
    preload()
    if Server(socket.socket(fileno=int(sys.argv[1]))).serve():
        from stapy.cli import main

        leave(main)
