"""DWARF 4 and 5, read in place by memory map: functions, inlined instances, lines and locals.

From the ground: ``constants.py`` and ``numbers.py``; ``files/`` (which file it is);
``read/`` (the entries, lines and expressions of one file); ``index/`` (the fast walk
over everything and the file that keeps its result); ``query/`` (the answers, as
symbol plus offset).
"""
