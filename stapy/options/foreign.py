"""Options of SystemTap that stapy answers without having them.

Each is refused in one line when a script would not do without it what its user
asked for, and is a warning when all is done that was asked for and the option
changes nothing here.  None is taken in silence.
"""

from __future__ import annotations

from stapy.options import Options
from stapy.options.option import ADDS, LAST, SAME, Option, Setter, UsageError, is_number

_SERVERS = (
    "there are no compile servers: make the module with -p4 -r RELEASE, run it with stapy-run"
)
_RUNTIME = "stapy makes kernel modules only"


def _refuse(name: str, why: str) -> Setter:
    def set(options: Options, value: str) -> None:
        raise UsageError(f"{name} is not supported: {why}.")

    return set


def _warn(name: str, why: str) -> Setter:
    def set(options: Options, value: str) -> None:
        options.notices.append(f"{name} has no effect: {why}")

    return set


def _runtime(options: Options, value: str) -> None:
    if value in ("dyninst", "bpf"):
        raise UsageError(f"--runtime={value} is not supported: {_RUNTIME}.")
    if value != "kernel":
        raise UsageError(f"{value} is an invalid argument for --runtime (should be kernel).")


def _server_on_error(options: Options, value: str) -> None:
    if value in ("", "yes"):
        raise UsageError(f"--use-server-on-error is not supported: {_SERVERS}.")
    if value != "no":
        raise UsageError(
            f"Invalid argument '{value}' for --use-server-on-error (should be yes or no)."
        )


def _download(options: Options, value: str) -> None:
    if value == "no":  # the default: what $DEBUGINFOD_URLS allows is not meant
        return
    if value not in ("", "yes", "ask") and not is_number(value, 1, (1 << 63) - 1):
        raise UsageError(
            f"{value} is not a valid value. Use 'yes', 'no', 'ask' or a timeout value."
        )
    options.notices.append(
        "--download-debuginfo has no effect: ABRT is not asked; set $DEBUGINFOD_URLS instead"
    )


def _sysenv(options: Options, value: str) -> None:
    if options.sysroot is None:
        raise UsageError("--sysenv must follow --sysroot")
    name, equals, _ = value.partition("=")
    if not equals or not name:
        raise UsageError(f"--sysenv wants VAR=VALUE, not '{value}'.")
    options.notices.append(
        f"--sysenv={value} has no effect: stapy looks for no programs or libraries in a sysroot"
    )


def _row(name: str, value: str, set: Setter, again: str = LAST) -> Option:
    short = name[1:] if len(name) == 2 else ""
    return Option(short, "" if short else name[2:], value, "", set, again=again if value else SAME)


def _refused(name: str, value: str, why: str) -> Option:
    return _row(name, value, _refuse(name, why))


def _warned(name: str, value: str, why: str) -> Option:
    return _row(name, value, _warn(name, why))


TABLE = [
    _refused("-q", "", "no coverage of tapsets is recorded"),
    _row("--runtime", "MODE", _runtime),
    _refused("--dyninst", "", _RUNTIME),
    _refused("--bpf", "", _RUNTIME),
    _warned("--save-uprobes", "", "the kernel has its own uprobes, no module is made for them"),
    _refused("--use-server", "[SERVER]", _SERVERS),
    _refused("--use-http-server", "SERVER", _SERVERS),
    _refused("--list-servers", "[PROPERTIES]", _SERVERS),
    _refused("--trust-servers", "[TRUST]", _SERVERS),
    _row("--use-server-on-error", "[yes|no]", _server_on_error),
    _refused("--client-options", "", _SERVERS),
    _row("--download-debuginfo", "[WHEN]", _download),
    _row("--sysenv", "VAR=VALUE", _sysenv, ADDS),
    _refused("--build-as", "USER", "run stapy -p4 as that user, and stapy-run as root"),
    _refused("--semantic-keep-going", "", "use --message-format=json: all mistakes are listed"),
    _refused("--benchmark-sdt", "", "docs/performance.md has the cost of a hit"),
    _refused("--benchmark-sdt-loops", "N", "docs/performance.md has the cost of a hit"),
    _refused("--benchmark-sdt-threads", "N", "docs/performance.md has the cost of a hit"),
    _refused("--debug", "", "-v and -k show what each pass makes"),
]  # fmt: skip
