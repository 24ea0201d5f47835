"""How Sphinx makes the site: ``docs/site/build.py`` calls it. Every warning is an error there."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from stapy import __version__
from stapy.editor.highlight import StapLexer

project = "stapy"
version = release = __version__
html_title = f"stapy {__version__}"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
nitpicky = True
# Options are written with two hyphens, and code is not the only place for quotes.
smartquotes = False
highlight_language = "none"

myst_heading_anchors = 4
# Pages are written for code hosts: what only MyST reads as syntax is text.
myst_disable_syntax = ["myst_line_comment", "myst_block_break", "myst_target", "myst_role"]

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
# Nothing is fetched from elsewhere: the theme has its own files, and fonts are the reader's.
html_theme_options = {
    "light_css_variables": {"font-stack": "system-ui, sans-serif"},
    "dark_css_variables": {"font-stack": "system-ui, sans-serif"},
}


def setup(app) -> None:  # type: ignore[no-untyped-def]
    """Have scripts coloured, whether or not stapy is installed with its entry points."""
    app.add_lexer("stap", StapLexer)
