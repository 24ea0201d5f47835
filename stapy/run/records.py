"""The output of a module made with ``--format``: prints with their fields, as records.

The module says in a table what each print tells (`stapy.translate.tables.records`); its output
comes in pieces (``struct stapy_piece`` in runtime/transport/ring.h), a print in each or in several.
"""

from __future__ import annotations

import struct
import time

from . import jsontext, losses
from .errors import RunError
from .ground.manifest import SCHEMA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

    from .ground.manifest import FieldDescription, PrintDescription, Shape

    Record = Dict[str, Any]
    Value = Union[int, bytes, "Record"]

_PIECE = struct.Struct("<IIQQQIIII")
_MAGIC = 0x31505053
_TEXT, _TYPED = 0, 1
_HEAD = struct.Struct("<BII")
_LONG = struct.Struct("<q")
_UNSIGNED = struct.Struct("<Q")
_COUNT = struct.Struct("<I")
_STAT = struct.Struct("<qqqqI")
_BUCKET = struct.Struct("<Iq")
LOG_ZERO = 64  # number of the bucket of 0, as in runtime/stat.h
_LEAST, _MOST_BUCKETS = -(1 << 63), 0xFFFF


class RecordTable:
    """What the prints of a module tell."""

    def __init__(self, text: str) -> None:
        try:
            table = jsontext.read(text)
            schema = table["schema"]
        except (ValueError, KeyError, TypeError):
            raise RunError("the module's table of records is damaged") from None
        if schema != SCHEMA:
            raise RunError(f"the module's records are of another version of stapy ({schema})")
        self.format = str(table["format"])
        self.prints: List[PrintDescription] = table["prints"]
        self.probes: List[List[str]] = table["probes"]
        # How long texts and stacks may be, -D MAXSTRINGLEN and MAXBACKTRACE.
        self.string_bytes = int(table.get("string_bytes", 0))
        self.stack_frames = int(table.get("stack_frames", 0))
        self.about = {key: table[key] for key in ("stapy", "script", "release", "arch")}


def text_of(data: bytes) -> "Tuple[str, str]":
    """Decode bytes; the second text is all of them in hexadecimal digits, if they are no UTF-8."""
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), data.hex()


class PrintDecoder:
    """Turns blocks of a module's output into records.

    A record is a dictionary whose ``type`` is "print", "global", "snapshot", "look", "text", "lost"
    or "overwritten"; docs/output.md has them.  Texts are bytes still.
    """

    def __init__(self, table: RecordTable) -> None:
        self._table = table
        self._part: List[bytes] = []
        self._done = 0
        # Stamps are of the monotonic clock.
        self._offset = time.time_ns() - time.monotonic_ns()

    def now(self) -> float:
        """Tell the time as records have it."""
        return time.time_ns() / 1e9

    def feed(self, block: memoryview) -> "Iterator[Record]":
        """Yield the records of a block, which has whole pieces."""
        at = 0
        while at < len(block):
            if len(block) - at < _PIECE.size:
                raise RunError("the module's output is damaged: a piece ends too early")
            magic, length, stamp, lost, overwritten, cpu, total, done, why = _PIECE.unpack_from(
                block, at
            )
            at += _PIECE.size
            if magic != _MAGIC or len(block) - at < length:
                raise RunError("the module's output is damaged: what comes is no piece of it")
            when = (stamp + self._offset) / 1e9
            if overwritten:
                yield {"type": "overwritten", "time": when, "cpu": cpu, "bytes": overwritten}
            if lost:
                missing: Record = {"type": "lost", "time": when, "cpu": cpu, "bytes": lost}
                yield {**missing, "causes": losses.causes(why)}
            data = bytes(block[at : at + length])
            at += length
            whole = self._whole(data, done, total)
            if whole is not None:
                record = self._record(whole, when, cpu)
                if record is not None:
                    yield record

    def _whole(self, data: bytes, done: int, total: int) -> Optional[bytes]:
        """Put the pieces of a print together; None while some are missing.

        The first ones went to another consumer when this one begins in the middle.
        """
        if done == 0 and len(data) == total:
            return data
        if done == 0:
            self._part, self._done = [], 0
        if done != self._done:
            return None
        self._part.append(data)
        self._done += len(data)
        if self._done < total:
            return None
        data, self._part, self._done = b"".join(self._part), [], 0
        return data

    def _record(self, data: bytes, when: float, cpu: int) -> "Optional[Record]":
        if not data:
            return None
        if data[0] == _TEXT or len(data) < _HEAD.size:  # a print that an error cut short has less
            if len(data) < 2 or data[0] != _TEXT:
                return None
            return {"type": "text", "time": when, "cpu": cpu, "text": data[1:]}
        _, number, probe = _HEAD.unpack_from(data)
        try:
            row = self._table.prints[number]
            values, at = _fields(row["fields"], data)
        except (IndexError, struct.error, ValueError):
            raise RunError("the module's output is damaged: a print is not as its table") from None
        record: Record = {"type": "print", "time": when, "cpu": cpu}
        if "shows" in row:
            is_snapshot = row.get("snapshot", False)
            record["type"] = "snapshot" if is_snapshot else "global"
            if is_snapshot and not row["fields"]:
                record["type"] = "look"
            record["name"] = row["shows"]
            record["automatic"] = not row["fields"] and not is_snapshot
            if values:
                *keys, record["value"] = values
                if keys:
                    record["keys"] = keys
        else:
            if probe < len(self._table.probes):
                record["probe"] = self._table.probes[probe][0]
            record["place"] = row.get("place", "")
            record["fields"] = {field["name"]: value for field, value in zip(row["fields"], values)}
            record["number"] = number
        record["text"] = data[at:]
        return record


