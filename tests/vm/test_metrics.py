"""--metrics: globals as Prometheus reads them while a session runs, from real modules."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics import parser as open_parser
from prometheus_client.parser import text_string_to_metric_families

from stapy.vm.machine import SHARE, Machine
from tests import debugpackage
from tests.prometheus import programs, scraping
from tests.vm import network
from tests.vm.harness import WATCHDOGS, Guests, build, releases
from tests.vm.test_consumer import shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = r"""
global reads, total, name = "a\"b\\c\nd", lat, sizes, down = 5, many, below, names, none
probe begin {
  reads["x,\"y\"\\", pid() > 0]++; reads["odd \377", 2]++; reads["odd \377", 2] += 4
  lat <<< 3; lat <<< 300; lat <<< 300; below <<< -7
  sizes["a"] <<< 15; sizes["a"] <<< 250; sizes["b"] <<< 1000
  for (i = 0; i < 1500; i++) many[i] = i
  names[1] = "n"
  down--
  println("armed")
}
probe timer.ms(10) { total++ }
probe end {
  print(@hist_log(lat))
  foreach (key in sizes) print(@hist_linear(sizes[key], 0, 500, 100))
  println(total, name, down)
  if (total < 0) none["x"] = 1
}
"""
CLIENT = r"""
import sys, urllib.request
for accept in ("application/openmetrics-text; version=1.0.0", "text/plain"):
    request = urllib.request.Request(sys.argv[1], headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=300) as answer:
        print("==", answer.headers["Content-Type"])
        print(answer.read().decode(), end="")
