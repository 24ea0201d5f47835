"""Globals as text for Prometheus, and the server that gives it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics import parser as open_parser
from prometheus_client.parser import text_string_to_metric_families

from stapy.run import metrics
from stapy.run.errors import RunError
from stapy.run.exposition import write
from stapy.run.messages import MessagePrinter
from stapy.run.metrics import MetricServer, wants_open
from tests import debugpackage
from tests.prometheus import programs, scraping

STATUS: dict[str, Any] = {
    "module": "m",
    "uptime": 1.5,
    "memory": 10,
    "skipped": 3,
    "units": "cycles",
}


def scalar(name: str, kind: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "rows": [[value]], "left_out": 0, **more}


def array(name: str, kind: str, labels: list[str], *rows: list[Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "labels": labels, "rows": list(rows), "left_out": 2, **more}


def stat(count: int, total: int, least: int, most: int, *buckets: list[int]) -> dict[str, Any]:
    found: dict[str, Any] = {"count": count, "sum": total, "min": least, "max": most, "avg": 0}
    return {**found, "buckets": [list(one) for one in buckets]}


def status(*rows: dict[str, Any]) -> dict[str, Any]:
    return {**STATUS, "globals": list(rows)}


def lines(*rows: dict[str, Any], is_open: bool = True) -> list[str]:
    """Write globals, have the text read by a library, and list the samples of the globals."""
    text = write(status(*rows), is_open).decode()
    parse = (
        open_parser.text_string_to_metric_families if is_open else text_string_to_metric_families
    )
    assert list(parse(text))
    found = [line for line in text.splitlines() if not line.startswith("#")]
    ours = ("session", "uptime", "memory", "skipped", "elements_left")
    return [line for line in found if not line.startswith(tuple(f"stapy_{one}" for one in ours))]


@pytest.mark.parametrize(
    "row, expected",
    [
        (scalar("n", "counter", 5), ["stapy_n_total 5"]),
        (scalar("n_total", "counter", 5), ["stapy_n_total 5"]),
        (scalar("n", "counter", -(2**63)), [f"stapy_n {-(2**63)}"]),  # it went round
        (scalar("n", "gauge", -5), ["stapy_n -5"]),
        (scalar("s", "info", 'a"b\\\n'), ['stapy_s_info{value="a\\"b\\\\\\n"} 1']),
        (array("a", "counter", ["x", "y"], ["k", 1, 7]), ['stapy_a_total{x="k",y="1"} 7']),
        (array("a", "gauge", ["x"], ["k", 1], ["k", 2]), ['stapy_a{x="k"} 2']),
        (array("a", "gauge", ["x"]), []),
        (array("a", "info", ["x"], [3, "t"]), ['stapy_a_info{x="3",value="t"} 1']),
        (array("a", "gauge", ["x"], ["odd \udcff", 1]), ['stapy_a{x="odd \\\\xff"} 1']),
        (
            scalar("s", "summary", stat(2, 12, 5, 7)),
            ["stapy_s_count 2", "stapy_s_sum 12", "stapy_s_minimum 5", "stapy_s_maximum 7"],
        ),
        (
            scalar("s", "summary", stat(1, -3, -3, -3)),
            ["stapy_s_count 1", "stapy_s_minimum -3", "stapy_s_maximum -3"],
        ),
        (scalar("s", "summary", stat(0, 0, 0, 0)), ["stapy_s_count 0", "stapy_s_sum 0"]),
        (
            scalar("h", "histogram", stat(3, 2097155, 1, 2097151, [65, 2], [85, 1]), shape=["log"]),
            [
                'stapy_h_bucket{le="0.0"} 0',
                'stapy_h_bucket{le="1.0"} 2',
                'stapy_h_bucket{le="1.048575e+06"} 2',
                'stapy_h_bucket{le="2.097151e+06"} 3',
                'stapy_h_bucket{le="+Inf"} 3',
                "stapy_h_count 3",
                "stapy_h_sum 2097155",
                "stapy_h_minimum 1",
                "stapy_h_maximum 2097151",
            ],
        ),
        (
            scalar("h", "histogram", stat(2, -4, -4, 0, [61, 1], [64, 1]), shape=["log"]),
            [
                'stapy_h_bucket{le="-8.0"} 0',
                'stapy_h_bucket{le="-4.0"} 1',
                'stapy_h_bucket{le="-1.0"} 1',
                'stapy_h_bucket{le="0.0"} 2',
                'stapy_h_bucket{le="+Inf"} 2',
                "stapy_h_minimum -4",
                "stapy_h_maximum 0",
            ],
        ),
        (
            # Below the first bound is all that is less.
            scalar("h", "histogram", stat(1, -4, -4, -4, [0, 1]), shape=["linear", 20, 40, 10]),
            [
                'stapy_h_bucket{le="19.0"} 1',
                'stapy_h_bucket{le="+Inf"} 1',
                "stapy_h_minimum -4",
                "stapy_h_maximum -4",
            ],
        ),
        (
            scalar("h", "histogram", stat(1, 4, 4, 4, [1, 1]), shape=["linear", -5, 40, 10]),
            [
                'stapy_h_bucket{le="-6.0"} 0',
                'stapy_h_bucket{le="4.0"} 1',
                'stapy_h_bucket{le="+Inf"} 1',
                "stapy_h_minimum 4",
                "stapy_h_maximum 4",
            ],
        ),
        (
            array(
                "h", "histogram", ["k"], ["a", stat(2, 60, 15, 45, [0, 1], [3, 1])],
                shape=["linear", 20, 40, 10],
            ),
            [
                'stapy_h_bucket{k="a",le="19.0"} 1',
                'stapy_h_bucket{k="a",le="39.0"} 1',
                'stapy_h_bucket{k="a",le="49.0"} 2',
                'stapy_h_bucket{k="a",le="+Inf"} 2',
                'stapy_h_count{k="a"} 2',
                'stapy_h_sum{k="a"} 60',
                'stapy_h_minimum{k="a"} 15',
                'stapy_h_maximum{k="a"} 45',
            ],
        ),
    ],
)  # fmt: skip
def test_a_global_is_a_family(row: dict[str, Any], expected: list[str]) -> None:
    assert lines(row) == expected
    assert lines(row, is_open=False) == expected


def test_no_name_is_there_twice() -> None:
    rows = scalar("lat", "summary", stat(0, 0, 0, 0)), scalar("lat_count", "gauge", 4)
    more = (
        scalar("uptime_seconds", "gauge", 1),
        scalar("x", "counter", 2),
        scalar("x_total", "gauge", 3),
    )
    assert lines(*rows)[-1] == "stapy_lat_count_2 4"
    text = write(status(*more), True).decode()
    assert [line for line in text.splitlines() if line[0] != "#"][-3:] == [
        "stapy_uptime_seconds_2 1",
        "stapy_x_total 2",
        "stapy_x_total_2 3",
    ]


def test_what_is_told_of_the_session() -> None:
    text = write(status(array("a", "gauge", ["x"])), False).decode()
    for line in (
        'stapy_session_info{module="m"} 1',
        "stapy_skipped_hits_total 3",
        'stapy_elements_left_out{global="a"} 2',
        "# TYPE stapy_skipped_hits_total counter",
    ):
        assert line in text.splitlines()
    assert write(status(), True).endswith(b"# EOF\n") and b"EOF" not in write(status(), False)


@given(
    st.lists(
        st.tuples(
            st.text().filter(lambda text: "\r" not in text),
            st.integers(),
        )
    )
)
def test_any_key_is_read_as_it_is(found: list[tuple[str, int]]) -> None:
    text = write(status(array("a", "gauge", ["x"], *map(list, found))), True).decode()
    families = {one.name: one for one in open_parser.text_string_to_metric_families(text)}
    told = {one.labels["x"]: one.value for one in families["stapy_a"].samples}
    assert told == dict(found)


@pytest.mark.parametrize(
    "accept, is_open",
    [
        (b"", False),
        (b"*/*", False),
        (b"application/openmetrics-text", True),
        (b"application/openmetrics-text;version=2.0.0", False),
        (b"text/plain;version=0.0.4;q=0.3,application/openmetrics-text;version=1.0.0;q=0.5", True),
        (b"text/plain;q=0.9,application/openmetrics-text;q=0.1", False),
        (b"application/openmetrics-text;q=0", False),
        (b"application/openmetrics-text;q=x", False),
        (b"application/openmetrics-text;version=0.0.1;q=0.75,text/plain;q=0.5", False),
    ],
)
def test_the_form_is_what_the_client_accepts(accept: bytes, is_open: bool) -> None:
    assert wants_open(b"GET / HTTP/1.1\r\nAccept: " + accept + b"\r\n\r\n") == is_open


@pytest.mark.parametrize(
    "text, place",
    [
        ("127.0.0.1:9123", ("127.0.0.1", 9123)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_addresses(text: str, place: tuple[str, int]) -> None:
    assert metrics.parse(text) == place


@pytest.mark.parametrize(
    "text, what",
    [
        ("9123", "an address is needed"),
        (":9123", "an address is needed"),
        ("localhost", "an address is needed"),
        ("localhost:", "'' is no port"),
        ("localhost:x", "'x' is no port"),
        ("localhost:65536", "is no port"),
        ("localhost:-1", "is no port"),
        ("localhost:\u0662", "is no port"),
        ("::1:80", "stands in brackets"),
        ("größe:80", "is of ASCII"),
        ("a\nb:80", "is of ASCII"),
        ("", "an address is needed"),
    ],
)
def test_what_is_no_address(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        metrics.parse(text)


ROWS = scalar("n", "counter", 5), array("a", "gauge", ["x"], ["k", 1])


@pytest.fixture
def told(tmp_path: Path) -> Path:
    path = tmp_path / "systemtap" / "mod" / metrics.FILE
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(status(*ROWS)))
    return path


@pytest.fixture
def server(tmp_path: Path, told: Path) -> Iterator[MetricServer]:
    made = MetricServer("127.0.0.1:0")
    made.serve("mod", MessagePrinter(), str(tmp_path))
    yield made
    made.close()


def get(server: MetricServer, path: str = "/metrics", **more: Any) -> tuple[int, str, bytes]:
    request = urllib.request.Request(server.url.replace("/metrics", path), **more)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read()


def test_a_scrape(server: MetricServer) -> None:
    code, kind, body = get(server)
    assert (code, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert body == write(status(*ROWS), False)
    code, kind, body = get(server, headers={"Accept": "application/openmetrics-text"})
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert body == write(status(*ROWS), True)
    assert get(server, "/metrics?x=1")[0] == 200
    assert get(server, method="HEAD")[2] == b""


@pytest.mark.parametrize(
    "path, more, code",
    [
        ("/", {}, 200),
        ("/other", {}, 404),
        ("/metrics", {"method": "POST", "data": b"x"}, 405),
        ("/metrics", {"method": "DELETE"}, 405),
    ],
)
def test_other_requests(server: MetricServer, path: str, more: Any, code: int) -> None:
    found = get(server, path, **more)
    assert found[0] == code and found[1] == "text/plain; charset=utf-8", found


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "[" * 100000, json.dumps(status(scalar("n", "info", 1)))]
)
def test_what_the_session_does_not_tell(
    server: MetricServer, told: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told.write_text(text) if text else told.unlink()
    code, _, body = get(server)
    assert code == 503 and body.startswith(
        (b"the session does not tell", b"what the session tells")
    )
    told.write_text(json.dumps(status()))
    monkeypatch.setattr(metrics, "FRESH", 0.0)
    assert get(server)[0] == 200  # it goes on


def test_one_look_answers_all_who_ask_at_once(
    server: MetricServer, told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "FRESH", 3600.0)
    first = get(server)
    told.write_text(json.dumps(status()))
    assert get(server)[2] == first[2]
    monkeypatch.setattr(metrics, "FRESH", 0.0)
    assert get(server)[2] == write(status(), False)


def talk(server: MetricServer, data: bytes) -> bytes:
    """Send what is no good request; return all that comes back."""
    host, port = server.url.removeprefix("http://").removesuffix("/metrics").split(":")
    with socket.create_connection((host, int(port)), 60) as one:
        found = b""
        try:
            one.sendall(data)
            while more := one.recv(4096):
                found += more
        except OSError:
            pass
        return found


@pytest.mark.parametrize(
    "data, begin",
    [
        (b"nonsense\r\n\r\n", b"HTTP/1.1 400 "),
        (b"GET /metrics\r\n\r\n", b"HTTP/1.1 400 "),
        (b"GET /metrics HTTP/2\r\n\r\n", b"HTTP/1.1 400 "),
        (b"GET /metrics HTTP/1.0\r\nAccept: \xff\xfe;q=\xff\r\n\r\n", b"HTTP/1.1 200 "),
        (b"GET /metrics HTTP/1.1\r\n" + b"x: y\r\n" * 3000, b""),  # without an end
    ],
)
def test_hostile_requests(server: MetricServer, data: bytes, begin: bytes) -> None:
    found = talk(server, data)
    assert found.startswith(begin) and bool(found) == bool(begin), found
    assert get(server)[0] == 200  # it goes on


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize(
    "target, code, first",
    [
        ("{url}", 200, "# TYPE"),
        ("{url}?a=/b://c", 200, "# TYPE"),
        ("HTTP://other:1/metrics", 200, "# TYPE"),
        ("/metrics?u=http://x/y", 200, "# TYPE"),
        ("{root}", 200, "stapy: "),
        ("{root}?a", 200, "stapy: "),
        ("{root}/", 200, "stapy: "),
        ("{root}/metrics/", 404, "stapy: "),
        ("{root}/x?/metrics", 404, "stapy: "),
        ("/http://x/metrics", 404, "stapy: "),
        ("ftp://x/metrics", 404, "stapy: "),
        ("*", 404, "stapy: "),
    ],
)
def test_targets(
    server: MetricServer, method: str, version: str, target: str, code: int, first: str
) -> None:
    """A target may be named wholly, as proxies are asked, in either version."""
    text = target.format(url=server.url, root=server.url.removesuffix("/metrics"))
    found = talk(server, f"{method} {text} HTTP/{version}\r\nHost: x\r\n\r\n".encode())
    head, _, body = found.decode().partition("\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {code} "), found
    assert body.startswith(first) if method == "GET" else not body, found


def test_who_is_slow_is_cut_off(server: MetricServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither who asks for nothing, nor who takes no answer, keeps others out for ever."""
    monkeypatch.setattr(metrics, "PATIENCE", 0.3)
    host, port = server.url.removeprefix("http://").removesuffix("/metrics").split(":")
    with socket.create_connection((host, int(port))) as silent:
        silent.sendall(b"GET /metrics")
        assert get(server)[0] == 200
        assert silent.recv(10) == b""


