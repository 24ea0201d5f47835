"""Which files of the runtime are compiled together.

Each run of the compiler costs 50 ms for mapping the precompiled header, more
than most files need for themselves.  What every module has anyway is one unit;
what only some scripts use stays apart, so that the linker can leave it out.
"""

from __future__ import annotations

from pathlib import Path

from stapy.record import Record

# Files below the runtime's folder, by unit; whatever is not named here is a unit of its own.
_TOGETHER = {
    "core": (
        "session.c",
        "context.c",
        "errors.c",
        "lock.c",
        "report.c",
        "accounts.c",
        "overload.c",
        "print.c",
        "memory.c",
        "budget.c",
        "cpus.c",
        "spaces.c",
        "transport/bulk.c",
        "transport/control.c",
        "transport/files.c",
        "transport/losses.c",
        "transport/outputs.c",
        "transport/reader.c",
        "transport/ring.c",
        "probes/begin_end.c",
        # A session asks these for the memory of all variables.
        "map_alloc.c",
        "stat.c",
        "histogram.c",
    ),
    "maps": ("map.c", "map_slice.c", "map_sort.c"),
    "functions": (
        "probes/kprobe.c",
        "probes/kprobe_hit.c",
        "probes/places.c",
        "probes/fentry.c",
        "probes/entries.c",
        "probes/resolve.c",
        "probes/callers.c",
    ),
    "bpf": ("probes/bpf.c", "probes/bpf_hit.c", "probes/bpflink.c", "probes/bpfnames.c"),
    "processes": ("probes/process.c", "probes/process_rows.c", "probes/process_lives.c"),
    "procfs": ("probes/procfs.c", "probes/procfs_hit.c", "probes/procfs_folder.c"),
    "uprobes": (
        "probes/uprobe.c",
        "probes/uprobe_hit.c",
        "user/entries.c",
        "user/callers.c",
        "user/missing.c",
        "user/vectors.c",
    ),
    "users": (
        "user/targets.c",
        "user/scopes.c",
        "user/tasks.c",
        "user/files.c",
        "user/image.c",
        "user/errands.c",
    ),
    "mapped_files": ("user/mapped.c", "user/maplock.c"),
    "user_stacks": (
        *("user/look.c", "user/unwind.c", "user/names.c"),
        *("user/objects.c", "user/asking.c"),
    ),
    "texts": ("text.c", "names.c", "symbols.c", "stack.c", "steps.c", "regex.c"),
}
# kbuild has no precompiled header, so that a run of the compiler costs it half a second and more,
# and it links all that there is: units without a name that stands in two of them are one.
_JOINED = (
    ("core", "texts", "access", "build", "line_table", "lines", "monitor", "oldnames"),
    ("functions", "users"),
    ("bpf", "monitor_arrays"),
    ("mapped_files", "signal", "typed"),
    ("probes_events", "probes_modsyms"),
)


class RuntimeUnit(Record):
    """One run of the compiler: its name, and paths below the runtime's folder."""

    name: str
    members: list[str]

    def source(self, runtime: Path, folder: Path) -> Path:
        """Return the file to compile; several members get one that includes them all."""
        if len(self.members) == 1:
            return runtime / self.members[0]
        path = folder / f"unit_{self.name}.c"
        path.write_text("".join(f'#include "{runtime / member}"\n' for member in self.members))
        return path

    def apart(self) -> list[RuntimeUnit]:
        """Take the unit apart: one for each member."""
        return [alone(member) for member in self.members]


def alone(member: str) -> RuntimeUnit:
    """Make a unit of one file."""
    return RuntimeUnit(member[: -len(".c")].replace("/", "_"), [member])


def units(members: list[str]) -> list[RuntimeUnit]:
    """Group all C files of the runtime, largest unit first so that all processors end together."""
    found: list[RuntimeUnit] = []
    rest = list(members)
    for name, wanted in _TOGETHER.items():
        there = [member for member in wanted if member in rest]
        rest = [member for member in rest if member not in there]
        if there:
            found.append(RuntimeUnit(name, there))
    return found + [alone(member) for member in rest]


def joined(members: list[str]) -> list[RuntimeUnit]:
    """Group the same files for kbuild, in fewer units than `units` does."""
    whole = {unit.name: unit for unit in units(members)}
    found = []
    for names in _JOINED:
        parts = [whole.pop(name) for name in names if name in whole]
        if parts:
            every = [member for part in parts for member in part.members]
            found.append(RuntimeUnit(parts[0].name, every))
    return [*found, *whole.values()]
