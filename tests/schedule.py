"""Which worker of `make test` runs what: each stays with one kernel and its machines.

A unit is what a file says about one kernel. Workers begin with a kernel of their own, one with
what needs none; who has nothing left helps where most is left. What takes long comes first, so
that the workers end together.

xdist's own ``--dist loadgroup`` knows groups by a suffix that it gives to the names of tests,
which pytest 9.1 and later do not let it do: each test was a group then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from tests.vm.harness import releases

_SCRIPT = re.compile(r"-(\w+)/[^/]*\]$")  # a script's folder in the parameters of a test

# Files that take half a minute of a processor or more, the longest first: the end of a run would
# wait for them. `pytest --processor-time` tells which they are.
LONG = (
    "test_cases.py/tapsets",
    "vm/test_examples",
    "safety/test_wildcards",
    "runtime/test_runtime",
    "vm/test_remote",
    "tests/test_program",
    "safety/test_bpf",
    "vm/test_user_stacks",
    "vm/test_user_tables",
    "vm/test_user_frames",
    "safety/test_processes",
    "safety/test_uprobes",
    "safety/test_load",
    "safety/test_arming",
    "safety/test_hotplug",
    "safety/test_marks",
    "safety/test_taskevents",
    "safety/test_netfilter",
    "build/test_driver",
    "vm/test_input",
    "parse/test_format",
    "vm/test_machine",
    "vm/test_languages",
    "safety/test_flood",
    "safety/test_endings",
    "test_cases.py/language",
    "test_cases.py/cases",
    "vm/test_consumer",
    "vm/test_debuginfo",
    "site/test_site",
    "elaborate/test_fuzz",
    "elaborate/test_examples",
    "debuginfo/test_fuzz",
    "parse/test_corpus",
)


def unit(nodeid: str, releases: Sequence[str]) -> str:
    """Name the unit of a test: kernel, space, file; of a case also its folder.

    Only tests in guests and what they share modules with keep to a kernel.
    """
    file = nodeid.partition("::")[0]
    named = [release for release in releases if release in nodeid]
    if not named or not file.startswith(("tests/vm/", "tests/runtime/")):
        return f" {file}"
    script = _SCRIPT.search(nodeid)
    return f"{max(named, key=len)} {file}" + (f"/{script[1]}" if script else "")


def kernel(unit: str) -> str:
    """Tell the kernel of a unit, "" for none."""
    return unit.partition(" ")[0]


def _lateness(unit: str) -> int:
    places = [at for at, name in enumerate(LONG) if name in unit]
    return places[0] if places else len(LONG)


def choose(waiting: dict[str, int], home: str | None, taken: set[str]) -> str:
    """Choose the unit that a worker gets next.

    ``waiting`` are the units with their number of tests, ``home`` is the kernel of the worker,
    None for a new one, ``taken`` are those of the others.
    """
    left: dict[str, int] = {}
    for name, tests in waiting.items():
        # What needs a guest takes some fifty times as long.
        left[kernel(name)] = left.get(kernel(name), 0) + tests * (50 if kernel(name) else 1)
    if home not in left:
        home = max(left, key=lambda name: (name not in taken, left[name]))
    own = [name for name in waiting if kernel(name) == home]
    return min(own, key=lambda name: (_lateness(name), -waiting[name], name))


class ByKernel(LoadScopeScheduling):  # type: ignore[misc]
    """xdist's scheduler of groups with `unit` as groups and `choose` as their order."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._releases = releases()
        self._homes: dict[Any, str] = {}

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid, self._releases)

    def _assign_work_unit(self, node: Any) -> None:
        waiting = {name: len(tests) for name, tests in self.workqueue.items()}
        taken = {home for other, home in self._homes.items() if other is not node}
        name = choose(waiting, self._homes.get(node), taken)
        self._homes[node] = kernel(name)
        self.workqueue.move_to_end(name, last=False)
        super()._assign_work_unit(node)
