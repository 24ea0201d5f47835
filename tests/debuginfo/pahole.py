"""What pahole says about types, and the same shape of ours."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from stapy.debuginfo import ctypes as c
from stapy.record import Record, new

_START = re.compile(r"^(struct|union|enum) (\w+) \{$")
_PLACE = re.compile(r"\s*/\*\s*(\d+)(?::\s*(\d+))?\s+(\d+)\s*\*/$")
_POINTER = re.compile(r"\(\*+\s*(?:const\s+|volatile\s+)*(\w+)")
_NAME = re.compile(r"(\w+)\s*(?:\[\d*\]\s*)*(?::(\d+))?$")
_SIZE = re.compile(r"/\* size: (\d+)")
_ATTRIBUTE = re.compile(r"\s*__attribute__\(\([^;]*\)\)")
_VALUE = re.compile(r"^\t(\w+)\s*=\s*(-?\d+|0x[0-9a-f]+),")


class Shape(Record):
    """A struct or union: its size and ``(name, bit offset, bits of a bit field)`` of members.

    Members of members that have no type's name count with the whole's offsets.
    For an enum ``values`` are its constants, modulo 2**32.  pahole does not tell
    the size of a union, then it is 0.
    """

    size: int
    members: Counter[tuple[str, int, int]] = new(Counter)
    values: list[tuple[str, int]] = new(list)

    def key(self, *, sized: bool = True) -> object:
        return self.size if sized else 0, sorted(self.members.items()), self.values


def shapes(path: Path, *names: str) -> dict[str, list[Shape]]:
    """Read all structs in a file with BTF, or types by name: ``struct x`` → definitions."""
    if shutil.which("pahole") is None:
        pytest.skip("pahole is not installed")
    command = ["pahole", "-F", "btf", *(["-C", ",".join(names)] if names else []), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[Shape]] = {}
    shape: Shape | None = None
    for line in done.stdout.splitlines():
        start = _START.match(line)
        if start:
            shape = Shape(0)
            found.setdefault(f"{start[1]} {start[2]}", []).append(shape)
        elif shape is not None:
            _line(shape, line)
    return found


def _line(shape: Shape, line: str) -> None:
    size, value, place = _SIZE.search(line), _VALUE.match(line), _PLACE.search(line)
    if size:
        shape.size = int(size[1])
    elif value:
        shape.values.append((value[1], int(value[2], 0) % 2**32))
    elif place and ";" in line:
        text = _ATTRIBUTE.sub("", line[: place.start()]).strip().rstrip(";").strip()
        if text == "}":
            return  # without a name
        pointer = _POINTER.search(text)
        name = pointer or _NAME.search(text)
        assert name is not None, line
        bits = 0 if pointer else int(name[2] or 0)
        shape.members[name[1], int(place[1]) * 8 + int(place[2] or 0), bits] += 1


def shape_of(type: c.CType) -> Shape:
    """Describe one of our types by its `Shape`."""
    type = c.strip(type)
    if isinstance(type, c.Enum):
        return Shape(0, values=[(v.name, v.value % 2**32) for v in type.values])
    assert isinstance(type, c.Struct)
    shape = Shape(type.size)
    _members(shape, type, 0)
    return shape


def _members(shape: Shape, type: c.Struct, start: int) -> None:
    for member in type.members():
        at = start + member.bit_offset
        if member.name:
            shape.members[member.name, at, member.bit_size] += 1
        inner = member.type
        while isinstance(inner, (c.Array, c.Qualified)):  # a typedef's name hides what is in it
            inner = inner.element if isinstance(inner, c.Array) else inner.target
        if isinstance(inner, c.Struct) and not inner.name:
            _members(shape, inner, at)
