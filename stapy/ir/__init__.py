"""The typed program between pass 2 and pass 3, and what any pass may ask of its trees.

Below the probe families, which describe their variables with its expressions, and below
elaboration, which builds it: nothing in here imports either of them.
"""
