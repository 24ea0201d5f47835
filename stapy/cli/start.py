"""A command line is obeyed: by a tool, an editor's server, the shell, or a session."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.cli.ending import complain, guarded, message_format, told
from stapy.cli.parsing import parse
from stapy.options.option import UsageError
from stapy.options.setters import MESSAGE_FORMATS
from stapy.options.tools import ALWAYS_TOOLS, TOOLS
from stapy.paths import is_file
from stapy.run import streams
from stapy.run.signals import hear_of_children
from stapy.terminal import writing

if TYPE_CHECKING:
    from stapy.options import Options
    from stapy.session import Session


def main(words: list[str] | None = None) -> int:
    """Run the ``stapy`` command; return its exit status."""
    given = sys.argv[1:] if words is None else words
    streams.hold()
    hear_of_children()
    return told(lambda: _obey(given, ends_the_process=words is None), given)


def _obey(words: list[str], *, ends_the_process: bool = False) -> int:
    if words in (["--version"], ["-V"], ["--help"], ["-h"]):
        return _explain(words[0])
    if sys.argv[0].rpartition("/")[2] == "dtrace":
        return _run_tool("dtrace", words)
    try:
        if words and words[0] in TOOLS and not _is_script(words[0]):
            return _run_tool(words[0], words[1:])
        defaults = _rc_words()
        words = defaults + words
        options = parse(words, defaults=len(defaults))
        options.message_format = message_format(words)
        _check_environment()
    except UsageError as error:
        complain(str(error), message_format(words))
        return 1
    if options.explain in ("--help", "--version"):
        return _explain(options.explain)
    if options.language_server:
        return guarded(lambda: _serve(options))
    if options.interactive:
        from stapy.shell import reading

        return guarded(lambda: reading.main(words, options, len(defaults)))
    from stapy.session import Session

    session = Session(options)
    session.ends_the_process = ends_the_process
    status = session.main()
    if status and session.at_pass in (1, 2, 3) and options.script_file is not None:
        _tell_of_first_line(session)
    if status and session.at_pass == 1:
        _tell_of_quotes(session)
    return status


def _explain(option: str) -> int:
    """Print what ``--help`` or ``--version`` is asked for; return the exit status."""
    from stapy.cli import texts

    writing.write((texts.usage() if option in ("--help", "-h") else texts.version()) + "\n")
    return 0


def _tell_of_quotes(session: Session) -> None:
    """Tell that a script of one word has lost the others to its arguments: the quotes are missing.

    Every script has braces or a blank.
    """
    options = session.options
    alone = options.script_text
    if alone and options.arguments and not re.search(r"[\s{]", alone):
        session.note(
            f"hint: the script is '{alone}', the words behind it are its arguments: it stands in "
            f"quotes, -e '{alone} {options.arguments[0]} …'"
        )


def _tell_of_first_line(session: Session) -> None:
    """Tell of a script that has failed that its own options were not given, if they were not."""
    from stapy.tools.firstline import lacking

    words = lacking(session.texts[0][1], session.options) if session.texts else ""
    if words and session.options.message_format != "systemtap":
        session.note(f"hint: the first line says '{words}': run the file itself, or give them, too")


def _serve(options: Options) -> int:
    """Serve an editor until it has enough."""
    try:
        from stapy.editor import server
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        from stapy.run.ground.packages import way_to_extra

        way = way_to_extra("editor")
        raise UsageError(f"--language-server needs the Python package pygls: {way}") from None
    return server.serve(options)


def _is_script(name: str) -> bool:
    """Tell whether the name of a tool is a file's, which comes first, as in SystemTap.

    Some names are always the tool's, and the file is one with ``./``.
    Whoever calls the tool must not run what somebody else has put there.
    """
    if name in ALWAYS_TOOLS or not is_file(name):
        return False
    from stapy.trust import why_untrusted

    why = why_untrusted(Path(name))
    if why:
        raise UsageError(
            f"'{name}' names a tool and a file that is here, which could be anybody's: {why}"
            f" ('./{name}' is the file; from another folder, '{name}' is the tool)"
        )
    return True


def _run_tool(name: str, words: list[str]) -> int:
    """Run a tool; return the exit status."""
    return guarded(lambda: import_module(f"stapy.tools.{name}").main(words))


def _rc_words() -> list[str]:
    """Read the options in ``$SYSTEMTAP_DIR/rc``, which come first, quoted as for a shell."""
    folder = Path(os.environ.get("SYSTEMTAP_DIR") or os.environ.get("HOME", "/") + "/.systemtap")
    path = folder / "rc"
    if not is_file(path):
        return []
    from stapy.trust import why_untrusted

    why = why_untrusted(path)
    if why:  # -g in another user's file would be his to give
        from stapy.diagnostics.render import one_line

        print("WARNING: " + one_line(f"'{path}' is not read: {why}"), file=sys.stderr)
        return []
    import shlex

    try:
        return shlex.split(path.read_text("utf-8", "surrogateescape"), comments=True)
    except (OSError, ValueError) as error:
        raise UsageError(f"'{path}': {getattr(error, 'strerror', None) or error}.") from None


def _check_environment() -> None:
    given = os.environ.get("STAPY_MESSAGE_FORMAT", "")
    if given and given not in MESSAGE_FORMATS:
        raise UsageError(
            f"Invalid $STAPY_MESSAGE_FORMAT '{given}'"
            f" (should be one of {', '.join(MESSAGE_FORMATS)})."
        )
