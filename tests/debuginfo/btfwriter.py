"""Writes small BTF sections for tests; each method gives the new type's number."""

from __future__ import annotations

import struct


class BtfWriter:
    def __init__(self, base: BtfWriter | None = None) -> None:
        self.base = base
        self.first = base.end if base else 1
        self.texts = b"" if base else b"\0"
        self._first_text = base.text_end if base else 0
        self._known: dict[str, int] = {}
        self.types: list[bytes] = []

    @property
    def end(self) -> int:
        return self.first + len(self.types)

    @property
    def text_end(self) -> int:
        return self._first_text + len(self.texts)

    def text(self, name: str) -> int:
        if not name:
            return 0
        if name not in self._known:
            self._known[name] = self.text_end
            self.texts += name.encode() + b"\0"
        return self._known[name]

    def add(
        self,
        kind: int,
        name: str = "",
        size: int = 0,
        *,
        count: int = 0,
        flag: bool = False,
        body: bytes = b"",
    ) -> int:
        info = kind << 24 | count | flag << 31
        self.types.append(struct.pack("<III", self.text(name), info, size) + body)
        return self.end - 1

    def int(self, name: str, size: int = 4, *, signed: bool = True, bits: int = 0) -> int:
        data = (1 if signed else 0) << 24 | (bits or size * 8)
        return self.add(1, name, size, body=struct.pack("<I", data))

    def bool(self) -> int:
        return self.add(1, "_Bool", 1, body=struct.pack("<I", 4 << 24 | 8))

    def pointer(self, to: int) -> int:
        return self.add(2, size=to)

    def array(self, element: int, count: int, index: int = 0) -> int:
        return self.add(3, body=struct.pack("<III", element, index, count))

    def struct(
        self,
        name: str,
        size: int,
        members: list[tuple[str, int, int]] | list[tuple[str, int, int, int]],
        *,
        union: bool = False,
    ) -> int:
        """Members are ``(name, type, bit offset[, bit size])``."""
        wide = any(len(member) == 4 for member in members)
        body = b""
        for member in members:
            place = member[2] | ((member[3] if len(member) == 4 else 0) << 24)
            body += struct.pack("<III", self.text(member[0]), member[1], place)
        return self.add(5 if union else 4, name, size, count=len(members), flag=wide, body=body)

    def enum(self, name: str, values: dict[str, int], *, signed: bool = False) -> int:
        body = b"".join(
            struct.pack("<II", self.text(key), value & 0xFFFFFFFF) for key, value in values.items()
        )
        return self.add(6, name, 4, count=len(values), flag=signed, body=body)

    def enum64(self, name: str, values: dict[str, int], *, signed: bool = False) -> int:
        body = b"".join(
            struct.pack("<III", self.text(key), value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF)
            for key, value in values.items()
        )
        return self.add(19, name, 8, count=len(values), flag=signed, body=body)

    def forward(self, name: str, *, union: bool = False) -> int:
        return self.add(7, name, flag=union)

    def typedef(self, name: str, to: int) -> int:
        return self.add(8, name, to)

    def qualified(self, kind: int, to: int) -> int:
        """9 volatile, 10 const, 11 restrict."""
        return self.add(kind, size=to)

    def tag(self, name: str, to: int) -> int:
        return self.add(18, name, to)

    def proto(self, result: int, params: list[tuple[str, int]], *, variadic: bool = False) -> int:
        rows = [(self.text(name), type) for name, type in params] + [(0, 0)] * variadic
        body = b"".join(struct.pack("<II", *row) for row in rows)
        return self.add(13, size=result, count=len(rows), body=body)

    def function(self, name: str, result: int, params: list[tuple[str, int]]) -> int:
        return self.add(12, name, self.proto(result, params), count=1)

    def variable(self, name: str, type: int) -> int:
        return self.add(14, name, type, body=struct.pack("<I", 1))

    def data(self) -> bytes:
        types = b"".join(self.types)
        header = struct.pack(
            "<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(self.texts)
        )
        return header + types + self.texts
