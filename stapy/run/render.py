"""Records of a module made with ``--format``, as text for eyes or as lines for programs."""

from __future__ import annotations

from . import jsontext, losses
from .errors import RunError
from .ground.manifest import SCHEMA
from .records import PrintDecoder, RecordTable, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional, Tuple

    from .messages import MessagePrinter
    from .options import RunOptions
    from .records import Record


class Renderer:
    """Makes blocks for an output of blocks from the module; this one makes plain text."""

    def __init__(self, decoder: PrintDecoder) -> None:
        self._decoder = decoder

    def feed(self, block: memoryview) -> bytes:
        """Return what a block of the module becomes, with what `take` had."""
        return self.take() + b"".join(map(self.line, self._decoder.feed(block)))

    def line(self, record: Record) -> bytes:
        """Return what a record becomes."""
        if record["type"] in ("lost", "overwritten"):
            word = "overwrote" if record["type"] == "overwritten" else "lost"
            return losses.mark(word, record["bytes"], record["cpu"], record.get("causes", []))
        return bytes(record["text"])

    def message(self, kind: str, text: str) -> None:
        """Learn what the user is told on standard error."""

    def take(self) -> bytes:
        """Return what messages have become since the last call."""
        return b""

    def restart(self) -> None:
        """Learn that what follows is for another file."""

    def leave(self) -> bytes:
        """Return what was kept back so far: the session goes on without us."""
        return b""

    def finish(self, errors: int) -> bytes:
        """Return the end: the session is over, with so many errors."""
        return b""


class LossCounter:
    """Tells what was lost on standard error, for forms that have no place for it."""

    def __init__(self, messages: MessagePrinter) -> None:
        self._messages = messages
        self._bytes = 0

    def count(self, record: Record) -> None:
        """Count a loss; the first one is told at once."""
        if record["type"] in ("lost", "overwritten"):
            if not self._bytes:
                self._messages.warning("output was lost: it found no room (-s MB gives it more)")
            self._bytes += record["bytes"]

    def tell(self) -> None:
        """Say how much it was."""
        if self._bytes:
            self._messages.warning(f"{self._bytes} bytes of output were lost")


_OF_GLOBALS = ("global", "snapshot", "look")


class JsonRenderer(Renderer):
    """An object on a line for each record; docs/output.schema.json describes them.

    ``host`` is what each says of the host of --remote that it comes from.
    """

    def __init__(
        self, decoder: PrintDecoder, about: "Dict[str, object]", host: "Optional[int]" = None
    ) -> None:
        super().__init__(decoder)
        self._host: Dict[str, object] = {} if host is None else {"host": host}
        from . import stacks  # slow to import; text needs none

        # Only this kernel, and only now, knows the names of its addresses.
        self._stacks = stacks.StackWriter()
        self._is_stack = stacks.is_stack
        self._waiting = [{"type": "begin", "time": decoder.now(), "schema": SCHEMA, **about}]

    def line(self, record: Record) -> bytes:
        """Write a record as an object on a line."""
        added = dict(self._host)
        if record["type"] in _OF_GLOBALS and any(map(self._is_stack, record.get("keys", ()))):
            added["stack"] = self._stacks.line([], record["keys"])
        return _json_line({**record, **added})

    def message(self, kind: str, text: str) -> None:
        """Keep a message as a record."""
        data = text.encode("utf-8", "surrogateescape")
        self._waiting.append({"type": kind, "time": self._decoder.now(), "message": data})

    def take(self) -> bytes:
        """Return the lines of messages."""
        waiting, self._waiting = self._waiting, []
        return b"".join(map(self.line, waiting))

    def finish(self, errors: int) -> bytes:
        """Return the last lines."""
        end = {"type": "end", "time": self._decoder.now(), "errors": errors}
        return self.take() + self.line(end)


def _json_line(record: Record) -> bytes:
    if record.get("automatic"):
        return b""  # the text of a global whose records follow
    shown = {key: value for key, value in record.items() if key not in ("automatic", "number")}
    if shown["type"] in _OF_GLOBALS:
        del shown["text"]
    raw: Dict[str, object] = {}
    found = {key: _plain(value, key, raw) for key, value in shown.items()}
    if raw:
        found["raw"] = raw
    return (jsontext.write(found) + "\n").encode("ascii")


def _plain(value: object, key: str, raw: "Dict[str, object]") -> object:
    """Turn bytes into texts; those that are no UTF-8 are noted in ``raw`` under the same key."""
    if isinstance(value, bytes):
        text, digits = text_of(value)
        if digits:
            raw[key] = digits
        return text
    if isinstance(value, dict):
        below: Dict[str, object] = {}
        plain: object = {name: _plain(one, name, below) for name, one in value.items()}
    elif isinstance(value, list):
        below = {}
        plain = [_plain(one, str(at), below) for at, one in enumerate(value)]
    else:
        return value
    if below:
        raw[key] = below
    return plain


def make(
    table: "Optional[str]", name: str, options: RunOptions, messages: MessagePrinter
) -> Optional[Renderer]:
    """Make what turns a module's output into that of ``--format``; None where it is as it comes.

    Raises `RunError` for a module that has text only.
    """
    if table is None:
        if options.format in ("", "text") and options.record is None:
            return None
        form = "json" if options.format in ("", "text") else options.format
        raise RunError(
            f"module '{name}' was made for text only: make it with stapy --format={form}"
        )
    records = RecordTable(table)
    renderer = _MAKERS[options.format or records.format](records, name, options, messages)
    if options.record is not None:
        from .recorder import Recorder

        renderer = Recorder(renderer, _json(records, name, options, messages), options.record)
    messages.listener = renderer.message
    return renderer


def _text(table: RecordTable, name: str, options: RunOptions, messages: MessagePrinter) -> Renderer:
    return Renderer(PrintDecoder(table))


def _json(
    table: RecordTable, name: str, options: RunOptions, messages: MessagePrinter
) -> JsonRenderer:
    about = {"module": name, **table.about}
    host, uri = _origin(options)
    if host.isdigit():
        about["uri"] = uri
    return JsonRenderer(PrintDecoder(table), about, int(host) if host.isdigit() else None)


def _csv(table: RecordTable, name: str, options: RunOptions, messages: MessagePrinter) -> Renderer:
    from .sheets import CsvRenderer

    return CsvRenderer(PrintDecoder(table), table, messages)


def _folded(
    table: RecordTable, name: str, options: RunOptions, messages: MessagePrinter
) -> Renderer:
    from .folded import FoldedRenderer

    return FoldedRenderer(PrintDecoder(table), table, messages, _origin(options)[1])


def _origin(options: RunOptions) -> "Tuple[str, str]":
    """Return number and URI of the host of --remote that this is; "" for none."""
    given = dict(word.split("=", 1) for word in options.parameters)
    return given.get("stapy_remote", ""), given.get("stapy_remote_uri", "")


_MAKERS: "Dict[str, Callable[[RecordTable, str, RunOptions, MessagePrinter], Renderer]]" = {
    "text": _text,
    "json": _json,
    "csv": _csv,
    "folded": _folded,
}
FORMATS: "List[str]" = list(_MAKERS)
