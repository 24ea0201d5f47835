"""The consumer: loads a module, moves its output, unloads it.

Standard library only, Python 3.9, nothing of stapy outside this folder, so
that it can be copied to a machine that has nothing but Python.  `typing` is for
the type checker only (``TYPE_CHECKING``): to import it takes longer than all else.
"""
