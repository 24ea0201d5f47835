"""``--format=folded``: stacks with counts, ``frame;frame;frame count``, the outermost first."""

from __future__ import annotations

from . import stacks
from .errors import RunError
from .records import PrintDecoder, RecordTable
from .render import LossCounter, Renderer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Tuple, TypeVar, Union

    from .ground.manifest import PrintDescription
    from .messages import MessagePrinter
    from .records import Record

    Keys = Tuple[Union[int, bytes], ...]
    Key = TypeVar("Key", Keys, str)

_HINT = "count them in an array, as in a[backtrace()]++ or a[execname(), sprint_ubacktrace()]++"


class FoldedRenderer(Renderer):
    """Counts stacks, and writes them at the end.

    Those are the stacks among the keys of arrays; only where no array has any, those that are
    printed, which count 1 each.  ``origin`` is the host that they come from, "" for this one.
    """

    def __init__(
        self, decoder: PrintDecoder, table: RecordTable, messages: MessagePrinter, origin: str = ""
    ) -> None:
        super().__init__(decoder)
        self._messages = messages
        self._losses = LossCounter(messages)
        self._origin = [origin] if origin else []
        self._arrays: Dict[str, Dict[Keys, int]] = {}
        self._prints: Dict[Keys, int] = {}
        self._texts = 0
        self._room = table.string_bytes, table.stack_frames
        self._has_arrays = any(map(_may_count, table.prints))
        if not self._has_arrays and not any(map(_may_print, table.prints)):
            raise RunError(
                "--format=folded needs stacks, and no array of this script has a text among its "
                f"keys, nor a print one among its fields: {_HINT}"
            )

    def line(self, record: Record) -> bytes:
        """Count what a record has."""
        kind = record["type"]
        if kind == "global" and not record["automatic"]:
            keys, value = tuple(record.get("keys", ())), record["value"]
            if any(map(stacks.is_stack, keys)) and not isinstance(value, bytes):
                weight = value.get("sum", 0) if isinstance(value, dict) else value
                _add(self._arrays.setdefault(record["name"], {}), keys, weight)
        elif kind == "print":
            found = tuple(filter(stacks.is_stack, record["fields"].values()))
            if found:
                _add(self._prints, found, 1)
        elif kind == "text":
            self._texts += 1
        else:
            self._losses.count(record)
        return b""

    def leave(self) -> bytes:
        """Return the stacks that were printed so far, unless arrays may have some at the end."""
        if self._has_arrays or not self._prints:
            return b""
        prints, self._prints = self._prints, {}
        return self._write({"": prints})

    def finish(self, errors: int) -> bytes:
        """Write all stacks; say so when there are none."""
        self._losses.tell()
        found = self._arrays or ({"": self._prints} if self._prints else {})
        if found:
            return self._write(found)
        if self._texts:
            self._messages.warning(
                "no stack was counted: what print_backtrace() and the like print has no end that "
                f"could be told; {_HINT}"
            )
        elif not errors:
            self._messages.warning(
                "no stack was counted: no array has one as a key at the end of the session, and "
                "none was printed by itself"
            )
        return b""

    def _write(self, tallies: "Dict[str, Dict[Keys, int]]") -> bytes:
        writer = stacks.StackWriter(*self._room)
        lines: Dict[str, int] = {}
        for name, tally in tallies.items():
            first = [*self._origin, *([name] if len(tallies) > 1 else [])]
            for keys, weight in tally.items():
                _add(lines, writer.line(first, keys), weight)
        left_out = sum(weight <= 0 for weight in lines.values())
        if left_out:
            self._messages.warning(
                f"{left_out} stacks have counts below 1 and are left out: they cannot be drawn"
            )
        if writer.cut:
            self._messages.warning(
                f"{writer.cut} stacks may lack their outermost frames: -D MAXBACKTRACE=100 "
                "-D MAXSTRINGLEN=2000 has room for more"
            )
        if writer.nameless:
            self._messages.warning(writer.nameless)
        rows = sorted(f"{line} {weight}\n" for line, weight in lines.items() if weight > 0)
        return "".join(rows).encode("utf-8")


def _add(tally: "Dict[Key, int]", key: Key, weight: int) -> None:
    tally[key] = tally.get(key, 0) + weight


def _may_count(row: PrintDescription) -> bool:
    """Tell whether a print is of an array's elements, whose keys may be stacks."""
    kinds: List[str] = [field["kind"] for field in row["fields"]]
    return "shows" in row and "string" in kinds[:-1] and kinds[-1] != "string"


def _may_print(row: PrintDescription) -> bool:
    return "shows" not in row and any(field["kind"] == "string" for field in row["fields"])
