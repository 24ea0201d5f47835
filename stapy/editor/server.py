"""``stapy --language-server``: the language server protocol on standard input and output.

pygls speaks the protocol; what is answered comes from the rooms beside this one. Checks and
answers are made in threads: requests do not wait for one that is slow, and of several states of a
script only the last is checked.
"""

from __future__ import annotations

import asyncio
import gc
import io
import logging
import sys
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from stapy import __version__
from stapy.debuginfo.errors import DebuginfoError
from stapy.diagnostics import Stop
from stapy.diagnostics.render import one_line
from stapy.editor.bench import Bench
from stapy.editor.checking import messages_about
from stapy.editor.listening import Listening
from stapy.editor.places import DocumentState
from stapy.editor.pool import BenchPool
from stapy.editor.rename import NotRenamed
from stapy.kernel import find_kernel
from stapy.session.messages import PassMessages

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.kernel import Kernel
    from stapy.options import Options
    from stapy.session.check import Message

_PAUSE = 0.15  # seconds without a key until a script is checked
_FIRST = 'probe kernel.function("vfs_read").call { printf("%d %s", pid(), execname()) }'
LARGEST = 1_000_000  # characters of a script that is looked at while it is written
Answer = TypeVar("Answer")


class StapyServer(LanguageServer):
    """One editor's connection."""

    def __init__(self, kernel: Kernel, options: Options) -> None:
        # Whole texts: pygls takes more characters for ends of lines than editors do.
        super().__init__(
            "stapy", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full
        )
        self.kernel = kernel
        self.options = options
        self.pool = BenchPool(lambda: Bench(kernel, options))
        self.one_at_a_time = asyncio.Lock()

    def state(self, uri: str) -> DocumentState:
        """Take the present state of a document; fail for one that is not open or too large."""
        found = self._state(uri)
        if found is None:
            raise failed(f"'{uri}' is not open")
        if len(found.text) > LARGEST:
            raise failed(f"'{uri}' has more than {LARGEST:,} characters")
        return found

    def _state(self, uri: str) -> DocumentState | None:
        document = self.workspace.text_documents.get(uri)
        if document is None:
            return None
        try:
            source = document.source
        except (OSError, ValueError):  # changed without having been opened: pygls looks for a file
            return None
        codec = self.workspace.position_codec
        return DocumentState(uri, document.version, source, codec)

    async def answer(self, uri: str, work: Callable[[Bench, DocumentState], Answer]) -> Answer:
        """Answer a request about a document in a thread; its text is the one of now."""
        state = self.state(uri)

        def in_thread() -> Answer:
            with self.pool.one() as bench:
                return work(bench, state)

        try:
            return await asyncio.to_thread(in_thread)
        except NotRenamed as error:
            raise failed(str(error)) from None
        except DebuginfoError as error:
            raise failed(f"damaged debug information: {error}") from None

    # --- checks

    async def check(self, uri: str, pause: float = _PAUSE) -> None:
        """Check a script, and tell the editor, unless there is a newer state of it."""
        before = self.workspace.text_documents.get(uri)
        version = before.version if before is not None else None
        await asyncio.sleep(pause)
        async with self.one_at_a_time:
            state = self._state(uri)
            if state is None or state.version != version:
                return
            if len(state.text) > LARGEST:
                told = [_too_large()]
            else:
                name = path_of(uri)
                found = await asyncio.to_thread(
                    messages_about, self.options, self.kernel, name, state.text
                )
                told = [diagnostic(state, name, one) for one in found]
        now = self.workspace.text_documents.get(uri)
        if now is not None and now.version == version:
            self.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(uri, told, version=version)
            )

    async def warm(self) -> None:
        """Check a script that is there: what the first check loads is loaded before it is asked."""
        async with self.one_at_a_time:
            await asyncio.to_thread(messages_about, self.options, self.kernel, "", _FIRST)

    def report_server_error(self, error: Exception, source: object) -> None:
        """Say on standard error, in one line, what went wrong: nothing is shown to the user."""
        _complain(f"{type(error).__name__}: {error}")


def diagnostic(state: DocumentState, name: str, message: Message) -> lsp.Diagnostic:
    """Make what an editor shows of a message."""
    data = message.data
    is_here = data.get("file") == name
    notes, labels = data["notes"], data["labels"]
    assert isinstance(notes, list) and isinstance(labels, list)
    parts = [data["message"], data["where"], *notes, data["hint"]]
    if not is_here and data.get("file"):
        parts.append(f"at {data['file']}:{data['line']}:{data['column']}")
    level = lsp.DiagnosticSeverity
    return lsp.Diagnostic(
        range=_range(state, data if is_here else {}),
        message="\n".join(str(part) for part in parts if part),
        severity=level.Error if message.is_error else level.Warning,
        code=str(data["code"]) or None,
        source="stapy",
        related_information=[
            lsp.DiagnosticRelatedInformation(
                lsp.Location(state.uri, _range(state, label)), label["text"]
            )
            for label in labels
            if label.get("file") == name
        ]
        or None,
    )


def _range(state: DocumentState, place: dict[str, object]) -> lsp.Range:
    def number(name: str) -> int:
        return int(str(place.get(name, 1)))

    return lsp.Range(
        state.place(number("line"), number("column")),
        state.place(number("end_line"), number("end_column")),
    )


def _too_large() -> lsp.Diagnostic:
    start = lsp.Position(0, 0)
    text = f"a script of more than {LARGEST:,} characters is not checked here: stapy check does"
    level = lsp.DiagnosticSeverity.Warning
    return lsp.Diagnostic(lsp.Range(start, start), text, severity=level, source="stapy")


def failed(text: str) -> JsonRpcException:
    """Make the answer to a request that cannot be granted: editors show its text."""
    return JsonRpcException(text, lsp.LSPErrorCodes.RequestFailed.value)


def path_of(uri: str) -> str:
    """Name a document as messages name it: its path, or what the editor calls it."""
    parts = urlparse(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def _complain(text: str) -> None:
    print(f"stapy: {one_line(text)}", file=sys.stderr, flush=True)


class _Lines(logging.Handler):
    """What pygls and asyncio log, a line each.

    What was answered as an error is told to the editor, and what ends with the server to nobody.
    """

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, (JsonRpcException, asyncio.CancelledError)):
            about = f": {type(error).__name__}: {error}" if error is not None else ""
            _complain(record.getMessage() + about)


def _collect_less() -> None:
    """Have the collector of garbage look at what is new and seldom at the rest.

    A check makes some 100,000 objects that live as long as itself: to go through them and all of
    the program each 700 takes a quarter of the time.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


def serve(options: Options) -> int:
    """Serve the editor at standard input and output until it has enough; return the exit status.

    After a signal that asked it to end, that is the one that shells give to the signal.
    """
    from stapy.editor.requests import make

    messages = PassMessages(options)
    try:
        kernel = find_kernel(
            options.release, messages.diagnostics, options.sysroot, options.architecture
        )
    except Stop:
        messages.show()
        return 1
    _collect_less()
    for name in ("pygls", "asyncio"):
        log = logging.getLogger(name)
        log.propagate = False
        log.setLevel(logging.WARNING)
        log.addHandler(_Lines())
    listening = Listening()
    with listening.until_signalled():
        make(kernel, options).start_io(io.BufferedReader(listening))
    return 128 + listening.number if listening.number else 0
