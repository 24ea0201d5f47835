"""Writes a kernel's symbol tables for tests, in the orders that kernels use."""

from __future__ import annotations

import struct

BASE = 0xFFFFFFFF81000000
# (name, kind, address); per-CPU symbols are absolute
Row = tuple[str, str, int]


def symbols(count: int = 700) -> list[Row]:
    rows: list[Row] = [("__per_cpu_start", "A", 0), ("per_cpu_thing", "A", 64)]
    names = ["_text", "_stext"]
    names += [f"func_{number:04}" for number in range(count)]
    names += ["dup", "dup", "__pfx_dup", "dup.cold", "a_very_" + "long_" * 30 + "name"]
    names += ["__noinstr_text_start", "quiet", "__noinstr_text_end"]
    names += ["_sinittext", "early", "_einittext", "leave", "__init_end", "later"]
    rows += [
        (name, "T" if name.startswith(("_", "func")) else "t", BASE + 16 * number)
        for number, name in enumerate(names)
    ]
    rows.append(("_kbl_addr_func_0003", "d", BASE + 0x100000))
    return rows


def write(rows: list[Row], layout: str) -> bytes:
    """``layout``: "5.10" (no order by name), "6.1" (order before tokens), "6.12" (all after)."""
    tokens = [
        chr(code).encode() if 33 <= code < 127 else b"x%c" % (97 + code % 26) for code in range(256)
    ]
    tokens[1] = b"func_0"
    names, markers, encoded = b"", [], []
    for name, kind, _ in rows:
        text = (kind + name).encode()
        codes = bytearray()
        while text:
            if text.startswith(b"func_0"):
                codes.append(1)
                text = text[6:]
            else:
                codes.append(text[0])
                text = text[1:]
        size = len(codes)
        head = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
        encoded.append(head + bytes(codes))
    for number, item in enumerate(encoded):
        if number % 256 == 0:
            markers.append(len(names))
        names += item
    offsets = [address if kind == "A" else BASE - 1 - address for _, kind, address in rows]
    order = sorted(range(len(rows)), key=lambda number: (rows[number][0].encode(), number))
    by_name = b"".join(number.to_bytes(3, "big") for number in order)
    table = b"".join(token + b"\0" for token in tokens)
    starts, at = [], 0
    for token in tokens:
        starts.append(at)
        at += len(token) + 1
    pieces = {
        "offsets": struct.pack(f"<{len(rows)}i", *offsets),
        "base": struct.pack("<Q", BASE),
        "count": struct.pack("<I", len(rows)),
        "names": names,
        "markers": struct.pack(f"<{len(markers)}I", *markers),
        "order": by_name,
        "tokens": table,
        "index": struct.pack("<256H", *starts),
    }
    sequence = {
        "5.10": "offsets base count names markers tokens index",
        "6.1": "offsets base count names markers order tokens index",
        "6.12": "count names markers tokens index offsets base order",
    }[layout]
    data = b""
    for piece in sequence.split():
        data += bytes(-len(data) % 8) + pieces[piece]
    return data
