"""Print one table of all figures, or of those that the command line names."""

from __future__ import annotations

import sys
from itertools import chain

from tests import commandline
from tests.bench import commands, hits, lists, pass4, peer, prints, table, user

_BENCHES = {
    "commands": commands.rows,
    "lists": lists.rows,
    "hits": hits.rows,
    "prints": prints.rows,
    "user": user.rows,
    "pass4": pass4.rows,
    "peer": peer.rows,
}


def main(names: list[str]) -> int:
    """Run; the exit status."""
    names = commandline.read("python -m tests.bench", __doc__, names, "bench", "*", _BENCHES)
    chosen = [_BENCHES[name] for name in names or _BENCHES]
    for line in table(chain.from_iterable(rows() for rows in chosen)):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
