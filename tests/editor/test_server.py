"""The language server, driven by a client over its standard input and output."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import BaseLanguageClient

from tests.editor.support import make_tapset, make_tree
from tests.program import stapy_command

ROOT = Path(__file__).resolve().parents[2]
BAD = 'probe kernel.function("vfs_raed") { } probe end { println("é𝄞" . nosuch()) }\n'
GOOD = 'probe kernel.function("vfs_read"){\nprintln( $count )\n}\n'


class Client(BaseLanguageClient):
    """An editor: it keeps what it is told of each document."""

    def __init__(self) -> None:
        super().__init__("test", "1")
        self.told: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

        @self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: lsp.PublishDiagnosticsParams) -> None:
            self.told.put_nowait(params)

    async def open(self, uri: str, text: str, version: int = 1) -> None:
        document = lsp.TextDocumentItem(uri, "systemtap", version, text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(document))

    async def change(self, uri: str, text: str, version: int) -> None:
        self.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(version, uri),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )


def drive(folder: Path, work: Callable[[Client, str], Awaitable[None]]) -> str:
    """Do something with a server for a kernel that is made in a folder; return what it said."""
    said = folder / "stderr"

    async def session() -> None:
        client = Client()
        words = ["-r", f"{make_tree(folder)}/", "-I", str(make_tapset(folder))]
        command = shlex.join(stapy_command("--language-server", *words))
        await client.start_io("sh", "-c", f"exec {command} 2>{said}", cwd=str(ROOT))
        capabilities = lsp.ClientCapabilities()
        await client.initialize_async(lsp.InitializeParams(capabilities, root_uri=folder.as_uri()))
        client.initialized(lsp.InitializedParams())
        await work(client, (folder / "x.stp").as_uri())
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()

    asyncio.run(asyncio.wait_for(session(), 240))
    return said.read_text()


def test_diagnostics(tmp_path: Path) -> None:
    """They come when a script is opened and changed, with places in UTF-16, and go again."""

    async def work(client: Client, uri: str) -> None:
        await client.open(uri, BAD)
        told = await client.told.get()
        assert told.uri == uri and told.version == 1
        (point, name) = sorted(told.diagnostics, key=lambda one: one.range.start.character)
        assert point.code == "E0231" and point.severity == lsp.DiagnosticSeverity.Error
        assert "did you mean 'vfs_read'" in point.message
        assert point.range == lsp.Range(lsp.Position(0, 13), lsp.Position(0, 33))
        start = BAD.index("nosuch") + 1  # the clef takes two units
        assert name.range.start == lsp.Position(0, start)
        # Of changes that follow each other only the last one is checked.
        for version, text in ((2, "probe"), (3, "probe x"), (4, GOOD)):
            await client.change(uri, text, version)
        told = await client.told.get()
        assert told.version == 4 and not told.diagnostics
        client.text_document_did_close(
            lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri))
        )
        assert not (await client.told.get()).diagnostics

    drive(tmp_path, work)


def test_strange_documents(tmp_path: Path) -> None:
    """A document that nobody opened, one that is closed while it is checked, a huge one."""

    async def work(client: Client, uri: str) -> None:
        missing = lsp.TextDocumentIdentifier(uri + "x")
        place = lsp.Position(0, 0)
        with pytest.raises(JsonRpcException, match="is not open"):
            await client.text_document_hover_async(lsp.HoverParams(missing, place))
        with pytest.raises(JsonRpcException, match="is not open"):
            await client.text_document_formatting_async(
                lsp.DocumentFormattingParams(missing, lsp.FormattingOptions(2, True))
            )
        await client.change(uri + "x", GOOD, 2)
        client.text_document_did_close(
            lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri + "y"))
        )
        await client.open(uri, BAD)
        client.text_document_did_close(
            lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri))
        )
        huge = uri + "z"
        await client.open(huge, GOOD * 20_000)
        told = await client.told.get()
        while told.uri != huge:
            assert not told.diagnostics, told
            told = await client.told.get()
        assert [one.message[:35] for one in told.diagnostics] == [
            "a script of more than 1,000,000 cha"
        ]
        with pytest.raises(JsonRpcException, match="more than 1,000,000 characters"):
            await client.text_document_hover_async(
                lsp.HoverParams(lsp.TextDocumentIdentifier(huge), place)
            )

    assert "Traceback" not in drive(tmp_path, work)


def test_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    """Editors count lines that end in CR, and no others than LF, CR and both."""

    async def work(client: Client, uri: str) -> None:
        for version, (mark, end) in enumerate(
            (mark, end) for mark in ("", "\ufeff") for end in ("\n", "\r\n", "\r")
        ):
            text = f"{mark}# a\f b\u2028{end}probe end {{ println(nosuch()) }}{end}"
            name = f"{uri}{version}"
            await client.open(name, text)
            told = await client.told.get()
            assert told.uri == name
            assert [one.range for one in told.diagnostics] == [
                lsp.Range(lsp.Position(1, 20), lsp.Position(1, 28))
            ], (mark, end)
            found = await client.text_document_completion_async(
                lsp.CompletionParams(lsp.TextDocumentIdentifier(name), lsp.Position(1, 16))
            )
            assert isinstance(found, lsp.CompletionList)
            assert "println" in [item.label for item in found.items]

    drive(tmp_path, work)


def test_a_part_is_formatted(tmp_path: Path) -> None:
    async def work(client: Client, uri: str) -> None:
        await client.open(uri, "probe end{\na=1\n\n\n\nb=2\n}\nprobe begin{\nc=1\n}\n")
        edits = await client.text_document_range_formatting_async(
            lsp.DocumentRangeFormattingParams(
                lsp.TextDocumentIdentifier(uri),
                lsp.Range(lsp.Position(1, 0), lsp.Position(6, 0)),
                lsp.FormattingOptions(2, True),
            )
        )
        assert edits is not None
        assert [(x.range.start.line, x.range.end.line, x.new_text) for x in edits] == [
            (1, 2, "  a = 1\n"),
            (2, 4, ""),
            (5, 6, "  b = 2\n"),
        ]

    drive(tmp_path, work)


def test_requests(tmp_path: Path) -> None:
    async def work(client: Client, uri: str) -> None:
        document = lsp.TextDocumentIdentifier(uri)
        await client.open(uri, GOOD)
        inside = lsp.Position(1, GOOD.splitlines()[1].index("$count") + 3)
        found = await client.text_document_completion_async(lsp.CompletionParams(document, inside))
        assert isinstance(found, lsp.CompletionList)
        assert [item.label for item in found.items] == ["$count"]
        assert found.items[0].detail == "unsigned long"
        edit = found.items[0].text_edit
        assert isinstance(edit, lsp.TextEdit)
        assert edit.range == lsp.Range(lsp.Position(1, 9), inside)
        hover = await client.text_document_hover_async(lsp.HoverParams(document, inside))
        assert hover is not None and "$count: unsigned long" in str(hover.contents)
        edits = await client.text_document_formatting_async(
            lsp.DocumentFormattingParams(document, lsp.FormattingOptions(2, True))
        )
        assert edits is not None
        text = 'probe kernel.function("vfs_read") {\n  println($count)\n}\n'
        assert edits[0].new_text == text
        assert edits[0].range == lsp.Range(lsp.Position(0, 0), lsp.Position(3, 0))

        await client.change(uri, "probe sample.read { size = execname() }\n", 2)
        place = await client.text_document_definition_async(
            lsp.DefinitionParams(document, lsp.Position(0, 10))
        )
        assert isinstance(place, lsp.Location)
        assert place.uri == (tmp_path / "tapset/sample.stp").as_uri()
        assert place.range.start == lsp.Position(2, 0)
        refused = lsp.RenameParams(document, lsp.Position(0, 21), "bytes")
        with pytest.raises(JsonRpcException, match="'size' may be a variable that a probe shares"):
            await client.text_document_rename_async(refused)

        await client.change(uri, "probe end { size = execname() }\n", 3)
        size = lsp.Position(0, 13)
        place_of_size = await client.text_document_prepare_rename_async(
            lsp.PrepareRenameParams(document, size)
        )
        assert place_of_size == lsp.Range(lsp.Position(0, 12), lsp.Position(0, 16))
        renamed = await client.text_document_rename_async(lsp.RenameParams(document, size, "bytes"))
        assert renamed is not None and renamed.changes is not None
        assert [one.range.start.character for one in renamed.changes[uri]] == [12]
        found_uses = await client.text_document_references_async(
            lsp.ReferenceParams(lsp.ReferenceContext(True), document, lsp.Position(0, 20))
        )
        assert found_uses is not None and len(found_uses) == 1

    drive(tmp_path, work)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-r", "1.2.3-nosuch"], "missing kernel-devel package"),
        (["--color=green"], "Invalid argument for --color 'green'"),
    ],
)
def test_what_cannot_begin(words: list[str], told: str) -> None:
    command = stapy_command("--language-server", *words)
    result = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert told in result.stderr and "Traceback" not in result.stderr


def test_without_the_package(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError('gone', name='pygls')\n")
    result = subprocess.run(
        stapy_command("--language-server"),
        cwd=ROOT, env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 1
    assert result.stderr.startswith("ERROR: --language-server needs the Python package pygls")
    assert result.stderr.count("\n") == 1


# The program, whose checks take ten minutes; its first argument is how long a signal waits for one.
SLOW = """
import sys, time
from stapy.editor import listening, server
from stapy.cli import main

