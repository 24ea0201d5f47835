"""The limits of resources that compilers inherit from this process."""

from __future__ import annotations

import resource

_ENOUGH = {"stack": 1 << 20, "nproc": 100}  # what no compiler needs; of all else no limit is enough


def tight_limits() -> str:
    """Advise to look at limits that may be why a program ended, "" where none is narrow."""
    narrow = []
    for name in ("as", "cpu", "fsize", "nproc", "stack"):
        limit, _ = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
        if limit not in (resource.RLIM_INFINITY, -1) and limit < _ENOUGH.get(name, limit + 1):
            narrow.append(f"--rlimit-{name}={limit}")
    return f"see whether a limit is too narrow: {', '.join(narrow)}, or ulimit's" if narrow else ""
