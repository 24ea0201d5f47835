"""The requests of the language server protocol that are answered."""

from __future__ import annotations

import asyncio
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.workspace import PositionCodec

from stapy.editor import complete, describe, rename
from stapy.editor.cursor import cursor_at
from stapy.editor.places import DocumentState
from stapy.editor.server import StapyServer, path_of
from stapy.parse.format.layout import formatted_as_written
from stapy.session.messages import PassMessages

if TYPE_CHECKING:
    from stapy.editor.bench import Bench
    from stapy.kernel import Kernel
    from stapy.options import Options

_TRIGGERS = [".", '"', "(", "$", "@", ">", "/", "{", ","]
_KINDS = {
    "keyword": lsp.CompletionItemKind.Keyword,
    "function": lsp.CompletionItemKind.Function,
    "variable": lsp.CompletionItemKind.Variable,
    "field": lsp.CompletionItemKind.Field,
    "event": lsp.CompletionItemKind.Event,
    "module": lsp.CompletionItemKind.Module,
    "operator": lsp.CompletionItemKind.Operator,
}


def make(kernel: Kernel, options: Options) -> StapyServer:
    """Make a server that answers about a kernel."""
    server = StapyServer(kernel, options)
    _serve_documents(server)
    _serve_words(server)
    _serve_names(server)
    _serve_formatting(server)
    return server


def _serve_documents(server: StapyServer) -> None:
    @server.feature(lsp.INITIALIZED)
    async def greeted(params: lsp.InitializedParams) -> None:
        await server.warm()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        await server.check(params.text_document.uri, 0)
        await asyncio.to_thread(server.pool.warm)  # what was found first is told first

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        await server.check(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        nothing: list[lsp.Diagnostic] = []
        server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(params.text_document.uri, nothing)
        )


def _serve_words(server: StapyServer) -> None:
    @server.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=_TRIGGERS)
    )
    async def completed(params: lsp.CompletionParams) -> lsp.CompletionList:
        def work(bench: Bench, state: DocumentState) -> lsp.CompletionList:
            at = state.offset(params.position)
            found = complete.candidates(bench, state.text, at)
            word = cursor_at(state.text, at).word
            place = state.range(at - len(word), at)
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

        return await server.answer(params.text_document.uri, work)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        def work(bench: Bench, state: DocumentState) -> lsp.Hover | None:
            found = describe.description(bench, state.text, state.offset(params.position))
            if found is None:
                return None
            text = f"```systemtap\n{found.code}\n```"
            text += f"\n```text\n{found.comment}\n```" if found.comment else ""
            content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
            return lsp.Hover(content, state.range(found.start, found.end))

        return await server.answer(params.text_document.uri, work)

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    async def declared(params: lsp.DefinitionParams) -> lsp.Location | None:
        def work(bench: Bench, state: DocumentState) -> lsp.Location | None:
            name, at = path_of(state.uri), state.offset(params.position)
            found = describe.declaration(bench, name, state.text, at)
            if found is None:
                return None
            path, line, column = found
            if path == name:
                place = state.place(line, column)
                return lsp.Location(state.uri, lsp.Range(place, place))
            uri = Path(path).absolute().as_uri()
            there = DocumentState(uri, None, bench.library.text(path), PositionCodec())
            place = there.place(line, column)
            return lsp.Location(uri, lsp.Range(place, place))

        return await server.answer(params.text_document.uri, work)


def _serve_names(server: StapyServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    async def referred(params: lsp.ReferenceParams) -> list[lsp.Location]:
        state = server.state(params.text_document.uri)
        return [
            lsp.Location(state.uri, state.range(token.start, token.end))
            for token in rename.occurrences(state.text, state.offset(params.position))
        ]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    async def asked_to_rename(params: lsp.PrepareRenameParams) -> lsp.Range:
        def work(bench: Bench, state: DocumentState) -> lsp.Range:
            token = rename.renameable(bench, state.text, state.offset(params.position))
            return state.range(token.start, token.end)

        return await server.answer(params.text_document.uri, work)

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    async def renamed(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        def work(bench: Bench, state: DocumentState) -> lsp.WorkspaceEdit:
            at = state.offset(params.position)
            edits = [
                lsp.TextEdit(state.range(token.start, token.end), params.new_name)
                for token in rename.renamed(bench, state.text, at, params.new_name)
            ]
            return lsp.WorkspaceEdit({state.uri: edits})

        return await server.answer(params.text_document.uri, work)


def _serve_formatting(server: StapyServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def put_in_order(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        state = server.state(params.text_document.uri)
        text = _formatted(server, state, params.options)
        if text is None or text == state.text:
            return []
        return [lsp.TextEdit(state.range(0, len(state.text)), text)]

    @server.feature(lsp.TEXT_DOCUMENT_RANGE_FORMATTING)
    def put_part_in_order(params: lsp.DocumentRangeFormattingParams) -> list[lsp.TextEdit]:
        state = server.state(params.text_document.uri)
        text = _formatted(server, state, params.options)
        if text is None:
            return []
        last = params.range.end.line - (params.range.end.character == 0)
        return [
            lsp.TextEdit(lsp.Range(lsp.Position(start, 0), lsp.Position(end, 0)), new)
            for start, end, new in _changes(state.text, text)
            if params.range.start.line <= start and max(end - 1, start) <= last
        ]


def _formatted(
    server: StapyServer, state: DocumentState, options: lsp.FormattingOptions
) -> str | None:
    indent = " " * options.tab_size if options.insert_spaces else "\t"
    messages = PassMessages(server.options)
    source = messages.sources.add(state.uri, state.text)
    return formatted_as_written(state.text, source, messages.diagnostics, indent)


def _changes(old: str, new: str) -> list[tuple[int, int, str]]:
    """List what has to be changed, as small as it can be: first line, line behind it, new text."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    old_words, new_words = (["".join(line.split()) for line in x] for x in (before, after))
    found: list[tuple[int, int, str]] = []
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "equal":  # but for blanks: line by line
            found += [
                (start + at, start + at + 1, after[first + at])
                for at in range(end - start)
                if before[start + at] != after[first + at]
            ]
        else:
            found.append((start, end, "".join(after[first:last])))
    return found
