"""The command line of ``stapy-run``: words become `RunOptions`, or are refused."""

from __future__ import annotations

import os

from .near import nearest
from .options import RunOptions, UsageError, check, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List

_FLAGS = {
    "-w": ("warnings", False),
    "-L": ("detach", True),
    "-A": ("attach", True),
    "-d": ("delete", True),
    "-D": ("daemon", True),
    "-R": ("rename", True),
    "-i": ("input", True),
    "--info": ("info", True),
}
# Options of staprun that are not here, and why.
_FOREIGN = {
    "-u": "the kernel has its own uprobes, no module is loaded for them",
    "-r": "modules are not sent to other hosts by stapy",
    "-F": "the module's files are found in /proc",
}
_MADE = "what it says stands in the module, which has to be made again with it"
_OF_STAPY = {
    "--plot": "here, --record FILE.jsonl writes what 'stapy plot FILE.jsonl' draws",
    "--on-overload": _MADE,
    "--privilege": _MADE,
    "--unprivileged": _MADE,
}
_VALUES = {
    "-c": "command",
    "-x": "target",
    "-N": "namespaces",
    "-o": "output",
    "-S": "rotate",
    "-T": "timeout",
    "-M": "monitor",
    "--metrics": "metrics",
    "--probe-effect": "effect",
    "--probe-effect-runs": "effect_runs",
    "--record": "record",
    "--width": "width",
    "--format": "format",
    "--message-format": "message_format",
    "-b": "buffer_mb",
    "-C": "color",
}
_NUMBERS = {
    "-x": (1, 1 << 22), "-N": (1, 1 << 22), "-M": (1, 86400), "-b": (1, 4095),
    "--probe-effect-runs": (3, 1000), "--width": (0, 1000),
}  # fmt: skip


def parse(words: List[str]) -> RunOptions:
    """Parse the words of a command line; raises `UsageError` when they make no sense."""
    options = RunOptions()
    plain: List[str] = []
    given: Dict[str, str] = {}
    queue = _single_letters(words)
    while queue:
        word = queue.pop(0)
        if word == "--":
            plain += queue
            break
        if word in _FLAGS:
            setattr(options, *_FLAGS[word])
        elif word == "-v":
            options.verbose += 1
        elif word in _VALUES:
            if not queue:
                raise UsageError(f"option '{word}' needs a value")
            _once(given, word, queue[0])
            _set(options, word, queue.pop(0))
        elif word.startswith("--") and word.partition("=")[0] in _VALUES:
            name, _, value = word.partition("=")
            _once(given, name, value)
            _set(options, name, value)
        elif word.partition("=")[0] in _OF_STAPY:
            name = word.partition("=")[0]
            raise UsageError(f"{name} is an option of stapy; {_OF_STAPY[name]}")
        elif word in _FOREIGN:
            raise UsageError(f"{word} is not supported: {_FOREIGN[word]}.")
        elif word.startswith("-") and len(word) > 1:
            raise UsageError(_unknown_option(word))
        else:
            plain.append(word)
    options.verbose = max(options.verbose, _verbose_of_environment())
    if not plain:
        raise UsageError("no module was named")
    options.module, options.parameters = plain[0], plain[1:]
    for parameter in options.parameters:
        if not parameter.partition("=")[0].isidentifier() or "=" not in parameter:
            raise UsageError(f"'{parameter}' is not of the form name=value")
        name, _, value = parameter.partition("=")
        _once(given, name, value)
    check(options)
    return options


def _verbose_of_environment() -> int:
    """Tell how often -v is given by $SYSTEMTAP_VERBOSE, a number."""
    text = os.environ.get("SYSTEMTAP_VERBOSE", "")
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) < 4):
        raise UsageError(f"$SYSTEMTAP_VERBOSE is '{text}', not a number from 0 to 999")
    return int(text)


def _once(given: Dict[str, str], name: str, value: str) -> None:
    """Refuse another value of what has one: either would be dropped in silence."""
    before = given.setdefault(name, value)
    if before != value:
        raise UsageError(f"{name} was given twice: '{before}' and '{value}'")


def _unknown_option(word: str) -> str:
    name = word.partition("=")[0]
    if name.partition("=")[0] in _FLAGS:
        return f"option '{name}' takes no value"
    known = [
        one[2:] for one in (*_VALUES, *_FLAGS, "--list", "--help", "--version") if one[:2] == "--"
    ]
    near = nearest(name[2:], known) if name.startswith("--") else ""
    return f"unknown option '{name}'" + (f"; did you mean '--{near}'?" if near else "")


def wants_json(words: List[str]) -> bool:
    """Tell the form of messages also by a command line that makes no sense."""
    last = ""
    for before, word in zip(["", *words], words):
        if word == "--":
            break
        if before == "--message-format" or word.startswith("--message-format="):
            last = word.partition("=")[2] or word
    return last == "json"


def _single_letters(words: List[str]) -> List[str]:
    """Take ``-wvo FILE`` and ``-oFILE`` apart into single options and values."""
    result: List[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            return [*result, word, *words[at:]]
        if not word.startswith("-") or word.startswith("--") or len(word) < 2:
            result.append(word)
            continue
        for index in range(1, len(word)):
            letter = "-" + word[index]
            result.append(letter)
            if letter in _VALUES or letter in _FOREIGN:
                if word[index + 1 :]:
                    result.append(word[index + 1 :])
                elif at < len(words):
                    result.append(words[at])
                    at += 1
                break
    return result


def _set(options: RunOptions, word: str, text: str) -> None:
    # "" would mean that the option was not given: nothing would be served, or written to a file.
    if not text:
        raise UsageError(f"option '{word}' needs a value")
    value: object = text
    if word == "-b" and text.endswith(".ko"):
        raise UsageError(
            "option '-b' needs the megabytes of a buffer; a module that was made with -b writes a"
            " file for each processor without it"
        )
    if word in _NUMBERS:
        value = number(word, text, *_NUMBERS[word])
    elif word == "-T":
        value = _seconds(text)
    elif word == "--format":
        value = _format(text)
    elif word == "--message-format" and text not in ("json", "text"):
        raise UsageError(f"Invalid message format '{text}' (should be json or text).")
    setattr(options, _VALUES[word], value)


def _format(text: str) -> str:
    from .render import FORMATS

    if text == "openmetrics":
        raise UsageError("openmetrics is served, not printed: --metrics ADDRESS:PORT does it.")
    if text not in FORMATS:
        near = nearest(text, list(FORMATS))
        what = f"Invalid output format '{text}' (should be one of {', '.join(FORMATS)})."
        raise UsageError(what + (f" Did you mean '{near}'?" if near else ""))
    return text


def _seconds(text: str) -> float:
    try:
        value = float(text) if text.isascii() and "_" not in text else 0.0
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"Invalid timeout '{text}' (should be a number of seconds above 0).")
    return value
