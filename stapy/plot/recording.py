"""What a session recorded: lines of ``--format=json``, or folded stacks."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import NoReturn, TextIO

from stapy.plot.errors import PlotError
from stapy.plot.units import PrintedUnits
from stapy.plot.values import Statistic, Value, checked, items_of, members, text_of
from stapy.record import Record, new
from stapy.run.ground.manifest import SCHEMA
from stapy.run.stacks import StackWriter, is_stack

Keys = tuple[str | int, ...]
_SEVERAL = "several sessions were recorded in this file: of a global, the last one is drawn"
_LATEST = 1e11  # seconds since 1970, far from now
STDIN = "-"  # the name of standard input on a command line


class GlobalElement(Record):
    """An element of an array, or a plain global, which has no keys."""

    keys: Keys
    value: Value
    stack: str = ""  # its keys as a folded line, when one of them is a stack


class PrintRow(Record):
    """A print: seconds since the session began, and its fields by name."""

    time: float
    values: dict[str, Value]


class PrintPlace(Record):
    """The prints of one place of the script."""

    place: str
    probe: str
    rows: list[PrintRow] = new(list)
    units: PrintedUnits = new(PrintedUnits)


class Recording(Record):
    """All of a session that could be drawn, in the order in which it came."""

    script: str = ""
    globals: dict[str, dict[Keys, GlobalElement]] = new(dict)
    places: dict[str, PrintPlace] = new(dict)
    folded: dict[str, int] = new(dict)
    warnings: list[str] = new(list)
    errors: list[str] = new(list)  # of the session, as they were told
    length: float = 0.0  # seconds
    is_begun: bool = False
    is_ended: bool = False

    @property
    def names(self) -> list[str]:
        """List the globals."""
        return list(self.globals)

    @property
    def field_names(self) -> list[str]:
        """List the fields of all prints."""
        return list({name for place in self.places.values() for name in place.rows[0].values})


def read(path: str) -> Recording:
    """Read a file, or what `STDIN` stands for; raise `PlotError` for one that is no recording."""
    name = "standard input" if path == STDIN else path
    try:
        with _opened(path) as file:
            lines = enumerate(file, 1)
            for number, line in lines:
                if line.strip():
                    reader = JsonReader(name) if _is_json(name, line) else FoldedReader(name)
                    return reader.read(chain([(number, line)], lines))
    except OSError as error:
        raise PlotError(f"cannot read '{name}': {error.strerror}") from None
    raise PlotError(f"'{name}' is empty: nothing was recorded")


def _is_json(name: str, first: str) -> bool:
    """Tell which form a file has: its first line says so, unless that is damaged, or its name."""
    return first.lstrip().startswith("{") or name.endswith((".json", ".jsonl"))


def _opened(path: str) -> TextIO:
    if path == STDIN:
        return os.fdopen(os.dup(0), encoding="utf-8-sig", errors="surrogateescape", newline="\n")
    return Path(path).open(encoding="utf-8-sig", errors="surrogateescape", newline="\n")


class FoldedReader:
    """Reads lines of ``--format=folded``."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self, lines: Iterable[tuple[int, str]]) -> Recording:
        """Read all lines; raise `PlotError` at the first that has no count."""
        recording = Recording(is_begun=True, is_ended=True)
        for number, line in lines:
            stack, _, count = line.strip().rpartition(" ")
            is_object = stack.startswith('{"')  # of a session that was recorded in the same file
            if stack and not is_object and re.fullmatch("-?[0-9]{1,20}", count):
                recording.folded[stack] = recording.folded.get(stack, 0) + int(count)
            elif line.strip():
                wanted = (
                    f"expected a whole number of up to 20 digits as the count, not '{count}'"
                    if stack and not is_object and _is_numeric(count)
                    else "expected an object of --format=json, or 'frame;frame COUNT' of "
                    "--format=folded"
                )
                raise PlotError(f"'{self._path}', line {number}: {wanted}")
        return recording


