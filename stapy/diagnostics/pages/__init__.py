"""One short page for each code of a message: what it means and what to do.

The first line of a page is its title.  ``tests/diagnostics/test_explain.py`` checks that
every code in the source has a page and every page belongs to a code.
"""
