"""Limits that ``-D NAME=VALUE`` changes, and the other macros of ``-D``."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import NamedTuple

from stapy import LANGUAGE_VERSION
from stapy.options import Options

MIB = 1 << 20
# What MAXSTRINGLEN may be; the runtime keeps the sizes of strings in 16 bits.
STRING_BYTES = range(16, 1 << 16)
BUFFER_MIB = 2


class Limit(NamedTuple):
    """A limit: its macro, the member of ``struct stapy_limits`` ("" for none), its default."""

    name: str
    field: str
    default: str


LIMITS = (
    Limit("MAXSTRINGLEN", "maxstringlen", "512"),
    Limit("MAXACTION", "maxaction", "1000"),
    Limit("MAXACTION_INTERRUPTIBLE", "maxaction_interruptible", "(MAXACTION * 10)"),
    Limit("MAXERRORS", "maxerrors", "0"),
    Limit("MAXSKIPPED", "maxskipped", "100"),
    Limit("MAXTRYLOCK", "maxtrylock", "100"),
    Limit("TRYLOCKDELAY", "trylockdelay", "10"),
    Limit("MINSTACKSPACE", "minstackspace", "1024"),
    Limit("MAXMAPENTRIES", "maxmapentries", "2048"),
    Limit("MAXBACKTRACE", "maxbacktrace", "20"),
    Limit("INTERRUPTIBLE", "interruptible", "1"),
    Limit("STP_OVERLOAD_THRESHOLD", "overload_threshold", "500000000"),
    Limit("STP_OVERLOAD_INTERVAL", "overload_interval", "1000000000"),
)
NESTING = Limit("MAXNESTING", "maxnesting", "1")  # the default of a script is what it needs
# These are the runtime's own, unless one of them is given.
HISTOGRAM_LIMITS = (
    Limit("HIST_WIDTH", "hist_width", "50"),
    Limit("HIST_ELISION", "hist_elision", "2"),
)
GIVEN_LIMITS = (
    Limit("MAXENTRYFRAMES", "maxentryframes", "4096"),
    Limit("STP_ON_THE_FLY_INTERVAL", "on_the_fly_interval", "100000000"),
    Limit("STAPY_OBJECT_MEMORY", "object_memory", "64"),
    Limit("STP_MAXMEMORY", "max_kilobytes", "0"),
    Limit("STP_PROCFS_BUFSIZE", "procfs_bytes", "512"),
    Limit("MAP_STRING_LENGTH", "", "MAXSTRINGLEN"),  # in the rows of arrays
)
# What a member can hold: an int, unless it is one of these.
_INT = range(-(1 << 31), 1 << 31)
_RANGES = dict.fromkeys(
    ("STP_OVERLOAD_THRESHOLD", "STP_OVERLOAD_INTERVAL", "STP_ON_THE_FLY_INTERVAL"), range(1 << 64)
) | {"STP_MAXMEMORY": range(1 << 31), "MAP_STRING_LENGTH": range(2, 1 << 16)}
# Of these there are none at least.
_RANGES |= dict.fromkeys(
    ("MAXACTION", "MAXACTION_INTERRUPTIBLE", "MAXMAPENTRIES", "MAXBACKTRACE", "MINSTACKSPACE"),
    range(1 << 31),
)
# The runtime takes its own default for 0.
_UNSAID = {"STP_ON_THE_FLY_INTERVAL": " ?: 1"}
# Macros of -D that other parts of the translation heed.
ELSEWHERE = frozenset({
    "MAXNESTING", "KRETACTIVE", "STP_MAX_BUCKETS",
    "STP_NO_VERREL_CHECK", "STP_FULL_VERREL_CHECK", "STP_NO_BUILDID_CHECK", "STAP_CALLEE_MATCHALL",
    "STAPY_NO_SHIFT",
})  # fmt: skip
# Macros whose mere presence switches something.
SWITCHES = {
    "STP_NO_OVERLOAD": "no_overload",
    "STAP_NO_OVERLOAD": "no_overload",
    "STAP_SUPPRESS_HANDLER_ERRORS": "suppress_handler_errors",
    "STAP_SUPPRESS_TIME_LIMITS_ENABLE": "suppress_time_limits",
    "STP_TIMING": "timing",
    "STAPY_UNREPORTED": "unreported",
    "STP_ALIBI": "alibi",
    "STP_SKIP_BADVARS": "skip_badvars",
    "STP_TIMING_NSECS": "timing_nsecs",
    "STP_BULKMODE": "bulk",
}
# What --on-overload says, but for the usual "exit".
ON_OVERLOAD = {"throttle": "STAPY_OVERLOAD_THROTTLE", "disarm": "STAPY_OVERLOAD_DISARM"}
_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b")
_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
_SHIFTS = range(64)


class Limits:
    """The limits of one module, as numbers where pass 3 needs them and as C text."""

    def __init__(self, options: Options, nesting: int) -> None:
        self.given = dict(options.defines)
        self.privilege = options.privilege
        self._unprivileged = options.privilege == "stapusr"
        self._eases = ON_OVERLOAD.get(options.on_overload)
        self._compatible = options.compatible or LANGUAGE_VERSION
        if options.suppress_handler_errors:
            self.given.setdefault("STAP_SUPPRESS_HANDLER_ERRORS", "1")
        if options.bulk:
            self.given.setdefault("STP_BULKMODE", "1")
        if options.skip_badvars:
            self.given.setdefault("STP_SKIP_BADVARS", "1")
        if options.suppress_time_limits:
            self.given.setdefault("STAP_SUPPRESS_TIME_LIMITS_ENABLE", "1")
        if options.timing or "STP_ALIBI" in self.given:
            self.given.setdefault("STP_TIMING", "1")
        elif (options.monitor or self._eases) and "STP_TIMING" not in self.given:
            self.given |= {"STP_TIMING": "1", "STAPY_UNREPORTED": "1"}
        self.rows = [*LIMITS, NESTING._replace(default=str(nesting))]
        self._drawing = any(row.name in self.given for row in HISTOGRAM_LIMITS)
        self.rows += HISTOGRAM_LIMITS if self._drawing else ()
        self.rows += [row for row in GIVEN_LIMITS if row.name in self.given]
        self._text = {row.name: self.given.get(row.name) or row.default for row in self.rows}
        # Ten times MAXACTION may be more than an int holds.
        derived = "MAXACTION_INTERRUPTIBLE"
        if derived not in self.given and self.number(derived) not in _INT:
            self._text[derived] = str(_INT[-1])
        self.needed_nesting = nesting
        self.string_room = self.array_string_room = self.number("MAXSTRINGLEN")
        if "MAP_STRING_LENGTH" in self.given:
            self.array_string_room = min(self.string_room, self.number("MAP_STRING_LENGTH"))
        self.nesting = max(1, self.number("MAXNESTING"))
        self.action_limit = min(self.number("MAXACTION"), self.number("MAXACTION_INTERRUPTIBLE"))
        self.buffer_bytes = (options.buffer_mb or BUFFER_MIB) * MIB

    def version_macros(self, codes: list[str]) -> list[str]:
        """List the ``#define`` lines of the version macros, if embedded C asks for them."""
        if not any("STAP_VERSION" in code or "STAP_COMPAT_VERSION" in code for code in codes):
            return []
        major, _, minor = self._compatible.partition(".")
        return [
            "#define STAP_VERSION(major, minor) (((major) << 8) + (minor))",
            f"#define STAP_COMPAT_VERSION STAP_VERSION({major}, {minor.partition('.')[0] or 0})",
        ]

    @property
    def timed(self) -> bool:
        """False when the limits of time are off."""
        return "STAP_SUPPRESS_TIME_LIMITS_ENABLE" not in self.given

    def bad(self) -> list[str]:
        """List the names of limits whose value is no number."""
        return [row.name for row in self.rows if self._evaluate(row.name) is None]

    @property
    def never_rests(self) -> bool:
        """True when probes are to rest for a share of an interval that has no length."""
        is_throttled = self._eases == ON_OVERLOAD["throttle"]
        return is_throttled and self._evaluate("STP_OVERLOAD_INTERVAL") == 0

    def misfits(self) -> list[tuple[str, range]]:
        """List the names of limits whose number the runtime has no room for, and what it has."""
        found = []
        for row in self.rows:
            if row.name not in self.given:
                continue  # what follows from another one is told with that
            room = _RANGES.get(row.name, _INT)
            value = self._evaluate(row.name)
            if value is not None and value not in room:
                found.append((row.name, room))
        return found

    def number(self, name: str) -> int:
        """Return the value of a limit; its default when the text makes no sense."""
        value = self._evaluate(name)
        if value is not None:
            return value
        default = next((row.default for row in self.rows if row.name == name), None)
        if default is None:
            raise LookupError(name)
        return evaluate(default, self.number) or 0

    def _evaluate(self, name: str) -> int | None:
        return evaluate(self._text.get(name, "?"), self.number)

    def macros(self) -> list[dict[str, str]]:
        """List ``name`` and ``value`` of the limits that differ from ``runtime/defaults.h``."""
        usual = {row.name: row.default for row in (*LIMITS, NESTING)}
        return [
            {"name": row.name, "value": self._text[row.name]}
            for row in self.rows
            if self._text[row.name] != usual.get(row.name)
        ]

    def others(self) -> list[dict[str, str]]:
        """List ``name`` and ``value`` of what else ``-D`` defines."""
        known = {row.name for row in self.rows}
        return [
            {"name": name, "value": value}
            for name, value in sorted(self.given.items())
            if name not in known
        ]

    def fields(self) -> list[dict[str, str]]:
        """List ``name`` and ``value`` of what few scripts set in ``struct stapy_limits``."""
        rare = [*HISTOGRAM_LIMITS, *GIVEN_LIMITS]
        rows = [
            {"name": row.field, "value": row.name + _UNSAID.get(row.name, "")}
            for row in rare
            if row.field and row in self.rows
        ]
        on = dict.fromkeys(field for macro, field in SWITCHES.items() if macro in self.given)
        on |= {"hist_given": None} if self._drawing else {}
        on |= {"hist_width_given": None} if "HIST_WIDTH" in self.given else {}
        on |= {"unprivileged": None} if self._unprivileged else {}
        rows += [{"name": field, "value": "1"} for field in on]
        if self.privilege != "stapdev":
            rows.append({"name": "privilege", "value": f"STAPY_{self.privilege.upper()}"})
        if self._eases:
            rows.append({"name": "on_overload", "value": self._eases})
        if self.buffer_bytes != BUFFER_MIB * MIB:
            rows.append({"name": "buffer_bytes", "value": str(self.buffer_bytes)})
        return rows

    def numbers(self) -> dict[str, int]:
        """Map the name of each limit to its value, for the manifest."""
        return {row.name: self.number(row.name) for row in self.rows}


