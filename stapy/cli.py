"""The command line as a table of options; parsing only, `session.py` does the work.

``argparse`` is not used: it costs 20 ms at every start, and it cannot do what
SystemTap's command line does (options after the script's name, ``-wvp4`` in one
word, unique prefixes of long options, ``--color`` with and without a value).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from stapy import __version__
from stapy.options import Options

Setter = Callable[[Options, str], None]


class UsageError(Exception):
    """A command line that cannot be obeyed; the text says why."""


class Option:
    """One row of the table.

    ``value`` is "" (none), the upper-case name of a required value, or the
    same in brackets for an optional one (long options only).
    """

    __slots__ = ("help", "long", "set", "short", "value")

    def __init__(self, short: str, long: str, value: str, help: str, set: Setter) -> None:
        self.short, self.long, self.value, self.help, self.set = short, long, value, help, set


def _flag(field: str, state: object = True) -> Setter:
    def set(options: Options, value: str) -> None:
        setattr(options, field, state)

    return set


def _text(field: str) -> Setter:
    def set(options: Options, value: str) -> None:
        setattr(options, field, value)

    return set


def _append(field: str) -> Setter:
    def set(options: Options, value: str) -> None:
        getattr(options, field).append(value)

    return set


def _number(field: str, name: str, low: int, high: int) -> Setter:
    def set(options: Options, value: str) -> None:
        if not value.isdigit() or not low <= int(value) <= high:
            raise UsageError(f"Invalid {name} '{value}' (should be {low}-{high}).")
        setattr(options, field, int(value))

    return set


def _pair(field: str, letter: str, *, value_needed: bool) -> Setter:
    def set(options: Options, text: str) -> None:
        name, equals, value = text.partition("=")
        if not name.isidentifier() or (value_needed and not equals):
            raise UsageError(f"-{letter} wants NAME=VALUE, not '{text}'.")
        getattr(options, field)[name] = value if equals else "1"

    return set


def _sysroot(options: Options, value: str) -> None:
    from pathlib import Path

    if not Path(value).is_dir():
        raise UsageError(f"Invalid --sysroot '{value}' (should be a directory).")
    options.sysroot = value


def _verbose(options: Options, value: str) -> None:
    options.verbose = [level + 1 for level in options.verbose]


def _verbose_by_pass(options: Options, value: str) -> None:
    if not value.isdigit() or len(value) > 5:
        raise UsageError(f"Invalid --vp argument '{value}': up to 5 digits, one per pass.")
    for number, digit in enumerate(value):
        options.verbose[number] += int(digit)


def _module_name(options: Options, value: str) -> None:
    name = value.removesuffix(".ko")
    if not name:
        raise UsageError("Module name cannot be empty.")
    if not all(c.isascii() and (c.isalnum() or c == "_") for c in name):
        raise UsageError(
            f"Invalid module name '{value}' (may only use alphanumerics and underscores)."
        )
    if len(name) > 55:
        raise UsageError(f"Module name '{value}' is longer than 55 characters.")
    options.module_name = name


def _prologues(options: Options, value: str) -> None:
    if value not in ("", "always", "auto", "never"):
        wanted = "should be one of always, auto, never"
        raise UsageError(f"Invalid value '{value}' for --prologue-searching ({wanted}).")
    options.prologue_search = value in ("", "always")  # auto: debug information tells it all


def _modinfo(options: Options, value: str) -> None:
    name, equals, text = value.partition("=")
    if not equals or not name.isascii() or not name.isidentifier():
        raise UsageError(f"--modinfo wants NAME=VALUE, not '{value}'.")
    options.modinfo.append((name, text))


_MAX_PID = 1 << 22  # the kernel's own limit


def _target(options: Options, value: str) -> None:
    if not value.isdecimal() or not 0 < int(value) <= _MAX_PID:
        raise UsageError(f"Invalid target process ID number '{value}'.")
    options.target = int(value)


def _timeout(options: Options, value: str) -> None:
    try:
        options.timeout = float(value)
    except ValueError:
        options.timeout = 0
    if not options.timeout > 0:
        raise UsageError(f"Invalid timeout '{value}' (should be a number of seconds above 0).")


def _listing(variables: bool) -> Setter:
    def set(options: Options, value: str) -> None:
        options.listing, options.listing_variables = value, variables

    return set


def _choice(field: str, name: str, *words: str) -> Setter:
    def set(options: Options, value: str) -> None:
        if value not in words:
            raise UsageError(f"Invalid {name} '{value}' (should be one of {', '.join(words)}).")
        setattr(options, field, value)

    return set


def _vm(options: Options, value: str) -> None:
    options.vm, options.vm_release = True, value or None


def _color(options: Options, value: str) -> None:
    _choice("color", "argument for --color", "auto", "always", "never")(options, value or "always")


def _privilege(options: Options, value: str) -> None:
    _choice("privilege", "privilege", "stapusr", "stapsys", "stapdev")(options, value)


TABLE = [
    Option("h", "help", "", "show this text", _flag("explain", "--help")),
    Option("V", "version", "", "show the version", _flag("explain", "--version")),
    Option("e", "", "SCRIPT", "run this script instead of a file", _text("script_text")),
    Option("E", "", "SCRIPT", "add this script to the one that is run", _append("extra_scripts")),
    Option("p", "", "NUM", "stop after pass NUM: 1 parse 2 elaborate 3 translate 4 compile 5 run",
           _number("last_pass", "pass number", 1, 5)),
    Option("v", "", "", "be more verbose in all passes", _verbose),
    Option("", "vp", "NNNNN", "be more verbose in each pass by its digit", _verbose_by_pass),
    Option("k", "", "", "keep the temporary directory", _flag("keep")),
    Option("", "tmpdir", "DIR", "work in DIR instead of a fresh temporary directory",
           _text("tmpdir")),
    Option("g", "", "", "guru mode: embedded C and writes are allowed", _flag("guru")),
    Option("u", "", "", "unoptimised: remove nothing from the script", _flag("unoptimized")),
    Option("w", "", "", "no warnings", _flag("suppress_warnings")),
    Option("W", "", "", "warnings are errors", _flag("warnings_are_errors")),
    Option("P", "", "", "probe functions behind their prologues: for debug information that errs",
           _flag("prologue_search")),
    Option("", "prologue-searching", "[WHEN]", "the same, or not: always, auto, never", _prologues),
    Option("b", "", "", "bulk mode: one output file per CPU", _flag("bulk")),
    Option("t", "", "", "report hits and cycles of each probe at the end", _flag("timing")),
    Option("s", "", "MB", "output buffer of each CPU, in megabytes",
           _number("buffer_mb", "buffer size", 1, 4095)),
    Option("I", "", "DIR", "look in DIR for more tapsets", _append("tapset_dirs")),
    Option("D", "", "NAME[=VALUE]", "define a macro for the module (limits such as MAXACTION)",
           _pair("defines", "D", value_needed=False)),
    Option("B", "", "NAME=VALUE", "pass an option to kbuild", _append("kbuild_flags")),
    Option("G", "", "NAME=VALUE", "set a global variable",
           _pair("globals", "G", value_needed=True)),
    Option("R", "", "DIR", "look in DIR for the runtime", _text("runtime_dir")),
    Option("r", "", "RELEASE", "make the module for this kernel release or build tree",
           _text("release")),
    Option("", "sysroot", "DIR", "look in this file tree for the kernel and its debug files",
           _sysroot),
    Option("m", "", "NAME", "name of the module; NAME.ko is left in the current directory",
           _module_name),
    Option("d", "", "MODULE", "make source lines of this module known to the script",
           _append("debug_modules")),
    Option("", "ldd", "", "the same for the libraries of probed programs", _flag("ldd")),
    Option("", "all-modules", "", "the same for all modules that are loaded",
           _flag("all_modules")),
    Option("o", "", "FILE", "write the output to FILE", _text("output")),
    Option("c", "", "CMD", "start the probes, run CMD, stop when it ends", _text("command")),
    Option("x", "", "PID", "set target() to PID", _target),
    Option("l", "", "PROBE", "list the matching probe points", _listing(False)),
    Option("L", "", "PROBE", "list them with their variables", _listing(True)),
    Option("F", "", "", "flight recorder: keep the newest output in memory or files",
           _flag("flight_recorder")),
    Option("S", "", "SIZE[,N]", "switch the output file every SIZE megabytes, keep N",
           _text("rotate")),
    Option("T", "", "SECONDS", "stop after SECONDS", _timeout),
    Option("", "vm", "[RELEASE]", "run the module in a throw-away virtual machine", _vm),
    Option("", "modinfo", "NAME=VALUE", "add a line to what modinfo shows of the module", _modinfo),
    Option("", "skip-badvars", "", "context variables that cannot be read are 0",
           _flag("skip_badvars")),
    Option("", "suppress-handler-errors", "", "run-time errors become warnings",
           _flag("suppress_handler_errors")),
    Option("", "suppress-time-limits", "", "no limit on time and statements (needs -g)",
           _flag("suppress_time_limits")),
    Option("", "compatible", "VERSION", "speak the language of this SystemTap version",
           _text("compatible")),
    Option("", "privilege", "LEVEL", "translate for stapusr, stapsys or stapdev", _privilege),
    Option("", "unprivileged", "", "the same as --privilege=stapusr",
           _flag("privilege", "stapusr")),
    Option("", "color", "[WHEN]", "colours in messages: auto, always, never", _color),
    Option("", "colour", "[WHEN]", "the same", _color),
    Option("", "disable-cache", "", "neither use nor fill the cache", _flag("use_cache", False)),
    Option("", "poison-cache", "", "fill the cache but do not use it", _flag("poison_cache")),
    Option("", "clean-cache", "", "remove old files from the cache and exit",
           _flag("clean_cache")),
    Option("", "no-global-var-display", "", "do not print globals that nobody reads",
           _flag("autoprint", False)),
    Option("", "dump-probe-types", "", "list all kinds of probe points",
           _flag("dump", "probe-types")),
    Option("", "dump-probe-aliases", "", "list all probe aliases of the tapsets",
           _flag("dump", "probe-aliases")),
    Option("", "dump-functions", "", "list all functions of the tapsets",
           _flag("dump", "functions")),
    Option("", "explain", "CODE", "explain a message by its code, such as E0231",
           _text("explain")),
    Option("", "terse", "", "leave source lines out of the generated C", _flag("terse")),
]  # fmt: skip

_SHORT = {option.short: option for option in TABLE if option.short}
_LONG = {option.long: option for option in TABLE if option.long}


def usage() -> str:
    """The text of ``--help``."""
    lines = [
        "Usage: stapy [options] FILE [arguments]",
        "   or: stapy [options] -e SCRIPT [arguments]",
        "   or: stapy [options] -l PROBE | -L PROBE",
        "",
        "Options:",
    ]
    for option in TABLE:
        names = ", ".join(
            name
            for name in (
                f"-{option.short}" if option.short else "",
                f"--{option.long}" if option.long else "",
            )
            if name
        )
        if option.value.startswith("["):
            names += f"[={option.value[1:-1]}]"
        elif option.value:
            names += ("=" if option.long else " ") + option.value
        lines.append(f"  {names:<28} {option.help}")
    return "\n".join(lines)


def parse(words: list[str]) -> Options:
    """Options from the words of a command line; UsageError when they make no sense."""
    options = Options()
    plain: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "--":
            plain += queue
            break
        if word.startswith("--"):
            _parse_long(options, word[2:], queue)
        elif word.startswith("-") and len(word) > 1:
            _parse_short(options, word[1:], queue)
        else:
            plain.append(word)
    _place(options, plain)
    _check(options)
    return options


def _parse_long(options: Options, text: str, queue: list[str]) -> None:
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
    option.set(options, value)


def _parse_short(options: Options, letters: str, queue: list[str]) -> None:
    while letters:
        letter, letters = letters[0], letters[1:]
        option = _SHORT.get(letter)
        if option is None:
            raise UsageError(_unknown_option("-" + letter, []))
        if not option.value:
            option.set(options, "")
            continue
        if not letters and not queue:
            raise UsageError(f"option '-{letter}' needs a value: {option.value}")
        option.set(options, letters or queue.pop(0))
        return


def _unknown_option(name: str, close: list[str]) -> str:
    if len(close) > 1:
        return f"option '{name}' could be any of: " + ", ".join("--" + long for long in close)
    from stapy.suggest import nearest

    near = nearest(name.lstrip("-"), list(_LONG)) if name.startswith("--") else []
    hint = f"; did you mean '--{near[0]}'?" if near else ""
    return f"unknown option '{name}'{hint} ('stapy --help' lists them)"


def _place(options: Options, plain: list[str]) -> None:
    """Tell the script's file from its arguments."""
    needs_file = options.script_text is None and options.listing is None
    if needs_file and plain:
        options.script_file = plain.pop(0)
    options.arguments = plain


