"""The command line as a table of options; parsing only, `session.py` does the work.

``argparse`` is not used: it costs 20 ms at every start, and it cannot do what
SystemTap's command line does (options after the script's name, ``-wvp4`` in one
word, unique prefixes of long options, ``--color`` with and without a value).
"""

from __future__ import annotations

import errno
import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from stapy import LANGUAGE_VERSION, __version__
from stapy.combinations import check
from stapy.ending import EndingSignals
from stapy.options import Options, foreign
from stapy.options.given import GivenOptions, place_of
from stapy.options.option import MissingScriptError, Option, UsageError
from stapy.options.setters import MESSAGE_FORMATS
from stapy.options.table import TABLE
from stapy.options.tools import ALWAYS_TOOLS, TOOLS
from stapy.paths import is_file
from stapy.run import streams
from stapy.run.signals import hear_of_children
from stapy.terminal import writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.session import Session

_ALL = [*TABLE, *foreign.TABLE]
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SHORT = {option.short: option for option in _ALL if option.short}
_LONG = {option.long: option for option in _ALL if option.long}
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


def parse(words: list[str], script: str | None = None, defaults: int = 0) -> Options:
    """Parse the words of a command line; raise `UsageError` when they make no sense.

    ``script`` is a text that is known already: words name none then.  The first words, as many
    as ``defaults``, are those of a file, which the others take the place of.
    """
    options = Options()
    plain: list[str] = []
    queue = list(words)
    given, in_defaults = GivenOptions(), defaults > 0
    while queue:
        if in_defaults and len(queue) <= len(words) - defaults:
            given, in_defaults = GivenOptions(), False
        word = queue.pop(0)
        if word == "--":
            plain += queue
            break
        if word.startswith("--"):
            _parse_long(options, word[2:], queue, given)
        elif word.startswith("-") and len(word) > 1:
            has_script = bool(plain) or options.script_text is not None
            _parse_short(options, word, queue, given, has_script=has_script)
        else:
            plain.append(word)
    if script is not None:
        _SHORT["e"].set(options, script)
    _place(options, plain)
    try:
        check(options)
    except MissingScriptError as error:
        raise UsageError(f"{error}{_taken_as_value(words)}") from None
    return options


def _taken_as_value(words: list[str]) -> str:
    """Name the script that an option has taken as its value, "" when none has."""
    for group in groups(words):
        option = option_of(group[0])
        if option and len(group) > 1 and group[1].endswith(".stp"):
            return f" '{group[1]}' was taken as the {option.value} of {option.written('')}."
    return ""


def _parse_long(options: Options, text: str, queue: list[str], given: GivenOptions) -> None:
    name, equals, value = text.partition("=")
    option = _LONG.get(name)
    if option is None:
        close = [long for long in _LONG if long.startswith(name)]
        if len(close) != 1:
            raise UsageError(_unknown_option("--" + name, close))
        option = _LONG[close[0]]
    if equals and not option.value:
        raise UsageError(f"option '--{option.long}' takes no value")
    if option.value and not equals and not option.value.startswith("["):
        if not queue:
            raise UsageError(f"option '--{option.long}' needs a value: {option.value}")
        value = queue.pop(0)
    given.enter(options, option, value)
    if option.value.startswith("[") and not equals and queue and not queue[0].startswith("-"):
        options.apart[queue[0]] = f"--{option.long}={queue[0]}"


def _parse_short(
    options: Options, word: str, queue: list[str], given: GivenOptions, *, has_script: bool
) -> None:
    """Parse one word of letters; ``has_script`` says that a script was named before it."""
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        option = _SHORT.get(letter)
        if option is None:
            if letter.isdigit() or has_script:
                raise UsageError(
                    f"unknown option '{word}' (an argument of the script that begins with"
                    f" '-' stands behind '--': stapy SCRIPT -- {word})"
                )
            raise UsageError(_unknown_option("-" + letter, []) + _two_dashes(word))
        if not option.value:
            given.enter(options, option, "")
            continue
        if not letters and not queue:
            raise UsageError(f"option '-{letter}' needs a value: {option.value}")
        meant = _two_dashes(word)
        if meant and letters:
            options.notices.append(f"'{word}' is '-{letter} {letters}'{meant}")
        try:
            given.enter(options, option, letters or queue.pop(0))
        except UsageError as error:
            raise UsageError(str(error).rstrip(".") + meant if meant else str(error)) from None
        return


def _two_dashes(word: str) -> str:
    """Ask whether a word of letters is meant for the long option whose name it is."""
    name = word[1:].partition("=")[0]
    return f"; did you mean '-{word}'?" if len(name) > 1 and name in _LONG else ""


