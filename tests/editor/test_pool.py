"""Threads that ask at once have a bench each."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, cast

from stapy.editor.pool import BenchPool
from stapy.editor.words import OfferedNames

if TYPE_CHECKING:
    from stapy.editor.bench import Bench


def test_a_slow_request_holds_one_bench_only() -> None:
    made: list[object] = []

    def make() -> Bench:
        made.append(object())
        return cast("Bench", made[-1])

    pool = BenchPool(make, 2)
    slow, done = threading.Event(), threading.Event()

    def wait() -> object:
        with pool.one() as bench:
            slow.set()
            assert done.wait(60)
            return bench

    def ask() -> object:
        with pool.one() as bench:
            return bench

    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(wait)
        assert slow.wait(60)
        others = {threads.submit(ask).result(60) for _ in range(5)}
        done.set()
        assert others == {made[1]} and first.result(60) is made[0]
    assert len(made) == 2


def test_a_bench_that_cannot_be_opened_holds_no_place() -> None:
    def make() -> Bench:
        raise OSError("gone")

    pool = BenchPool(make, 1)
    for _ in range(3):
        try:
            with pool.one():
                raise AssertionError
        except OSError:
            pass


def test_one_bench_is_opened_ahead() -> None:
    class Named:
        names = OfferedNames([], [], [], [])

    made: list[Named] = []

    def make() -> Bench:
        made.append(Named())
        return cast("Bench", made[-1])

    pool = BenchPool(make)
    for _ in range(3):
        pool.warm()
    with pool.one() as bench:
        assert [bench] == made
