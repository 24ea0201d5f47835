"""DWARF 4 and 5, read in place by memory map: functions, inlined instances, lines and locals.

From the ground: ``sections.py`` (where bytes are), ``abbrev.py`` (declarations
compiled once), ``relocate.py`` (files that were not linked), ``alternate.py`` (dwz),
``units.py`` (one unit's entries), ``ranges.py``, ``lines.py``,
``expressions.py``, ``frames.py`` (what addresses and values are), ``scan.py``,
``found.py``, ``build.py`` and ``index.py`` (the fast walk over everything and the
file that keeps its result), ``types.py`` and ``variables.py`` (entries as C types and places),
``kernel.py`` (the facade that `find.py` uses).
"""
