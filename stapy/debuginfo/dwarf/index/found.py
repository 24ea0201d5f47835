"""What the walk over ``.debug_info`` collects, of one file or of several."""

from __future__ import annotations

from array import array

from stapy.debuginfo.elf import Strings
from stapy.record import Record, new

NO_ORIGIN = NO_NAME = 0xFFFFFFFF  # 0 is the offset of a string
INLINE_NAMES = 0xC0000000  # names that are not in .debug_str get numbers from here on


def _array(code: str) -> array[int]:
    return array(code)


class CollectedEntries(Record):
    """What the walk collected; rows are parallel arrays.

    Names are offsets of ``.debug_str``, or from `INLINE_NAMES` on numbers of
    ``extra``.  ``file`` is the unit's own number of it.  ``pc`` is 0 when an
    entry has no address of its own, ``origin`` an entry's offset.
    """

    name: array[int] = new(lambda: _array("I"))
    unit: array[int] = new(lambda: _array("I"))
    entry: array[int] = new(lambda: _array("I"))
    file: array[int] = new(lambda: _array("I"))
    line: array[int] = new(lambda: _array("I"))
    pc: array[int] = new(lambda: _array("Q"))
    origin: array[int] = new(lambda: _array("I"))
    inlined_origin: array[int] = new(lambda: _array("I"))
    inlined_entry: array[int] = new(lambda: _array("I"))
    inlined_pc: array[int] = new(lambda: _array("Q"))
    types: dict[tuple[int, int], int] = new(dict)  # (tag, name) -> first definition
    global_name: array[int] = new(lambda: _array("I"))
    global_entry: array[int] = new(lambda: _array("I"))
    scopes: dict[int, str] = new(dict)  # entry -> namespaces and classes around it
    extra: list[str] = new(list)
    extra_numbers: dict[str, int] = new(dict)

    def extra_name(self, text: str) -> int:
        """Look up, or give, the number of a name that was stored in place."""
        found = self.extra_numbers.get(text)
        if found is None:
            found = self.extra_numbers[text] = INLINE_NAMES + len(self.extra)
            self.extra.append(text)
        return found

    def add(self, other: CollectedEntries, units: int, strings: Strings) -> None:
        """Take what was found in another file, whose units are numbered from ``units`` on."""
        known = {NO_NAME: NO_NAME}

        def renamed(number: int) -> int:
            new = known.get(number)
            if new is None:
                is_extra = number >= INLINE_NAMES
                text = other.extra[number - INLINE_NAMES] if is_extra else strings.text(number)
                new = known[number] = self.extra_name(text)
            return new

        self.name.extend(map(renamed, other.name))
        self.unit.extend(number + units for number in other.unit)
        self.global_name.extend(map(renamed, other.global_name))
        for field in _SAME_EVERYWHERE:
            getattr(self, field).extend(getattr(other, field))
        self.scopes.update(other.scopes)
        for (tag, name), entry in other.types.items():
            self.types.setdefault((tag, renamed(name)), entry)


_SAME_EVERYWHERE = (
    "entry", "file", "line", "pc", "origin", "inlined_origin", "inlined_entry", "inlined_pc",
    "global_entry",
)  # fmt: skip
