"""What each option of the command line sets, and which values it refuses."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

from stapy import LANGUAGE_VERSION
from stapy import arch as records
from stapy.options import Options
from stapy.options.option import Setter, UsageError, is_number
from stapy.paths import is_dir, is_file

MESSAGE_FORMATS = ("rich", "systemtap", "short", "json")
WHEN = ("always", "auto", "never")
LEVELS = ("stapusr", "stapsys", "stapdev")


def flag(field: str, state: object = True) -> Setter:
    """Set a field to a state that needs no value."""

    def set(options: Options, value: str) -> None:
        setattr(options, field, state)

    return set


def one_script(options: Options, value: str) -> None:
    """Take the script; there is one."""
    if options.script_text is not None:
        raise UsageError("Only one script can be given on the command line.")
    options.script_text = value


def text(field: str, needs: str = "") -> Setter:
    """Set a field to the value as it is; ``needs`` is what to say of an empty one, if it is none.

    Such as one from a variable that is not set.
    """

    def set(options: Options, value: str) -> None:
        if needs and not value:
            raise UsageError(needs)
        setattr(options, field, value)

    return set


def append(field: str, needs: str = "") -> Setter:
    """Add the value to a list; ``needs`` is what to say of an empty one, if it is none."""

    def set(options: Options, value: str) -> None:
        if needs and not value:
            raise UsageError(needs)
        getattr(options, field).append(value)

    return set


def architecture(options: Options, value: str) -> None:
    """Take the architecture by SystemTap's word for it, or the machine's."""
    _choose_architecture(options, "-a", value)


def _choose_architecture(options: Options, option: str, value: str) -> None:
    """Take the architecture; two options may not say two things of it."""
    found = _known_architecture(option, value)
    if options.architecture_by not in ("", option) and options.architecture != found:
        raise UsageError(
            f"{option} {value} contradicts {options.architecture_by} {options.architecture}."
        )
    options.architecture, options.architecture_by = found, option


def _known_architecture(option: str, value: str) -> str:
    # As the kernel's make has it: x86 is of 64 bits there, too, unless its configuration differs.
    found = records.architecture("x86_64" if value == "x86" else value)
    if found is None:
        raise UsageError(
            f"{option} '{value}' is not supported: modules are made for "
            f"{' and '.join(records.ARCHITECTURES)} only."
        )
    return found.name


def kbuild_flag(options: Options, value: str) -> None:
    """Take a word for kbuild; those that name the architecture and its compiler are ours."""
    name, _, word = value.partition("=")
    if name == "ARCH":
        _choose_architecture(options, "-B ARCH", word)
    elif name == "CROSS_COMPILE":
        if not word:
            raise UsageError("-B CROSS_COMPILE= wants what the names of the compiler begin with.")
        options.cross_compile = word
    elif value == "modules":
        options.notices.append("-B modules has no effect: that is what make is told to make")
    elif not name or (name == value and not name.startswith("-")):
        # make would take it for what it is to make.
        raise UsageError(f"-B wants NAME=VALUE or an option of make, not '{value}'.")
    else:
        options.kbuild_flags.append(value)


def monitor(options: Options, value: str) -> None:
    """Take seconds, 1 without a value."""
    number("monitor", "interval of --monitor", 1, 86400)(options, value or "1")


def metrics(options: Options, value: str) -> None:
    """Take an address; `stapy.combinations` looks at it."""
    options.metrics, options.metrics_at = True, value


def effect(options: Options, value: str) -> None:
    """Take a command that is one."""
    if not value.strip():
        raise UsageError("--probe-effect wants a command.")
    options.effect = value


def number(field: str, name: str, low: int, high: int) -> Setter:
    """Set a field to a whole number from ``low`` to ``high``."""

    def set(options: Options, value: str) -> None:
        if not is_number(value, low, high):
            raise UsageError(f"Invalid {name} '{value}' (should be {low}-{high}).")
        setattr(options, field, int(value))

    return set


def pair(field: str, letter: str, *, value_needed: bool) -> Setter:
    """Keep a value by its name; without ``value_needed`` it is 1 where none is given."""

    def set(options: Options, text: str) -> None:
        name, equals, value = text.partition("=")
        if value_needed and not equals:
            raise UsageError(f"-{letter} wants NAME=VALUE, not '{text}'.")
        if not (name.isidentifier() and name.isascii()):
            raise UsageError(f"-{letter} wants NAME=VALUE: '{name}' in '{text}' is no name.")
        getattr(options, field)[name] = value if equals else "1"

    return set


def sysroot(options: Options, value: str) -> None:
    """Take a folder that is there."""
    if not value or not is_dir(Path(value)):
        raise UsageError(f"Invalid --sysroot '{value}' (should be a directory).")
    options.sysroot = value


def build_in(options: Options, value: str) -> None:
    """Take the name of an image, or auto."""
    # What docker takes for the name of an image; it refuses others with a status only.
    if not re.fullmatch(r"[a-z0-9][\w./-]*(:[\w.-]+|@sha256:[0-9a-f]+)?", value):
        raise UsageError(
            f"Invalid --build-in '{value}' (should be auto, debian:SUITE or the name of an image)."
        )
    options.build_in = value


def verbose(options: Options, value: str) -> None:
    """Make all passes more verbose."""
    options.verbose = [level + 1 for level in options.verbose]


def verbose_by_pass(options: Options, value: str) -> None:
    """Make each pass more verbose by its digit."""
    if len(value) > 5 or not is_number(value, 0, 99999):
        raise UsageError(f"Invalid --vp argument '{value}': up to 5 digits, one per pass.")
    for number, digit in enumerate(value):
        options.verbose[number] += int(digit)


def module_name(options: Options, value: str) -> None:
    """Take what the kernel takes for the name of a module."""
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


def prologues(options: Options, value: str) -> None:
    """Take the words of --prologue-searching."""
    if value not in ("", *WHEN):
        wanted = "should be one of always, auto, never"
        raise UsageError(f"Invalid value '{value}' for --prologue-searching ({wanted}).")
    options.prologue_search = value in ("", "always")  # auto: debug information tells it all


def modinfo(options: Options, value: str) -> None:
    """Add a line of modinfo."""
    name, equals, text = value.partition("=")
    if not equals or not name.isascii() or not name.isidentifier():
        raise UsageError(f"--modinfo wants NAME=VALUE, not '{value}'.")
    options.modinfo.append((name, text))


MAX_PID = 1 << 22  # the kernel's own limit


def target(options: Options, value: str) -> None:
    """Take the number of a process."""
    if not is_number(value, 1, MAX_PID):
        raise UsageError(f"Invalid target process ID number '{value}'.{_of_program('-x ', value)}")
    options.target = int(value)


def namespaces(options: Options, value: str) -> None:
    """Take the number of a process."""
    if not is_number(value, 1, MAX_PID):
        way = _of_program("--target-namespaces=", value)
        raise UsageError(f"Invalid process ID number '{value}' for --target-namespaces.{way}")
    options.namespaces = int(value)


def _of_program(option: str, value: str) -> str:
    """Say how the number of a program's process is found, where a program is named.

    A script in its place was meant to be the script.
    """
    if value.endswith(".stp") or (is_file(value) and not os.access(value, os.X_OK)):
        import shlex

        return f" A number is wanted, and the script comes last: {option}PID {shlex.quote(value)}"
    is_name = re.fullmatch(r"[A-Za-z][\w.+-]*", value)
    return f" The process of a program: {option}$(pidof -s {value})" if is_name else ""


def _seconds(value: str) -> float:
    """Read a number of seconds; 0 for what is none, such as Python's own ``1_0``."""
    try:
        return float(value) if value.isascii() and "_" not in value else 0
    except ValueError:
        return 0


