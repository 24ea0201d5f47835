"""The table of the command line's options, and what each sets.

Options of SystemTap that stapy does not have are in `stapy.options.foreign`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from stapy import LANGUAGE_VERSION
from stapy.options import Options
from stapy.paths import is_dir

Setter = Callable[[Options, str], None]


class UsageError(Exception):
    """A command line that cannot be obeyed; the text says why."""


class Option:
    """One row of the table.

    ``value`` is "" (none), the upper-case name of a required value, or the
    same in brackets for an optional one (long options only).  ``run`` names the
    fields that the option sets and no module depends on: two commands that differ
    in these only share what was translated.  ``words`` are the values that there are, for
    options whose values can be listed.
    """

    __slots__ = ("help", "long", "run", "set", "short", "value", "words")

    def __init__(
        self,
        short: str,
        long: str,
        value: str,
        help: str,
        set: Setter,
        run: str = "",
        words: tuple[str, ...] = (),
    ) -> None:
        self.short, self.long, self.value, self.help, self.set = short, long, value, help, set
        self.run, self.words = run, words


def _flag(field: str, state: object = True) -> Setter:
    def set(options: Options, value: str) -> None:
        setattr(options, field, state)

    return set


def _script(options: Options, value: str) -> None:
    if options.script_text is not None:
        raise UsageError("Only one script can be given on the command line.")
    options.script_text = value


def _text(field: str) -> Setter:
    def set(options: Options, value: str) -> None:
        setattr(options, field, value)

    return set


def _once(field: str, word: str) -> Setter:
    """Refuse a second file: it would be written in silence instead of the first one."""

    def set(options: Options, value: str) -> None:
        if getattr(options, field) is not None:
            raise UsageError(f"{word} was given twice: '{getattr(options, field)}' and '{value}'.")
        setattr(options, field, value)

    return set


def _append(field: str) -> Setter:
    def set(options: Options, value: str) -> None:
        getattr(options, field).append(value)

    return set


def _monitor(options: Options, value: str) -> None:
    _number("monitor", "interval of --monitor", 1, 86400)(options, value or "1")


def _metrics(options: Options, value: str) -> None:
    options.metrics, options.metrics_at = True, value


def _effect(options: Options, value: str) -> None:
    if not value.strip():
        raise UsageError("--probe-effect wants a command.")
    options.effect = value


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
    if not is_dir(Path(value)):
        raise UsageError(f"Invalid --sysroot '{value}' (should be a directory).")
    options.sysroot = value


def _build_in(options: Options, value: str) -> None:
    # What docker takes for the name of an image; it refuses others with a status only.
    if not re.fullmatch(r"[a-z0-9][\w./-]*(:[\w.-]+|@sha256:[0-9a-f]+)?", value):
        raise UsageError(
            f"Invalid --build-in '{value}' (should be auto, debian:SUITE or the name of an image)."
        )
    options.build_in = value


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
    if value not in ("", *_WHEN):
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


def _namespaces(options: Options, value: str) -> None:
    if not value.isdecimal() or not 0 < int(value) <= _MAX_PID:
        raise UsageError(f"Invalid process ID number '{value}' for --target-namespaces.")
    options.namespaces = int(value)


def _timeout(options: Options, value: str) -> None:
    try:
        options.timeout = float(value)
    except ValueError:
        options.timeout = 0
    if not options.timeout > 0:
        raise UsageError(f"Invalid timeout '{value}' (should be a number of seconds above 0).")


def _listing(with_variables: bool) -> Setter:
    def set(options: Options, value: str) -> None:
        options.listing, options.listing_variables = value, with_variables

    return set


_ON_OVERLOAD = ("exit", "throttle", "disarm")


def _choice(field: str, name: str, *words: str) -> Setter:
    def set(options: Options, value: str) -> None:
        if value not in words:
            raise UsageError(f"Invalid {name} '{value}' (should be one of {', '.join(words)}).")
        setattr(options, field, value)

    return set


def _vm(options: Options, value: str) -> None:
    options.vm, options.vm_release = True, value or None


class HostsFile(str):
    """A file of hosts among the hosts of ``--remote``: they are counted in the order given."""


def _remote_file(options: Options, value: str) -> None:
    options.remotes.append(HostsFile(value))


def _color(options: Options, value: str) -> None:
    _choice("color", "argument for --color", "auto", "always", "never")(options, value or "always")


def _privilege(options: Options, value: str) -> None:
    if options.privilege_set:
        raise UsageError("Privilege level may be set only once.")
    if value not in _LEVELS:
        raise UsageError(
            f"Invalid argument '{value}' for --privilege"
            " (should be one of stapusr, stapsys, stapdev)."
        )
    options.privilege, options.privilege_set = value, True


def _unprivileged(options: Options, value: str) -> None:
    _privilege(options, "stapusr")


def _compatible(options: Options, value: str) -> None:
    from stapy.options.versions import compare_versions

    if not value or not value[0].isdigit() or compare_versions(value, LANGUAGE_VERSION) > 0:
        raise UsageError(
            f"systemtap version {LANGUAGE_VERSION} cannot be compatible with future version {value}"
        )
    options.compatible = value


# What --rlimit-NAME limits; the names are those of setrlimit(2).
_RLIMITS = (
    ("as", "the address space, in bytes"),
    ("cpu", "the CPU time, in seconds"),
    ("nproc", "the number of processes"),
    ("stack", "the stack, in bytes"),
    ("fsize", "the size of files that are written, in bytes"),
)


def _rlimit(name: str) -> Setter:
    def set(options: Options, value: str) -> None:
        if not value.isdecimal():
            raise UsageError(f"Unable to convert rlimit-{name} resource limit '{value}'.")
        options.rlimits[name] = int(value)

    return set


# How --format has the output written for programs.
FORMATS = ("json", "csv", "folded")


def _format(options: Options, value: str) -> None:
    _choice("format", "output format", "text", *FORMATS)(options, value)
    if value == "text":
        options.format = ""


MESSAGE_FORMATS = ("rich", "systemtap", "short", "json")
_WHEN = ("always", "auto", "never")
_LEVELS = ("stapusr", "stapsys", "stapdev")

TABLE = [
    Option("h", "help", "", "show this text", _flag("explain", "--help")),
    Option("V", "version", "", "show the version", _flag("explain", "--version")),
    Option("e", "", "SCRIPT", "run this script instead of a file", _script, run="script_text"),
    Option("E", "", "SCRIPT", "add this script to the one that is run", _append("extra_scripts"),
           run="extra_scripts"),
    Option("i", "", "", "build a script line by line and run it, with completion and history",
           _flag("interactive"), run="interactive"),
    Option("", "interactive", "", "the same", _flag("interactive"), run="interactive"),
    Option("p", "", "NUM", "stop after pass NUM: 1 parse 2 elaborate 3 translate 4 compile 5 run",
           _number("last_pass", "pass number", 1, 5), run="last_pass", words=tuple("12345")),
    Option("v", "", "", "be more verbose in all passes", _verbose, run="verbose"),
    Option("", "vp", "NNNNN", "be more verbose in each pass by its digit", _verbose_by_pass,
           run="verbose"),
    Option("k", "", "", "keep the temporary directory", _flag("keep"), run="keep"),
    Option("", "tmpdir", "DIR", "work in DIR instead of a fresh temporary directory",
           _text("tmpdir"), run="tmpdir"),
    Option("g", "", "", "guru mode: embedded C and writes are allowed", _flag("guru")),
    Option("u", "", "", "unoptimised: remove nothing from the script", _flag("unoptimized")),
    Option("w", "", "", "no warnings", _flag("suppress_warnings"), run="suppress_warnings"),
    Option("W", "", "", "warnings are errors", _flag("warnings_are_errors")),
    Option("P", "", "", "probe functions behind their prologues: for debug information that errs",
           _flag("prologue_search")),
    Option("", "prologue-searching", "[WHEN]", "the same, or not: always, auto, never", _prologues,
           words=_WHEN),
    Option("t", "", "", "report hits and cycles of each probe at the end", _flag("timing")),
    Option("", "monitor", "[SECONDS]", "show probes and globals on the terminal, anew "
           "every SECONDS; switch probes on and off", _monitor),
    Option("", "metrics", "ADDR:PORT", "serve globals to Prometheus while the script runs",
           _metrics, run="metrics_at"),
    Option("", "on-overload", "WHAT", "when probes take too much time: exit, the usual; throttle "
           "the probe that takes most, or disarm it",
           _choice("on_overload", "argument for --on-overload", *_ON_OVERLOAD),
           words=_ON_OVERLOAD),
    Option("", "format", "FORM", "output for programs: json, csv (tables), "
           "folded (stacks with counts); text is for eyes", _format,
           words=("text", *FORMATS)),
    Option("", "plot", "FILE", "draw what the script gathered: FILE.svg, FILE.html, FILE.png",
           _once("plot", "--plot"), run="plot"),
    Option("s", "", "MB", "output buffer of each CPU, in megabytes",
           _number("buffer_mb", "buffer size", 1, 4095)),
    Option("b", "", "", "bulk mode: a file of output for each CPU, for stapy-merge", _flag("bulk")),
    Option("I", "", "DIR", "look in DIR for more tapsets", _append("tapset_dirs")),
    Option("D", "", "NAME[=VALUE]", "define a macro for the module (limits such as MAXACTION)",
           _pair("defines", "D", value_needed=False)),
    Option("B", "", "NAME=VALUE", "pass an option to kbuild", _append("kbuild_flags")),
    Option("G", "", "NAME=VALUE", "set a global variable",
           _pair("globals", "G", value_needed=True), run="globals"),
    Option("R", "", "DIR", "look in DIR for the runtime", _text("runtime_dir")),
    Option("r", "", "RELEASE", "make the module for this kernel release or build tree",
           _text("release"), run="release"),
    Option("", "build-in", "IMAGE", "make the module in a container: auto, debian:SUITE, an image",
           _build_in, run="build_in", words=("auto",)),
    Option("", "prepare", "", "make the image of --build-in and exit", _flag("prepare"),
           run="prepare"),
    Option("", "sysroot", "DIR", "look in this file tree for the kernel and its debug files",
           _sysroot),
    Option("m", "", "NAME", "name of the module; NAME.ko is left in the current directory",
           _module_name),
    Option("d", "", "MODULE", "make source lines of this module known to the script, or frames "
           "and names of this program or library", _append("debug_modules")),
    Option("", "ldd", "", "also those of the libraries of the programs of -d", _flag("ldd")),
    Option("", "all-modules", "", "source lines of all modules that are loaded",
           _flag("all_modules")),
    Option("o", "", "FILE", "write the output to FILE", _text("output"), run="output"),
    Option("c", "", "CMD", "start the probes, run CMD, stop when it ends", _text("command"),
           run="command"),
    Option("", "probe-effect", "CMD", "run CMD without and with the probes, and compare the time "
           "that it takes", _effect, run="effect"),
    Option("", "probe-effect-runs", "NUM", "so often each; else 10 times",
           _number("effect_runs", "number of runs", 3, 1000), run="effect_runs"),
    Option("x", "", "PID", "set target() to PID", _target, run="target"),
    Option("", "target-namespaces", "PID", "find programs where this process finds them, and count "
           "in its name spaces (ns_pid(), ...)", _namespaces),
    Option("l", "", "PROBE", "list the matching probe points", _listing(False)),
    Option("L", "", "PROBE", "list them with their variables", _listing(True)),
    Option("F", "", "", "leave the script running: with -o in the background, else in the kernel",
           _flag("flight_recorder"), run="flight_recorder"),
    Option("S", "", "SIZE[,N]", "switch the output file every SIZE megabytes, keep N",
           _text("rotate"), run="rotate"),
    Option("T", "", "SECONDS", "stop after SECONDS", _timeout, run="timeout"),
    Option("", "vm", "[RELEASE]", "run the module in a throw-away virtual machine", _vm,
           run="vm vm_release"),
    Option("", "remote", "HOST", "run the module on [USER@]HOST, ssh://[USER@]HOST[:PORT] or "
           "direct://; may be repeated", _append("remotes"), run="remotes"),
    Option("", "remote-file", "FILE", "and on the hosts that FILE names, one in a line",
           _remote_file, run="remotes"),
    Option("", "remote-prefix", "", "begin each line of a host by its number, from 0",
           _flag("remote_prefix"), run="remote_prefix"),
    Option("", "sign-module", "[KEYFILE]", "sign the module with this key, or with one of your own "
           "(docs/signing.md)", _text("sign"), run="sign"),
    Option("", "modinfo", "NAME=VALUE", "add a line to what modinfo shows of the module", _modinfo),
    Option("", "skip-badvars", "", "context variables that cannot be read are 0",
           _flag("skip_badvars")),
    Option("", "suppress-handler-errors", "", "run-time errors are quiet: they are only counted",
           _flag("suppress_handler_errors")),
    Option("", "suppress-time-limits", "", "no limit on time and statements (needs -g)",
           _flag("suppress_time_limits")),
    Option("", "compatible", "VERSION", "speak the language of this SystemTap version",
           _compatible),
    Option("", "language-server", "", "serve an editor on standard input and output",
           _flag("language_server"), run="language_server"),
    Option("", "check-version", "", "warn of what depends on the version of SystemTap",
           _flag("check_version")),
    *(Option("", f"rlimit-{name}", "NUM", f"limit {what}", _rlimit(name), run="rlimits")
      for name, what in _RLIMITS),
    Option("", "example", "", "run the example of this name, list those of this subject, or all",
           _flag("example"), run="example"),
    Option("", "show", "", "with --example: print it instead", _flag("show"), run="show"),
    Option("", "message-format", "FORM", "messages as rich, systemtap, short or json",
           _choice("message_format", "message format", *MESSAGE_FORMATS), run="message_format",
           words=MESSAGE_FORMATS),
    Option("", "privilege", "LEVEL", "translate for stapusr, stapsys or stapdev", _privilege,
           run="privilege_set", words=_LEVELS),
    Option("", "unprivileged", "", "the same as --privilege=stapusr",
           _unprivileged, run="privilege_set"),
    Option("", "color", "[WHEN]", "colours in messages: auto, always, never", _color, run="color",
           words=_WHEN),
    Option("", "colour", "[WHEN]", "the same", _color, run="color", words=_WHEN),
    Option("", "disable-cache", "", "neither use nor fill the cache", _flag("use_cache", False),
           run="use_cache"),
    Option("", "poison-cache", "", "fill the cache but do not use it", _flag("poison_cache"),
           run="poison_cache"),
    Option("", "clean-cache", "", "remove old files from the cache and exit",
           _flag("clean_cache"), run="clean_cache"),
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
    Option("", "doc", "NAME", "the page of a function, alias or probe point; of a pattern a list",
           _text("doc")),
    Option("", "trace-passes", "", "print what each pass hands to the next (for developers)",
           _flag("trace_passes"), run="trace_passes"),
    Option("", "terse", "", "leave source lines out of the generated C", _flag("terse")),
]  # fmt: skip

# Fields of `Options` that no module depends on; those of the second line come from no option.
RUN_ONLY = frozenset(
    [field for option in TABLE for field in option.run.split()]
    + ["script_file", "notices", "elsewhere", "is_for_plot"]
)
