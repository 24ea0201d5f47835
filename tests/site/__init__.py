"""The site of the documentation: built strictly, read as a reader's browser does.

Two modules: `pages.py` follows the links of what was built, `browser.py` shows it to Chromium.
"""