def _is_numeric(text: str) -> bool:
    """Tell whether somebody meant a number: a fraction, or one that nobody can count to."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _seconds(value: object) -> float:
    if not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _key(value: object) -> str | int:
    found = checked(value)
    if isinstance(found, Statistic):
        raise TypeError
    return found


class JsonReader:
    """Reads lines of ``--format=json``."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._found = Recording()
        self._begin = -1.0
        self._hosts: dict[object, str] = {}
        self._modules: set[object] = set()
        # Names of addresses are the recorder's to know: here, another kernel may run.
        self._stacks = StackWriter(symbols="/dev/null")

    def read(self, lines: Iterable[tuple[int, str]]) -> Recording:
        """Read all lines; raise `PlotError` at the first that is none of a recording."""
        for number, line in lines:
            if not line.strip():
                continue
            try:
                self.take(json.loads(line, parse_constant=_refuse))
            except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError,
                    RecursionError):  # fmt: skip
                if not line.endswith("\n") and line.lstrip().startswith("{"):
                    # the recorder was killed while it wrote
                    self._found.warnings.append("the last line is cut short, and left out")
                    break
                raise PlotError(
                    f"'{self._path}', line {number}: expected an object that --format=json wrote"
                ) from None
        if self._stacks.nameless:
            self._found.warnings.append(
                "some stacks have addresses instead of names: nothing tells what they were"
            )
        return self._found

    @property
    def recording(self) -> Recording:
        """Return what was read so far."""
        return self._found

    def take(self, line: dict[str, object]) -> None:
        """Take a line that was parsed; ValueError, KeyError or the like for what is none."""
        kind, when = line["type"], _seconds(line["time"])
        if not 0 <= when < _LATEST:  # which NaN is not, either
            raise ValueError
        if self._begin < 0:
            self._begin = when
        since = max(0.0, when - self._begin)
        self._found.length = max(self._found.length, since)
        if kind == "begin":
            if line["schema"] != SCHEMA:
                raise PlotError(
                    f"'{self._path}' was recorded by another version of stapy "
                    f"(schema {line['schema']}, expected {SCHEMA})"
                )
            self._found.is_begun = True
            self._found.script = self._found.script or text_of(line["script"])
            self._hosts[line.get("host", 0)] = text_of(line.get("uri", ""))
            self._tell_sessions(line)
        elif kind == "end":
            self._found.is_ended = True
        elif kind == "error":
            self._found.errors.append(text_of(line["message"]))
        elif kind == "global":
            self._take_global(line)
        elif kind == "print" and line["fields"]:
            self._take_print(line, since)

    def _take_print(self, line: dict[str, object], since: float) -> None:
        fields = {text_of(key): checked(one) for key, one in members(line["fields"]).items()}
        origin = self.origin(line)
        if origin:
            fields = {"host": origin[0], **fields}
        name = text_of(line["place"])
        place = self._found.places.setdefault(
            name, PrintPlace(place=name, probe=text_of(line.get("probe", "")))
        )
        place.rows.append(PrintRow(time=since, values=fields))
        place.units.learn(fields, text_of(line.get("text", "")))

    def _tell_sessions(self, line: dict[str, object]) -> None:
        """Warn of files that were put together; those of several hosts are one session."""
        self._modules.add(line.get("host", line.get("module")))
        if len(self._modules) > 1 and "host" not in line and _SEVERAL not in self._found.warnings:
            self._found.warnings.append(_SEVERAL)

    def _take_global(self, line: dict[str, object]) -> None:
        keys = [*self.origin(line), *map(_key, items_of(line, "keys"))]
        folded = text_of(line.get("stack", "")) or self.folded(keys)
        if folded and line.get("stack") and self.origin(line):
            folded = f"{self.origin(line)[0]};{folded}"
        element = GlobalElement(keys=tuple(keys), value=checked(line["value"]), stack=folded)
        self._found.globals.setdefault(text_of(line["name"]), {})[element.keys] = element

    def origin(self, line: dict[str, object]) -> list[str]:
        """Tell which host of --remote a line comes from; [] for none."""
        if "host" not in line:
            return []
        return [self._hosts.get(line["host"]) or f"host {line['host']}"]

    def folded(self, values: Iterable[str | int]) -> str:
        """Write values of which one is a stack as a folded line, "" when none is."""
        texts = [
            value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
            for value in values
        ]
        return self._stacks.line([], texts) if any(map(is_stack, texts)) else ""
