"""``stapy --language-server``: the language server protocol on standard input and output.

pygls speaks the protocol; what is answered comes from the rooms beside this one.  Scripts are
checked in a thread of their own, the last state of each only.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from stapy import __version__
from stapy.diagnostics import Stop
from stapy.editor import complete, describe, rename
from stapy.editor.bench import Bench
from stapy.editor.cursor import cursor_at
from stapy.kernel import find_kernel
from stapy.parse.format.layout import formatted_as_written
from stapy.session.messages import PassMessages

if TYPE_CHECKING:
    from pygls.workspace import TextDocument

    from stapy.kernel import Kernel
    from stapy.options import Options
    from stapy.session.check import Message

_PAUSE = 0.15  # seconds without a key until a script is checked
_TRIGGERS = [".", '"', "(", "$", "@", ">"]
_KINDS = {
    "keyword": lsp.CompletionItemKind.Keyword,
    "function": lsp.CompletionItemKind.Function,
    "variable": lsp.CompletionItemKind.Variable,
    "field": lsp.CompletionItemKind.Field,
    "event": lsp.CompletionItemKind.Event,
    "module": lsp.CompletionItemKind.Module,
    "operator": lsp.CompletionItemKind.Operator,
}


class Server(LanguageServer):
    """One editor's connection."""

    def __init__(self, kernel: Kernel, options: Options) -> None:
        super().__init__("stapy", __version__)
        self.bench = Bench(kernel, options)
        self.one_at_a_time = asyncio.Lock()

    # --- places: the protocol counts UTF-16 units from 0, we count characters from 1

    def offset(self, document: TextDocument, position: lsp.Position) -> int:
        """Find the offset of a position."""
        return int(document.offset_at_position(position))

    def position(self, document: TextDocument, line: int, column: int) -> lsp.Position:
        """Find the position of a line and column."""
        lines = document.lines
        if not lines or lines[-1].endswith("\n"):
            lines = [*lines, ""]
        line = min(max(line, 1), len(lines))
        place = lsp.Position(line - 1, max(column, 1) - 1)
        return self.workspace.position_codec.position_to_client_units(lines, place)

    def range(self, document: TextDocument, start: int, end: int) -> lsp.Range:
        """Find the range of ``[start, end)``."""
        return lsp.Range(*(self.position(document, *_line_of(document.source, at))
                           for at in (start, end)))  # fmt: skip

    # --- checks

    async def check(self, uri: str, version: int | None) -> None:
        """Check a script, and tell the editor, unless there is a newer state of it."""
        await asyncio.sleep(_PAUSE)
        async with self.one_at_a_time:
            document = self.workspace.text_documents.get(uri)
            if document is None or document.version != version:
                return
            name = path_of(uri)
            found = await asyncio.to_thread(self.bench.checked, name, document.source)
            told = [self._diagnostic(document, name, one) for one in found.messages]
        if document.version == version:
            self.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(uri, told, version=version)
            )

    def _diagnostic(self, document: TextDocument, name: str, message: Message) -> lsp.Diagnostic:
        data = message.data
        is_here = data.get("file") == name
        notes, labels = data["notes"], data["labels"]
        assert isinstance(notes, list) and isinstance(labels, list)
        parts = [data["message"], data["where"], *notes, data["hint"]]
        if not is_here and data.get("file"):
            parts.append(f"at {data['file']}:{data['line']}:{data['column']}")
        level = lsp.DiagnosticSeverity
        return lsp.Diagnostic(
            range=self._range(document, data if is_here else {}),
            message="\n".join(str(part) for part in parts if part),
            severity=level.Error if message.is_error else level.Warning,
            code=str(data["code"]) or None,
            source="stapy",
            related_information=[
                lsp.DiagnosticRelatedInformation(
                    lsp.Location(document.uri, self._range(document, label)), label["text"]
                )
                for label in labels
                if label.get("file") == name
            ]
            or None,
        )

    def _range(self, document: TextDocument, place: dict[str, object]) -> lsp.Range:
        def end(name: str) -> int:
            return int(str(place.get(name, 1)))

        return lsp.Range(
            self.position(document, end("line"), end("column")),
            self.position(document, end("end_line"), end("end_column")),
        )


