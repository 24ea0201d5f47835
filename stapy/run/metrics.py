"""``--metrics``: a small server of HTTP that gives a session's globals to Prometheus.

It runs in a thread of its own and answers one request at a time; who is slow is cut off.  Nothing
of it is needed by the session, which goes on whatever clients do.
"""

from __future__ import annotations

import _thread
import socket
import time

from . import jsontext
from .errors import RunError
from .exposition import OPENMETRICS, PLAIN, write
from .lacks import lacks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    from .exposition import MetricStatus
    from .ground.manifest import Manifest
    from .messages import MessagePrinter

PATIENCE = 5.0  # seconds that a client has for its request, and again for taking the answer
FRESH = 0.5  # seconds for which a look answers all who ask
_MOST = 8192  # bytes of a request
_HOME = b"stapy: this session's globals are at /metrics\n"
_DAMAGED = "what the session tells of its globals is damaged"
FILE = "monitor_metrics"  # of procfs, `stapy.session.metrics`


def parse(text: str) -> "Tuple[str, int]":
    """Split ``ADDR:PORT``, an IPv6 address in brackets; `ValueError` says what is wrong."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError("an address of IPv6 stands in brackets: [::1]:9123")
    if not host.isascii() or not host.isprintable():
        raise ValueError("an address is of ASCII letters, digits and dots")
    if not colon or not host:
        raise ValueError("an address is needed before the port, such as 127.0.0.1:9123")
    if not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(f"'{port}' is no port (0 to 65535; 0 takes one that is free)")
    return host, int(port)


def is_told(manifest: Manifest) -> bool:
    """Tell whether a module has been made with --metrics."""
    points = [point for row in manifest.get("probes", ()) for point in row.get("points", ())]
    return any(point.startswith(f'procfs("{FILE}").read') for point in points)


class MetricServer:
    """Listens from the start; answers once `serve` has said whose globals."""

    def __init__(self, text: str) -> None:
        host, port = parse(text)
        try:
            # As bytes: the codec of names that are no ASCII is not in a bare Python.
            found = socket.getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM)
            family, kind, protocol, _, place = found[0]
            self._socket = socket.socket(family, kind, protocol)
        except OSError as error:
            raise RunError(f"no metrics at {text}: {error.strerror}") from None
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(place)
            self._socket.listen(8)
        except OSError as error:
            self._socket.close()
            raise RunError(f"no metrics at {text}: {error.strerror}") from None
        self._is_any = not port
        self._ending = False
        self._at = 0.0
        self._status: Optional[MetricStatus] = None
        self._why = ""

    @property
    def url(self) -> str:
        """Where it is."""
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}/metrics" if ":" in host else f"http://{host}:{port}/metrics"

    def serve(self, name: str, messages: MessagePrinter, proc: str = "/proc") -> None:
        """Begin to answer for a module."""
        self._path = f"{proc}/systemtap/{name}/{FILE}"
        (messages.log if self._is_any else messages.note)(f"metrics are at {self.url}")
        _thread.start_new_thread(self._serve, ())

    def close(self) -> None:
        """End it: nobody is answered any more."""
        self._ending = True
        try:
            self._socket.shutdown(socket.SHUT_RDWR)  # which wakes the thread
        except OSError:
            pass
        self._socket.close()

    def _serve(self) -> None:
        while not self._ending:
            try:
                client, _ = self._socket.accept()
            except OSError:
                if not self._ending:
                    time.sleep(0.1)  # no descriptors, say: others may give some back
                continue
            try:
                self._answer(client)
            except OSError:
                pass  # gone, or too slow
            finally:
                client.close()

    def _answer(self, client: socket.socket) -> None:
        request = _receive(client)
        if not request:
            return
        status, kind, body = self._reply(request)
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\nX-Content-Type-Options: nosniff\r\n"
            f"{'Allow: GET, HEAD' + chr(13) + chr(10) if status.startswith('405') else ''}\r\n"
        ).encode("ascii")
        _send(client, head if request.startswith(b"HEAD ") else head + body)

    def _reply(self, request: bytes) -> "Tuple[str, str, bytes]":
        """Return status, type and text of the answer."""
        plain = "text/plain; charset=utf-8"
        words = request.partition(b"\r\n")[0].split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return "400 Bad Request", plain, b"this is no request of HTTP/1\n"
        if words[0] not in (b"GET", b"HEAD"):
            return "405 Method Not Allowed", plain, b"GET and HEAD only\n"
        path = path_of(words[1])
        if path == b"/":
            return "200 OK", plain, _HOME
        if path != b"/metrics":
            return "404 Not Found", plain, _HOME
        self._look()
        if self._status is None:
            return "503 Service Unavailable", plain, f"{self._why}\n".encode()
        is_open = wants_open(request)
        try:
            return "200 OK", OPENMETRICS if is_open else PLAIN, write(self._status, is_open)
        except Exception:  # whatever it is, the next one who asks is answered
            return "503 Service Unavailable", plain, f"{_DAMAGED}\n".encode()

    def _look(self) -> None:
        """Read the module's file, unless that has just been done: a look holds up probes."""
        if time.monotonic() < self._at + FRESH:
            return
        self._status, self._why = None, ""
        try:
            with open(self._path, "rb") as file:
                self._status = _json(file.read().decode("utf-8", "surrogateescape"))
        except OSError as error:
            self._why = f"the session does not tell its globals now: {error.strerror}"
        except (ValueError, RecursionError):
            self._why = _DAMAGED
        except MemoryError:
            self._why = "there is no memory for what the session tells"
        self._at = time.monotonic()


