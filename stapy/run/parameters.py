"""``name=value`` in the one string that the kernel takes a module's parameters from.

The kernel knows quotes, but nothing that escapes one.  So each way to write a
value is read back as the kernel would, and one is taken that gives the value;
a text that has none goes as hexadecimal digits, which our runtime knows.
"""

from __future__ import annotations

from .errors import RunError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Tuple

# What the kernel's isspace() holds for a blank; 0xa0 is half of a letter in UTF-8.
_BLANKS = frozenset(b" \t\n\v\f\r\xa0")
_QUOTE = ord('"')


# The runtime takes hexadecimal digits behind this byte for the text that they stand for.
_HEX = b"\x01"


def line(parameters: List[str], kinds: Dict[str, str]) -> bytes:
    """Join all parameters as the kernel wants them; `RunError` for a value that it cannot be given.

    ``kinds`` has the type of each parameter, as the module tells it.
    """
    return b" ".join(quote(word, kinds.get(word.partition("=")[0], "")) for word in parameters)


def quote(parameter: str, kind: str = "") -> bytes:
    """Quote one ``name=value`` so that the kernel reads this name and this value.

    Raises `RunError` when there is no way to.
    """
    data = parameter.encode("utf-8", "surrogateescape")
    name, _, value = data.partition(b"=")
    forms = () if value[:1] == _HEX else (data, name + b'="' + value + b'"', name + b'="' + value)
    for form in forms:
        if b"\0" not in data and read(form + b" next=1") == [(name, value), (b"next", b"1")]:
            return form
    if kind == "text" and b"\0" not in data:
        return name + b"=" + _HEX + value.hex().encode()
    raise RunError(
        f"the kernel cannot be given the value of '{parameter.partition('=')[0]}': "
        "it has no way to write double quotes together with these blanks"
    )


def read(text: bytes) -> List[Tuple[bytes, bytes]]:
    """Parse a line of parameters into the pairs that the kernel makes of it."""
    pairs: List[Tuple[bytes, bytes]] = []
    at = 0
    while True:
        while at < len(text) and text[at] in _BLANKS:
            at += 1
        if at >= len(text):
            return pairs
        end, equals, inside = at, 0, False
        if text[at] == _QUOTE:
            return []  # no name begins so: we never write it
        while end < len(text) and (inside or text[end] not in _BLANKS):
            if text[end] == _QUOTE:
                inside = not inside
            elif text[end] == ord("=") and not equals:
                equals = end
            end += 1
        if not equals:
            return []
        value = text[equals + 1 : end]
        if value[:1] == b'"':
            value = value[1:-1] if value[-1:] == b'"' and len(value) > 1 else value[1:]
        pairs.append((text[at:equals], value))
        at = end
