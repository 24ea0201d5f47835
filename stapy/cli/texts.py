"""What ``--help`` and ``-V`` print."""

from __future__ import annotations

from stapy import LANGUAGE_VERSION, __version__
from stapy.options.table import TABLE
from stapy.options.tools import TOOLS

# Wrappers read the first line and look for words in the last one.
_VERSION = """\
Systemtap translator/driver (version {language}/{own}, stapy {own})
This is free software under the GNU General Public License, version 2 or later.
tested kernel versions: 6.1 ... 6.12
enabled features: BTF DWARF DEBUGINFOD VM"""


def usage() -> str:
    """Write the text of ``--help``."""
    lines = [
        "Usage: stapy [options] FILE [arguments]",
        "   or: stapy [options] -e SCRIPT [arguments]",
        "   or: stapy [options] -l PROBE | -L PROBE",
        "   or: stapy [options] -i [FILE] [arguments]",
        "",
        "Tools, unless the current folder has a script of that name (NAME --help tells more;",
        "dtrace is always the tool):",
        *(f"  {name:<28} {text}" for name, text in TOOLS.items()),
        "",
        "Options:",
    ]
    lines += [f"  {option.names():<28} {option.help}" for option in TABLE]
    return "\n".join(lines)


def version() -> str:
    """Write the text of ``-V``: SystemTap's line, whose version is that of the language."""
    return _VERSION.format(language=LANGUAGE_VERSION, own=__version__)