def path_of(target: bytes) -> bytes:
    """Take the path out of a request's target, which proxies name with scheme and host."""
    target = target.partition(b"#")[0].partition(b"?")[0]
    scheme, colon, rest = target.partition(b"://")
    if not colon or scheme.lower() not in (b"http", b"https"):
        return target
    _, slash, path = rest.partition(b"/")
    return slash + path or b"/"


def _json(text: str) -> Any:
    """Read JSON; a bare Python does it itself, slower."""
    if lacks("json"):
        return jsontext.read(text)
    import json

    return json.loads(text, strict=False)


def _receive(client: socket.socket) -> bytes:
    """Take a request up to its empty line; b"" for none in time, or a longer one."""
    end = time.monotonic() + PATIENCE
    data = b""
    while b"\r\n\r\n" not in data:
        left = end - time.monotonic()
        if left <= 0 or len(data) > _MOST:
            return b""
        client.settimeout(left)
        more = client.recv(4096)
        if not more:
            return b""
        data += more
    return data


def _send(client: socket.socket, data: bytes) -> None:
    end = time.monotonic() + PATIENCE
    rest = memoryview(data)
    while rest:
        left = end - time.monotonic()
        if left <= 0:
            return
        client.settimeout(left)
        rest = rest[client.send(rest) :]
    client.shutdown(socket.SHUT_WR)


def wants_open(request: bytes) -> bool:
    """Tell whether the client would rather have OpenMetrics than plain text, by its Accept."""
    best: Dict[str, float] = {}
    for line in request.split(b"\r\n")[1:]:
        name, _, value = line.decode("latin-1").partition(":")
        if name.strip().lower() != "accept":
            continue
        for choice in value.split(","):
            kind, *more = [word.strip() for word in choice.lower().split(";")]
            if "version" in "".join(more) and kind == "application/openmetrics-text":
                versions = [word.partition("=")[2] for word in more if word.startswith("version=")]
                if versions and not versions[0].strip('"').startswith("1."):
                    continue
            best[kind] = max(best.get(kind, 0.0), _quality(more))
    wanted = best.get("application/openmetrics-text", 0.0)
    return wanted > 0 and wanted >= best.get("text/plain", 0.0)


def _quality(words: "List[str]") -> float:
    for word in words:
        if word.startswith("q="):
            try:
                return float(word[2:])
            except ValueError:
                return 0.0
    return 1.0
