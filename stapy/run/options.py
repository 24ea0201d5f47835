"""The options of one run, what goes together, and the words that give them elsewhere."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional


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
        return number("-S", size, 1, 1 << 30) << 20, number("-S", count or "0", 0, 1 << 30)


def number(option: str, text: str, low: int, high: int) -> int:
    """Parse the value of an option; `UsageError` unless it is a number from ``low`` to ``high``."""
    # Python makes no number of thousands of digits.
    plain = text.isascii() and text.isdigit() and len(text) <= 20
    if not plain or not low <= int(text) <= high:
        raise UsageError(f"Invalid value '{text}' for {option} (should be {low}-{high}).")
    return int(text)


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
    _check_width(options)
    if options.color not in ("auto", "always", "never"):
        raise UsageError(f"Invalid value '{options.color}' for -C (auto, always or never).")
    options.rotation()


def _check_width(options: RunOptions) -> None:
    """Refuse a width that would change nothing; 0 is how everything else is drawn."""
    if not options.width:
        return
    if options.attach or options.delete:
        raise UsageError("--width goes without -A and -d: a module is told when it is loaded.")
    if options.format or options.record is not None:
        raise UsageError("--width goes without --format and --record, which are for programs.")


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
