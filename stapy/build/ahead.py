"""A kit that is made beside passes 1 to 3: a process of its own, since both take a second or two.

The cache's lock is all that ties them: pass 4 asks for the kit as always, and
waits where another session's kit would make it wait.  When the child fails,
pass 4 tries again and reports.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from stapy.build.driver import kbuild_wanted
from stapy.build.kit import KIND, BuildKernel, kit_key, open_kit
from stapy.build.tools import HERE, Tools
from stapy.cache import Cache
from stapy.ending import heard, raise_ended
from stapy.options import Options
from stapy.paths import data_dir, exists
from stapy.temporary import TemporaryFolder
from stapy.terminal import progress

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ahead:
    """A started child."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def close(self) -> None:
        """End it, unless it has done its work, and wait for it."""
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGTERM)
        with contextlib.suppress(OSError):
            os.waitpid(self.pid, 0)


def prepare(
    kernel: BuildKernel,
    options: Options,
    cache: Cache,
    facts: Callable[[], str],
    tools: Tools = HERE,
) -> Ahead | None:
    """Start making the kit that pass 4 will ask for; None when it will not, or has it."""
    tree = kernel.build_dir
    if not cache.is_enabled or cache.poisoned or options.build_in or kbuild_wanted(options):
        return None
    if tree is None or not exists(tree / "Makefile") or len(os.sched_getaffinity(0)) < 2:
        return None
    runtime = Path(options.runtime_dir) if options.runtime_dir else data_dir("runtime")
    if cache.get(KIND, kit_key(kernel, runtime, tools)) is not None:
        return None
    # None may come before the child has its own handlers: it would go our way out.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        pid = os.fork()
        if pid == 0:
            _child(kernel, runtime, cache, facts, tools, before)
        return Ahead(pid)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _child(
    kernel: BuildKernel,
    runtime: Path,
    cache: Cache,
    facts: Callable[[], str],
    tools: Tools,
    mask: set[int],
) -> NoReturn:
    """Make the kit; the same way out for an interrupt and for the end that `Ahead.close` sends."""
    progress.mute()  # pass 4 tells that it waits
    try:
        for number in heard((signal.SIGTERM, signal.SIGHUP)):
            signal.signal(number, raise_ended)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        with TemporaryFolder("kit") as scratch:
            # Compilers that are killed leave their files there, too.
            os.environ["TMPDIR"] = str(scratch)
            open_kit(kernel, runtime, cache, scratch, facts, tools)
    except BaseException:
        os._exit(1)
    os._exit(0)