def test_it_ends_while_a_client_is_there(tmp_path: Path, told: Path) -> None:
    made = MetricServer("127.0.0.1:0")
    made.serve("mod", MessagePrinter(), str(tmp_path))
    assert get(made)[0] == 200
    url = made.url
    made.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(url, timeout=60)


def test_a_port_in_use_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(RunError, match=f"no metrics at {place}: Address already in use"):
            MetricServer(place)


@pytest.mark.parametrize("text", ["192.0.2.1:0", "no-such-host.invalid:1", "a..b:1", "[1:2:3]:4"])
def test_an_address_of_others_is_told(text: str) -> None:
    with pytest.raises(RunError, match="no metrics at " + re.escape(text) + ": "):
        MetricServer(text)


@pytest.mark.slow
def test_prometheus_scrapes_it(server: MetricServer, told: Path, tmp_path: Path) -> None:
    try:
        root = programs()
    except debugpackage.NoPackage as error:
        pytest.skip(str(error))
    histogram = stat(3, 2097155, 1, 2097151, [65, 2], [85, 1])
    told.write_text(
        json.dumps(status(*ROWS, scalar("size", "histogram", histogram, shape=["log"])))
    )
    checked = subprocess.run(
        [root / "promtool", "check", "metrics"],
        input=get(server)[2],
        capture_output=True,
        check=False,
    )
    assert checked.returncode == 0, checked
    target = server.url.removeprefix("http://").removesuffix("/metrics")
    with scraping(root, target, tmp_path) as prometheus:
        assert prometheus.wait_for("stapy_n_total") == "5"
        assert prometheus.value('stapy_a{x="k"}') == "1"
        assert prometheus.value('stapy_size_bucket{le="1.048575e+06"}') == "2"
        assert float(prometheus.value("histogram_quantile(1,stapy_size_bucket)")) == 2097151
        assert prometheus.value("up") == "1"
