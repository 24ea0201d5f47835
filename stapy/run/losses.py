"""Why output is missing: the words of marks and records, for the bits that a module tells."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List

# By bit, as enum stapy_loss in runtime/transport/ring.h; its losses.c has the same texts.
CAUSES = (
    "reader too slow",
    "reader stopped",
    "print longer than the buffer",
    "processor without a buffer",
    "buffer being read",
    "print longer than the limit",
)


def causes(bits: int) -> "List[str]":
    """Name the causes; those that another version's module tells are passed over."""
    return [text for bit, text in enumerate(CAUSES) if bits >> bit & 1]


def mark(word: str, size: int, cpu: int, why: "List[str]") -> bytes:
    """Write the line that stands where output is missing."""
    behind = f": {', '.join(why)}" if why else ""
    return f"[{word} {size} bytes on cpu {cpu}{behind}]\n".encode()
