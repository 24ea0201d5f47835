"""The consumer: loads a module, moves its output, unloads it.

Standard library only, Python 3.9, nothing of stapy outside this folder, so
that it can be copied to a machine that has nothing but Python.
"""