def _failed(error: Exception) -> JsonRpcException:
    """Make the answer to a request that cannot be granted: editors show its text."""
    return JsonRpcException(str(error), lsp.LSPErrorCodes.RequestFailed.value)


def path_of(uri: str) -> str:
    """Name a document as messages name it: its path, or what the editor calls it."""
    parts = urlparse(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def _line_of(text: str, at: int) -> tuple[int, int]:
    before = text[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1


def make(kernel: Kernel, options: Options) -> Server:
    """Make a server that answers about a kernel."""
    server = Server(kernel, options)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        await server.check(params.text_document.uri, params.text_document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        await server.check(params.text_document.uri, params.text_document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        nothing: list[lsp.Diagnostic] = []
        server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(params.text_document.uri, nothing)
        )

    @server.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=_TRIGGERS)
    )
    def completed(params: lsp.CompletionParams) -> lsp.CompletionList:
        document = server.workspace.get_text_document(params.text_document.uri)
        at = server.offset(document, params.position)
        found = complete.candidates(server.bench, document.source, at)
        word = cursor_at(document.source, at).word
        place = server.range(document, at - len(word), at)
        items = [
            lsp.CompletionItem(
                one.text,
                kind=_KINDS[one.kind],
                detail=one.detail or None,
                filter_text=one.text,
                text_edit=lsp.TextEdit(place, one.text),
            )
            for one in found
        ]
        return lsp.CompletionList(len(found) >= complete.MOST or not word, items)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        document = server.workspace.get_text_document(params.text_document.uri)
        at = server.offset(document, params.position)
        found = describe.description(server.bench, document.source, at)
        if found is None:
            return None
        text = f"```systemtap\n{found.code}\n```"
        text += f"\n{found.comment}" if found.comment else ""
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
        return lsp.Hover(content, server.range(document, found.start, found.end))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def declared(params: lsp.DefinitionParams) -> lsp.Location | None:
        document = server.workspace.get_text_document(params.text_document.uri)
        name, at = path_of(document.uri), server.offset(document, params.position)
        found = describe.declaration(server.bench, name, document.source, at)
        if found is None:
            return None
        path, line, column = found
        uri = document.uri if path == name else Path(path).absolute().as_uri()
        there = server.workspace.get_text_document(uri)
        place = server.position(there, line, column)
        return lsp.Location(uri, lsp.Range(place, place))

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def referred(params: lsp.ReferenceParams) -> list[lsp.Location]:
        document = server.workspace.get_text_document(params.text_document.uri)
        at = server.offset(document, params.position)
        return [
            lsp.Location(document.uri, server.range(document, token.start, token.end))
            for token in rename.occurrences(document.source, at)
        ]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def asked_to_rename(params: lsp.PrepareRenameParams) -> lsp.Range:
        document = server.workspace.get_text_document(params.text_document.uri)
        at = server.offset(document, params.position)
        try:
            token = rename.renameable(server.bench, document.source, at)
        except rename.NotRenamed as error:
            raise _failed(error) from None
        return server.range(document, token.start, token.end)

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def renamed(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        document = server.workspace.get_text_document(params.text_document.uri)
        at = server.offset(document, params.position)
        try:
            tokens = rename.renamed(server.bench, document.source, at, params.new_name)
        except rename.NotRenamed as error:
            raise _failed(error) from None
        edits = [
            lsp.TextEdit(server.range(document, token.start, token.end), params.new_name)
            for token in tokens
        ]
        return lsp.WorkspaceEdit({document.uri: edits})

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def put_in_order(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        document = server.workspace.get_text_document(params.text_document.uri)
        indent = " " * params.options.tab_size if params.options.insert_spaces else "\t"
        messages = PassMessages(server.bench.options)
        source = messages.sources.add(document.uri, document.source)
        text = formatted_as_written(document.source, source, messages.diagnostics, indent)
        if text is None or text == document.source:
            return []
        whole = server.range(document, 0, len(document.source))
        return [lsp.TextEdit(whole, text)]

    return server


def serve(options: Options) -> int:
    """Serve the editor at standard input and output until it has enough; return the exit status."""
    messages = PassMessages(options)
    try:
        kernel = find_kernel(options.release, messages.diagnostics, options.sysroot)
    except Stop:
        messages.show()
        return 1
    make(kernel, options).start_io()
    return 0