def slow(*words):
    print("here", file=sys.stderr, flush=True)
    time.sleep(600)

server.messages_about = slow
if sys.argv[1]:
    listening.PATIENCE = float(sys.argv[1])
sys.exit(main(sys.argv[2:]))
"""


@contextmanager
def opened(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server that an editor has told of a script."""
    hello = {"capabilities": {}, "processId": None, "rootUri": None}
    script = {"uri": "file:///x.stp", "languageId": "systemtap", "version": 1, "text": BAD}
    with subprocess.Popen(
        command, cwd=ROOT, bufsize=0,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip

        def say(method: str, params: object, **more: int) -> None:
            body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more})
            assert server.stdin
            server.stdin.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode())

        try:
            say("initialize", hello, id=1)
            say("initialized", {})
            say("textDocument/didOpen", {"textDocument": script})
            yield server
        finally:
            server.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_end_it(number: signal.Signals, tmp_path: Path) -> None:
    """A server that waits for its editor, in threads, ends at once and says nothing."""
    words = ["-r", f"{make_tree(tmp_path)}/", "-I", str(make_tapset(tmp_path))]
    with opened(*stapy_command("--language-server", *words)) as server:
        assert server.stdout and server.stderr
        told = b""
        while b"publishDiagnostics" not in told:
            more = server.stdout.read(65536)
            assert more, server.stderr.read()
            told += more
        server.send_signal(number)
        assert server.wait(60) == 128 + number
        assert server.stderr.read() == b""


@pytest.mark.parametrize("patience", ["", "600"])
def test_signals_end_slow_checks(patience: str, tmp_path: Path) -> None:
    """A check that runs is waited for shortly after a signal, and no more after the next."""
    words = ["--language-server", "-r", f"{make_tree(tmp_path)}/"]
    with opened(sys.executable, "-c", SLOW, patience, *words) as server:
        assert server.stderr
        assert server.stderr.readline() == b"here\n"
        server.send_signal(signal.SIGTERM)
        end = time.monotonic() + 60
        while patience and server.poll() is None and time.monotonic() < end:
            time.sleep(0.2)  # two that come at once are one
            server.send_signal(signal.SIGINT)
        assert server.wait(60) == 128 + signal.SIGTERM
        assert b"Traceback" not in server.stderr.read()
