"""The probe families, a module or folder each, and the registry that lists them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stapy.probes.family import Family

_NAMES = (
    *("begin_end", "timer", "kprobe", "tracepoint", "watchpoint", "perf"),
    *("netfilter", "bpf", "taskevent", "process", "uprobe", "usdt"),
    "procfs",
)
_CACHE: list[Family] = []


def families() -> list[Family]:
    """List all families, in the order in which the runtime starts them."""
    if not _CACHE:
        # In one step: another thread finds all of them or none.
        _CACHE[:] = [import_module(f"stapy.probes.families.{name}").FAMILY for name in _NAMES]
    return _CACHE


def by_name(name: str) -> Family:
    """Find one family by name; raises `KeyError` when there is none."""
    for item in families():
        if item.name == name:
            return item
    raise KeyError(name)
