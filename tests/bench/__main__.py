"""Print the tables that the command line names, or all."""

from __future__ import annotations

import sys

from tests.bench import pass4, table

_BENCHES = {"pass4": pass4.rows}


def main(names: list[str]) -> int:
    """Run; the exit status."""
    unknown = [name for name in names if name not in _BENCHES]
    if unknown:
        print(f"no such bench: {', '.join(unknown)}; there are {', '.join(_BENCHES)}")
        return 2
    for name in names or _BENCHES:
        for line in table(_BENCHES[name]()):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
