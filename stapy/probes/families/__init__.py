"""The probe families, a module or folder each, and the registry that lists them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stapy.probes.family import Family

# The words that the points of each begin with: who asks for one word loads no other families.
FIRST_WORDS = {
    "begin_end": ("begin", "end", "error", "never"),
    "timer": ("timer",),
    "kprobe": ("kernel", "module", "kprobe"),
    "tracepoint": ("kernel", "module"),
    "watchpoint": ("kernel",),
    "perf": ("perf", "timer"),
    "netfilter": ("netfilter",),
    "bpf": ("bpf",),
    "taskevent": ("process", "perf"),
    "process": ("process",),
    "uprobe": ("process",),
    "usdt": ("process",),
    "procfs": ("procfs",),
}


def families() -> list[Family]:
    """List all families, in the order in which the runtime starts them."""
    return [_family(name) for name in FIRST_WORDS]


def families_of(word: str) -> list[Family]:
    """List the families with points that begin with a word, in the same order."""
    return [_family(name) for name, words in FIRST_WORDS.items() if word in words]


def _family(name: str) -> Family:
    found: Family = import_module(f"stapy.probes.families.{name}").FAMILY
    return found


def by_name(name: str) -> Family:
    """Find one family by name; raises `KeyError` when there is none."""
    if name not in FIRST_WORDS:
        raise KeyError(name)
    return _family(name)
