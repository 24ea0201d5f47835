"""In a guest: one allocation after the other fails while a module is loaded, started or stopped.

Arguments: the phase (``load``, ``start`` or ``stop``), the module's file, how many rounds at most,
and the programs that the session is about, which are opened and handed over as it starts.
The kernel counts the allocations of this very thread and fails the one that is wanted, no other.
Prints what did not end as it must, and how many rounds did what.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FINIT_MODULE, DELETE_MODULE = 313, 176  # on x86-64
NEVER = 1_000_000
FAULTS = {"ignore-gfp-wait": "N", "ignore-gfp-highmem": "N", "min-order": "0", "verbose": "0"}
_LIBC = ctypes.CDLL(None, use_errno=True)


def call(*words: int | bytes) -> int:
    """Make a system call; return 0 or the error."""
    return 0 if _LIBC.syscall(*words) >= 0 else ctypes.get_errno()


def prepare() -> int:
    """Allocations that may sleep can fail, too; gives the file that says which one does."""
    for name in ("failslab", "fail_page_alloc"):
        for key, value in FAULTS.items():
            path = Path("/sys/kernel/debug", name, key)
            if path.exists():
                path.write_text(value)
    return os.open("/proc/thread-self/fail-nth", os.O_RDWR)


class Round:
    """One life of the module, in which allocation ``number`` of ``phase`` fails."""

    def __init__(
        self, file: int, phase: str, path: str, number: int, programs: tuple[str, ...]
    ) -> None:
        self.file = file
        self.phase = phase
        self.path = path
        self.programs = programs
        self.name = Path(path).stem
        self.number = number
        self.left = number  # of the count, when the phase was over
        self.refused = ""  # the phase failed, with these words
        self.wrong: list[str] = []
        self._live()

    @contextmanager
    def _failing(self, phase: str) -> Iterator[None]:
        if phase == self.phase:
            os.pwrite(self.file, str(self.number).encode(), 0)
        yield
        if phase == self.phase:
            self.left = int(os.pread(self.file, 20, 0))
            os.pwrite(self.file, b"0", 0)

    def _live(self) -> None:
        module = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        with self._failing("load"):
            error = call(FINIT_MODULE, module, b"", 0)
        os.close(module)
        if error:
            self.refused = os.strerror(error)
            if self.phase != "load" or error != errno.ENOMEM:
                self.wrong.append(f"load: {self.refused}")
        else:
            self._session()
            self._unload()
        if Path("/proc", f"stapy_{self.name}").exists():
            self.wrong.append("its folder is left")

    def _session(self) -> None:
        folder = Path("/proc", f"stapy_{self.name}")
        control = os.open(folder / "control", os.O_RDWR)
        output = os.open(folder / "output", os.O_RDONLY)
        opened = {os.fsencode(name): os.open(name, os.O_RDONLY) for name in self.programs}
        with self._failing("start"):
            self._hand_over(control, opened)
            if not self.refused:
                os.write(control, b"start 0")
        for file in opened.values():
            os.close(file)
        if not self.refused:
            self._stop(control, output)
        os.write(control, b"dismiss")
        os.close(output)
        os.close(control)

    def _stop(self, control: int, output: int) -> None:
        with self._failing("stop"):
            os.write(control, b"stop")
        said = b"".join(iter(lambda: os.read(control, 1 << 16), b"")).decode().splitlines()
        printed = b"".join(iter(lambda: os.read(output, 1 << 16), b"")).decode()
        started = [int(line.split()[1]) for line in said if line.startswith("started ")]
        told = [line for line in said if line.startswith(("error ", "warning "))]
        if len(started) != 1 or not any(line.startswith("stopped ") for line in said):
            self.wrong.append(f"said {said}")
        elif started[0]:
            # Without a text of the module's own, the consumer tells this status.
            self.refused = "; ".join(told) or os.strerror(-started[0])
            if self.phase == "stop":
                self.wrong.append(f"start: {self.refused}")
        else:
            self.refused = "; ".join(told)
            if "begin\n" not in printed or "end\n" not in printed:
                self.wrong.append(f"printed {printed!r}, said {said}")

    def _hand_over(self, control: int, files: dict[bytes, int]) -> None:
        """Hand over the programs, until one is refused."""
        for name, file in files.items():
            try:
                os.write(control, b"file %d %s" % (file, name))
            except OSError as error:
                self.refused = os.strerror(error.errno or 0)
                if self.phase != "start" or error.errno != errno.ENOMEM:
                    self.wrong.append(f"handing over: {self.refused}")
                return

    def _unload(self) -> None:
        for _ in range(100):  # others may look at the module just now
            error = call(DELETE_MODULE, self.name.encode(), os.O_NONBLOCK)
            if error not in (errno.EAGAIN, errno.EBUSY):
                break
            time.sleep(0.1)
        if error:
            self.wrong.append(f"unload: {os.strerror(error)}")


def main(phase: str, path: str, most: int, *programs: str) -> None:
    """Find out how many allocations there are, then have them fail."""
    file = prepare()
    whole = Round(file, phase, path, NEVER, programs)
    if whole.refused or whole.wrong:
        print("without a fault:", whole.refused, *whole.wrong)
    allocations = NEVER - whole.left
    rounds = refused = reached = 0
    for number in range(1, allocations + 1, max(1, -(-allocations // most))):
        one = Round(file, phase, path, number, programs)
        rounds += 1
        reached += one.left == 0
        refused += bool(one.refused)
        for line in one.wrong:
            print(f"allocation {number}: {line}")
        if os.environ.get("VERBOSE"):
            print(f"# {number}: {one.refused}")
        if one.wrong and Path("/sys/module", one.name).exists():
            break  # nothing that follows could be judged
    print(f"allocations={allocations}")
    print(f"rounds={rounds}\nreached={reached}\nrefused={refused}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
