"""Run a program of Python on hosts, as --remote does with stapy-run: PROGRAM PREFIXES HOST…"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from stapy.remote import parcel, ssh
from stapy.remote.ask import HostFacts
from stapy.remote.crowd import Crowd
from stapy.remote.hosts import parse
from stapy.run.output import make_sinks


def main() -> int:
    text, prefixes, *uris = sys.argv[1:]
    (sink,) = make_sinks([], None, 0, 0)

    def lost(host, why):
        print(f"lost {host.number} {host.uri}: {why}", file=sys.stderr, flush=True)

    crowd = Crowd(sink, lost, prefixes=prefixes == "yes")
    facts = HostFacts("", "", sys.executable, "")
    with tempfile.TemporaryDirectory() as folder:
        for number, uri in enumerate(uris):
            connection = ssh.connect(parse(uri, number), Path(folder))
            place = parcel.folder()
            sent = parcel.pack(
                place, {"program/__main__.py": text.encode()}, [f"{place}/program", uri]
            )
            words = connection.command(parcel.command(facts))
            crowd.begin(connection.host, words, sent, is_alone=len(uris) == 1)
        return 0 if crowd.run() else 1


if __name__ == "__main__":
    sys.exit(main())