def place_of_group(group: list[str]) -> object:
    """Return what only one option can fill of those that `groups` lists; None where all add."""
    option = option_of(group[0])
    if option is None:
        return None
    return place_of(option, group[1] if len(group) > 1 else group[0].partition("=")[2])


def option_of(word: str) -> Option | None:
    """Find the option that a word names: ``-v``, ``--vm``, ``--vm=6.12``, ``--mess``."""
    if not word.startswith("--"):
        return _SHORT.get(word[1:2])
    name = word[2:].partition("=")[0]
    close = [long for long in _LONG if long.startswith(name)]
    found = name if name in _LONG else close[0] if len(close) == 1 else ""
    return _LONG.get(found)


def groups(words: list[str]) -> list[list[str]]:
    """List the words of each option up to ``--``, letters one by one; plain words are left out."""
    return _taken_apart(words)[0]


def plain_words(words: list[str]) -> list[str]:
    """List what is neither an option nor the value of one: ``--`` too, and all behind it."""
    return _taken_apart(words)[1]


def _taken_apart(words: list[str]) -> tuple[list[list[str]], list[str]]:
    found: list[list[str]] = []
    plain: list[str] = []
    scratch, queue = Options(), list(words)
    while queue and queue[0] != "--":
        before = list(queue)
        word = queue.pop(0)
        given = GivenOptions()  # each option by itself
        if word.startswith("--"):
            _parse_long(scratch, word[2:], queue, given)
            found.append(before[: len(before) - len(queue)])
        elif word.startswith("-") and len(word) > 1:
            _parse_short(scratch, word, queue, given, has_script=False)
            found += _letters(word, before[1 : len(before) - len(queue)])
        else:
            plain.append(word)
    return found, plain + queue


def not_replaced(before: list[list[str]], by: list[list[str]]) -> list[list[str]]:
    """List those `groups` in whose place no later one stands, and those that others add to."""
    places = [place_of_group(group) for group in by]
    return [group for group in before if (place := place_of_group(group)) is None
            or place not in places]  # fmt: skip


def layered(*lines: list[str]) -> list[str]:
    """Join the options of command lines, each of which takes the place of what came before."""
    found: list[list[str]] = []
    for line in lines:
        own = groups(line)
        found = [*not_replaced(found, own), *own]
    return [word for group in found for word in group]


def _letters(word: str, value: list[str]) -> list[list[str]]:
    """Split a word of letters that was accepted; ``value`` is the word behind it, if it took it."""
    found: list[list[str]] = []
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        if _SHORT[letter].value:
            return [*found, [f"-{letter}", *([letters] if letters else value)]]
        found.append([f"-{letter}"])
    return found


def _unknown_option(name: str, close: list[str]) -> str:
    if len(close) > 1:
        return f"option '{name}' could be any of: " + ", ".join("--" + long for long in close)
    hint = _meant_option(name[2:]) if name.startswith("--") else ""
    return f"unknown option '{name}'{hint} ('stapy --help' lists them)"


def _meant_option(name: str) -> str:
    """Suggest the option whose name this may be: one of ours, else one of a tool's."""
    from stapy.diagnostics.suggest import nearest

    begun = sorted((long for long in _LONG if len(long) > 3 and name.startswith(long)), key=len)
    if near := nearest(name, _LONG) or begun[-1:]:
        return f"; did you mean '--{near[0]}'?"
    others = {}
    for tool in TOOLS:
        made = getattr(import_module(f"stapy.tools.{tool}"), "parser", None)
        others.update(dict.fromkeys(made().long_names(), tool) if made else {})
    if near := [name] if name in others else nearest(name, others):
        return f"; did you mean '--{near[0]}' of 'stapy {others[near[0]]}'?"
    return ""


def _place(options: Options, plain: list[str]) -> None:
    """Tell the script's file from its arguments."""
    needs_file = options.script_text is None and options.listing is None
    if needs_file and plain:
        options.script_file = plain.pop(0)
    options.arguments = plain


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


def message_format(words: list[str]) -> str:
    """Find the format of messages: ``--message-format``, the environment, our own name."""
    given = ""
    for number, word in enumerate(words):
        if word == "--":
            break
        if word == "--message-format":
            given = "".join(words[number + 1 : number + 2])
        elif word.startswith("--message-format="):
            given = word.partition("=")[2]
    given = given or os.environ.get("STAPY_MESSAGE_FORMAT", "")
    if given in MESSAGE_FORMATS:
        return given
    return "systemtap" if sys.argv[0].rpartition("/")[2] == "stap" else "rich"


