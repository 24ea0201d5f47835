"""Calls, imports and a garbage collection of Python that the gallery's tools tell of."""

import gc
import time

import told_slow  # type: ignore[import-not-found]


def slow():
    time.sleep(0.1)


def quick():
    return 1


class Node:
    pass


def knot():
    a, b = Node(), Node()
    a.other, b.other = b, a


gc.disable()
for _ in range(3):
    slow()
for _ in range(4):
    quick()
for _ in range(200):
    knot()
gc.collect()
try:
    import told_never  # type: ignore[import-not-found]
except ImportError:
    told_never = told_slow