"""
WATCHED = r"""
global opens, sizes, ticks
probe syscall.openat {
  if (filename_unquoted == "/tmp/provoked") { opens[execname(), pid()]++; sizes <<< 100 }
}
probe timer.ms(10) { if (!ticks++) println("armed") }
probe end { print(@hist_log(sizes)) }
"""
PORT = 9123


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("metrics")
    (folder / "client.py").write_text(CLIENT)
    found = {"client": folder / "client.py"}
    for name, words in (("served", ["--metrics=127.0.0.1:0", "--monitor"]), ("silent", [])):
        more = ["-D", "MAXACTION=100000", "-D", "STP_NO_OVERLOAD"]
        made = build(release, ["-m", name, *words, *more, "-e", SCRIPT], folder)
        assert made.module, made.stderr
        found[name] = made.module
    return found


def samples(families: list[Metric]) -> dict[tuple[str, ...], float]:
    """List values by name and labels, those in the order of the alphabet."""
    return {
        (one.name, *(f"{key}={one.labels[key]}" for key in sorted(one.labels))): one.value
        for family in families
        for one in family.samples
    }


def test_a_session_is_scraped(guests: Guests, release: str, modules: dict[str, Path]) -> None:
    text = """
    wait_for() { n=0; until eval "$1"; do sleep 0.1; n=$((n+1)); [ $n -lt 3000 ] || break; done; }
    $run --metrics 127.0.0.1:9123 $served >out 2>err & pid=$!; wait_for 'grep -q armed out'
    python=PYTHON
    $python $client http://127.0.0.1:9123/metrics
    echo "== more"
    $run --metrics 127.0.0.1:9123 $silent; echo status $?
    $run -R --metrics 127.0.0.1:9123 $served; echo status $?
    kill -QUIT $pid; wait $pid
    $run -A --metrics '[::1]:0' served >out2 2>err2 & pid=$!
    wait_for 'grep -q http://.*/metrics err2'
    $python $client $(sed -n 's/^.*at //p' err2) | grep '^stapy_down'
    kill -INT $pid; wait $pid; echo status $?; cat err err2
    """
    machine: Machine = guests.get(release, cpus=2)
    result = shell(machine, modules, text.replace("PYTHON", sys.executable), t=120)
    said = f"{result.stdout.decode()}\n{result.stderr.decode()}"
    parts = result.stdout.decode().split("== ")
    assert len(parts) == 4, said
    _, opened, plain, more = parts
    kind, _, body = opened.partition("\n")
    assert kind == "application/openmetrics-text; version=1.0.0; charset=utf-8", said
    families = list(open_parser.text_string_to_metric_families(body))
    kinds = {family.name: family.type for family in families}
    found = samples(families)
    assert kinds["stapy_total"] == kinds["stapy_reads"] == "counter", said
    assert kinds["stapy_down"] == "gauge" and found["stapy_down",] == 4, said
    assert found["stapy_total_total",] >= 0, said
    assert found["stapy_reads_total", "key1=odd \\xff", "key2=2"] == 5, said
    assert found["stapy_reads_total", 'key1=x,"y"\\', "key2=1"] == 1, said
    assert found["stapy_name_info", 'value=a"b\\c\nd'] == 1, said
    assert found["stapy_names_info", "key1=1", "value=n"] == 1, said
    assert kinds["stapy_lat"] == kinds["stapy_sizes"] == "histogram", said
    lat = {row[1]: value for row, value in found.items() if row[0] == "stapy_lat_bucket"}
    assert lat == {"le=1.0": 0, "le=3.0": 1, "le=255.0": 1, "le=511.0": 3, "le=+Inf": 3}, said
    assert found["stapy_lat_sum",] == 603 and found["stapy_lat_maximum",] == 300, said
    assert found["stapy_sizes_bucket", "key=a", "le=299.0"] == 2, said
    assert found["stapy_sizes_bucket", "key=b", "le=+Inf"] == 1, said
    assert kinds["stapy_below"] == "summary" and ("stapy_below_sum",) not in found, said
    assert sum(row[0] == "stapy_many" for row in found) == 1000, said
    assert found["stapy_elements_left_out", "global=many"] == 500, said
    kind, _, body = plain.partition("\n")
    assert kind == "text/plain; version=0.0.4; charset=utf-8", said
    again = samples(list(text_string_to_metric_families(body)))
    assert again["stapy_lat_bucket", "le=255.0"] == 1 and again["stapy_down",] == 4, said
    assert "status 1\nstatus 1\nstapy_down 4\nstapy_down 4\nstatus 0\n" in more, said
    assert "was made without --metrics" in said, said
    assert "no metrics at 127.0.0.1:9123: Address already in use" in said, said
    assert result.left_modules == [], said


def test_prometheus_scrapes_a_session(tmp_path: Path) -> None:
    """A Prometheus of this machine scrapes what runs in a guest, until that ends."""
    try:
        root = programs()
    except debugpackage.NoPackage as error:
        pytest.skip(str(error))
    release = releases()[-1]
    words = ["-m", "watched", f"--metrics=0.0.0.0:{PORT}", "-e", WATCHED]
    made = build(release, words, tmp_path)
    assert made.module, made.stderr
    port = network.free_port()
    text = f"""
    {network.SETUP}
    $run --metrics 0.0.0.0:{PORT} $watched >out 2>err & pid=$!
    n=0; until grep -q armed out || [ $n -gt 3000 ]; do sleep 0.1; n=$((n+1)); done
    for n in 1 2 3; do true </tmp/provoked; done 2>/dev/null
    until [ -e {SHARE}/seen ]; do sleep 0.2; done
    kill -INT $pid; wait $pid; echo status $?; cat err
    """
    with (
        ThreadPoolExecutor(1) as pool,
        Machine(release, extra=network.forwarded(port, PORT), command_line=WATCHDOGS) as machine,
        scraping(root, f"127.0.0.1:{port}", tmp_path, 5) as prometheus,
    ):
        running = pool.submit(shell, machine, {"watched": made.module}, text, t=400)
        try:
            assert prometheus.wait_for("stapy_opens_total == 3", running)
            (opens,) = prometheus.rows("stapy_opens_total")
            assert set(opens["metric"]) == {"__name__", "execname", "instance", "job", "pid"}
            assert opens["metric"]["execname"] == "sh" and opens["metric"]["job"] == "stapy"
            assert prometheus.value('stapy_sizes_bucket{le="127.0"}') == "3"
            assert prometheus.value("stapy_sizes_sum / stapy_sizes_count") == "100"
            assert prometheus.value("up") == "1"
            before = prometheus.value("stapy_ticks_total")
            assert prometheus.wait_for(f"stapy_ticks_total > {before}", running)
        finally:
            (machine.share / "seen").touch()
        assert prometheus.wait_for("up == 0") == "0"
        result = running.result()
    assert "status 0" in result.stdout.decode(), (result.stdout, result.stderr)
    assert "watched" not in result.left_modules  # those of the network stay
