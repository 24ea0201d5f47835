"""What a sample shows beside what was printed: when a line is taken for one of its kind."""

from __future__ import annotations

import pytest

from tests.guide import shape

PRINTED = """\
NAME                 PID   BYTES DATA
python3.11           512       5 "seen \\"by\\" all"
dd                     7       3 "x"
kworker/0:2: 12 waits
9 lock at 555555559720
 0xffffffff8ea9e7db : vfs_write+0x28c/0x450 [kernel]
 value |-------------------------------------------------- count
     1 |@@@                                                   3
cut(PROT_READ|PROT_EXEC, 77, 0x10)
    3  17  17 main in /somewhere/told.py
"""
# A line of a sample -> whether something of its kind was printed.
LINES = {
    "NAME   PID   BYTES DATA": True,
    "NAME   PID   DATA": False,
    'sh   99   12 "other words"': True,
    'sh   99   "words" 12': False,
    "ksoftirqd/1: 3 waits": True,
    "3 waits": False,
    "9 lock at 7ffff7f566f0": True,
    "9 lock at somewhere": False,
    " 0xffffffff00000000 : read+0x1/0x2 [kernel]": True,
    "     2 |                    0": True,
    "            ~": True,
    "…": True,
    "cut(PROT_READ, 1, …": True,
    "cut(PROT_READ, gone…": False,
    "1 2 3 slow in …/told.py": True,
    "1 2 3 slow on <…>": False,
}


@pytest.mark.parametrize("line", LINES)
def test_lines_of_samples(line: str) -> None:
    assert (shape.lacking(line, PRINTED) == []) == LINES[line]
