"""Text of others that a terminal shows and does not obey: names of files and of symbols."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict

_KEPT = "\n\t"
# Controls of ASCII, those of 8 bits, and bytes that may be such but are no UTF-8.
_CONTROLS: Dict[int, str] = {
    **{code: f"\\{code:03o}" for code in (*range(32), *range(127, 160)) if chr(code) not in _KEPT},
    **{code: f"\\{code & 255:03o}" for code in range(0xDC80, 0xDCA0)},
}
# What turns the direction of text, so that a name reads as another one, and ends lines elsewhere.
_TURNS = (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_CONTROLS.update(
    (code, "".join(f"\\{byte:03o}" for byte in chr(code).encode("utf-8"))) for code in _TURNS
)
_ALL_CONTROLS = {**_CONTROLS, **{ord(one): f"\\{ord(one):03o}" for one in _KEPT}}


def shown(text: str) -> str:
    """Replace the control characters of a message; its lines and tabulators are kept."""
    return text if text.isprintable() else text.translate(_CONTROLS)


def one_line(text: str) -> str:
    """Replace all control characters, so that a name that is quoted is no line of ours."""
    return text if text.isprintable() else text.translate(_ALL_CONTROLS)


def name(text: bytes) -> bytes:
    """Replace the control characters of a name, so that it is one line."""
    if text.isascii() and text.decode("ascii").isprintable():
        return text
    words = text.decode("utf-8", "surrogateescape").translate(_ALL_CONTROLS)
    return words.encode("utf-8", "surrogateescape")
