"""How a command ends: its exit status, and what is said when nothing more can be done."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

from stapy.ending import EndingSignals
from stapy.options import Options
from stapy.options.option import UsageError
from stapy.options.setters import MESSAGE_FORMATS
from stapy.terminal import writing

if TYPE_CHECKING:
    from collections.abc import Callable

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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


def guarded(work: Callable[[], int]) -> int:
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


def complain(text: str, form: str) -> None:
    """Print why a command line cannot be obeyed, in the format that was asked for."""
    if form == "json":
        from stapy.diagnostics.layouts import json_line

        print(json_line({"severity": "error", "kind": "ERROR", "message": text}), file=sys.stderr)
    else:
        from stapy.diagnostics.render import one_line

        print(f"ERROR: {one_line(text)}", file=sys.stderr)
