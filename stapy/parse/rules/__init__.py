"""The grammar's rules, one file per subject; a function's docstring is its PLY production.

An action finds the parse's state in ``p.parser.actions`` (`stapy.parse.actions.GrammarActions`),
tokens in ``p.slice`` and the values of sub-trees in ``p``.
"""
