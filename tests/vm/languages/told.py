"""Does what python.stp looks for."""

import gc
import sys

import told_module  # type: ignore[import-not-found]


def slow(n):
    return sum(range(n))


class Node:
    pass


a = Node()
a.me = a
del a
sys.audit("told", 1)
gc.collect()
list(map(slow, (1, 2, 3)))
assert told_module