def _fields(rows: "List[FieldDescription]", data: bytes) -> "Tuple[List[Value], int]":
    """Read the fields behind the head of a print; return them, and where its text begins."""
    values: List[Value] = []
    at = _HEAD.size
    for row in rows:
        kind = row["kind"]
        if kind == "string":
            end = data.index(b"\0", at)
            values.append(data[at:end])
            at = end + 1
        elif kind == "stat":
            value, at = _stat(row.get("shape"), data, at)
            values.append(value)
        elif kind in ("text", "bytes"):
            (length,) = _COUNT.unpack_from(data, at)
            at += _COUNT.size
            found = data[at : at + length]
            values.append(found if kind == "text" else found.hex().encode())
            at += length
        else:
            (number,) = (_UNSIGNED if kind == "unsigned" else _LONG).unpack_from(data, at)
            values.append(bytes([number & 0xFF]) if kind == "char" else number)
            at += _LONG.size
    if at > len(data):
        raise ValueError
    return values, at


def _stat(shape: "Optional[Shape]", data: bytes, at: int) -> "Tuple[Record, int]":
    count, total, least, most, buckets = _STAT.unpack_from(data, at)
    at += _STAT.size
    value: Record = {"count": count}
    if count:
        value.update(sum=total, min=least, max=most, avg=_quotient(total, count))
    if shape:
        value["buckets"] = []
        for _ in range(buckets):
            number, hits = _BUCKET.unpack_from(data, at)
            at += _BUCKET.size
            low, high = bounds(shape, number)
            row = {"low": low, "high": high, "count": hits}
            value["buckets"].append({key: part for key, part in row.items() if part is not None})
    return value, at


def _quotient(total: int, count: int) -> int:
    """Divide as @avg does: towards zero."""
    return total // count if total >= 0 else -(-total // count)


def bounds(shape: "Shape", number: int) -> "Tuple[Optional[int], Optional[int]]":
    """Return the least and the greatest value of a bucket; None for one that has no end."""
    if shape[0] == "log":
        if number == LOG_ZERO:
            return 0, 0
        if number > LOG_ZERO:
            return 1 << (number - LOG_ZERO - 1), (1 << (number - LOG_ZERO)) - 1
        least = 1 - (1 << (LOG_ZERO - number))
        return max(least, _LEAST), -(1 << (LOG_ZERO - number - 1))
    _, low, high, step = shape
    buckets = min(max(high - low, 0) // step + 3, _MOST_BUCKETS)
    start = low + (number - 1) * step
    if number == 0:
        return None, low - 1
    if number == buckets - 1:
        return start, None
    return start, start + step - 1
