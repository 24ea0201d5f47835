"""The reference of tapsets and probe families, made from their own comments.

`comment.py` reads a comment, `entries.py` joins it with the declaration that it stands before,
`library.py` finds the entries of a name, `families.py` has the probe families; `text.py`,
`markdown.py` and `roff.py` write what was found: for terminals and editors, for ``docs/``, for man.
"""