def main(words: list[str] | None = None) -> int:
    """Run the ``stapy`` command; return its exit status."""
    given = sys.argv[1:] if words is None else words
    streams.hold()
    hear_of_children()
    return told(lambda: _obey(given, ends_the_process=words is None), given)


def told(work: Callable[[], int], words: list[str]) -> int:
    """Do the work of a command line; return its exit status, 1 when nothing more can be done.

    SIGTERM, SIGHUP and the end of processor time end it as Ctrl-C does, with the status that
    shells give to a signal.
    """
    with EndingSignals() as ending:
        status = ending.status(_told(work, words))
    if ending.is_out_of_time:
        complain(
            "the limit of processor time is reached (--rlimit-cpu, ulimit -t)",
            message_format(words),
        )
    return status


def _told(work: Callable[[], int], words: list[str]) -> int:
    try:
        return work()
    except KeyboardInterrupt:
        pass  # between what obeys it: nothing of ours is left to be removed
    except writing.Unwritable as error:
        complain(str(error), message_format(words))
    except BrokenPipeError:
        writing.forget(2)  # the reader of our messages has gone; nobody is left to tell
    except OSError as error:
        if error.errno not in _FULL:
            raise
        writing.forget(2)
    except (MemoryError, SystemError):  # the latter of an interpreter without memory
        _tell_of_memory(words)
    return 1


def _tell_of_memory(words: list[str]) -> None:
    """Say that memory was too little even to say so in the usual way, without any import."""
    given = ""
    for at, word in enumerate(words):
        if word.startswith("--rlimit-as"):
            given = word.partition("=")[2] or "".join(words[at + 1 : at + 2])
    text = f"the limit of --rlimit-as is too small: {given} bytes" if given else "out of memory"
    if message_format(words) == "json":
        text = f'{{"severity": "error", "kind": "ERROR", "message": "{text}"}}'
    else:
        text = f"ERROR: {text}"
    os.write(2, text.encode("utf-8", "backslashreplace") + b"\n")


def _obey(words: list[str], *, ends_the_process: bool = False) -> int:
    if words in (["--version"], ["-V"]):
        writing.write(version() + "\n")
        return 0
    if words in (["--help"], ["-h"]):
        writing.write(usage() + "\n")
        return 0
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
    if options.explain == "--help":
        writing.write(usage() + "\n")
        return 0
    if options.explain == "--version":
        writing.write(version() + "\n")
        return 0
    if options.language_server:
        return _guarded(lambda: _serve(options))
    if options.interactive:
        from stapy.shell import reading

        return _guarded(lambda: reading.main(words, options, len(defaults)))
    from stapy.session import Session

    session = Session(options)
    session.ends_the_process = ends_the_process
    status = session.main()
    if status and session.at_pass in (1, 2, 3) and options.script_file is not None:
        _tell_of_first_line(session)
    if status and session.at_pass == 1:
        _tell_of_quotes(session)
    return status


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
        way = f"{sys.executable} -m pip install 'stapy[editor]'"
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
    return _guarded(lambda: import_module(f"stapy.tools.{name}").main(words))


def _guarded(work: Callable[[], int]) -> int:
    """Do something else than a session; return the exit status.  No traceback reaches the user."""
    try:
        return work()
    except UsageError as error:
        complain(str(error), "")
        return 1
    except SystemExit as error:  # --help, and a command line that makes no sense
        return error.code if isinstance(error.code, int) else 1
    except (KeyboardInterrupt, writing.Unheard):
        return 1
    except (writing.Unwritable, BrokenPipeError):
        raise
    except ImportError as error:
        from stapy.diagnostics.bug_report import missing_package

        missing_package(error, Options())
        return 1
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise
        from stapy.diagnostics.bug_report import our_mistake

        our_mistake(error, Options())
        return 1


def _check_environment() -> None:
    given = os.environ.get("STAPY_MESSAGE_FORMAT", "")
    if given and given not in MESSAGE_FORMATS:
        raise UsageError(
            f"Invalid $STAPY_MESSAGE_FORMAT '{given}'"
            f" (should be one of {', '.join(MESSAGE_FORMATS)})."
        )


def complain(text: str, form: str) -> None:
    """Print why a command line cannot be obeyed, in the format that was asked for."""
    if form == "json":
        from stapy.diagnostics.layouts import json_line

        print(json_line({"severity": "error", "kind": "ERROR", "message": text}), file=sys.stderr)
    else:
        from stapy.diagnostics.render import one_line

        print(f"ERROR: {one_line(text)}", file=sys.stderr)