def _check(options: Options) -> None:
    """Combinations that contradict each other."""
    if options.explain or options.clean_cache or options.dump:
        return
    if options.script_file is None and options.script_text is None and options.listing is None:
        raise UsageError("A script must be specified.")
    if options.listing is not None and options.script_text is not None:
        raise UsageError("-l and -L take a probe point, not a script.")
    if options.command is not None and options.target is not None:
        raise UsageError("You can't specify both -c and -x options.")
    if options.rotate is not None:
        _check_rotation(options)
    if options.suppress_time_limits and not options.guru:
        raise UsageError("--suppress-time-limits requires guru mode (-g).")
    if options.vm and options.release:
        raise UsageError("--vm=RELEASE names the kernel; -r cannot be given too.")


def _rc_words() -> list[str]:
    """Options that stand in ``$SYSTEMTAP_DIR/rc`` and are read first, quoted as for a shell."""
    from pathlib import Path

    folder = Path(os.environ.get("SYSTEMTAP_DIR") or os.environ.get("HOME", "/") + "/.systemtap")
    path = folder / "rc"
    if not path.is_file():
        return []
    import shlex

    try:
        return shlex.split(path.read_text("utf-8", "surrogateescape"), comments=True)
    except (OSError, ValueError) as error:
        raise UsageError(f"'{path}': {getattr(error, 'strerror', None) or error}.") from None


def _check_rotation(options: Options) -> None:
    from stapy.run import options as run

    try:
        run.check(run.RunOptions(output=options.output, rotate=options.rotate or " "))
    except run.UsageError as error:
        raise UsageError(str(error)) from None


def main(words: list[str] | None = None) -> int:
    """Entry point of the ``stapy`` command; returns the exit status."""
    words = sys.argv[1:] if words is None else words
    if words in (["--version"], ["-V"]):
        print(f"stapy {__version__}")
        return 0
    if words in (["--help"], ["-h"]):
        print(usage())
        return 0
    try:
        options = parse(_rc_words() + words)
    except UsageError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 1
    if options.explain == "--help":
        print(usage())
        return 0
    if options.explain == "--version":
        print(f"stapy {__version__}")
        return 0
    from stapy.session import Session

    return Session(options).main()