def timeout(options: Options, value: str) -> None:
    """Take seconds above 0."""
    options.timeout = _seconds(value)
    if not 0 < options.timeout < math.inf:
        raise UsageError(f"Invalid timeout '{value}' (should be a number of seconds above 0).")


def snapshots(options: Options, value: str) -> None:
    """Take seconds, with thousandths: more often than ten times in one is no use to anybody."""
    seconds = _seconds(value)
    if not 0.1 <= seconds <= 86_400:
        raise UsageError(f"Invalid --snapshots '{value}' (should be 0.1 to 86400 seconds).")
    options.snapshots = round(seconds * 1000)


def listing(with_variables: bool) -> Setter:
    """Take the pattern of -l, or of -L."""

    def set(options: Options, value: str) -> None:
        options.listing, options.listing_variables = value, with_variables

    return set


ON_OVERLOAD = ("exit", "throttle", "disarm")


def choice(field: str, name: str, *words: str) -> Setter:
    """Set a field to one of some words."""

    def set(options: Options, value: str) -> None:
        if value not in words:
            raise UsageError(f"Invalid {name} '{value}' (should be one of {', '.join(words)}).")
        setattr(options, field, value)

    return set


def vm(options: Options, value: str) -> None:
    """Take a release, if there is a value."""
    options.vm, options.vm_release = True, value or None


