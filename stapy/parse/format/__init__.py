"""Scripts with their blanks put in order: every token and comment stays, so the meaning does.

`pieces.py` cuts a text into tokens and comments, `gaps.py` says what stands between two tokens
of a line, `levels.py` how far a line is indented, `layout.py` puts them together and checks that
the result has the same tokens.  `docs/decisions/formatting.md` says why it works on tokens.
"""
