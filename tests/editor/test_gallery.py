"""Every tool of the gallery in an editor: nothing to complain of, and answers in time.

What is judged is the server's processor time, which other work on the machine changes little: what
an editor waits for on a machine that is idle. The waits themselves are measured as well: run with
``-s`` to see the figures of docs/tools.md.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest
from lsprotocol import types as lsp

from tests.build.conftest import installed
from tests.program import ROOT, stapy_command
from tests.vm import packages
from tests.vm.test_examples import CASES

pytest_lsp = pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed")

FIRST = 0.3  # seconds until a script that was opened is judged
WARM = 0.1  # seconds until names are offered
_DIAGNOSED = lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS


class Taken(NamedTuple):
    """Seconds of the processors, and of the clock."""

    spent: float
    waited: float


class Editor:
    """VS Code, as far as its capabilities go, with a server for a kernel."""

    def __init__(self, client: pytest_lsp.LanguageClient, said: Path) -> None:
        self.client = client
        self.said = said

    @classmethod
    async def start(cls, release: str, folder: Path) -> Editor:
        said = folder / "server"
        command = shlex.join(stapy_command("--language-server", "-r", release))
        text = f"cd {ROOT}; echo $$ >{said}.pid; exec {command} 2>{said}"
        config = pytest_lsp.ClientServerConfig(["sh", "-c", text])
        client = await config.start()
        assert isinstance(client, pytest_lsp.LanguageClient)
        await client.initialize_session(
            lsp.InitializeParams(pytest_lsp.client_capabilities("visual-studio-code"))
        )
        return cls(client, said)

    def spent(self) -> float:
        """Read how many seconds of the processors the server has taken."""
        pid = Path(f"{self.said}.pid").read_text().strip()
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def since(self, spent: float, began: float) -> Taken:
        return Taken(self.spent() - spent, time.monotonic() - began)

    async def opened(self, uri: str, text: str) -> Taken:
        """Open a script and wait for what is wrong with it; return the time that it took."""
        before = self.spent()
        document = lsp.TextDocumentItem(uri, "systemtap", 1, text)
        told = asyncio.ensure_future(self.client.wait_for_notification(_DIAGNOSED))
        await asyncio.sleep(0)
        began = time.monotonic()
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(document))
        await told
        return self.since(before, began)

    async def completed(self, uri: str, line: int, column: int) -> tuple[Taken, list[str]]:
        """Ask for names at a place; return the time that it took, and the names."""
        before, began = self.spent(), time.monotonic()
        found = await self.client.text_document_completion_async(
            lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), lsp.Position(line, column))
        )
        assert isinstance(found, lsp.CompletionList)
        return self.since(before, began), [item.label for item in found.items]


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Yield where names are typed: in the first point of a script, and in its first handler."""
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("probe "))
    yield at, len("probe ") + 1
    for number, line in enumerate(lines[at:], at):
        call = re.match(r"    .*?\b(printf|println|print|tid|pid|execname)\(", line)
        if call:
            yield number, call.start(1) + 2
            return


@pytest.mark.parametrize("release", [kernel.release for kernel in installed()] or [None])
def test_examples(release: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tool has a message, each is judged within `FIRST`, and names come within `WARM`.

    Those that need a package that cannot be had are opened as well, and may have messages; the
    test is skipped with that reason after the others have passed.
    """
    if release is None:
        pytest.skip("no kernel headers are installed")
    cases, roots = packages.at_hand(list(CASES.values()))
    whole = {case.path for case in cases}
    tools = sorted(path for path in (ROOT / "examples").rglob("*.stp"))
    assert whole <= set(tools) and len(tools) >= len(CASES)
    for name, value in packages.environment(*roots).items():
        monkeypatch.setenv(name, value)
    judged: list[Taken] = []
    offered: list[Taken] = []

    async def session() -> None:
        editor = await Editor.start(release, tmp_path)
        # Data of a kernel that no command has used are read once for all.
        first = tools[0].read_text()
        await editor.opened("file:///first.stp", first)
        for place in _places(first):
            await editor.completed("file:///first.stp", *place)
        for path in tools:
            uri, text = path.as_uri(), path.read_text()
            judged.append(await editor.opened(uri, text))
            told = [one.message for one in editor.client.diagnostics[uri]]
            assert not told or path not in whole, f"{path}: {told}"
            await editor.completed(uri, *next(_places(text)))
            for line, column in _places(text):
                taken, names = await editor.completed(uri, line, column)
                assert names or path not in whole, (path, line, column)
                offered.append(taken)
        await editor.client.shutdown_session()
        await editor.client.stop()

    asyncio.run(asyncio.wait_for(session(), 900))
    assert not (tmp_path / "server").read_text()
    assert len(judged) == len(tools)
    for what, found, limit in (("judged", judged, FIRST), ("completed", offered, WARM)):
        times, waits = sorted(one.spent for one in found), sorted(one.waited for one in found)
        late = len([time for time in times if time > limit])
        print(
            f"{release}: {what}: median {median(times):.3f} s, most {times[-1]:.3f} s; waited: "
            f"median {median(waits):.3f} s, nineteen of twenty {waits[len(waits) * 19 // 20]:.3f} s"
        )
        assert median(times) <= limit / 2, (what, times)
        assert late <= len(times) // 20, (what, times)
    lacking = {name: why for name, case in CASES.items() if (why := packages.lacks(case))}
    if lacking:
        pytest.skip(f"without {', '.join(lacking)}: {'; '.join(sorted(set(lacking.values())))}")
