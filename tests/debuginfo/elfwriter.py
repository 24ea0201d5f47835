"""Writes small ELF64 files for tests."""

from __future__ import annotations

import struct


class ElfWriter:
    def __init__(self, type: int = 1, machine: int = 62) -> None:
        self.type, self.machine = type, machine
        self.sections: list[dict[str, object]] = []
        self.rows: list[tuple[str, int, int, int, int, int]] = []

    def section(
        self, name: str, data: bytes, *, type: int = 1, flags: int = 0, link: int = 0, info: int = 0
    ) -> int:
        """Add a section, give its number."""
        self.sections.append(
            {"name": name, "data": data, "type": type, "flags": flags, "link": link, "info": info}
        )
        return len(self.sections)

    def symbol(
        self, name: str, value: int = 0, *, kind: int = 2, binding: int = 1, section: int = 1
    ) -> None:
        self.rows.append((name, value, 16, kind, binding, section))

    def note(self, owner: str, kind: int, data: bytes) -> int:
        return self.section(".note." + owner, note(owner, kind, data), type=7)

    def data(self) -> bytes:
        sections = list(self.sections)
        if self.rows:
            names, table = b"\0", bytes(24)
            for name, value, size, kind, binding, section in self.rows:
                table += struct.pack(
                    "<IBBHQQ", len(names), binding << 4 | kind, 0, section, value, size
                )
                names += name.encode() + b"\0"
            sections.append(
                {
                    "name": ".symtab",
                    "data": table,
                    "type": 2,
                    "flags": 0,
                    "link": len(sections) + 2,
                }
            )
            sections.append({"name": ".strtab", "data": names, "type": 3, "flags": 0, "link": 0})
        texts, offsets = b"\0", []
        for row in [*sections, {"name": ".shstrtab"}]:
            offsets.append(len(texts))
            texts += str(row["name"]).encode() + b"\0"
        sections.append({"name": ".shstrtab", "data": texts, "type": 3, "flags": 0, "link": 0})
        body, headers = b"", [bytes(64)]
        for row, name_at in zip(sections, offsets, strict=True):
            body += bytes(-(64 + len(body)) % 8)
            content = row["data"]
            assert isinstance(content, bytes)
            headers.append(
                struct.pack(
                    "<IIQQQQIIQQ",
                    name_at,
                    row["type"],
                    row["flags"],
                    0,
                    64 + len(body),
                    len(content),
                    row["link"],
                    row.get("info", 0),
                    8,
                    24 if row["type"] == 2 else 0,
                )
            )
            body += content
        body += bytes(-(64 + len(body)) % 8)
        head = b"\x7fELF\x02\x01\x01" + bytes(9)
        head += struct.pack(
            "<HHIQQQIHHHHHH",
            self.type,
            self.machine,
            1,
            0,
            0,
            64 + len(body),
            0,
            64,
            0,
            0,
            64,
            len(headers),
            len(headers) - 1,
        )
        return head + body + b"".join(headers)


def note(owner: str, kind: int, data: bytes) -> bytes:
    name = owner.encode() + b"\0"
    return (
        struct.pack("<III", len(name), len(data), kind)
        + name
        + bytes(-len(name) % 4)
        + data
        + bytes(-len(data) % 4)
    )
