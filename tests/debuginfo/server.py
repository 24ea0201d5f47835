"""A server of debug files, of this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest


class Server:
    """Answers by path; what was asked is listed."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.status = 404
        self.cut = 0
        self.delay = threading.Event()  # answers wait for it
        self.delay.set()
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                outer.delay.wait()
                data = outer.files.get(self.path)
                if data is None:
                    self.send_error(outer.status)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: len(data) - outer.cut])

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def serve(self, build_id: str, data: bytes) -> None:
        self.files[f"/buildid/{build_id}/debuginfo"] = data

    def know(self, path: str, *rows: dict[str, Any], key: str = "file", **others: Any) -> None:
        """Answer a question for the builds of a path."""
        answer = {"results": list(rows), "complete": True, **others}
        query = urlencode({"key": key, "value": path})
        self.files[f"/metadata?{query}"] = json.dumps(answer).encode()

    def close(self) -> None:
        self.delay.set()
        self._server.shutdown()
        self._server.server_close()


def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Be the server that ``DEBUGINFOD_URLS`` names."""
    made = Server()
    monkeypatch.setenv("DEBUGINFOD_URLS", f"{made.url}/")
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "fetched"))
    monkeypatch.setenv("DEBUGINFOD_TIMEOUT", "5")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "DEBUGINFOD_MAXSIZE"):
        monkeypatch.delenv(name, raising=False)
    yield made
    made.close()
