"""Stacks as scripts have them in texts, and their frames by name.

A stack is a list of addresses (``backtrace()``, ``ubacktrace()``), or lines with a frame each
(``sprint_backtrace()``, ``sprint_syms()``, ``python_sprint_backtrace()``), innermost first.
"""

from __future__ import annotations

import bisect
import re

from . import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterable, List, Sequence, Tuple, TypeGuard, Union

_ADDRESSES = re.compile(rb"0x[0-9a-f]{1,16}(?: 0x[0-9a-f]{1,16})* ?\Z")
_LINE = re.compile(
    rb" ?(?:(?:0x[0-9a-f]+ : )?(?P<name>.+)\+0x[0-9a-f]+(?:/0x[0-9a-f]+)?|(?P<at>0x[0-9a-f]+))"
    rb"(?: at .+?)?(?: \[(?P<file>[^\] ]*)[^\]]*\])?\Z"
)
_PYTHON_HEAD = b"Traceback (most recent call first):"
_PYTHON_LINE = re.compile(rb'  File "(?P<file>.*)", line -?\d+, in (?P<name>.*)\Z')
_KERNEL = 1 << 63  # addresses from here on are the kernel's
_ADDRESS_ROOM = 20  # bytes that one more frame needs at least, and the end
_CODE = "tTwW"


def is_stack(value: object) -> "TypeGuard[bytes]":
    """Tell whether a value is a text that has a stack."""
    return isinstance(value, bytes) and (_is_list(value) or bool(_lines(value)))


def _is_list(text: bytes) -> bool:
    if not _ADDRESSES.match(text):
        return False
    # A number alone may be anything; backtrace() leaves a blank behind.
    return b" " in text or int(text, 16) >= _KERNEL


def _lines(text: bytes) -> "List[re.Match[bytes]]":
    """Match the lines of a stack; [] for what is none.

    The last one may have had no room in the string: it is left out.
    """
    if b"\n" not in text:
        return []
    lines = text.split(b"\n")[:-1]
    if lines[0] == _PYTHON_HEAD:
        lines, matches = lines[1:], map(_PYTHON_LINE.match, lines[1:])
    else:
        matches = map(_LINE.match, lines)
    found = [match for match in matches if match]
    return found if len(found) == len(lines) else []


class StackWriter:
    """Writes keys with stacks as folded lines.

    ``nameless`` is why addresses have no names, ``cut`` the number of stacks that are as long as
    one can be, in bytes or frames.
    """

    def __init__(
        self, string_bytes: int = 0, frames: int = 0, symbols: str = "/proc/kallsyms"
    ) -> None:
        self._bytes = string_bytes or 1 << 16
        self._frames = frames or 1 << 16
        self.cut = 0
        self._path = symbols
        self._symbols: "Tuple[List[int], List[str]]" = ([], [])
        self._is_read = False
        self.nameless = ""

    def line(self, first: "Iterable[str]", keys: "Sequence[Union[str, int, bytes]]") -> str:
        """Write a line without its count.

        Plain keys come first, as frames outside of all, then stacks of programs, then of the
        kernel.
        """
        plain: List[str] = list(first)
        programs: List[str] = []
        kernel: List[str] = []
        for key in keys:
            if not is_stack(key):
                plain.append(_frame(key if isinstance(key, bytes) else str(key).encode()))
            elif _is_list(key):
                addresses = [int(word, 16) for word in key.split()]
                self._look_at_room(key, len(addresses), False)
                is_kernel = addresses[0] >= _KERNEL
                (kernel if is_kernel else programs).extend(reversed(self._names(addresses)))
            else:
                rows = _lines(key)
                self._look_at_room(key, len(rows), key[-1:] != b"\n")
                frames = [_named(row) for row in reversed(rows)]
                is_kernel = any(row.groupdict().get("file") == b"kernel" for row in rows)
                (kernel if is_kernel else programs).extend(frames)
        return ";".join([*plain, *programs, *kernel])

    def _look_at_room(self, text: bytes, frames: int, is_cut: bool) -> None:
        """Count a stack that may have more frames than the script has been told."""
        is_full = len(text) + _ADDRESS_ROOM > self._bytes or frames >= self._frames
        self.cut += is_full or is_cut

    def _names(self, addresses: "List[int]") -> "List[str]":
        names = []
        for number, address in enumerate(addresses):
            if address < _KERNEL:
                self.nameless = (
                    "stacks of programs have addresses only: ubacktrace() gives no names, "
                    "sprint_ubacktrace() does"
                )
                names.append(f"0x{address:x}")
            else:
                # A return address may be that of the next function, after a call that never ends.
                names.append(self._symbol(address - 1 if number else address) or f"0x{address:x}")
        return names

    def _symbol(self, address: int) -> str:
        if not self._is_read:
            self._is_read = True
            self._symbols = _kernel_symbols(self._path)
            if not self._symbols[0]:
                self.nameless = f"addresses of the kernel have no names: {self._path} has none"
        places, names = self._symbols
        at = bisect.bisect_right(places, address) - 1
        return _frame(names[at].encode()) if at >= 0 else ""


def _kernel_symbols(path: str) -> "Tuple[List[int], List[str]]":
    """Read the addresses of the kernel's functions, in order, and their names."""
    found: Dict[int, str] = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                words = line.split()
                address = int(words[0], 16)
                if address and words[1] in _CODE:
                    found.setdefault(address, words[2])
    except (OSError, ValueError, IndexError):
        return [], []
    places = sorted(found)
    return places, [found[place] for place in places]


def _named(row: "re.Match[bytes]") -> str:
    """Name a frame of a line: by its function, or by its file, or by its address."""
    found = row.groupdict()
    if found["name"]:
        if "at" not in found:  # Python's
            return _frame(found["name"] + b" (" + found["file"].rpartition(b"/")[2] + b")")
        return _frame(found["name"])
    return _frame(b"[%s]" % found["file"] if found["file"] else found["at"])


def _frame(text: bytes) -> str:
    """Write a name so that it is one frame."""
    shown = printable.name(text).replace(b";", b":") or b"(empty)"
    return shown.decode("utf-8", "backslashreplace")
