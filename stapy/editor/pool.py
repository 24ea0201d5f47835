"""Benches for the threads of a server: each serves one request at a time.

What passes 1 and 2 keep (texts, messages, scopes) is one bench's own, so that threads that have a
bench each do not meet. A request that is slow, such as the functions of a large program, holds one
of them, and others go on with the next.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stapy.editor.bench import Bench

MOST = 3  # benches; each takes some ten megabytes


class BenchPool:
    """Benches that are opened when they are needed, up to `MOST`."""

    def __init__(self, make: Callable[[], Bench], most: int = MOST) -> None:
        self._make = make
        self._free: list[Bench] = []
        self._places = threading.Semaphore(most)
        self._lock = threading.Lock()
        self._is_warm = False

    def warm(self) -> None:
        """Open a bench with its names, unless there is one: the first completion need not wait."""
        with self._lock:
            if self._is_warm:
                return
            self._is_warm = True
        with self.one() as bench:
            bench.names.as_text()

    @contextmanager
    def one(self) -> Iterator[Bench]:
        """Take a bench, and wait for it where all are taken."""
        with self._places:
            with self._lock:
                bench = self._free.pop() if self._free else None
            if bench is None:
                bench = self._make()
            try:
                yield bench
            finally:
                with self._lock:
                    self._free.append(bench)