# What switches a limit off that keeps a script of others from harm.
_GUARDS = re.compile(
    r"STP_NO_OVERLOAD|STAP_NO_OVERLOAD|STAP_SUPPRESS_\w+|STP_OVERLOAD_\w+"
    r"|INTERRUPTIBLE|MAXTRYLOCK|TRYLOCKDELAY|MINSTACKSPACE|MAXNESTING"
)
# No expression: C and Python may differ about its value.
_PLAIN = re.compile(r"(0|[1-9]\d*)[uUlL]*")
_HIGHEST = {"MAXACTION": 1000, "MAXACTION_INTERRUPTIBLE": 10000}


def is_harmless(name: str, value: str) -> bool:
    """Tell whether ``-D NAME=VALUE`` may be given for a script that is to be safe for others.

    It sets a limit or a switch to a number, and so brings in no C, and lifts no limit that
    protects the machine.
    """
    if _GUARDS.fullmatch(name):
        return False
    if name in _HIGHEST and value:
        plain = _PLAIN.fullmatch(value.strip())
        return plain is not None and int(plain[1]) <= _HIGHEST[name]
    return is_data(name, value)


def is_data(name: str, value: str) -> bool:
    """Tell whether ``-D NAME=VALUE`` only sets a limit or switch to a number: it brings in no C."""
    rows = (*LIMITS, *HISTOGRAM_LIMITS, *GIVEN_LIMITS)
    if name not in {"MAXNESTING", *SWITCHES, *(row.name for row in rows)}:
        return False
    return not value or evaluate(value, lambda other: 0) is not None


def evaluate(text: str, lookup: Callable[[str], int]) -> int | None:
    """Evaluate a constant expression as ``-D`` has it; None when it is none."""
    try:
        tree = ast.parse(_SUFFIX.sub(r"\1", text.strip()), mode="eval").body
        return _value(tree, lookup)
    except (SyntaxError, ValueError, ZeroDivisionError, LookupError, RecursionError):
        return None


def _value(node: ast.expr, lookup: Callable[[str], int]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, lookup), _value(node.right, lookup)
        if isinstance(node.op, ast.LShift | ast.RShift) and right not in _SHIFTS:
            raise ValueError("more than C shifts, and than there is memory for")
        return int(_OPERATORS[type(node.op)](left, right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, lookup)
    if isinstance(node, ast.Name):
        return int(lookup(node.id))
    raise ValueError("not a constant expression")
