"""A real Prometheus of the distribution, extracted and never installed, that scrapes one place."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stapy.record import Record
from tests import debugpackage
from tests.vm.network import free_port

SECONDS = 300  # until it must have scraped; guests are slow


def programs() -> Path:
    """Find or fetch the folder with `prometheus` and `promtool`.  Raises NoPackage."""
    return debugpackage.program_root("prometheus") / "usr/bin"


class Prometheus(Record):
    """A server that is running: the address of its query API, and the file of its log."""

    address: str
    log: Path

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Ask for the series that an expression gives now, each with `metric` and `value`."""
        place = f"http://{self.address}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        with urllib.request.urlopen(place, timeout=60) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return found

    def value(self, query: str) -> Any:
        """Ask for the value of the first series, None where there is none."""
        rows = self.rows(query)
        return rows[0]["value"][1] if rows else None

    def wait_for(self, query: str, session: Future[Any] | None = None) -> Any:
        """Ask until there is a series; return the value of the first one.

        Once the session that is scraped has ended there is nothing to wait for.
        """
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            assert not (session and session.done()), session and session.result()
            try:
                found = self.value(query)
            except (OSError, ValueError):  # it is still starting
                found = None
            if found is not None:
                return found
            time.sleep(0.2)
        raise AssertionError(f"no {query}: {self.log.read_text()}")


@contextmanager
def scraping(root: Path, target: str, folder: Path, seconds: int = 1) -> Iterator[Prometheus]:
    """Run a Prometheus that scrapes ``ADDRESS:PORT`` every so many seconds, with its data here."""
    (folder / "prometheus.yml").write_text(
        f"global: {{scrape_interval: {seconds}s, scrape_timeout: {seconds}s}}\n"
        f"scrape_configs: [{{job_name: stapy, static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    own = f"127.0.0.1:{free_port()}"
    words = [
        root / "prometheus",
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address={own}",
        f"--web.console.templates={folder}",
        f"--web.console.libraries={folder}",
    ]
    log = folder / "prometheus.log"
    with log.open("wb") as said:
        process = subprocess.Popen(words, stdout=said, stderr=said)
        try:
            yield Prometheus(own, log)
        finally:
            process.kill()
            process.wait()