class HostsFile(str):
    """A file of hosts among the hosts of ``--remote``: they are counted in the order given."""


def remote_file(options: Options, value: str) -> None:
    """Add a file of hosts."""
    options.remotes.append(HostsFile(value))


def color(options: Options, value: str) -> None:
    """Take a word; always without one."""
    choice("color", "argument for --color", "auto", "always", "never")(options, value or "always")


def width(options: Options, value: str) -> None:
    """Take a number of columns; 0 draws as in a file."""
    if not is_number(value, 0, 1000):
        raise UsageError(f"Invalid --width '{value}' (should be 0 to 1000 columns).")
    options.width = int(value)


def privilege(options: Options, value: str) -> None:
    """Take a level, once."""
    if options.privilege_set:
        raise UsageError("Privilege level may be set only once.")
    if value not in LEVELS:
        raise UsageError(
            f"Invalid argument '{value}' for --privilege"
            " (should be one of stapusr, stapsys, stapdev)."
        )
    options.privilege, options.privilege_set = value, True


def unprivileged(options: Options, value: str) -> None:
    """Take the lowest level."""
    privilege(options, "stapusr")


def compatible(options: Options, value: str) -> None:
    """Take a version that is not of the future."""
    from stapy.options.versions import compare_versions

    if not re.match("[0-9]", value):
        raise UsageError(
            f"Invalid --compatible '{value}' (should be a version of SystemTap, such as"
            f" {LANGUAGE_VERSION})."
        )
    if compare_versions(value, LANGUAGE_VERSION) > 0:
        raise UsageError(
            f"systemtap version {LANGUAGE_VERSION} cannot be compatible with future version {value}"
        )
    options.compatible = value


# What --rlimit-NAME limits; the names are those of setrlimit(2).
RLIMITS = (
    ("as", "the address space, in bytes"),
    ("cpu", "the CPU time, in seconds"),
    ("nproc", "the number of processes"),
    ("stack", "the stack, in bytes"),
    ("fsize", "the size of files that are written, in bytes"),
)


def rlimit(name: str) -> Setter:
    """Limit a resource."""

    def set(options: Options, value: str) -> None:
        if not is_number(value, 0, (1 << 64) - 1):
            raise UsageError(f"Unable to convert rlimit-{name} resource limit '{value}'.")
        options.rlimits[name] = int(value)

    return set


# How --format has the output written for programs.
FORMATS = ("json", "csv", "folded")


def output_format(options: Options, value: str) -> None:
    """Take a form of output; text is none."""
    if value == "openmetrics":
        raise UsageError("openmetrics is served, not printed: --metrics ADDRESS:PORT does it.")
    choice("format", "output format", "text", *FORMATS)(options, value)
    if value == "text":
        options.format = ""
