"""The options of one run and the command line that they come from."""

from __future__ import annotations

import os

from .near import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional


class UsageError(Exception):
    """A command line that cannot be obeyed."""


class RunOptions:
    """How a module shall be run; each field is explained in `USAGE`."""

    __slots__ = (
        "attach",
        "buffer_mb",
        "color",
        "command",
        "daemon",
        "delete",
        "detach",
        "effect",
        "effect_runs",
        "format",
        "info",
        "input",
        "message_format",
        "metrics",
        "module",
        "monitor",
        "namespaces",
        "output",
        "parameters",
        "record",
        "rename",
        "rotate",
        "target",
        "timeout",
        "verbose",
        "warnings",
        "width",
    )

    def __init__(
        self,
        *,
        module: str = "",
        parameters: Optional[List[str]] = None,
        command: Optional[str] = None,
        target: int = 0,
        namespaces: int = 0,
        output: Optional[str] = None,
        rotate: str = "",
        timeout: Optional[float] = None,
        buffer_mb: Optional[int] = None,
        warnings: bool = True,
        verbose: int = 0,
        detach: bool = False,
        attach: bool = False,
        delete: bool = False,
        info: bool = False,
        color: str = "auto",
        daemon: bool = False,
        rename: bool = False,
        input: bool = False,
        message_format: str = "text",
        monitor: int = 0,
        format: str = "",
        metrics: str = "",
        effect: str = "",
        effect_runs: int = 0,
        record: Optional[str] = None,
        width: Optional[int] = None,
    ) -> None:
        self.module = module
        self.parameters = list(parameters or [])
        self.command = command
        self.target = target
        self.namespaces = namespaces
        self.output = output
        self.rotate = rotate
        self.timeout = timeout
        self.buffer_mb = buffer_mb
        self.warnings = warnings
        self.verbose = verbose
        self.detach = detach
        self.attach = attach
        self.delete = delete
        self.info = info
        self.color = color
        self.daemon = daemon
        self.rename = rename
        self.input = input
        self.message_format = message_format
        self.monitor = monitor
        self.format = format
        self.metrics = metrics
        self.effect = effect
        self.effect_runs = effect_runs
        self.record = record
        self.width = width

    def words(self) -> List[str]:
        """List the words of a command line that gives these options, for a run elsewhere."""
        words = []
        for letter, value in (
            ("-c", self.command),
            ("-x", self.target or None),
            ("-N", self.namespaces or None),
            ("-o", self.output),
            ("-S", self.rotate or None),
            ("-T", self.timeout),
            ("-M", self.monitor or None),
            ("--metrics", self.metrics or None),
            ("--probe-effect", self.effect or None),
            ("--probe-effect-runs", self.effect_runs or None),
            ("--record", self.record),
            ("--width", self.width),
            ("-b", self.buffer_mb),
            ("-C", self.color if self.color != "auto" else None),
        ):
            if value is not None:
                words += [letter, str(value)]
        for letter, state in (
            ("-w", not self.warnings),
            ("-L", self.detach),
            ("-A", self.attach),
            ("-d", self.delete),
            ("-D", self.daemon),
            ("-R", self.rename),
            ("-i", self.input),
            ("--info", self.info),
            ("--message-format=json", self.message_format == "json"),
        ):
            if state:
                words.append(letter)
        words += ["-v"] * self.verbose
        words += [f"--format={self.format}"] if self.format else []
        return [*words, self.module, *self.parameters]

    def rotation(self) -> "tuple[int, int]":
        """Parse ``-S`` to bytes per file and files to keep; zeros mean no limit.

        Raises `UsageError` for anything else.
        """
        if not self.rotate:
            return 0, 0
        size, _, count = self.rotate.partition(",")
        return _number("-S", size, 1, 1 << 30) << 20, _number("-S", count or "0", 0, 1 << 30)


def _number(option: str, text: str, low: int, high: int) -> int:
    # Python makes no number of thousands of digits.
    plain = text.isascii() and text.isdigit() and len(text) <= 20
    if not plain or not low <= int(text) <= high:
        raise UsageError(f"Invalid value '{text}' for {option} (should be {low}-{high}).")
    return int(text)


def _format(text: str) -> str:
    from .render import FORMATS

    if text == "openmetrics":
        raise UsageError("openmetrics is served, not printed: --metrics ADDRESS:PORT does it.")
    if text not in FORMATS:
        raise UsageError(f"Invalid output format '{text}' (should be one of {', '.join(FORMATS)}).")
    return text


def _seconds(text: str) -> float:
    try:
        value = float(text) if text.isascii() and "_" not in text else 0.0
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"Invalid timeout '{text}' (should be a number of seconds above 0).")
    return value


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
    known = [one[2:] for one in (*_VALUES, *_FLAGS, "--help", "--version") if one[:2] == "--"]
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


def check(options: RunOptions) -> None:
    """Refuse what does not go together."""
    if options.rotate and not options.output:
        raise UsageError("-S needs an output file (-o FILE).")
    if options.command and options.target:
        raise UsageError("-c and -x exclude each other.")
    if options.daemon and not options.output:
        raise UsageError("-D needs an output file (-o FILE).")
    if options.format not in ("", "text") and options.monitor:
        raise UsageError("-M shows text: it goes without --format.")
    if options.format == "csv" and options.rotate:
        raise UsageError("-S goes without --format=csv: files after the first have no header.")
    if options.metrics:
        _check_metrics(options)
    _check_effect(options)
    if options.record is not None and options.delete:
        raise UsageError("--record goes without -d.")
    if options.color not in ("auto", "always", "never"):
        raise UsageError(f"Invalid value '{options.color}' for -C (auto, always or never).")
    options.rotation()


def _check_effect(options: RunOptions) -> None:
    """Refuse what does not go together with ``--probe-effect``."""
    if not options.effect:
        if options.effect_runs:
            raise UsageError("--probe-effect-runs needs a command (--probe-effect CMD).")
        return
    for letter, value in (
        ("-c", options.command),
        ("-x", options.target),
        ("-o", options.output),
        ("-T", options.timeout),
        ("-M", options.monitor),
        ("--metrics", options.metrics),
        ("--format", options.format),
        ("--record", options.record),
        ("-L", options.detach),
        ("-A", options.attach),
        ("-d", options.delete),
        ("-i", options.input),
    ):
        if value:
            raise UsageError(f"{letter} goes without --probe-effect, which shows a comparison.")


def _check_metrics(options: RunOptions) -> None:
    from .metrics import parse as parse_place

    if options.delete:
        raise UsageError("--metrics goes without -d.")
    if options.detach:
        raise UsageError("--metrics goes without -L, which leaves nobody to serve them.")
    try:
        parse_place(options.metrics)
    except ValueError as error:
        raise UsageError(f"Invalid value '{options.metrics}' for --metrics: {error}.") from None


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
        for number in range(1, len(word)):
            letter = "-" + word[number]
            result.append(letter)
            if letter in _VALUES or letter in _FOREIGN:
                if word[number + 1 :]:
                    result.append(word[number + 1 :])
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
    if word in _NUMBERS:
        value = _number(word, text, *_NUMBERS[word])
    elif word == "-T":
        value = _seconds(text)
    elif word == "--format":
        value = _format(text)
    elif word == "--message-format" and text not in ("json", "text"):
        raise UsageError(f"Invalid message format '{text}' (should be json or text).")
    setattr(options, _VALUES[word], value)
