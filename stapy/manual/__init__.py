"""The reference of tapsets and probe families, made from their own comments.

`entries.py` joins a comment with the declaration that it stands before, `library.py` finds the
entries of a name, `context.py` reads off the code what holds for callers, `usage.py` finds uses,
`families.py` has the probe families; `text.py`, `markdown.py` and `roff.py` write what was found:
for terminals and editors, for ``docs/``, for man.
"""
