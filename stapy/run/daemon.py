"""A session that goes on in the background once its probes are armed."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

_READY = b"r"


def in_background(session: Callable[[Callable[[], None]], int]) -> int:
    """Run ``session`` in another process; return the exit status for this one."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ready)
        status = 1
        try:
            os.setsid()
            status = session(lambda: _let_go(told))
        finally:
            os._exit(status)
    os.close(told)
    with os.fdopen(ready, "rb", closefd=True) as pipe:
        began = pipe.read(1) == _READY
    if began:
        os.write(1, f"{pid}\n".encode())
        return 0
    status = os.waitpid(pid, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1


def _let_go(told: int) -> None:
    """Leave the streams of who started us, and say that we run."""
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    os.write(told, _READY)
    os.close(told)
